"""The experiments of Murray and Adams (2010), section 5: `python -m benchmarks.paper --help`."""
