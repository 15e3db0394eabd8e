"""Leave-one-out estimates from one fit, against dense formulas, exact quadrature and refits."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from noisy_rows import noisy_rows
from scipy import stats
from scipy.special import expit, log_expit, logsumexp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
    MissingCapabilityError,
)
from skgpmcmc._prediction import _left_out, _lines
from skgpmcmc._prediction._dense import likelihood_params
from skgpmcmc._prediction._lines import RowsOfGroup
from skgpmcmc._prediction._registry import posterior_draws
from skgpmcmc.diagnostics._left_out import reweighted
from skgpmcmc.diagnostics._pareto import largest_good_shape
from skgpmcmc.estimators._left_out_rows import left_out_rows, log_likelihoods_of_rows

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:loo. Pareto:UserWarning"),
    pytest.mark.filterwarnings("ignore:.* inducing points are too few:UserWarning"),
]

SHORT = {"n_chains": 2, "n_warmup": 5, "n_draws": 6, "min_ess": None, "random_state": 0}
N_DRAWS = 12
N = 14
RNG = np.random.default_rng(7)
X, F, LABELS, THREE, TRIALS, SUCCESSES, EXPOSURE, COUNTS = noisy_rows(RNG, N)
WEIGHTS = RNG.integers(1, 4, N).astype(float)
ROUGH = ConstantKernel(1.0) * Matern([1.0, 1.0], nu=0.5)
# Rows of a 5 x 4 grid, six cells without data.
CELLS = RNG.permutation(np.argwhere(np.ones((5, 4))))[:N].astype(float)

ALONG_LINES = {
    "logit": (MCMCGaussianProcessClassifier(ROUGH), X, LABELS, {}),
    "logit, weights": (
        MCMCGaussianProcessClassifier(mean="constant"),
        X,
        LABELS,
        {"sample_weight": 0.7 * WEIGHTS},
    ),
    "probit, trials, weights": (
        MCMCGaussianProcessClassifier(link="probit"),
        X,
        SUCCESSES,
        {"trials": TRIALS, "sample_weight": WEIGHTS},
    ),
    "binomial": (MCMCGaussianProcessClassifier(), X, SUCCESSES, {"trials": TRIALS}),
    "one-vs-rest": (MCMCGaussianProcessClassifier(), X, THREE, {}),
    "softmax, weights": (
        MCMCGaussianProcessClassifier(multi_class="softmax"),
        X,
        THREE,
        {"sample_weight": WEIGHTS},
    ),
    "Student-t, known noise": (
        MCMCGaussianProcessRegressor(likelihood="student-t", alpha=0.1, normalize_y=True),
        X,
        40.0 + 7.0 * F,
        {},
    ),
    "Poisson, weights": (
        MCMCCoxProcessRegressor(ROUGH),
        X,
        COUNTS,
        {"exposure": EXPOSURE, "sample_weight": WEIGHTS},
    ),
    "Poisson, grid": (MCMCCoxProcessRegressor(representation="prior-white"), CELLS, COUNTS, {}),
    "negative binomial": (
        MCMCCoxProcessRegressor(likelihood="negative-binomial"),
        X,
        COUNTS,
        {"exposure": EXPOSURE},
    ),
}


def left_out(model, n_draws):
    """Log densities of each row given draws and the other rows, of each group."""
    return left_out_rows(model, n_draws, log_likelihoods_of_rows(model))


def fit(model, *data, **options):
    return clone(model).set_params(**SHORT).fit(*data, **options)


@pytest.fixture(scope="module")
def fitted():
    cache = {}

    def get(name):
        if name not in cache:
            model, inputs, y, options = ALONG_LINES[name]
            cache[name] = fit(model, inputs, y, **options)
        return cache[name]

    return get


def dense_covariance(model, theta):
    kernel = model._latent_kernel.clone_with_theta(theta[: model._latent_kernel.n_dims])
    K = kernel(model.X_train_)
    K[np.diag_indices(len(K))] *= 1.0 + model._jitter
    return K


def by_dense_quadrature(model, group, traces, draw):
    """log p(row with all copies, and once | e, other rows), from densities of the whole of f."""
    observed = model._observed
    rows = RowsOfGroup(group, observed.places(), observed.per_row.get("sample_weight"))
    given = model._structure, model._latent_kernel, model.X_train_
    functions = [posterior_draws(*given, t, model._jitter, N_DRAWS) for t in traces]
    params = [tuple(row) for row in likelihood_params(traces[0], N_DRAWS).tolist()]
    draws = [([f.latent(d) for f in functions], params[d]) for d in range(N_DRAWS)]
    sites = rows.sites(draws)
    theta = [trace.all_theta()[draw] for trace in traces]
    K = [dense_covariance(model, each) for each in theta]
    W = [f.usable_precisions(w) for f, w in zip(functions, sites.precisions, strict=True)]
    S = [np.linalg.inv(np.linalg.inv(k) + np.diag(w)) for k, w in zip(K, W, strict=True)]
    latents = [trace.latent.reshape(N_DRAWS, -1)[draw] for trace in traces]
    means = [trace.mean_offset().reshape(-1)[draw] for trace in traces]
    found = []
    for row, place in enumerate(rows.places):
        v = sites.weights[:, row]
        variance = sum(a**2 * s[place, place] for a, s in zip(v, S, strict=True))
        b = [a * s[place] / variance for a, s in zip(v, S, strict=True)]
        u = np.linspace(-40.0, 40.0, 8001)[:, np.newaxis] * math.sqrt(variance)
        f = [latent + u * each for latent, each in zip(latents, b, strict=True)]
        log_prior = sum(
            -0.5 * np.einsum("ui,ij,uj->u", each - m, np.linalg.inv(k), each - m)
            for each, m, k in zip(f, means, K, strict=True)
        )
        own = rows.log_likelihoods(f, params[draw])
        others = log_prior + np.delete(own, row, axis=1).sum(axis=1)
        copies = 1.0 if rows.weights is None else rows.weights[row]
        base = np.broadcast_to(observed.log_base, len(rows.places))[row]
        without = logsumexp(others)
        found.append(
            [
                logsumexp(others + own[:, row]) - without + copies * base,
                logsumexp(others + own[:, row] / copies) - without + base,
            ]
        )
    return np.array(found).T


@pytest.mark.parametrize("name", ALONG_LINES)
def test_density_along_lines_is_the_dense_one(name, fitted, monkeypatch):
    """By default up to some 1e-3; exactly, where the rule is refined until nothing changes."""
    model = fitted(name)
    found = left_out(model, N_DRAWS)
    monkeypatch.setattr(_lines, "_LARGEST_CHANGE", 1e-4)
    monkeypatch.setattr(_lines, "_LARGEST_CHANGE_OF_RATIO", 1e-4)
    monkeypatch.setattr(_lines, "_LOWEST_END", 16.0)
    monkeypatch.setattr(_lines, "_RANGE_BELOW_PEAK", 18.0)
    exact = left_out(model, N_DRAWS)
    parts = zip(found, exact, model._observed.groups, model._traces, strict=True)
    for part, exact_part, group, traces in parts:
        for draw in (0, 7):
            all_copies, one_copy = by_dense_quadrature(model, group, traces, draw)
            np.testing.assert_allclose(exact_part.all_copies[draw], all_copies, rtol=0, atol=1e-5)
            np.testing.assert_allclose(exact_part.one_copy[draw], one_copy, rtol=0, atol=1e-5)
            np.testing.assert_allclose(part.all_copies[draw], all_copies, rtol=0, atol=5e-3)
            np.testing.assert_allclose(part.one_copy[draw], one_copy, rtol=0, atol=5e-3)


@pytest.mark.parametrize("name", ["logit, weights", "softmax, weights", "Poisson, grid"])
def test_adaptive_quadrature_is_the_same(name, fitted, monkeypatch):
    model = fitted(name)
    expected = left_out(model, N_DRAWS)
    monkeypatch.setattr(_lines, "_N_REFINEMENTS", 0)
    monkeypatch.setattr(_lines, "_LOWEST_END", math.inf)  # no row has such ends
    for found, other in zip(left_out(model, N_DRAWS), expected, strict=True):
        np.testing.assert_allclose(found.all_copies, other.all_copies, rtol=0, atol=5e-3)
        np.testing.assert_allclose(found.one_copy, other.one_copy, rtol=0, atol=5e-3)


def test_rows_in_pieces_are_the_same(fitted, monkeypatch):
    model = fitted("softmax, weights")
    (expected,) = left_out(model, N_DRAWS)
    monkeypatch.setattr(_lines, "_CHUNK", 1)
    (found,) = left_out(model, N_DRAWS)
    np.testing.assert_allclose(found.all_copies, expected.all_copies, rtol=0, atol=1e-9)


@pytest.mark.parametrize("known", ["none", "weights", "noise"])
def test_gaussian_noise_is_that_of_fits_of_linear_algebra(known):
    """log p(y) - log p(y without the row's copies), with each copy as a row of its own."""
    weights = WEIGHTS if known == "weights" else None
    noise = 0.02 * (1.0 + np.arange(N)) if known == "noise" else None
    y = 40.0 + 7.0 * F
    model = fit(
        MCMCGaussianProcessRegressor(normalize_y=True, mean="constant"),
        X,
        y,
        sample_weight=weights,
        noise_variance=noise,
    )
    (found,) = left_out(model, N_DRAWS)
    copies = np.ones(N, dtype=int) if weights is None else weights.astype(int)
    rows = np.repeat(np.arange(N), copies)
    trace = model.trace_
    scaled = (y - model._y_mean) / model._y_scale
    places = model._observed.places()
    for draw in (0, 5, 11):
        theta = trace.all_theta()[draw]
        kernel = model._latent_kernel.clone_with_theta(theta[: model._latent_kernel.n_dims])
        K = kernel(model.X_train_)[np.ix_(places[rows], places[rows])]
        level = trace.layout.likelihood_params(theta)[0]
        extra = np.full(N, 1e-10) if noise is None else noise / model._y_scale**2
        K += np.diag(level + extra[rows])
        mean = trace.mean_offset().reshape(-1)[draw]

        def log_density(some, K=K, mean=mean):
            centre = np.full(len(some), mean)
            values = stats.multivariate_normal(centre, K[np.ix_(some, some)])
            units = len(some) * math.log(model._y_scale)
            return values.logpdf(scaled[rows[some]]) - units

        every = np.arange(len(rows))
        for row in range(N):
            others = every[rows != row]
            one = np.append(others, every[rows == row][0])
            expected = log_density(every) - log_density(others)
            assert found.all_copies[draw, row] == pytest.approx(expected, abs=1e-6)
            expected = log_density(one) - log_density(others)
            assert found.one_copy[draw, row] == pytest.approx(expected, abs=1e-6)


def test_of_noise_with_all_hyperparameters_fixed_the_estimate_is_exact():
    """Rasmussen and Williams (2006), equations 5.10 to 5.12; all weights are equal."""
    latent, variance = ConstantKernel(1.0, "fixed") * RBF(1.5, "fixed"), 0.5
    inputs = np.linspace(0.0, 3.0, 9)[:, np.newaxis]
    y = np.sin(2.0 * inputs[:, 0]) + 0.7 * RNG.standard_normal(9)
    estimate = fit(
        MCMCGaussianProcessRegressor(latent + WhiteKernel(variance, "fixed")), inputs, y
    ).loo()
    precision = np.linalg.inv(latent(inputs) + variance * np.eye(9))
    left_out = 1.0 / np.diag(precision)
    exact = stats.norm(y - precision @ y * left_out, np.sqrt(left_out)).logpdf(y)
    np.testing.assert_allclose(estimate.pointwise, exact, rtol=0, atol=1e-6)
    assert estimate.elpd_loo == pytest.approx(exact.sum(), abs=1e-5)
    assert estimate.se == pytest.approx(3.0 * exact.std())


def exact_left_out(log_likelihood, K, n_nodes=40):
    """log p(y_i | y_-i) of each row, by Gauss-Hermite quadrature over all latent values."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
    n = len(K)
    z = np.array(list(itertools.product(nodes, repeat=n)))
    log_weight = np.log(np.array(list(itertools.product(weights, repeat=n)))).sum(axis=1)
    values = log_likelihood(z @ np.linalg.cholesky(K).T)
    total = logsumexp(log_weight + values.sum(axis=1))
    return np.array(
        [total - logsumexp(log_weight + np.delete(values, i, axis=1).sum(axis=1)) for i in range(n)]
    )


POINTS = np.array([[0.0], [0.7], [1.6]])
FIXED = ConstantKernel(2.0, "fixed") * RBF(1.0, "fixed")


@pytest.mark.parametrize(
    "kind",
    [
        "classes",
        pytest.param("counts", marks=pytest.mark.second_stage),
        pytest.param("Student-t", marks=pytest.mark.second_stage),
    ],
)
def test_exact_values_of_three_rows(kind):
    """Hyperparameters fixed: only f is averaged over, and the errors are those that it reports."""
    long = {"n_chains": 2, "n_warmup": 50, "n_draws": 300, "min_ess": None, "random_state": 0}
    K = FIXED(POINTS)
    if kind == "classes":
        y = np.array([1.0, -1.0, 1.0])
        model = MCMCGaussianProcessClassifier(FIXED, representation="prior-white", **long)
        exact = exact_left_out(lambda f: log_expit(y * f), K)
    elif kind == "counts":
        y = np.array([4.0, 0.0, 2.0])
        model = MCMCCoxProcessRegressor(FIXED, mean="zero", representation="prior-white", **long)
        exact = exact_left_out(lambda f: stats.poisson(np.exp(f)).logpmf(y), K)
    else:
        y = np.array([1.0, -0.5, 4.0])
        noise = WhiteKernel(0.3, "fixed")
        model = MCMCGaussianProcessRegressor(FIXED + noise, likelihood="student-t", **long)
        exact = exact_left_out(lambda f: stats.t(4.0, f, math.sqrt(0.3)).logpdf(y), K, 80)
    estimate = model.fit(POINTS, y).loo()
    assert estimate.mcse.max() < 0.1
    assert (np.abs(estimate.pointwise - exact) < 5.0 * estimate.mcse + 1e-3).all()


def test_shares_of_independent_models(fitted):
    """The probability of each class without the row, normalised as in `predict_proba`."""
    model = fitted("one-vs-rest")
    parts = [reweighted(*part, np.repeat([0, 1], SHORT["n_draws"])) for part in left_out(model, 12)]
    codes = np.searchsorted(model.classes_, THREE)
    probability = np.array(
        [
            np.where(codes == c, np.exp(part.log_density), 1.0 - np.exp(part.log_density))
            for c, part in enumerate(parts)
        ]
    )
    expected = np.log(probability[codes, np.arange(N)] / probability.sum(axis=0))
    estimate = model.loo()
    np.testing.assert_allclose(estimate.pointwise, expected, rtol=1e-12)
    np.testing.assert_array_equal(estimate.pareto_k, np.max([p.shape for p in parts], axis=0))


def test_weights_count_rows(fitted):
    model = fitted("Poisson, weights")
    estimate = model.loo()
    (part,) = left_out(model, N_DRAWS)
    single = reweighted(*part, np.repeat([0, 1], SHORT["n_draws"]))
    np.testing.assert_allclose(estimate.pointwise, WEIGHTS * single.log_density, rtol=1e-12)
    np.testing.assert_allclose(estimate.mcse, WEIGHTS * single.mcse, rtol=1e-12)
    assert estimate.n_data_points == N
    assert estimate.p_loo > 0.0


def test_rows_of_weight_zero_are_no_data():
    weights = np.where(np.arange(N) % 3, 1.0, 0.0)
    kept = weights > 0.0
    first = fit(MCMCCoxProcessRegressor(), X, COUNTS, sample_weight=weights).loo()
    second = fit(MCMCCoxProcessRegressor(), X[kept], COUNTS[kept]).loo()
    np.testing.assert_allclose(first.pointwise, second.pointwise, rtol=1e-9)


def test_inducing_points_weigh_by_densities_given_the_function_there():
    model = fit(MCMCCoxProcessRegressor(n_inducing=5), X, COUNTS, exposure=EXPOSURE)
    (part,) = left_out(model, N_DRAWS)
    np.testing.assert_array_equal(part.all_copies, part.one_copy)
    draws = posterior_draws(
        model._structure, model._latent_kernel, model.X_train_, model.trace_, 1e-6, N_DRAWS
    )
    places = model._observed.places()
    for _, mean, variance in draws.chunks(model.X_train_[places]):
        expected = model._likelihood.log_density_given_draws(
            COUNTS, mean, variance, exposure=EXPOSURE
        )
        np.testing.assert_allclose(part.all_copies, expected, rtol=1e-9)
    assert np.isfinite(model.loo().elpd_loo)


@pytest.mark.parametrize("noise", [0.01, 0.3])
def test_inducing_points_with_gaussian_noise_are_integrated_out(noise):
    """Against the model that the points stand for, written out as a dense matrix."""
    points = np.linspace(X.min(axis=0), X.max(axis=0), 6)
    smooth = ConstantKernel(1.3, "fixed") * RBF(0.7, "fixed")
    narrow = noise * (1.0 - 1e-7), noise * (1.0 + 1e-7)
    y, repeats = np.concatenate([F, [0.4]]), np.concatenate([X, X[:1]])
    kernel = smooth + WhiteKernel(noise, narrow)
    model = fit(MCMCGaussianProcessRegressor(kernel, n_inducing=points), repeats, y)
    cross = smooth(repeats, points)
    explained = cross @ np.linalg.solve(smooth(points) + 1e-12 * np.eye(6), cross.T)
    # Rows with equal inputs share what the points do not explain.
    same = (repeats[:, np.newaxis] == repeats).all(axis=2)
    covariance = np.where(same, smooth(repeats), explained) + noise * np.eye(N + 1)
    inverse = np.linalg.inv(covariance)
    variance = 1.0 / np.diag(inverse)
    expected = stats.norm.logpdf(variance * (inverse @ y), scale=np.sqrt(variance))
    np.testing.assert_allclose(model.loo().pointwise, expected, rtol=1e-4, atol=1e-4)
    kept = model.to_arviz()["log_likelihood"]["y"].values.mean(axis=(0, 1))
    np.testing.assert_allclose(kept, expected, rtol=1e-4, atol=1e-4)


def test_fewer_draws(fitted):
    model = clone(fitted("logit")).set_params(**SHORT, max_prediction_draws=5).fit(X, LABELS)
    assert model.loo().n_samples == 5
    with pytest.raises(ValueError, match="two draws at least, and max_prediction_draws=1"):
        model.set_params(max_prediction_draws=1).loo()


def test_threads_do_not_matter(fitted):
    model = fitted("negative binomial")
    expected = model.loo().pointwise
    try:
        np.testing.assert_array_equal(model.set_params(n_jobs=2).loo().pointwise, expected)
    finally:
        model.set_params(n_jobs=None)


def test_too_many_rows_are_refused_at_once(fitted, monkeypatch):
    monkeypatch.setattr(_left_out, "_MOST_PAIRS", 20)
    with pytest.raises(MissingCapabilityError, match="each of 14 rows with 7 latent values"):
        fitted("logit").loo()


def test_needs_a_fitted_model():
    with pytest.raises(NotFittedError):
        MCMCCoxProcessRegressor().loo()


@pytest.mark.filterwarnings("default:loo. Pareto:UserWarning")
def test_warns_of_large_shapes(fitted):
    """Twelve draws tell nothing of tails."""
    few = "loo: Pareto k cannot be judged: 12 draws are too few, it needs 100 at least"
    with pytest.warns(UserWarning, match=rf"{few}.* raise n_draws \(now 6\)\.$"):
        estimate = fitted("logit").loo()
    assert estimate.warning
    assert few.removeprefix("loo: ") in repr(estimate)
    assert estimate.good_k >= 0.0


@pytest.mark.filterwarnings("default:loo. Pareto:UserWarning")
def test_advice_names_what_limits_the_draws(fitted, monkeypatch):
    model = fitted("logit")
    monkeypatch.setattr(model, "max_prediction_draws", 8)
    with pytest.warns(UserWarning, match=r"raise max_prediction_draws \(now 8 draws\)"):
        model.loo()


@pytest.mark.parametrize(("n_draws", "good"), [(2, 0.0), (5, 0.0), (10, 0.0), (100, 0.5)])
def test_no_draws_allow_a_negative_shape(n_draws, good):
    assert largest_good_shape(n_draws) == good


REFITS = {
    "classes": (MCMCGaussianProcessClassifier(), lambda f, rng: rng.random(f.shape) < expit(3 * f)),
    "counts": (MCMCCoxProcessRegressor(), lambda f, rng: rng.poisson(np.exp(1.0 + f))),
    "numbers": (
        MCMCGaussianProcessRegressor(),
        lambda f, rng: f + 0.3 * rng.standard_normal(f.shape),
    ),
    "Student-t": (
        MCMCGaussianProcessRegressor(likelihood="student-t"),
        lambda f, rng: f + 0.2 * rng.standard_t(3, f.shape),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", REFITS)
def test_fits_without_each_row(name):
    """Both have Monte Carlo errors: of refits that of the mean density over independent chains."""
    difference, mcse, errors = differences_from_refits(name)
    # Four chains tell the error of their mean within a factor of two: pooled over the rows.
    pooled = np.maximum(errors, np.sqrt(np.mean(np.square(errors))))
    assert (np.abs(difference) < 5.0 * np.hypot(mcse, pooled)).all()
    # All rows of the one fit share its draws, whose errors may all have the same sign.
    error_of_mean = np.hypot(mcse.mean(), np.sqrt(np.mean(np.square(errors)) / len(errors)))
    assert 4.0 * error_of_mean < 0.02
    assert abs(difference.mean()) < 0.02


def differences_from_refits(name):
    """Return loo minus log densities under refits, and the standard errors of both, of each row."""
    model, draw = REFITS[name]
    rng = np.random.default_rng(11)
    inputs = np.sort(rng.uniform(0.0, 6.0, 30))[:, np.newaxis]
    y = draw(np.sin(1.5 * inputs[:, 0]), rng)
    long = {"n_chains": 4, "n_warmup": 200, "n_draws": 500, "min_ess": None}
    # The errors of the one fit do not cancel in means over the rows: it has more draws.
    longer = {**long, "n_draws": 2000, "max_prediction_draws": None, "random_state": 0}
    estimate = clone(model).set_params(**longer).fit(inputs, y).loo()
    refits, errors = [], []
    for row in range(len(y)):
        others = np.arange(len(y)) != row
        refit = clone(model).set_params(**long, random_state=1 + row)
        refit.fit(inputs[others], y[others])
        each = np.array(
            [
                np.exp(one_chain(refit, chain).log_predictive_density(inputs[[row]], y[[row]])[0])
                for chain in range(4)
            ]
        )
        refits.append(np.log(each.mean()))
        errors.append(each.std(ddof=1) / 2.0 / each.mean())
    return estimate.pointwise - np.array(refits), estimate.mcse, np.array(errors)


def one_chain(model, chain):
    """Return a copy of a fitted estimator that averages over one of its chains."""
    other = clone(model)
    other.__dict__.update(model.__dict__)
    names = ("theta", "latent", "log_likelihood", "complete_data_log_likelihood", "collapsed_mean")
    traces = []
    for trace in model._traces[0]:
        values = {name: getattr(trace, name) for name in names}
        some = {n: None if v is None else v[[chain]] for n, v in values.items()}
        traces.append(type(trace)(trace.layout, *some.values(), trace.moved[[chain]]))
    other._traces, other.trace_ = [traces], traces[0]
    return other
