"""Diagnostics against R's posterior and coda, and their invariances and edge cases."""

import warnings

import numpy as np
import pytest
from rounding import ELEMENTWISE
from scipy.special import ndtri

from skgpmcmc.diagnostics import (
    _vehtari,
    ess_bulk,
    ess_mean,
    ess_spectral,
    ess_tail,
    mcse_mean,
    rhat,
    summarize,
)
from skgpmcmc.diagnostics._worst import least_agreed

SPLIT_DIAGNOSTICS = [rhat, ess_bulk, ess_tail, ess_mean, mcse_mean]
ALL_DIAGNOSTICS = [*SPLIT_DIAGNOSTICS, ess_spectral]


def _uniform(n_chains, n_draws, seed):
    # Raw bits are the one stream that NumPy promises never to change.
    bits = np.random.PCG64(seed).random_raw(n_chains * n_draws)
    return (((bits >> np.uint64(11)) + 0.5) * 2.0**-53).reshape(n_chains, n_draws)


def _autoregression(coefficients, n_chains, n_draws, seed):
    draws = ndtri(_uniform(n_chains, n_draws, seed))
    for t in range(1, n_draws):
        for lag, coefficient in enumerate(coefficients, start=1):
            if t >= lag:
                draws[:, t] += coefficient * draws[:, t - lag]
    return draws


def _cauchy(n_chains, n_draws, seed):
    return np.tan(np.pi * (_uniform(n_chains, n_draws, seed) - 0.5))


def _sticky(n_chains, n_draws, seed):
    """Draws that repeat, as those of a Metropolis chain that rejects two times in three."""
    moves = _uniform(n_chains, n_draws, seed + 1) < 1 / 3
    moves[:, 0] = True
    last_move = np.maximum.accumulate(np.where(moves, np.arange(n_draws), 0), axis=1)
    return np.take_along_axis(_autoregression([0.5], n_chains, n_draws, seed), last_move, axis=1)


COLUMN = np.arange(4.0)[:, np.newaxis]
CASES = {
    "iid": _autoregression([], 4, 500, seed=1),
    "strongly autocorrelated": _autoregression([0.95], 4, 1000, seed=2),
    "antithetic": _autoregression([-0.6], 4, 500, seed=3),
    "strongly antithetic": _autoregression([-0.95], 2, 400, seed=4),
    "oscillating": _autoregression([1.5, -0.9], 4, 500, seed=5),
    "chain means differ": _autoregression([0.5], 4, 400, seed=6) + 0.5 * COLUMN,
    "chain scales differ": _autoregression([], 4, 400, seed=7) * 2.0**COLUMN,
    "cauchy": _cauchy(4, 500, seed=8),
    "sticky": _sticky(4, 500, seed=9),
    "trend": _autoregression([0.3], 4, 300, seed=10) + 0.01 * np.arange(300),
    "random walk": _autoregression([1.0], 3, 101, seed=11),
    "one chain": _autoregression([0.9], 1, 2000, seed=12),
    "odd number of draws": _autoregression([0.7], 3, 501, seed=13),
    "few integers": np.round(_autoregression([0.7], 4, 250, seed=14)),
    "far from zero": 1e6 + _autoregression([0.8], 2, 300, seed=15),
    "period of the largest order": _autoregression([0.0] * 25 + [0.8], 4, 500, seed=19),
    "odd and chain scales differ": _autoregression([], 4, 33, seed=23) * 2.0**COLUMN,
    "last pair of lags": _autoregression([0.9], 2, 14, seed=924),
    "ten draws": _autoregression([0.5], 2, 10, seed=16),
    "thirteen draws": _autoregression([0.9], 2, 13, seed=17),
    "fourteen draws": _autoregression([0.9], 2, 14, seed=18),
}

# From R 4.2.2 with posterior 1.4.0 (rhat, ess_bulk, ess_tail, ess_mean, mcse_mean) and coda 0.19-4
# (effectiveSize of an mcmc.list of the chains), printed to eleven digits.
FROM_R = {
    "iid": (1.0000281956, 1838.7556322, 1834.8261452, 1838.1374854, 0.023071580354, 1867.8545773),
    "strongly autocorrelated": (
        1.0649911182,
        83.133147977,
        247.20321369,
        82.73778728,
        0.36135196107,
        105.8954172,
    ),
    "antithetic": (
        1.0017629308,
        6602.0599913,
        1438.77687,
        6602.0599913,
        0.015760311802,
        9069.3468973,
    ),
    "strongly antithetic": (
        1.0156559804,
        2322.4719896,
        220.96544461,
        2322.4719896,
        0.068267643106,
        40312.258862,
    ),
    "oscillating": (
        1.0039382116,
        703.82379504,
        984.21670923,
        703.2640553,
        0.1376588419,
        3942.2923115,
    ),
    "chain means differ": (
        1.169383371,
        16.826058574,
        146.37919963,
        16.899598288,
        0.30787710615,
        582.6606914,
    ),
    "chain scales differ": (
        1.2936227276,
        1598.7833262,
        56.653570471,
        1556.7683481,
        0.1179498548,
        1699.0113767,
    ),
    "cauchy": (1.0006951429, 1775.9663518, 1752.1898309, 2012.4488128, 1.2720498631, 1829.3847413),
    "sticky": (1.0088209526, 336.07334025, 273.07054192, 330.31284925, 0.061421169917, 273.419518),
    "trend": (1.2295240567, 12.508104169, 126.29955834, 12.45310946, 0.39141538653, 64.995725769),
    "random walk": (
        1.4219424745,
        6.5291144252,
        15.987940525,
        4.6037565935,
        2.2557668642,
        11.00937216,
    ),
    "one chain": (
        1.0028034341,
        128.61503004,
        221.35567136,
        129.79604618,
        0.20221502459,
        105.31128551,
    ),
    "odd number of draws": (
        1.0190269559,
        247.29314713,
        566.47852973,
        246.08829544,
        0.087422303102,
        286.71121639,
    ),
    "few integers": (
        1.0274693319,
        183.42225231,
        315.88284761,
        185.65217589,
        0.10158690919,
        229.85541996,
    ),
    "far from zero": (
        1.0475971406,
        59.661722826,
        106.03103898,
        58.700863262,
        0.21954168401,
        158.22426974,
    ),
    "period of the largest order": (
        1.0109850384,
        1470.7030627,
        1638.2280921,
        1456.711956,
        0.042948992027,
        2522.0958821,
    ),
    "odd and chain scales differ": (
        1.3085252949,
        212.62721369,
        89.822945156,
        202.10000523,
        0.32796672185,
        152.69425659,
    ),
    "last pair of lags": (
        1.0647491708,
        19.145948942,
        40.520424878,
        19.498569718,
        0.22386093724,
        28,
    ),
    "ten draws": (0.97906143206, 10, 10, 10, 0.38830444043, 16.04059758),
    "thirteen draws": (
        1.4987780371,
        8.4969354007,
        11.739130435,
        8.1076688065,
        0.62382082,
        5.5281636815,
    ),
    "fourteen draws": (1.0722021249, 20.354068518, 32.666666667, 19.244521778, 0.22181442026, 28),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("position", range(6), ids=[f.__name__ for f in ALL_DIAGNOSTICS])
def test_agrees_with_r(case, position):
    value = ALL_DIAGNOSTICS[position](CASES[case])
    assert value == pytest.approx(FROM_R[case][position], rel=1e-9)


# ArviZ wants two chains for R-hat, folds an odd number of draws about another median, and has its
# own conventions for very short chains; posterior is followed there.
UNLIKE_ARVIZ = {"one chain", "odd and chain scales differ", "ten draws", "last pair of lags"}


@pytest.mark.parametrize("case", [case for case in CASES if case not in UNLIKE_ARVIZ])
def test_agrees_with_arviz(case):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arviz = pytest.importorskip("arviz")
    draws = CASES[case]
    assert rhat(draws) == pytest.approx(float(arviz.rhat(draws)), rel=1e-9)
    assert mcse_mean(draws) == pytest.approx(float(arviz.mcse(draws)), rel=1e-9)
    for method, function in [("bulk", ess_bulk), ("tail", ess_tail), ("mean", ess_mean)]:
        options = {"prob": (0.05, 0.95)} if method == "tail" else {}  # ArviZ 1.0 has no default
        expected = float(arviz.ess(draws, method=method, **options))
        assert function(draws) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("function", [rhat, ess_bulk, ess_tail])
def test_rank_diagnostics_see_only_ranks(function):
    # The folded ranks of an odd increasing map are kept too once the median is zero.
    draws = _cauchy(4, 200, seed=20)
    draws = draws - np.median(draws)
    assert function(np.arcsinh(draws)) == pytest.approx(function(draws), rel=ELEMENTWISE)


# The squares of draws in the outer two units overflow or underflow.
UNITS = [2.0**-1000, 2.0**-100, 2.0**100, 2.0**1000]


@pytest.mark.parametrize("function", [rhat, ess_bulk, ess_tail, ess_mean, ess_spectral])
@pytest.mark.parametrize("unit", UNITS)
def test_unit_does_not_matter(function, unit):
    draws = CASES["strongly autocorrelated"]
    assert _silently(function, unit * draws) == pytest.approx(function(draws), rel=ELEMENTWISE)


@pytest.mark.parametrize("unit", UNITS)
def test_mean_sd_and_mcse_have_the_unit_of_the_draws(unit):
    draws = CASES["strongly autocorrelated"]
    row = summarize({"a": draws})["a"]
    scaled = _silently(summarize, {"a": unit * draws})["a"]
    for name in ("mean", "sd", "mcse"):
        assert scaled[name] / unit == pytest.approx(row[name], rel=ELEMENTWISE)
    assert mcse_mean(unit * draws) == scaled["mcse"]


@pytest.mark.parametrize("function", ALL_DIAGNOSTICS)
def test_distance_from_zero_does_not_matter(function):
    draws = np.round(CASES["chain means differ"] * 2.0**10) / 2.0**10
    far = draws + 2.0**40  # exact
    assert function(far) == pytest.approx(function(draws), rel=1e-11)


@pytest.mark.parametrize("function", ALL_DIAGNOSTICS)
def test_order_of_chains_does_not_matter_and_input_is_kept(function):
    draws = CASES["chain scales differ"].copy()
    value = function(draws)
    np.testing.assert_array_equal(draws, CASES["chain scales differ"])
    assert function(draws[[2, 0, 3, 1]]) == pytest.approx(value, rel=ELEMENTWISE)


@pytest.mark.parametrize("function", ALL_DIAGNOSTICS)
def test_one_dimensional_input_is_one_chain(function):
    chain = CASES["one chain"]
    assert function(chain[0]) == function(chain)
    assert function(list(chain[0])) == function(chain)


def test_ess_spectral_adds_up_over_chains():
    draws = CASES["chain means differ"]
    assert ess_spectral(draws) == pytest.approx(sum(ess_spectral(chain) for chain in draws))


def test_exact_alternation_is_capped():
    draws = np.tile([1.0, -1.0], (2, 50))
    assert ess_mean(draws) == pytest.approx(200 * np.log10(200))
    assert rhat(draws) == pytest.approx(np.sqrt(49 / 50))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("function", ALL_DIAGNOSTICS)
def test_draws_that_are_not_finite_give_nan_silently(function, bad):
    draws = CASES["iid"].copy()
    draws[1, 17] = bad
    assert np.isnan(_silently(function, draws))


@pytest.mark.parametrize("n_draws", range(4))
@pytest.mark.parametrize("function", ALL_DIAGNOSTICS)
def test_fewer_than_four_draws_give_nan_silently(function, n_draws):
    assert np.isnan(_silently(function, CASES["iid"][:, :n_draws]))


@pytest.mark.parametrize("function", ALL_DIAGNOSTICS)
def test_no_chains_give_nan_silently(function):
    assert np.isnan(_silently(function, np.zeros((0, 100))))


@pytest.mark.parametrize("n_draws", [4, 5])
def test_four_draws_have_an_rhat_but_no_split_ess(n_draws):
    draws = CASES["iid"][:, :n_draws]
    assert np.isfinite(_silently(rhat, draws))
    assert np.isfinite(_silently(ess_spectral, draws))
    for function in (ess_bulk, ess_tail, ess_mean, mcse_mean):
        assert np.isnan(_silently(function, draws))


@pytest.mark.parametrize("value", [0.0, 0.1, -1e9, 1e-30])
def test_constant_draws(value):
    draws = np.full((4, 101), value)
    for function in SPLIT_DIAGNOSTICS:
        assert np.isnan(_silently(function, draws))
    assert _silently(ess_spectral, draws) == 0.0


def test_chains_stuck_at_different_values():
    draws = np.repeat([[0.1], [0.7]], 100, axis=1)
    assert _silently(rhat, draws) == np.inf
    assert _silently(ess_spectral, draws) == 0.0
    # Nothing is learned from draws after a chain's first: about one draw for each half-chain.
    assert 1.0 < _silently(ess_bulk, draws) < 4.0


def test_one_stuck_chain_of_several():
    draws = CASES["iid"].copy()
    draws[3] = 0.1
    moving = ess_spectral(draws[:3])
    assert _silently(ess_spectral, draws) == pytest.approx(moving)
    assert _silently(rhat, draws) > 1.1


def test_straight_line_counts_nothing_in_ess_spectral():
    assert _silently(ess_spectral, 5.0 + 0.1 * np.arange(1000.0)) == 0.0


def test_tail_ess_with_many_draws_tied_at_the_largest():
    draws = np.minimum(CASES["iid"], 0.5)
    lower = draws <= np.quantile(draws, 0.05)
    assert _silently(ess_tail, draws) == pytest.approx(ess_mean(lower))


@pytest.mark.parametrize("function", ALL_DIAGNOSTICS)
@pytest.mark.parametrize("shape", [(), (2, 10, 3)])
def test_wrong_number_of_dimensions(function, shape):
    with pytest.raises(ValueError, match=r"draws has shape .*\(n_chains, n_draws\)"):
        function(np.zeros(shape))


def test_summarize_values():
    draws = CASES["odd number of draws"]
    summary = summarize({"offset": draws})
    expected_rhat, bulk, tail, _, mcse, _ = FROM_R["odd number of draws"]
    assert summary == {
        "offset": {
            "mean": pytest.approx(draws.mean(), rel=1e-9),
            "sd": pytest.approx(draws.std(ddof=1), rel=1e-9),
            "mcse": pytest.approx(mcse, rel=1e-9),
            "ess_bulk": pytest.approx(bulk, rel=1e-9),
            "ess_tail": pytest.approx(tail, rel=1e-9),
            "rhat": pytest.approx(expected_rhat, rel=1e-9),
        }
    }


@pytest.mark.parametrize("draws", [CASES["sticky"], CASES["iid"][:, :5], np.ones((2, 50))])
def test_summarize_gives_what_the_functions_return(draws):
    row = summarize({"a": draws})["a"]
    for name, function in [
        ("mcse", mcse_mean),
        ("ess_bulk", ess_bulk),
        ("ess_tail", ess_tail),
        ("rhat", rhat),
    ]:
        np.testing.assert_array_equal(row[name], function(draws))


def test_summarize_of_a_single_draw():
    row = _silently(summarize, {"a": [[3.0]]})["a"]
    assert row.pop("mean") == 3.0
    assert all(np.isnan(value) for value in row.values())


def test_summarize_expands_vectors():
    first, second = CASES["iid"], CASES["antithetic"]
    summary = summarize({"theta": np.stack([first, second], axis=2), "chain": first[0]})
    assert list(summary) == ["theta[0]", "theta[1]", "chain"]
    assert summary["theta[0]"] == summarize({"a": first})["a"]
    assert summary["theta[1]"] == summarize({"a": second})["a"]
    assert summary["chain"] == summarize({"a": first[:1]})["a"]
    assert all(type(value) is float for value in summary["theta[1]"].values())


def test_summarize_is_silent_on_degenerate_draws():
    broken = CASES["iid"].copy()
    broken[0, 0] = np.inf
    summary = _silently(
        summarize, {"constant": np.full((2, 50), 0.1), "broken": broken, "none": np.zeros((2, 0))}
    )
    assert summary["constant"]["mean"] == 0.1
    assert summary["constant"]["sd"] == 0.0
    assert np.isnan(summary["constant"]["rhat"])
    assert all(np.isnan(value) for value in summary["broken"].values())
    assert all(np.isnan(value) for value in summary["none"].values())


def test_summarize_names_an_array_of_wrong_shape():
    with pytest.raises(ValueError, match=r"draws_by_name\['latent'\] has shape \(1, 2, 3, 4\)"):
        summarize({"latent": np.zeros((1, 2, 3, 4))})


def _silently(function, argument):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return function(argument)


@pytest.mark.parametrize("unit", [1e-300, 1.0, 1e150])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_screening_finds_the_scalar_that_chains_agree_on_least(unit, offset):
    draws = _autoregression([], 4, 50 * 7, seed=30).reshape(4, 50, 7)
    draws[1, :, 4] += 1.0
    assert least_agreed((draws + offset) * unit) == 4
    by_rhat = [rhat(draws[..., i]) for i in range(7)]
    assert int(np.argmax(by_rhat)) == 4


def test_screening_prefers_what_never_moved_in_a_chain_and_ignores_constants():
    draws = _autoregression([], 2, 20 * 4, seed=31).reshape(2, 20, 4)
    draws[..., 1] = 3.0
    draws[..., 2] = np.array([[1.0], [2.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert least_agreed(draws) == 2
        assert least_agreed(draws[..., [1, 0]]) == 1
        assert least_agreed(draws[..., [1, 1]]) == 0


@pytest.mark.parametrize("n_draws", [1, 2, 3])
def test_screening_of_few_draws_is_silent(n_draws):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert least_agreed(np.ones((2, n_draws, 3))) == 0


def test_screening_sees_a_trend_that_all_chains_have():
    draws = _autoregression([], 2, 40 * 3, seed=32).reshape(2, 40, 3)
    draws[..., 2] += 0.1 * np.arange(40)
    assert least_agreed(draws) == 2


def test_many_scalars_at_once():
    """The same numbers as one after the other, also where they are not defined."""
    draws = np.cumsum(np.random.default_rng(0).normal(size=(3, 41, 6)), axis=1) + 1e6
    draws[..., 2] = 2.0
    draws[0, 1, 4] = np.nan
    each = np.moveaxis(draws, 2, 0)
    np.testing.assert_array_equal(_vehtari.mcse_means(draws), [mcse_mean(one) for one in each])
    found = _vehtari.rhat_and_ess(draws)
    np.testing.assert_array_equal(found, [[rhat(x) for x in each], [ess_bulk(x) for x in each]])
    assert np.isnan(found[0][[2, 4]]).all()
    assert np.isfinite(found[0][[0, 1, 3, 5]]).all()
