"""Our package beside others on the same posteriors: `python -m benchmarks.peers --help`."""
