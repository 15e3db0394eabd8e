"""Student-t noise given its auxiliary precisions: repeated and weighted rows, unequal scales.

Latent value 0 has rows 0 and 1, of unequal known variances, and row 3 twice; latent value 1 has
row 2 three times.
"""

import numpy as np
import pytest
from scipy import stats

from skgpmcmc.likelihoods import StudentT

Y = np.array([0.4, 2.0, -1.0, 0.1])
KNOWN = np.array([0.0, 3.0, 0.5, 0.2])
INDEX = np.array([0, 0, 1, 0])
WEIGHTS = np.array([1.0, 1.0, 3.0, 2.0])
LATENT = np.array([0.3, -0.6])
PARAMS = (0.4, 2.5)
#: The rows behind the copies, and which latent value each has.
COPIES = np.array([0, 1, 2, 2, 2, 3, 3])


def likelihood():
    return StudentT(Y, None, None, known_variance=KNOWN, latent_index=INDEX, sample_weight=WEIGHTS)


def auxiliaries(seed):
    """Return the likelihood given auxiliary variables, and these with the row that each has."""
    given = likelihood().augment(LATENT, PARAMS, np.random.default_rng(seed))
    rows = np.array([np.flatnonzero(y == Y)[0] for y in given._y])
    np.testing.assert_array_equal(np.sort(rows), COPIES)
    return given, given._precision, rows


def joint(latent, params, precision, rows):
    """Log density of observations and precisions, by its definition."""
    scale2, nu = params[0] + KNOWN[rows], params[1]
    noise = stats.norm.logpdf(Y[rows], latent[INDEX[rows]], np.sqrt(scale2 / precision))
    return (noise + stats.gamma.logpdf(precision, 0.5 * nu, scale=2.0 / nu)).sum()


def test_precisions_are_drawn_from_their_conditional():
    """A gamma distribution of each copy's own scale and residual: exact p-values of 7 x 400."""
    p_values = []
    for seed in range(400):
        _, precision, rows = auxiliaries(seed)
        squares = (Y[rows] - LATENT[INDEX[rows]]) ** 2 / (PARAMS[0] + KNOWN[rows])
        rate = 0.5 * (PARAMS[1] + squares)
        p = stats.gamma.cdf(precision, 0.5 * (PARAMS[1] + 1.0), scale=1.0 / rate)
        p_values.append(p[np.argsort(rows, kind="stable")])
    for column in np.transpose(p_values):
        assert stats.kstest(column, "uniform").pvalue > 1e-6


@pytest.mark.parametrize("seed", range(3))
def test_density_given_the_precisions(seed):
    given, precision, rows = auxiliaries(seed)
    points = [(LATENT, PARAMS), (LATENT + 0.5, PARAMS), (LATENT, (1.7, 2.5)), (LATENT, (0.4, 9.0))]
    found = [given.log_likelihood(*point) for point in points]
    expected = [joint(*point, precision, rows) for point in points]
    np.testing.assert_allclose(np.diff(found), np.diff(expected), rtol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_sites_given_the_precisions(seed):
    given, precision, rows = auxiliaries(seed)
    each = precision / (PARAMS[0] + KNOWN[rows])
    sites = given.gaussian_sites(PARAMS)
    np.testing.assert_allclose(sites.precision, np.bincount(INDEX[rows], each), rtol=1e-12)
    np.testing.assert_allclose(sites.shift, np.bincount(INDEX[rows], each * Y[rows]), rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_expected_scores_by_differences(seed):
    given, precision, rows = auxiliaries(seed)
    mean, variance = np.array([0.1, -0.4]), np.array([0.3, 0.8])

    def expected_density(log_params):
        params = np.exp(log_params)
        extra = 0.5 * (precision / (params[0] + KNOWN[rows]) * variance[INDEX[rows]]).sum()
        return joint(mean, params, precision, rows) - extra

    found = given.expected_score(mean, variance, PARAMS)
    steps = 1e-5 * np.eye(2)
    slopes = [
        (expected_density(np.log(PARAMS) + h) - expected_density(np.log(PARAMS) - h)) / 2e-5
        for h in steps
    ]
    np.testing.assert_allclose(found, slopes, rtol=1e-6)


def test_weights_are_copies():
    repeated = StudentT(
        Y[COPIES], None, None, known_variance=KNOWN[COPIES], latent_index=INDEX[COPIES]
    )
    for seed in range(3):
        other = repeated.augment(LATENT, PARAMS, np.random.default_rng(seed))
        given, precision, _ = auxiliaries(seed)
        np.testing.assert_array_equal(other._precision, precision)
        assert given.log_likelihood(LATENT, (0.7, 5.0)) == pytest.approx(
            other.log_likelihood(LATENT, (0.7, 5.0)), rel=1e-12
        )
