"""Data sets: those of Murray and Adams (2010), and monthly counts of deaths on the road."""

from ._loaders import load_coal_mining, load_ionosphere, load_redwoods, load_van_drivers
from ._make import make_gp_regression

__all__ = [
    "load_coal_mining",
    "load_ionosphere",
    "load_redwoods",
    "load_van_drivers",
    "make_gp_regression",
]
