"""One chain: its settings, its moves, its warm-up."""
