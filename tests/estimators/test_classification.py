"""The classifier as a scikit-learn user meets it."""

import pickle
import warnings

import numpy as np
import pytest
from rounding import ELEMENTWISE, remember_moments
from scipy import stats
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import (
    RBF,
    CompoundKernel,
    ConstantKernel,
    ExpSineSquared,
    GenericKernelMixin,
    Hyperparameter,
    Kernel,
    Matern,
    NormalizedKernelMixin,
    StationaryKernelMixin,
)
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skgpmcmc import MCMCGaussianProcessClassifier, MissingCapabilityError
from skgpmcmc.diagnostics import mcse_mean
from skgpmcmc.updates import RandomWalk

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SHORT = {"n_chains": 2, "n_warmup": 20, "n_draws": 40, "random_state": 0}


def two_classes(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, (n, 2))
    return X, np.where(X[:, 0] + 0.2 * rng.standard_normal(n) > 0.0, "up", "down")


def test_contradicting_repeated_rows_give_one_half():
    X = np.tile([[0, 1], [2, 3], [4, 5]], (2, 1))
    y = np.repeat([0, 1], 3)
    model = MCMCGaussianProcessClassifier(n_draws=300, random_state=0).fit(X, y)
    assert len(model.X_train_) == 3
    # The posterior of f is symmetric about 0 everywhere.
    rows = np.vstack([X[:3], [[1e4, -1e4]]])
    ((_, mean, variance),) = model._posterior_draws()[0].chunks(rows)
    p = model._likelihood.success_probability(mean, variance)
    errors = [mcse_mean(column.reshape(model.n_chains, -1)) for column in p.T]
    differences = model.predict_proba(rows)[:, 1] - 0.5
    assert (np.abs(differences[:3]) < 4 * np.array(errors[:3])).all()
    # So far away covariances are zeros, and every draw gives one half.
    assert abs(differences[3]) < ELEMENTWISE


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("mean", ["zero", "constant"])
def test_learns_and_orders_classes(link, mean):
    X, y = two_classes()
    model = MCMCGaussianProcessClassifier(link=link, mean=mean, **SHORT).fit(X, y)
    assert list(model.classes_) == ["down", "up"]
    assert model.score(X, y) > 0.9
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert p[np.argmax(X[:, 0]), 1] > 0.8
    assert ("mean" in model.posterior_) == (mean == "constant")
    assert model.n_iter_ == 60


def test_predictions_of_a_row_do_not_depend_on_the_others(monkeypatch):
    X, y = two_classes()
    model = MCMCGaussianProcessClassifier(**SHORT).fit(X, y)
    remember_moments(monkeypatch)
    together = model.predict_proba(X[:7])
    alone = np.vstack([model.predict_proba(X[i : i + 1]) for i in range(7)])
    np.testing.assert_allclose(together, alone, rtol=0, atol=ELEMENTWISE)


def test_clone_pickle_and_random_state():
    X, y = two_classes()
    model = MCMCGaussianProcessClassifier(ConstantKernel() * RBF([1.0, 1.0]), **SHORT)
    copy = clone(model).set_params(kernel__k2__length_scale=[2.0, 2.0])
    assert copy.kernel.k2.length_scale == [2.0, 2.0]
    first = model.fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(first, pickle.loads(pickle.dumps(model)).predict_proba(X))
    np.testing.assert_array_equal(first, clone(model).fit(X, y).predict_proba(X))
    assert model.kernel.k2.length_scale == [1.0, 1.0]  # fit writes no parameter


def test_pipeline_and_grid_search_from_a_data_frame():
    pandas = pytest.importorskip("pandas")
    X, y = two_classes()
    frame = pandas.DataFrame(X, columns=["a", "b"])
    kernel = ConstantKernel() * Matern(nu=1.5)
    pipeline = make_pipeline(StandardScaler(), MCMCGaussianProcessClassifier(kernel, **SHORT))
    name = "mcmcgaussianprocessclassifier"
    grid = {
        f"{name}__representation": ["surr-site", "prior-white"],
        f"{name}__kernel__k2__nu": [0.5, 2.5],
    }
    search = GridSearchCV(pipeline, grid, cv=2, scoring="neg_log_loss").fit(frame, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    model = MCMCGaussianProcessClassifier(**SHORT).fit(frame, y)
    assert list(model.feature_names_in_) == ["a", "b"]


def test_priors_by_name_and_bounds():
    X, y = two_classes()
    kernel = ConstantKernel(1.0, (0.5, 2.0)) * RBF(1.0)
    priors = {"k2__length_scale": stats.uniform(0.9, 0.2)}
    model = MCMCGaussianProcessClassifier(kernel, priors=priors, **SHORT).fit(X, y)
    scale, variance = (model.posterior_[n] for n in ("k2__length_scale", "k1__constant_value"))
    assert ((scale >= 0.9) & (scale <= 1.1)).all()
    assert ((variance >= 0.5) & (variance <= 2.0)).all()
    with pytest.raises(ValueError, match=r"k2__length_scales.*k2__length_scale"):
        MCMCGaussianProcessClassifier(kernel, priors={"k2__length_scales": priors}).fit(X, y)


@pytest.mark.parametrize("scale", [1e6, 1e60, 1e-60])
def test_columns_on_any_scale(scale):
    X, y = two_classes()
    scaled = X * [scale, 1e-6] + [10.0 * scale, 0.0]
    model = MCMCGaussianProcessClassifier(**SHORT).fit(scaled, y)
    assert model.score(scaled, y) > 0.9


def test_proposal_that_cannot_be_pickled():
    X, y = two_classes()
    proposal = lambda theta, rng: (theta + 0.3 * rng.standard_normal(theta.shape), 0.0)  # noqa: E731
    model = MCMCGaussianProcessClassifier(hyperparameter_update=proposal, warm_start=True, **SHORT)
    model.fit(X, y).set_params(n_draws=50).fit(X, y)
    assert model.trace_.n_draws == 50
    assert (model.trace_.moved > 0.0).any()


def test_indefinite_kernel_is_refused_by_name():
    X = np.array([[i, j] for i in range(4) for j in range(4)], dtype=float)
    kernel = ExpSineSquared(1.0, 3.0)
    with pytest.raises(ValueError, match=r"kernel ExpSineSquared\(.*smallest eigenvalue -"):
        MCMCGaussianProcessClassifier(kernel, **SHORT).fit(X, X[:, 0] > 1)


@pytest.mark.parametrize("scale", [1e300, 1e-300])
def test_columns_beyond_double_precision_are_refused(scale):
    X, y = two_classes()
    with pytest.raises(ValueError, match=r"column 1 has .* Rescale"):
        MCMCGaussianProcessClassifier(**SHORT).fit(X * [1.0, scale], y)


def test_kernel_without_free_hyperparameters():
    X, y = two_classes()
    model = MCMCGaussianProcessClassifier(RBF(1.0, "fixed"), **SHORT).fit(X, y)
    assert model.posterior_ == {}
    assert model.score(X, y) > 0.9


def test_one_convergence_warning_names_the_worst_quantity():
    X, y = two_classes()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = MCMCGaussianProcessClassifier(n_warmup=1, n_draws=10, random_state=0).fit(X, y)
    caught = [w for w in caught if issubclass(w.category, ConvergenceWarning)]
    assert len(caught) == 1
    message = str(caught[0].message)
    for part in ("effective draws", "n_draws (now 10;", "summary()"):
        assert part in message
    (name,) = (n for n in model.diagnostics_ if f"{n!r}" in message)
    rhat = model.diagnostics_[name]["rhat"]
    assert ("R-hat" in message) == (rhat > 1.05)
    assert (f"R-hat {rhat:.3f}" in message) == (rhat > 1.05)


@pytest.mark.parametrize(
    ("options", "y", "message"),
    [
        ({}, [0, 0, 0, 0], "two classes; got 1 class"),
        ({"multi_class": "softmax", "link": "probit"}, [0, 1, 2, 0], "needs link='logit'"),
        ({"memory_limit": 1e-9}, [0, 1, 0, 1], "gigabytes.*memory_limit"),
        ({"representation": "surr"}, [0, 1, 0, 1], "representation"),
        ({"n_draws": 0}, [0, 1, 0, 1], "n_draws"),
        ({"priors": {"k1__constant_value": 3.0}}, [0, 1, 0, 1], "k1__constant_value"),
        ({"kernel": RBF([1.0, 1.0, 1.0])}, [0, 1, 0, 1], "[Aa]nisotropic"),
        ({"kernel": CompoundKernel([RBF(), RBF()])}, [0, 1, 0, 1], "returned shape .2, 2, 2."),
        ({"hyperparameter_update": RandomWalk}, [0, 1, 0, 1], "class RandomWalk. Give an inst"),
        ({"representation": True}, [0, 1, 0, 1], "representation must be a number, not a bool"),
    ],
)
def test_bad_input(options, y, message):
    X = np.arange(8.0).reshape(4, 2)
    with pytest.raises((ValueError, TypeError), match=message):
        MCMCGaussianProcessClassifier(**options).fit(X, y)


class SharedItems(GenericKernelMixin, NormalizedKernelMixin, StationaryKernelMixin, Kernel):
    """Likeness of two collections: a kernel on objects of any kind."""

    def __init__(self, weight=0.5, weight_bounds=(0.1, 0.9)):
        self.weight = weight
        self.weight_bounds = weight_bounds

    @property
    def hyperparameter_weight(self):
        return Hyperparameter("weight", "numeric", self.weight_bounds)

    def __call__(self, X, Y=None, eval_gradient=False):
        Y = X if Y is None else Y
        distances = [[len(set(x) ^ set(y)) for y in Y] for x in X]
        return self.weight ** np.array(distances, dtype=float)


@pytest.mark.parametrize(
    "X",
    [
        ["ab", "abc", "xy", "xyz"],
        [[1], [1, 2], [7, 8, 9], [7, 8]],
        [{1}, {1, 2}, {7, 8, 9}, {7, 8}],
        [(1, 2), (1, 3), (7, 9), (7, 8)],
    ],
)
def test_inputs_that_are_not_vectors(X, monkeypatch):
    remember_moments(monkeypatch)
    model = MCMCGaussianProcessClassifier(SharedItems(), **SHORT).fit(X, [0, 0, 1, 1])
    p = model.predict_proba(X)[:, 1]
    assert p[:2].max() < p[2:].min()
    np.testing.assert_allclose(model.predict_proba(X[:1])[:, 1], p[:1], atol=ELEMENTWISE)


def test_series_of_strings():
    pandas = pytest.importorskip("pandas")
    words = pandas.Series(["ab", "abc", "xy", "xyz"])
    model = MCMCGaussianProcessClassifier(SharedItems(), **SHORT).fit(words, [0, 0, 1, 1])
    assert model.predict_proba(words).shape == (4, 2)


class Lopsided(RBF):
    def __call__(self, X, Y=None, eval_gradient=False):
        return np.triu(super().__call__(X, Y))


class WrongDiagonal(RBF):
    def diag(self, X):
        return np.full(len(X), 5.0)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [(Lopsided(), "Lopsided.* not symmetric"), (WrongDiagonal(), "diag.X. is not the diagonal")],
)
def test_kernels_that_contradict_themselves_are_refused(kernel, message):
    X, y = two_classes(8)
    with pytest.raises(ValueError, match=message):
        MCMCGaussianProcessClassifier(kernel, **SHORT).fit(X, y)


@pytest.mark.parametrize(
    ("name", "other"),
    [("surr-taylor", "surr-site"), ("post-taylor", "surr-site"), ("marginal", "auto")],
)
def test_missing_capabilities_say_what_to_use(name, other):
    X, y = two_classes(8)
    with pytest.raises(MissingCapabilityError, match=f"representation='{name}' .*'{other}'"):
        MCMCGaussianProcessClassifier(representation=name).fit(X, y)


@pytest.mark.parametrize(
    ("n_columns", "options", "weight", "expected"),
    [
        (3, {}, 1.0, "post-ep"),
        (4, {}, 1.0, "collapsed"),
        (1, {"hyperparameter_update": "hmc"}, 1.0, "collapsed"),
        (1, {"multi_class": "softmax"}, 1.0, "collapsed"),
        (8, {"link": "probit"}, 1.0, "post-ep"),
        (9, {"link": "probit"}, 2.0, "collapsed"),
        (9, {"link": "probit"}, 0.5, "post-ep"),
    ],
)
def test_auto_depends_on_link_hyperparameters_and_weights(n_columns, options, weight, expected):
    X = np.random.default_rng(0).standard_normal((20, n_columns))
    y, weights = X[:, 0] > 0.0, np.full(20, weight)
    fits = [
        MCMCGaussianProcessClassifier(representation=r, **options, **SHORT).fit(X, y, weights)
        for r in ("auto", expected)
    ]
    assert fits[0].representation_ == expected
    one, other = (np.concatenate([np.ravel(t.theta) for t in traces_of(fit)]) for fit in fits)
    np.testing.assert_array_equal(one, other)


def traces_of(model):
    return model.trace_ if isinstance(model.trace_, list) else [model.trace_]
