"""The three real data sets of Murray and Adams (2010), shipped with the package."""

from skgpmcmc.datasets._loaders import load_coal_mining, load_ionosphere, load_redwoods

__all__ = ["load_coal_mining", "load_ionosphere", "load_redwoods"]
