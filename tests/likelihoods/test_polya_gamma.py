"""Polya-Gamma draws against their exact moments, transforms and distribution.

Every stochastic test is a p-value that is exact up to a central limit (samples of 10,000 and
more), and fails below `ALARM` = 1e-7, which is 5.3 standard errors. The file computes fewer than
200 of them, so if the seeds were not fixed a correct sampler would fail one run in 50,000. The
negative controls put faults into the sampler and demand that the same p-values, from samples of
the same sizes, fall below `ALARM`.
"""

import numpy as np
import pytest
from polya_gamma_draws import ALARM, mean_of, moments_test, transform_test, z_test
from rounding import ELEMENTWISE, FEW_OPERATIONS, TENS_OF_OPERATIONS
from scipy import stats

from skgpmcmc.likelihoods import _polya_gamma
from skgpmcmc.likelihoods._polya_gamma import polya_gamma

N_DRAWS = 100_000
TILTS = [0.0, 1e-9, 0.1, 1.0, 3.0, 10.0, 100.0]


def draw(shape, tilt, seed, n_draws=N_DRAWS):
    return polya_gamma(shape, np.full(n_draws, tilt), np.random.default_rng(seed))


def gamma_sum_test(draws, shape, tilt):
    """Two-sample Kolmogorov-Smirnov against the defining sum of gamma variables, cut.

    The mean of the terms that are left out is added; their standard deviation is below one per
    cent of that of the sum, and adds its square to the variance: nothing that the test can see.
    """
    rng = np.random.default_rng(5)
    n_terms = 300
    order = np.arange(1, n_terms + 1).reshape(-1, 1)
    weight = 1 / (2 * np.pi**2 * ((order - 0.5) ** 2 + (tilt / (2 * np.pi)) ** 2))
    reference = np.zeros(20_000)
    for w in weight:
        reference += w * rng.standard_gamma(shape, reference.size)
    reference += shape * (mean_of(tilt) - weight.sum())
    return stats.ks_2samp(draws, reference, method="asymp").pvalue


def exact_density(times, tilt):
    """Density of 4 PG(1, tilt): the series for small times below 1, the other one above."""
    order = np.arange(40).reshape(-1, 1, 1)
    sign = np.where(order % 2 == 0, 1.0, -1.0)
    half = order + 0.5
    early = np.pi * half * (2 / (np.pi * times)) ** 1.5 * np.exp(-2 * half**2 / times)
    late = np.pi * half * np.exp(-(half**2) * np.pi**2 * times / 2)
    series = (sign * np.where(times < 1, early, late)).sum(axis=0)
    return np.cosh(tilt / 2) * np.exp(-(tilt**2) * times / 8) * series


def exact_cells(tilt):
    """Ends of narrow cells of 4 PG(1, tilt) and their probabilities, by Gauss-Legendre."""
    ends = np.geomspace(5e-3, 80.0, 1501)
    nodes, weights = np.polynomial.legendre.leggauss(8)
    half_width = 0.5 * np.diff(ends)[:, np.newaxis]
    times = ends[:-1, np.newaxis] + half_width * (nodes + 1)
    return ends, (half_width * weights * exact_density(times, tilt)).sum(axis=1)


def tail_test(draws, tilt, side):
    """Chi-square over bins of one side of the time 2 / pi, out to probability 1e-3 of it.

    The two sides meet where the sampler goes from one form of the series to the other. The other
    side is one bin more.
    """
    ends, cells = exact_cells(tilt)
    cumulated = np.append(0.0, cells.cumsum())
    seam = cumulated[np.searchsorted(ends, 2 / np.pi)]
    lower, upper = (0.0, seam) if side == "left" else (seam, 1.0)
    fractions = np.array([1e-3, 3e-3, 0.01, 0.03, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0])
    from_outside = fractions if side == "left" else 1 - fractions[::-1]
    chosen = np.searchsorted(cumulated, lower + (upper - lower) * from_outside)
    bounds = np.concatenate([[0.0], cumulated[chosen], [1.0]])
    counts = np.bincount(np.searchsorted(ends[chosen], 4 * draws), minlength=chosen.size + 1)
    expected = draws.size * np.diff(bounds)
    assert expected.min() > 10
    return stats.chisquare(counts, expected).pvalue


@pytest.mark.parametrize("shape", [1, 2, 5])
@pytest.mark.parametrize("tilt", TILTS)
def test_moments(tilt, shape):
    assert moments_test(draw(shape, tilt, 11), shape, tilt) > ALARM


@pytest.mark.parametrize(("shape", "tilt"), [(1, 0.0), (1, 0.7), (1, 3.0), (1, 12.0), (3, 1.5)])
def test_transforms(shape, tilt):
    assert transform_test(draw(shape, tilt, 12), shape, tilt) > ALARM


@pytest.mark.parametrize(("shape", "tilt"), [(1, 0.0), (1, 2.0), (1, 25.0), (4, 3.0)])
def test_distribution_is_that_of_the_sum_of_gamma_variables(shape, tilt):
    assert gamma_sum_test(draw(shape, tilt, 13), shape, tilt) > ALARM


@pytest.mark.parametrize(
    ("tilt", "side"),
    [(c, side) for c in (0.0, 1.0, 4.0) for side in ("left", "right")] + [(8.0, "left")],
)
def test_tails_follow_the_exact_density(tilt, side):
    assert tail_test(draw(1, tilt, 14, 400_000), tilt, side) > ALARM


@pytest.mark.parametrize("tilt", [0.0, 1.0, 4.0, 20.0])
def test_reference_density_integrates_to_one_and_has_the_exact_mean(tilt):
    ends, cells = exact_cells(tilt)
    assert cells.sum() == pytest.approx(1.0, abs=ELEMENTWISE)
    middle = np.sqrt(ends[1:] * ends[:-1])
    assert 0.25 * (middle @ cells) == pytest.approx(mean_of(tilt), rel=1e-5)


def test_acceptance_is_the_density_over_its_bound():
    seam = 2 / np.pi
    times = np.array([0.05, 0.3, 0.6, seam * (1 - 1e-12), seam, seam * (1 + 1e-12), 0.7, 2.0, 9.0])
    bound = 2 * times**-1.5 * np.exp(-0.5 / times) / np.sqrt(2 * np.pi)
    exact = exact_density(times.reshape(1, -1), 0.0)[0] / bound
    np.testing.assert_allclose(_polya_gamma._acceptance(times), exact, rtol=TENS_OF_OPERATIONS)
    # Written out for two times, with the terms that count: 1 - 3 exp(-4 / x) + 5 exp(-12 / x), and
    # the leading term of the other series over the bound.
    assert _polya_gamma._acceptance(np.array([0.5]))[0] == pytest.approx(
        1 - 3 * np.exp(-8) + 5 * np.exp(-24), rel=FEW_OPERATIONS
    )
    assert _polya_gamma._acceptance(np.array([4.0]))[0] == pytest.approx(
        np.pi / 2 * np.exp(-(np.pi**2) / 2) * np.sqrt(np.pi / 2) * 8 * np.exp(0.125),
        rel=TENS_OF_OPERATIONS,
    )


def test_lower_bound_of_the_acceptance_never_exceeds_it():
    """Where the bound accepts wrongly, the loss is too small for a stochastic test to see."""
    times = np.geomspace(1e-3, 1e3, 4001)
    bound = 1 - 3 * np.exp(-4 / times)
    acceptance = _polya_gamma._acceptance(times)
    assert np.all(bound <= acceptance + FEW_OPERATIONS)
    assert acceptance.max() <= 1 + FEW_OPERATIONS


passage_times, acceptance = _polya_gamma._passage_times, _polya_gamma._acceptance


def smaller_root_only(drift, n_rows, rng):
    times = passage_times(drift, n_rows, rng)
    return np.minimum(times, 1 / (drift**2 * times))


FAULTS = {
    "series after its second term": ("_acceptance", lambda x: 1 - 3 * np.exp(-4 / x)),
    "late times accepted ten per cent too seldom": (
        "_acceptance",
        lambda x: acceptance(x) * np.where(x > 2 / np.pi, 0.9, 1.0),
    ),
    "late times without their factor": (
        "_acceptance",
        lambda x: acceptance(np.minimum(x, 2 / np.pi)),
    ),
    "tilt of the proposal off by five per cent": (
        "_passage_times",
        lambda drift, n_rows, rng: passage_times(1.05 * drift, n_rows, rng),
    ),
    "smaller root only": ("_passage_times", smaller_root_only),
}


@pytest.mark.parametrize(
    ("fault", "tilt", "failing"),
    [
        ("series after its second term", 0.0, "tails moments transforms"),
        ("late times accepted ten per cent too seldom", 0.0, "tails"),
        ("late times without their factor", 1.0, "tails moments transforms gammas"),
        ("tilt of the proposal off by five per cent", 4.0, "tails moments transforms"),
        ("smaller root only", 4.0, "tails moments transforms gammas"),
    ],
)
def test_faults_are_found(monkeypatch, fault, tilt, failing):
    monkeypatch.setattr(_polya_gamma, *FAULTS[fault])
    p_values = {
        "tails": tail_test(draw(1, tilt, 14, 400_000), tilt, "right"),
        "moments": moments_test(draw(1, tilt, 11), 1, tilt),
        "transforms": transform_test(draw(1, tilt, 12), 1, tilt),
        "gammas": gamma_sum_test(draw(1, tilt, 13), 1, tilt),
    }
    assert {name: p for name, p in p_values.items() if p < ALARM}.keys() >= set(failing.split())


def test_mixed_shapes_and_tilts():
    shape, tilt = np.array([1, 7, 3, 170]), np.array([2.0, -0.5, 0.0, 6.0])
    rng = np.random.default_rng(21)
    draws = polya_gamma(np.tile(shape, 2_000), np.tile(tilt, 2_000), rng).reshape(-1, 4)
    for column, b, c in zip(draws.T, shape, np.abs(tilt), strict=True):
        assert moments_test(column, b, c) > ALARM
    correlations = np.corrcoef(draws.T)[np.triu_indices(4, 1)]
    assert np.all(2 * stats.norm.sf(np.abs(correlations) * np.sqrt(2_000)) > ALARM)


@pytest.mark.parametrize("chunk", [1, 3, 4, 100])
@pytest.mark.parametrize("shape", [np.array([3, 1, 4]), 2])
def test_every_entry_sums_its_own_variables(monkeypatch, chunk, shape):
    monkeypatch.setattr(_polya_gamma, "_CHUNK_SIZE", chunk)
    monkeypatch.setattr(_polya_gamma, "_exit_times", lambda drift, rng: drift)
    tilt = np.array([8.0, -16.0, 80.0])
    np.testing.assert_array_equal(polya_gamma(shape, tilt, None), shape * np.abs(tilt) / 8)


@pytest.mark.parametrize("size", [1e3, 1e5, 1e8])
def test_extreme_tilts(size):
    draws = draw(1, -size, 31, 20_000)
    # Nearly normal with coefficient of variation sqrt(2 / size).
    standardised = (2 * size * draws - 1) * np.sqrt(size / 2)
    assert z_test(standardised, 0.0) > ALARM
    assert z_test(standardised**2, 1.0) > ALARM


def test_tilts_too_large_for_any_spread():
    np.testing.assert_allclose(draw(1, 1e300, 31, 1_000), 0.5e-300, rtol=FEW_OPERATIONS)


@pytest.mark.parametrize("tilt", [0.0, 5e-324, 1e-200, 1e-12, 1.0, 40.0, 1500.0, 1e8])
def test_draws_are_positive_and_finite(tilt):
    draws = np.concatenate([draw(1, tilt, 32, 50_000), draw(3, -tilt, 33, 5_000)])
    assert np.isfinite(draws).all()
    assert (draws > 0.0).all()


@pytest.mark.parametrize("shape", [1, [1, 2, 3, 2]])
def test_nan_stays_where_it_is(shape):
    draws = polya_gamma(shape, [np.nan, 0.0, 3.0, np.nan], np.random.default_rng(0))
    np.testing.assert_array_equal(np.isnan(draws), [True, False, False, True])


def test_number_of_rounds(monkeypatch):
    """An entry of tilt zero, the worst case, needs more than 40 rounds once in 2^40 draws."""
    rounds = []
    monkeypatch.setattr(
        _polya_gamma,
        "_passage_times",
        lambda *args: rounds.append(args[0].size) or passage_times(*args),
    )
    draw(1, 0.0, 41, 10_000)
    assert rounds[0] == 10_000
    # Half of the proposals are accepted: five standard errors of a binomial.
    assert abs(rounds[1] - 5_000) < 250
    assert len(rounds) < 40


@pytest.mark.parametrize("shape", [1, [1, 4, 2]])
def test_same_generator_same_draws(shape):
    tilt = np.array([0.0, 2.0, -30.0])
    first, second, mirrored, other = (
        polya_gamma(shape, t, np.random.default_rng(seed))
        for t, seed in [(tilt, 3), (tilt, 3), (-tilt, 3), (tilt, 4)]
    )
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(first, mirrored)
    assert np.all(first != other)


@pytest.mark.parametrize("shape", [1, 3, np.empty(0, dtype=int)])
def test_no_entries(shape):
    assert polya_gamma(shape, np.empty(0), np.random.default_rng(0)).shape == (0,)
