"""Our defaults and other methods on public tables of moderate size."""
