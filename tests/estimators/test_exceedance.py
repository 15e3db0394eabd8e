"""Probabilities of values above a threshold: the other side of quantiles, for every likelihood."""

import numpy as np
import pytest
from fits import quiet
from scipy.special import expit, ndtr
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import RBF

from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
)

pytestmark = pytest.mark.second_stage

SHORT = {"n_chains": 2, "n_warmup": 10, "n_draws": 15, "random_state": 0}
N = 18
X = np.linspace(0.0, 5.0, N)[:, None]
# Between the training rows, at some of them (one twice), and far away.
NEW = np.concatenate([X[:3] + 0.1, X[[4, 4, 9]], [[-3.0], [40.0]]])
Y = 10.0 + 3.0 * np.sin(X[:, 0]) + 0.3 * np.cos(37.0 * np.arange(N))
COUNTS = np.arange(N) % 3 + (np.arange(N) < 9) * 4
EXPOSURE = 1.0 + np.arange(N) % 4
SUCCESSES = np.arange(N) // 4
TWO = np.where(np.sin(X[:, 0]) + 0.5 * np.cos(9.0 * X[:, 0]) > 0.0, "yes", "no")
THREE = np.array(["a", "b", "c"])[np.arange(N) // 3 % 3]
SQUARE = np.stack(np.meshgrid(np.arange(6.0), np.arange(5.0), indexing="ij"), -1).reshape(-1, 2)


def regressor(**options):
    return quiet(MCMCGaussianProcessRegressor(**SHORT, **options), X, Y)


def counts(**options):
    return quiet(MCMCCoxProcessRegressor(**SHORT, **options), X, COUNTS, exposure=EXPOSURE)


def classifier(y, X=X, **options):
    trials = options.pop("trials", None)
    return quiet(MCMCGaussianProcessClassifier(**SHORT, **options), X, y, trials=trials)


RECIPES = {
    "gaussian": lambda: regressor(mean="constant"),
    "normalised": lambda: regressor(normalize_y=True),
    "student_t": lambda: regressor(likelihood="student-t"),
    "heavy_tails": lambda: regressor(likelihood="student-t", degrees_of_freedom=1.0),
    "sampled_tails": lambda: regressor(
        likelihood="student-t", degrees_of_freedom=None, normalize_y=True
    ),
    "no_noise": lambda: regressor(kernel=RBF(1.0, (0.3, 3.0)), alpha=0.1, mean="constant"),
    "poisson": counts,
    "negative_binomial": lambda: counts(likelihood="negative-binomial"),
    "known_dispersion": lambda: counts(likelihood="negative-binomial", dispersion=0.5),
    "grid": lambda: quiet(
        MCMCCoxProcessRegressor(representation="joint-post", **SHORT), SQUARE, np.arange(30) % 4
    ),
    "logit": lambda: classifier(TWO),
    "probit": lambda: classifier(TWO, link="probit", mean="constant"),
    "trials": lambda: classifier(SUCCESSES, trials=5),
    "one_vs_rest": lambda: classifier(THREE),
    "one_vs_rest_probit": lambda: classifier(THREE, link="probit"),
    "softmax": lambda: classifier(THREE, multi_class="softmax"),
    "softmax_of_two": lambda: classifier(TWO, multi_class="softmax"),
}
OF_TARGETS = list(RECIPES)[:6]
OF_RATES = list(RECIPES)[6:10]
OF_TWO = list(RECIPES)[10:13]
OF_SEVERAL = list(RECIPES)[13:]


class Models(dict):
    """Fitted when they are first asked for."""

    def __missing__(self, name):
        self[name] = RECIPES[name]()
        return self[name]


MODELS = Models()


def new_rows(name):
    return np.concatenate([SQUARE[::7], SQUARE[:2] + 0.3]) if name == "grid" else NEW


P = np.array([1e-9, 0.01, 0.05, 0.5, 0.7, 0.95, 0.999])


def quantiles(name, p):
    """Return quantiles of what is compared with the threshold: of the rate, for counts."""
    model, rows = MODELS[name], new_rows(name)
    if name not in OF_RATES:
        return model.predict_quantiles(rows, p)
    ends = [model.predict_interval(rows, abs(1.0 - 2.0 * each))[:, int(each > 0.5)] for each in p]
    return np.column_stack(ends)


def has_digits(name, values):
    """Whether probabilities are not rounded to zero or one."""
    is_probability = name in (*OF_TWO, *OF_SEVERAL)
    return (values > 1e-290) & (values < 1.0 - 1e-6) if is_probability else values == values


@pytest.mark.parametrize("name", [*OF_TARGETS, *OF_RATES, *OF_TWO])
def test_above_a_quantile_is_the_rest(name):
    p = P[P != 0.5] if name in OF_RATES else P
    values = quantiles(name, p)
    assert np.isfinite(values).all()
    for each, at in zip(p, values.T, strict=True):
        above = MODELS[name].predict_exceedance(new_rows(name), at)
        # Of Student-t noise the distribution function is accurate to 1e-6 of the smaller tail.
        tail = min(each, 1.0 - each)
        error = np.abs(above - (1.0 - each))[has_digits(name, at)]
        assert error.size >= 2
        assert error.max() < 3e-6 * tail + 4e-16


@pytest.mark.parametrize("name", OF_SEVERAL)
def test_above_a_quantile_of_a_class_is_the_rest_up_to_a_node(name):
    model = MODELS[name]
    n_nodes = 8 * SHORT["n_chains"] * SHORT["n_draws"]
    p = np.array([0.02, 0.3, 0.5, 0.9])
    values = model.predict_quantiles(NEW, p)
    for each, at in zip(p, np.moveaxis(values, 2, 0), strict=True):
        for k in range(len(model.classes_)):
            above = model.predict_exceedance(NEW, at[:, k])[:, k]
            error = np.abs(above - (1.0 - each))[has_digits(name, at[:, k])]
            assert error.size >= 2
            assert error.max() < 2.0 / n_nodes


@pytest.mark.parametrize("name", RECIPES)
def test_what_is_above_falls_from_one_to_zero(name):
    model, rows = MODELS[name], new_rows(name)
    least, most = -np.inf, np.inf
    if name in OF_RATES:
        least = 0.0
    elif name not in OF_TARGETS:
        least, most = 0.0, 1.0
    between = [-2.0, 0.3, 0.5, 0.9, 4.0, 9.0, 12.0, 1e5]
    levels = np.sort([c for c in between if least < c < most])
    above = np.array([model.predict_exceedance(rows, c) for c in [least, *levels, most]])
    assert (above[0] == 1.0).all()
    assert (above[-1] == 0.0).all()
    assert (np.diff(above, axis=0) <= 1e-15).all()
    assert np.ptp(above[1:-1]) > 0.1
    for c in (-np.inf, np.inf, -1e308, 1e308):
        expected = model.predict_exceedance(rows, np.clip(c, least, most))
        np.testing.assert_allclose(model.predict_exceedance(rows, c), expected, atol=1e-12)


@pytest.mark.parametrize("name", RECIPES)
def test_each_row_has_its_own_threshold_and_nothing_else(name):
    model, rows = MODELS[name], new_rows(name)
    levels = 0.5 + 0.4 * np.sin(np.arange(len(rows)))
    if name in OF_TARGETS:
        levels = levels * 20.0
    above = model.predict_exceedance(rows, levels)
    several = name in OF_SEVERAL
    assert above.shape == ((len(rows), len(model.classes_)) if several else (len(rows),))
    for i, c in enumerate(levels):
        alone = model.predict_exceedance(rows[i : i + 1], c)
        np.testing.assert_allclose(alone[0], above[i], rtol=1e-10, atol=1e-12)
    for kind in (list, np.float32):
        same = model.predict_exceedance(rows, kind(levels))
        np.testing.assert_allclose(same, above, atol=1e-5 if kind is np.float32 else 0.0)
    np.testing.assert_array_equal(above, model.predict_exceedance(rows, levels))


@pytest.mark.parametrize("name", OF_TARGETS)
def test_targets_above_are_as_many_as_are_drawn(name):
    model, n = MODELS[name], 20_000
    drawn = model.sample_y(NEW, n, random_state=0)
    for c in (9.0, 11.0, 13.0):
        above = model.predict_exceedance(NEW, c)
        error = np.sqrt(np.maximum(above * (1.0 - above), 1.0 / n) / n)
        assert (np.abs((drawn > c).mean(axis=1) - above) < 5.0 * error).all()


def middles(values):
    """Return the middle of the largest gap between the values of each row, away from the ends."""
    ordered = np.sort(values, axis=1)
    n = ordered.shape[1]
    inner = ordered[:, n // 4 : 3 * n // 4]
    at = np.argmax(np.diff(inner, axis=1), axis=1)
    rows = np.arange(len(values))
    return 0.5 * (inner[rows, at] + inner[rows, at + 1])


@pytest.mark.parametrize("name", [*OF_RATES, *OF_TWO])
def test_at_the_training_rows_it_is_the_share_of_the_draws(name):
    model = MODELS[name]
    latent = model.trace_.latent.reshape(-1, len(model.X_train_)).T
    link = {"logit": expit, "trials": expit, "probit": ndtr}.get(name, np.exp)
    values = link(latent)
    levels = middles(values)
    above = model.predict_exceedance(model.X_train_, levels)
    assert 0.1 < above.min() < above.max() < 0.9
    np.testing.assert_allclose(above, (values > levels[:, None]).mean(axis=1), atol=1e-3)


@pytest.mark.parametrize("name", OF_SEVERAL)
def test_at_the_training_rows_it_is_the_share_of_the_draws_of_each_class(name):
    model = MODELS[name]
    latent = np.array([t.latent.reshape(-1, N).T for t in model.trace_])
    shares = {"one_vs_rest": expit, "one_vs_rest_probit": ndtr}.get(name, np.exp)(latent)
    shares = shares / shares.sum(axis=0)
    for k in range(len(shares)):
        levels = middles(shares[k])
        above = model.predict_exceedance(model.X_train_, levels)[:, k]
        assert 0.1 < above.min() < above.max() < 0.9
        expected = (shares[k] > levels[:, None]).mean(axis=1)
        # Jitter moves few nodes of a draw next to the threshold over it.
        n_draws = SHORT["n_chains"] * SHORT["n_draws"]
        np.testing.assert_allclose(above, expected, atol=0.5 / n_draws)


def test_one_of_two_classes_is_as_far_below_as_the_other_is_above():
    above = MODELS["softmax_of_two"].predict_exceedance(NEW, 0.3)
    below = MODELS["softmax_of_two"].predict_exceedance(NEW, 0.7)
    np.testing.assert_allclose(above[:, 0], 1.0 - below[:, 1], atol=1e-12)


def test_a_known_function_is_above_or_not():
    kernel = RBF(1.0, "fixed")
    model = quiet(MCMCGaussianProcessRegressor(kernel, **SHORT), [[0.0], [9.0]], [1, 2])
    above = model.predict_exceedance([[0.0], [9.0], [0.0]], [0.5, 2.5, 1.0 + 1e-3])
    np.testing.assert_array_equal(above, [1.0, 0.0, 0.0])


def test_the_unit_of_exposure_is_that_of_the_threshold():
    rows = NEW[:4]
    other = quiet(MCMCCoxProcessRegressor(**SHORT), X, COUNTS, exposure=EXPOSURE * 1024.0)
    np.testing.assert_allclose(
        other.predict_exceedance(rows, 1.5 / 1024.0),
        MODELS["poisson"].predict_exceedance(rows, 1.5),
        atol=1e-6,
    )


@pytest.mark.parametrize("name", ["gaussian", "poisson", "logit", "one_vs_rest"])
@pytest.mark.parametrize(
    ("threshold", "words"),
    [
        (np.nan, "threshold must be a number; got nan.*inf and -inf are allowed"),
        ([1.0, np.nan, np.nan], r"threshold must be a number; row 1 holds nan \(2 rows"),
        (None, "threshold must be a number, or a number for each row; got None"),
        (True, "threshold must be a number, or a number for each row; got True"),
        (np.ones(3) > 0.0, "threshold must be a number, or a number for each row; got array"),
        ("high", "threshold must be real numbers; got 'high'"),
        (1j, "threshold must be real numbers"),
        ([0.1, 0.9], r"threshold must be a number, or have shape \(3,\).*got shape \(2,\)"),
        (np.ones((3, 1)), r"got shape \(3, 1\)\. Make the column flat by numpy.ravel"),
        (np.ones((3, 3)), r"got shape \(3, 3\)"),
        (np.datetime64("2024-01-01"), "threshold must be real numbers"),
    ],
)
def test_what_is_no_threshold_is_refused(name, threshold, words):
    with pytest.raises(ValueError, match=words):
        MODELS[name].predict_exceedance(NEW[:3], threshold)


@pytest.mark.parametrize(
    "estimator",
    [MCMCGaussianProcessRegressor, MCMCGaussianProcessClassifier, MCMCCoxProcessRegressor],
)
def test_it_needs_a_fit(estimator):
    with pytest.raises(NotFittedError, match=f"{estimator.__name__} .* not fitted yet"):
        estimator().predict_exceedance(X, 0.5)


def test_series_and_missing_values():
    pandas = pytest.importorskip("pandas")
    model, rows = MODELS["gaussian"], NEW[:3]
    levels = pandas.Series([9.0, 10.0, 11.0], index=[7, 3, 5])
    np.testing.assert_array_equal(
        model.predict_exceedance(rows, levels), model.predict_exceedance(rows, levels.to_numpy())
    )
    with pytest.raises(ValueError, match="threshold must be"):
        model.predict_exceedance(rows, levels.astype("Float64").where(levels > 9.5))
