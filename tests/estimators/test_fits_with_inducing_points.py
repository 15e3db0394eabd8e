"""Estimators whose latent functions are sampled through inducing points: what works as before."""

import functools
import itertools
import os
import pickle
import signal
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from foreign import Nearness
from problems import LIKELIHOODS, make_model
from rotation import in_turn, one_in
from scipy import sparse, stats
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
)
from skgpmcmc._model._model import LatentGaussianModel
from skgpmcmc._running._chains import run_chains
from skgpmcmc._sampling._latent_functions import LatentFunctionsGibbs
from skgpmcmc._sampling._settings import SamplerSettings
from skgpmcmc.estimators import _inducing
from skgpmcmc.estimators._left_out_rows import functions_at_points
from skgpmcmc.likelihoods import BernoulliLogit

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:.*inducing points are too few:UserWarning"),
]

RNG = np.random.default_rng(0)
N, M = 25, 6
X = RNG.uniform(-2.0, 2.0, (N, 2))
F = np.sin(2.0 * X[:, 0])
COUNTS = RNG.poisson(np.exp(F))


SHORT = {"n_chains": 2, "n_warmup": 6, "n_draws": 6, "random_state": 0, "n_inducing": X[:M]}
CLASSES = np.digitize(F, [-0.5, 0.5])
FITS = {
    "numbers": (
        MCMCGaussianProcessRegressor(normalize_y=True, **SHORT),
        F + 0.1 * RNG.standard_normal(N),
    ),
    "labels": (MCMCGaussianProcessClassifier(**SHORT), np.where(F > 0.0, "up", "down")),
    "one-vs-rest": (MCMCGaussianProcessClassifier(**SHORT), CLASSES),
    "softmax": (MCMCGaussianProcessClassifier(multi_class="softmax", **SHORT), CLASSES),
    "counts": (MCMCCoxProcessRegressor(**SHORT), COUNTS),
}


@pytest.fixture(params=FITS, scope="module")
def fitted(request):
    estimator, y = FITS[request.param]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(X, y), y


def test_predictions(fitted):
    model, y = fitted
    assert np.isfinite(model.score(X, y))
    mean, covariance = model.predict_latent(X, return_cov=True)
    assert mean.shape[0] == N
    std = model.predict_latent(X, return_std=True)[1]
    diagonal = np.einsum("ii...->i...", covariance)
    np.testing.assert_allclose(std**2, diagonal, rtol=1e-8)
    assert model.sample_y(X, 3, random_state=0).shape == (N, 3)
    assert "latent[worst]" in str(model.summary())
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_latent(X), model.predict_latent(X))
    np.testing.assert_array_equal(again._structure.points, model._structure.points)


def test_arviz(fitted):
    pytest.importorskip("arviz")
    model, _ = fitted
    data = model.to_arviz()
    values = data["log_likelihood"]["y"].values
    assert values.shape[:2] == (2, 6)
    assert values.shape[-1] == N
    assert np.isfinite(values).all()
    values = model.to_arviz("conditional")["log_likelihood"]["y"].values
    assert data["posterior"]["latent"].sizes["point"] == M
    np.testing.assert_array_equal(data["constant_data"]["X_train"], model._structure.points)
    functions = functions_at_points(model)
    for number, draws in enumerate(functions):
        prior = np.zeros(12)
        for one in draws:
            for d in range(12):
                kernel = model._latent_kernel.clone_with_theta(one.theta[d, : one._kernel.n_dims])
                K = kernel(one._X)
                K[np.diag_indices(M)] *= 1.0 + 1e-8
                normal = stats.multivariate_normal(np.full(M, one._mean[d]), K, allow_singular=True)
                prior[d] += normal.logpdf(one._values[d])
        several = len(functions) > 1
        lp, rows = data["sample_stats"]["lp"].values, values
        lp, rows = (lp[..., number], rows[..., number, :]) if several else (lp, rows)
        np.testing.assert_allclose(lp.reshape(-1), rows.sum(axis=-1).reshape(-1) + prior, rtol=1e-5)


def test_rows_of_numbers():
    estimator, y = FITS["numbers"]
    model = estimator.fit(X, y)
    functions = functions_at_points(model)
    (found,) = model._observed.log_densities(model._traces, functions, model.X_train_)
    ((draws,),) = functions
    scaled = (y - model._y_mean) / model._y_scale
    for d in range(12):
        mean, variance = (
            part[model._observed.places()] for part in draws.at_rows(model.X_train_, d)
        )
        noise = np.exp(draws.theta[d, -1])
        expected = stats.norm.logpdf(scaled, mean, np.sqrt(variance + noise + model.alpha))
        np.testing.assert_allclose(
            found.reshape(12, N)[d], expected - np.log(model._y_scale), rtol=1e-6
        )


def test_rows_of_classes_that_share_a_likelihood():
    estimator, y = FITS["softmax"]
    model = estimator.fit(X, y)
    functions = functions_at_points(model)
    (found,) = model._observed.log_densities(model._traces, functions, model.X_train_)
    (functions,) = functions
    normal = np.random.default_rng(1).standard_normal((20000, 3, 1))
    moments = np.array([one.at_rows(model.X_train_, 3) for one in functions])
    mean, variance = np.moveaxis(moments[..., model._observed.places()], 1, 0)
    f = np.exp(mean + np.sqrt(variance) * normal)
    each = f[:, y, np.arange(N)] / f.sum(axis=1)
    error = each.std(axis=0) / np.sqrt(len(each))
    probability = np.exp(found.reshape(12, N)[3])
    assert (np.abs(probability - each.mean(axis=0)) < 5.0 * error + 2e-3).all()


# ------------------------------------------------------------------ n_inducing


ROWS = np.random.default_rng(1).uniform(-2.0, 2.0, (60, 2))
SMOOTH = np.sin(ROWS[:, 0])
TARGETS = {
    MCMCGaussianProcessRegressor: SMOOTH + 0.1 * np.random.default_rng(2).normal(size=60),
    MCMCGaussianProcessClassifier: SMOOTH + 0.3 * np.random.default_rng(2).normal(size=60) > 0.0,
    MCMCCoxProcessRegressor: np.random.default_rng(2).poisson(np.exp(SMOOTH)),
}
LENGTH = {"n_chains": 2, "n_warmup": 20, "n_draws": 20, "random_state": 0}
SHORT_LENGTH = {"n_chains": 2, "n_warmup": 6, "n_draws": 6, "random_state": 0}
each_estimator = pytest.mark.parametrize("estimator", TARGETS)


def fit_rows(estimator=MCMCGaussianProcessRegressor, **options):
    return estimator(**LENGTH | options).fit(ROWS, TARGETS[estimator])


@pytest.fixture
def short_pilots(monkeypatch):
    """Points are chosen by runs of a few iterations: which ones they are does not matter."""
    monkeypatch.setattr(_inducing, "_N_WARMUP", 10)
    monkeypatch.setattr(_inducing, "_N_DRAWS", 10)


@functools.cache
def exact_fit(estimator):
    return fit_rows(estimator, **SHORT_LENGTH)


@functools.cache
def fit_with_ten_points(estimator):
    """To be called with short pilots only, and not to be changed."""
    return fit_rows(estimator, n_inducing=10, **SHORT_LENGTH)


@each_estimator
@pytest.mark.usefixtures("short_pilots")
@pytest.mark.second_stage
def test_points_are_chosen_among_the_rows(estimator):
    model = fit_with_ten_points(estimator)
    assert model.n_inducing_ == len(model.inducing_points_) == 10
    assert (model.inducing_points_[:, np.newaxis] == ROWS).all(axis=2).any(axis=1).all()
    assert len(np.unique(model.inducing_points_, axis=0)) == 10
    assert model.trace_.latent.shape == (2, 6, 10)
    assert set(model.approximation_) == {"variance_left", "evidence_variance"}
    again = fit_rows(estimator, n_inducing=10, n_jobs=2, **SHORT_LENGTH)
    np.testing.assert_array_equal(again.inducing_points_, model.inducing_points_)
    np.testing.assert_array_equal(again.trace_.theta, model.trace_.theta)
    np.testing.assert_array_equal(again.trace_.latent, model.trace_.latent)


NUMBERS = ["auto", None, 60, 100]


@pytest.mark.parametrize(
    ("estimator", "n_inducing"),
    in_turn(itertools.product(TARGETS, NUMBERS), 2, list(TARGETS), NUMBERS),
)
def test_few_rows_are_exact(estimator, n_inducing):
    model = fit_rows(estimator, n_inducing=n_inducing, **SHORT_LENGTH)
    assert model.n_inducing_ is model.inducing_points_ is model.approximation_ is None
    np.testing.assert_array_equal(model.trace_.theta, exact_fit(estimator).trace_.theta)


@pytest.mark.parametrize("estimator", one_in(2, TARGETS))
def test_auto_takes_points_for_many_rows(estimator, monkeypatch):
    monkeypatch.setattr(_inducing, "LARGEST_EXACT", 50)
    monkeypatch.setattr(_inducing, "_NUMBERS", (10, 20, 40))
    model = fit_rows(estimator)
    assert model.n_inducing_ in (10, 20, 40)
    assert model.approximation_["evidence_variance"] < 5.0


@pytest.mark.parametrize(
    ("n_chains", "n_warmup", "n_draws"),
    [(2, 100, 400), pytest.param(4, 150, 400, marks=pytest.mark.slow)],
)
@pytest.mark.second_stage
def test_posterior_with_many_points_is_that_of_the_exact_model(n_chains, n_warmup, n_draws):
    """40 points among 60 rows of a smooth function."""
    length = {"n_chains": n_chains, "n_warmup": n_warmup, "n_draws": n_draws, "min_ess": None}
    kernel = ConstantKernel() * RBF(np.ones(ROWS.shape[1])) + WhiteKernel()
    exact = fit_rows(**length, kernel=kernel, n_inducing=None).summary()
    points = fit_rows(**length, kernel=kernel, n_inducing=40).summary()
    for name, row in exact.items():
        if "[worst]" not in name and "complete_data" not in name:
            error = np.hypot(row["mcse"], points[name]["mcse"])
            assert abs(row["mean"] - points[name]["mean"]) < 4.0 * error, name


def test_too_few_points_are_said_to_be():
    """A function that turns ten times in the range of the rows, and four points."""
    x = np.linspace(0.0, 10.0, 120)[:, np.newaxis]
    y = np.sin(6.0 * x[:, 0]) + 0.05 * np.random.default_rng(0).normal(size=120)
    model = MCMCGaussianProcessRegressor(n_inducing=4, **LENGTH | {"n_warmup": 60})
    with pytest.warns(UserWarning, match=r"4 inducing .*Raise n_inducing \(now 4 points\)"):
        model.fit(x, y)
    with pytest.warns(UserWarning, match=r"4 inducing .*Give more points as n_inducing,"):
        model.set_params(n_inducing=x[::30].tolist()).fit(x, y)


@each_estimator
def test_variance_that_points_leave_is_said_to_be_too_much(estimator):
    """Also where nothing is sampled, so that no evidence varies."""
    kernel = ConstantKernel(1.0, "fixed") * RBF(0.3, "fixed")
    with pytest.warns(UserWarning, match=r"5 inducing points are too few.* % of the latent"):
        model = fit_rows(estimator, kernel=kernel, n_inducing=5)
    assert model.approximation_["variance_left"] > 0.5


def test_white_noise_alone_needs_no_points():
    model = fit_rows(kernel=WhiteKernel(), n_inducing=5)
    assert model.n_inducing_ is None


def test_evidences_of_numbers_are_compared_with_the_numbers_themselves():
    """Where the noise is normal, the data that stand for the observations are the observations."""
    model = make_model(LIKELIHOODS["gaussian-noise"].make())
    settings = SamplerSettings("marginal", n_warmup=3, n_draws=4)
    trace = run_chains(model, settings, n_chains=2, random_state=0)
    [data] = _inducing.stand_ins([[model]], [[trace]])
    theta, layout = trace.all_theta(), model.layout  # eight draws: all that are compared
    np.testing.assert_allclose(data.noise, np.exp(theta[:, -1:]).repeat(4, axis=1), rtol=1e-9)
    means = np.array([[layout.mean(row)] for row in theta])
    np.testing.assert_allclose(data.deviation, model.likelihood.y - means, rtol=1e-7, atol=1e-9)


def test_enough_points_are_not():
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = fit_rows(n_inducing=40, n_warmup=60)
    assert model.approximation_["evidence_variance"] < 0.1


@each_estimator
@pytest.mark.usefixtures("short_pilots")
def test_warm_start_and_checkpoint_go_on(estimator, tmp_path):
    whole = fit_with_ten_points(estimator)
    options = {**SHORT_LENGTH, "n_inducing": 10}
    model = fit_rows(estimator, **options | {"n_draws": 4, "warm_start": True})
    model.set_params(n_draws=6).fit(ROWS, TARGETS[estimator])
    saved = fit_rows(estimator, **options | {"n_draws": 4}, checkpoint=tmp_path)
    resumed = fit_rows(estimator, **options, checkpoint=tmp_path)
    assert saved.n_draws_ == 4
    for other in (model, resumed):
        np.testing.assert_array_equal(other.trace_.theta, whole.trace_.theta)
        np.testing.assert_array_equal(other.trace_.latent, whole.trace_.latent)


@pytest.mark.parametrize("mode", one_in(2, ["softmax", "one_vs_rest"]))
@pytest.mark.usefixtures("short_pilots")
def test_points_of_several_classes(mode):
    y = np.digitize(SMOOTH, [-0.5, 0.5])
    model = MCMCGaussianProcessClassifier(multi_class=mode, n_inducing=10, **SHORT_LENGTH)
    model.fit(ROWS, y)
    assert model.n_inducing_ == 10
    np.testing.assert_allclose(model.predict_proba(ROWS).sum(axis=1), 1.0)


@pytest.mark.parametrize("kind", FITS)
def test_short_runs_take_some_of_the_rows(kind, monkeypatch):
    """Each with its own observations, and all those of rows with equal X: weights tell which."""
    estimator, y = FITS[kind]
    sizes, run = [], _inducing._run
    X_all, y_all = np.concatenate([X, X[:3]]), np.concatenate([y, y[:3]])
    weights = 1.0 + np.arange(N + 3)

    def recorded(groups, *others):
        for model in itertools.chain(*groups):
            sizes.append(len(model.X))
            index, held = model.likelihood._full_index(), model.likelihood.sample_weight
            for place, row in enumerate(model.X):
                expected = weights[(X_all == row).all(axis=1)]
                np.testing.assert_array_equal(np.unique(held[index == place]), expected)
        return run(groups, *others)

    monkeypatch.setattr(_inducing, "_run", recorded)
    monkeypatch.setattr(_inducing, "_PILOT_ROWS", (12, 18))
    for name, value in {"_N_WARMUP": 6, "_N_DRAWS": 6, "_N_APPROXIMATE": 2}.items():
        monkeypatch.setattr(_inducing, name, value)
    model = clone(estimator).set_params(n_inducing=4)
    model.fit(X_all, y_all, sample_weight=weights)
    assert set(sizes) == {12, 18}
    assert model.n_inducing_ == 4
    assert len(model.X_train_) == N


@pytest.mark.parametrize("moment", [1, 25])
def test_interrupted_choice_of_points(monkeypatch, moment):
    """Ctrl-C in the short runs, before their first draw or later: there is nothing to keep."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    iterate, n_done = LatentFunctionsGibbs.iterate, itertools.count()

    def iterate_and_press(self):
        iterate(self)
        if next(n_done) == moment:  # the first is before any draw
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(LatentFunctionsGibbs, "iterate", iterate_and_press)
    try:
        with pytest.raises(KeyboardInterrupt, match="while inducing points were chosen"):
            fit_rows(n_inducing=10)
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("short_pilots")
def two_modes(y, *, n_functions=1):
    """Return late theta of short runs: the first chain says that the data are noise."""
    model = LatentGaussianModel(ConstantKernel() * RBF(), WAVES, BernoulliLogit(y))
    theta = np.log([[1.0, 50.0], [20.0, 0.7]])[:, np.newaxis] + 0.01 * np.arange(20)[:, np.newaxis]
    traces = [SimpleNamespace(theta=theta)] * n_functions
    return _inducing._probable([model] * n_functions, traces), theta


WAVES = np.linspace(0.0, 12.0, 80)[:, np.newaxis]
WAVES_OF_LABELS = np.where(np.sin(2.0 * WAVES[:, 0]) > 0.0, 1, -1)


def test_no_chain_starts_in_a_mode_of_next_to_no_probability():
    found, theta = two_modes(WAVES_OF_LABELS)
    np.testing.assert_array_equal(found, theta[1, -10::2])


def test_chains_start_in_all_modes_that_may_be():
    labels = np.random.default_rng(0).permutation(WAVES_OF_LABELS)
    found, theta = two_modes(labels)
    assert (found == theta[0, -2]).all(axis=1).any()


def test_coupled_functions_keep_all_starts():
    found, theta = two_modes(WAVES_OF_LABELS, n_functions=2)
    np.testing.assert_array_equal(found, np.concatenate(theta[:, -10::2]))


def test_short_runs_show_progress(capsys):
    fit_rows(n_inducing=10, verbose=1, **SHORT_LENGTH)
    out = capsys.readouterr()
    assert "choosing inducing points, " in out.out + out.err


def test_repeated_points_count_once():
    model = fit_rows(n_inducing=np.concatenate([ROWS[:8], ROWS[:3]]))
    np.testing.assert_array_equal(model.inducing_points_, ROWS[:8])


def test_a_grid_is_used_only_without_points():
    cells = np.stack(np.meshgrid(np.arange(20.0), np.arange(12.0)), axis=-1).reshape(-1, 2)
    y = np.random.default_rng(0).poisson(np.exp(np.sin(cells[:, 0] / 3.0)))
    for n_inducing, expected in [("auto", None), (None, None), (15, 15)]:
        model = MCMCCoxProcessRegressor(n_inducing=n_inducing, **SHORT_LENGTH).fit(cells, y)
        assert model.n_inducing_ == expected
        assert model.representation_ == ("joint-ep" if expected else "joint-post")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (0, "n_inducing"),
        (1.5, "n_inducing"),
        (True, "n_inducing"),
        ("many", "n_inducing"),
        (np.zeros((3, 5)), "5 columns, but X has 2"),
        (np.full((3, 2), np.nan), "NaN"),
        (np.zeros(3), "n_inducing must be"),
        (np.ma.masked_array(np.zeros((3, 2)), True), "n_inducing"),
        ([["a", "b"]], "n_inducing must be"),
        (np.empty((0, 2)), r"n_inducing must be .*; got shape \(0, 2\)\.$"),
        (np.zeros(3), r"got shape \(3,\)\. Points in one column are n_inducing\.reshape\(-1, 1\)"),
        (np.zeros((2, 3, 2)), r"got shape \(2, 3, 2\)\.$"),
        (np.ones((3, 2)) * 1j, "n_inducing must hold real numbers; got complex ones"),
        (sparse.csr_matrix(np.ones((3, 2))), r"passed for n_inducing.* n_inducing\.toarray\(\)"),
    ],
)
def test_wrong_points(wrong, words):
    with pytest.raises((ValueError, TypeError), match=words) as error:
        fit_rows(n_inducing=wrong)
    assert "\n" not in str(error.value)  # no values of an array


def test_kernels_on_objects():
    """Points are chosen among days too."""
    days = list(np.datetime64("2020-01-01") + np.arange(30))
    y = np.sin(np.arange(30) / 3.0)
    kernel = ConstantKernel() * Nearness()
    model = MCMCGaussianProcessRegressor(kernel, alpha=0.1, n_inducing=6, **SHORT_LENGTH)
    model.fit(days, y)
    assert model.n_inducing_ == 6
    assert set(model.inducing_points_) <= set(days)
    assert np.isfinite(model.predict(days[:3])).all()


def test_points_that_need_too_much_memory_are_refused():
    X = np.arange(50_000.0)[:, None]
    with pytest.raises(ValueError, match=r"50000 distinct rows need about .*memory_limit"):
        MCMCGaussianProcessRegressor(memory_limit=0.01, **LENGTH).fit(X, X[:, 0])


def test_one_chain_with_chosen_points():
    """The points are chosen by more chains than the fit has."""
    model = fit_rows(n_chains=1, n_inducing=10, n_warmup=5, n_draws=10, min_ess=None)
    assert model.n_inducing_ == 10
