"""Many chains: workers, interrupts, progress, checkpoints, continuation."""
