"""The data sets of Murray and Adams (2010): three real ones, shipped, and the synthetic one."""

from ._loaders import load_coal_mining, load_ionosphere, load_redwoods
from ._make import make_gp_regression

__all__ = ["load_coal_mining", "load_ionosphere", "load_redwoods", "make_gp_regression"]
