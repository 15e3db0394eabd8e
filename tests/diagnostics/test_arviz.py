"""The posterior in ArviZ's data structures, of ArviZ 0.18 to 1.x."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pytest
from noisy_rows import noisy_rows
from scipy import stats
from scipy.special import expit, log_expit, log_ndtr, log_softmax, ndtr
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
    MissingCapabilityError,
)
from skgpmcmc._prediction import _left_out
from skgpmcmc.estimators._left_out_rows import left_out_rows, log_likelihoods_of_rows

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # ArviZ announces its next version
    az = pytest.importorskip("arviz")

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SHORT = {"n_chains": 2, "n_warmup": 5, "n_draws": 30, "random_state": 0}
N = 18
RNG = np.random.default_rng(5)
X, F, LABELS, THREE, TRIALS, SUCCESSES, EXPOSURE, COUNTS = noisy_rows(RNG, N)
WHOLE = RNG.integers(0, 3, N).astype(float)
FRACTIONS = WHOLE * 0.7
KEPT = np.flatnonzero(WHOLE)
# Rows of a 5 x 4 grid, two cells without data.
CELLS = RNG.permutation(np.argwhere(np.ones((5, 4))))[:N].astype(float)


def classifier(**options):
    return MCMCGaussianProcessClassifier(**options, **SHORT)


def regressor(**options):
    return MCMCGaussianProcessRegressor(normalize_y=True, **options, **SHORT)


def cox(**options):
    return MCMCCoxProcessRegressor(**options, **SHORT)


def noise(model, data):
    """Squared scale of the noise in the units of y, of each draw."""
    return model._y_scale**2 * data["posterior"]["k2__noise_level"].values[..., None]


def signs(y, positive):
    return np.where(np.asarray(y) == positive, 1.0, -1.0)


def logit(model, data, f, y):
    return log_expit(signs(y, "up") * f)


def probit(model, data, f, y):
    return log_ndtr(signs(y, "up") * f)


def binomial(model, data, f, y):
    return stats.binom(TRIALS, expit(f)).logpmf(y)


def binomial_probit(model, data, f, y):
    return stats.binom(TRIALS[KEPT], ndtr(f)).logpmf(y)


def one_vs_rest(model, data, f, y):
    return log_expit(np.stack([signs(y, c) for c in "abc"]) * f)


def softmax(model, data, f, y):
    codes = np.searchsorted(["a", "b", "c"], y)
    return np.take_along_axis(log_softmax(f, axis=2), codes[None, None, None], axis=2)[:, :, 0]


def gaussian(model, data, f, y):
    known = model._y_scale**2 * 0.01 * np.arange(N)[data["log_likelihood"]["row"].values]
    return stats.norm(f, np.sqrt(noise(model, data) + known)).logpdf(y)


def student_t(model, data, f, y):
    nu = data["posterior"]["degrees_of_freedom"].values[..., None]
    return stats.t(nu, f, np.sqrt(noise(model, data))).logpdf(y)


def poisson(model, data, f, y):
    return stats.poisson(data["constant_data"]["exposure"].values * np.exp(f)).logpmf(y)


def negative_binomial(model, data, f, y):
    r = 1.0 / data["posterior"]["dispersion"].values[..., None]
    return stats.nbinom(r, r / (r + EXPOSURE * np.exp(f))).logpmf(y)


CASES = {
    "logit": (logit, classifier(), X, LABELS, {}),
    "logit, weights": (logit, classifier(mean="constant"), X, LABELS, {"sample_weight": WHOLE}),
    "probit, weights": (probit, classifier(link="probit"), X, LABELS, {"sample_weight": FRACTIONS}),
    "binomial": (binomial, classifier(), X, SUCCESSES, {"trials": TRIALS}),
    "binomial, probit, weights": (
        binomial_probit,
        classifier(link="probit"),
        X,
        SUCCESSES,
        {"trials": TRIALS, "sample_weight": WHOLE},
    ),
    "one-vs-rest": (one_vs_rest, classifier(), X, THREE, {"sample_weight": WHOLE}),
    "softmax": (
        softmax,
        classifier(multi_class="softmax"),
        X,
        THREE,
        {"sample_weight": WHOLE},
    ),
    "Gaussian, known noise, weights": (
        gaussian,
        regressor(alpha=0.01 * np.arange(N)),
        X,
        40.0 + 7.0 * F,
        {"sample_weight": FRACTIONS},
    ),
    "Student-t": (
        student_t,
        regressor(likelihood="student-t", degrees_of_freedom=None),
        X,
        40.0 + 7.0 * F,
        {},
    ),
    "Poisson, weights": (
        poisson,
        cox(),
        X,
        COUNTS,
        {"exposure": EXPOSURE, "sample_weight": FRACTIONS},
    ),
    "Poisson, grid": (poisson, cox(representation="prior-white"), CELLS, COUNTS, {}),
    "negative binomial": (
        negative_binomial,
        cox(likelihood="negative-binomial"),
        X,
        COUNTS,
        {"exposure": EXPOSURE},
    ),
}


@pytest.fixture(scope="module")
def fitted():
    """Fit each case once."""
    cache = {}

    def get(name):
        if name not in cache:
            _, model, inputs, y, options = CASES[name]
            model.fit(inputs, y, **options)
            cache[name] = model, model.to_arviz("conditional")
        return cache[name]

    return get


def weights_of(name):
    return CASES[name][4].get("sample_weight", np.ones(N))


@pytest.mark.parametrize("name", CASES)
def test_log_likelihood_of_each_row(name, fitted):
    """By scipy's distributions from what was exported: values, order, units, weights."""
    model, data = fitted(name)
    expected, _, _, y, _ = CASES[name]
    weights = weights_of(name)
    kept = np.flatnonzero(weights)
    latent = data["posterior"]["latent"].values
    f = latent[..., data["constant_data"]["point_of_row"].values]
    values = expected(model, data, f, y[kept]) * weights[kept]
    np.testing.assert_allclose(data["log_likelihood"]["y"].values, values, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(data["log_likelihood"]["row"].values, kept)


@pytest.mark.parametrize("name", [name for name in CASES if name != "softmax"])
def test_rows_sum_to_the_log_likelihood_of_the_chain(name, fitted):
    model, data = fitted(name)
    weights = weights_of(name)
    constant = 0.0
    if hasattr(model, "_y_scale"):  # the chain's density is that of normalised targets
        constant = -np.log(model._y_scale) * weights.sum()
    if name == "binomial, probit, weights":  # the chain's is that of single trials
        constant = weights @ stats.binom(TRIALS, 0.5).logpmf(SUCCESSES)
        constant -= weights @ TRIALS * np.log(0.5)
    traces = model.trace_ if isinstance(model.trace_, list) else [model.trace_]
    for c, trace in enumerate(traces):
        rows = data["log_likelihood"]["y"].values
        lp = data["sample_stats"]["lp"].values
        if len(traces) > 1:
            rows, lp = rows[:, :, c], lp[:, :, c]
        expected = trace.log_likelihood + constant
        np.testing.assert_allclose(rows.sum(axis=2), expected, rtol=1e-9, atol=1e-9)
        density = trace.complete_data_log_likelihood + constant
        np.testing.assert_allclose(lp, density, rtol=1e-9, atol=1e-9)


def test_density_of_coupled_functions_is_the_joint_one(fitted):
    """One likelihood, and a prior of each function."""
    model, data = fitted("softmax")
    expected = data["log_likelihood"]["y"].values.sum(axis=2)
    for c, trace in enumerate(model.trace_):
        for draw in np.ndindex(expected.shape):
            kernel = model._latent_kernel.clone_with_theta(trace.theta[draw])
            K = kernel(model.X_train_)
            K[np.diag_indices(len(K))] *= 1.0 + model._jitter
            f = data["posterior"]["latent"].values[(*draw, c)]
            expected[draw] += stats.multivariate_normal(cov=K, allow_singular=True).logpdf(f)
    np.testing.assert_allclose(data["sample_stats"]["lp"].values, expected, rtol=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_data_are_those_given(name, fitted):
    model, data = fitted(name)
    _, _, inputs, y, options = CASES[name]
    kept = np.flatnonzero(weights_of(name))
    observed, constant = data["observed_data"], data["constant_data"]
    np.testing.assert_array_equal(observed["y"].values, y[kept])
    assert observed["y"].dtype.kind in "biufU"
    np.testing.assert_array_equal(constant["X"].values, inputs[kept])
    np.testing.assert_array_equal(constant["X_train"].values, model.X_train_)
    names = set(constant.data_vars) - {"X", "X_train", "point_of_row"}
    is_cox = isinstance(model, MCMCCoxProcessRegressor)
    assert names == options.keys() | ({"exposure"} if is_cox else set())
    for option in options:
        np.testing.assert_array_equal(constant[option].values, options[option][kept])


@pytest.mark.parametrize("name", CASES)
def test_hyperparameters(name, fitted):
    model, data = fitted(name)
    posterior = data["posterior"]
    assert set(posterior.data_vars) == model.posterior_.keys() | {"latent"}
    several = ("class",) if isinstance(model.trace_, list) else ()
    for variable, draws in model.posterior_.items():
        inner = ("feature",) if "length_scale" in variable else ()
        assert posterior[variable].dims == ("chain", "draw", *several, *inner)
        np.testing.assert_array_equal(posterior[variable].values, draws)
    assert posterior["latent"].dims == ("chain", "draw", *several, "point")
    if several:
        assert posterior["class"].values.tolist() == ["a", "b", "c"]


def test_the_latent_function_is_in_the_units_of_y(fitted):
    model, data = fitted("Student-t")
    latent = data["posterior"]["latent"].mean(("chain", "draw")).values
    np.testing.assert_allclose(latent, model.predict_latent(model.X_train_), rtol=1e-3)
    assert 30.0 < latent.mean() < 50.0


def test_features_have_their_names():
    pandas = pytest.importorskip("pandas")
    data = cox().fit(pandas.DataFrame(X, columns=["age", "height"]), COUNTS).to_arviz()
    assert data["posterior"]["feature"].values.tolist() == ["age", "height"]
    assert data["constant_data"]["X"].sel(feature="height").values.tolist() == X[:, 1].tolist()


def test_no_hyperparameters_and_no_columns():
    """A kernel on objects, all of it fixed."""

    class Letters(RBF):
        requires_vector_input = False

        def __call__(self, X, Y=None, eval_gradient=False):
            lengths = [
                np.array([[float(len(word))] for word in Z]) for Z in (X, Y) if Z is not None
            ]
            return super().__call__(*lengths, eval_gradient=eval_gradient)

        def diag(self, X):
            return np.ones(len(X))

    words = np.array(["a", "bb", "ccc", "dddd"], dtype=object)
    model = cox(kernel=Letters(1.0, "fixed"), mean="zero")
    data = model.fit(words, [1, 0, 4, 2]).to_arviz()
    assert set(data["posterior"].data_vars) == {"latent"}
    assert "X" not in data["constant_data"]
    assert data["constant_data"]["point_of_row"].values.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("name", ["logit, weights", "softmax", "one-vs-rest", "Student-t"])
@pytest.mark.filterwarnings("ignore")  # ArviZ about few draws, matplotlib about ArviZ
def test_what_arviz_makes_of_it(name, fitted):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    model, data = fitted(name)
    hyperparameters = list(model.posterior_)
    table = az.summary(data, var_names=hyperparameters)
    assert len(table) == sum(d[0, 0].size for d in model.posterior_.values())
    az.plot_trace(data, var_names=hyperparameters)
    matplotlib.pyplot.close("all")
    assert np.isfinite(elpd(az.loo(data)))


LEFT_OUT_BY_DEFAULT = ("logit, weights", "one-vs-rest", "softmax", "Gaussian, known noise, weights")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in LEFT_OUT_BY_DEFAULT else pytest.mark.second_stage)
        for name in CASES
    ],
)
def test_leave_one_out_log_likelihoods(name, fitted):
    """All that differs by default: densities of rows given the others, of all draws."""
    model, conditional = fitted(name)
    data = model.to_arviz()
    for group in ("posterior", "sample_stats", "observed_data", "constant_data"):
        for variable in conditional[group].data_vars:
            np.testing.assert_array_equal(data[group][variable], conditional[group][variable])
    values = data["log_likelihood"]["y"]
    assert values.dims == conditional["log_likelihood"]["y"].dims
    parts = left_out_rows(
        model, SHORT["n_chains"] * SHORT["n_draws"], log_likelihoods_of_rows(model)
    )
    expected = [part.all_copies.reshape(SHORT["n_chains"], -1, len(values.row)) for part in parts]
    expected = expected[0] if len(parts) == 1 else np.stack(expected, axis=2)
    np.testing.assert_array_equal(values, expected)
    np.testing.assert_array_equal(model.to_arviz("leave-one-out")["log_likelihood"]["y"], values)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["logit", "binomial", "Student-t", "negative binomial"])
def test_arviz_agrees_with_loo(name, fitted):
    """Up to the length of the smoothed tail, which ArviZ takes from the hyperparameters."""
    model, _ = fitted(name)
    estimate = model.loo()
    error = np.sqrt((estimate.mcse**2).sum())
    assert abs(elpd(az.loo(model.to_arviz())) - estimate.elpd_loo) < error


def test_too_many_rows_are_exported_given_the_latent_function(fitted, monkeypatch):
    model, data = fitted("logit")
    monkeypatch.setattr(_left_out, "_MOST_PAIRS", 20)
    found = model.to_arviz()["log_likelihood"]["y"]
    np.testing.assert_array_equal(found, data["log_likelihood"]["y"])
    with pytest.raises(MissingCapabilityError, match="each of 18 rows with 9 latent values"):
        model.to_arviz("leave-one-out")


def test_kinds_of_log_likelihoods(fitted):
    with pytest.raises(
        ValueError, match="one of 'auto', 'leave-one-out', 'conditional'; got 'loo'"
    ):
        fitted("logit")[0].to_arviz("loo")


def elpd(loo):
    """ArviZ 1.0 renamed it."""
    return float(loo.elpd if hasattr(loo, "elpd") else loo.elpd_loo)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_leave_one_out_is_that_of_gaussian_algebra():
    """Rasmussen and Williams (2006), equations 5.10 to 5.12; all hyperparameters fixed."""
    rng = np.random.default_rng(3)
    n = 30
    inputs = np.linspace(0.0, 3.0, n)[:, None]
    y = np.sin(2.0 * inputs[:, 0]) + 0.7 * rng.standard_normal(n)
    latent, variance = ConstantKernel(1.0, "fixed") * RBF(1.5, "fixed"), 0.5
    kernel = latent + WhiteKernel(variance, "fixed")
    model = MCMCGaussianProcessRegressor(kernel, min_ess=None, random_state=0).fit(inputs, y)
    data = model.to_arviz("conditional")
    precision = np.linalg.inv(latent(inputs) + variance * np.eye(n))
    left_out = 1.0 / np.diag(precision)
    # Fourth moments of the ratios are finite if the posterior variances are below a quarter of
    # the noise: then the Monte Carlo error can be estimated.
    posterior_variance = variance - variance**2 * np.diag(precision)
    assert posterior_variance.max() < variance / 4.0
    exact = stats.norm(y - precision @ y * left_out, np.sqrt(left_out)).logpdf(y).sum()
    # The importance-sampling formula by hand, and its Monte Carlo error: draws are independent.
    ratios = np.exp(-data["log_likelihood"]["y"].values.reshape(-1, n))
    relative = ratios / ratios.mean(axis=0)
    error = relative.sum(axis=1).std() / np.sqrt(len(ratios))
    assert error < 0.1
    assert abs(-np.log(ratios.mean(axis=0)).sum() - exact) < 4 * error
    assert abs(elpd(az.loo(data)) - exact) < 4 * error
    # With f integrated out all weights are the same.
    assert elpd(az.loo(model.to_arviz())) == pytest.approx(exact, abs=1e-5)
    # What a sum of in-sample densities would be is far from it.
    in_sample = np.log((1.0 / ratios).mean(axis=0)).sum()
    assert in_sample - exact > 8 * error


def test_needs_arviz_and_a_fitted_model(fitted, monkeypatch):
    with pytest.raises(ValueError, match="not fitted"):
        cox().to_arviz()
    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(ImportError, match=r'pip install "skgpmcmc\[arviz\]"'):
        fitted("logit")[0].to_arviz()
