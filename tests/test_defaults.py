"""Default priors."""

import numpy as np
import pytest

from skgpmcmc.estimators._defaults import ard_scale


@pytest.mark.parametrize("n_columns", [1, 2, 4, 10, 34, 100])
def test_typical_points_are_as_far_apart_in_any_number_of_dimensions(n_columns):
    rng = np.random.default_rng(0)
    scales = ard_scale(n_columns) * np.exp(rng.standard_normal((40_000, n_columns)))
    # The median has a Monte Carlo error below 1 %, Blom's approximation one of up to 8 %.
    assert np.median((2.0 / scales**2).sum(axis=1)) == pytest.approx(2.0, rel=0.12)
