"""Wrong constructor parameters: the error names the parameter, what came and what is allowed.

Each row of a table: what is done, and the words that the message must hold.
"""

import math
import tracemalloc

import numpy as np
import pytest
from refusals import ESTIMATORS, SHORT, TARGETS, X, check_message, each_estimator
from scipy import stats
from sklearn.gaussian_process.kernels import (
    RBF,
    CompoundKernel,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Matern,
    WhiteKernel,
)

from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
)
from skgpmcmc.updates import RandomWalk

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def fit(estimator, X=X, **options):
    return estimator(**{**SHORT, **options}).fit(X, TARGETS[estimator])


NAMES = [0, None, "other"]
#: Name -> values that are refused, and what the message must say is allowed.
PARAMETERS = {
    "kernel": (["rbf", RBF, 3], ["None or an instance of", "Kernel"]),
    "link": (NAMES, ["'logit'", "'probit'"]),
    "likelihood": (NAMES, ["must be a str among"]),
    "dispersion": ([0.0, -1, "4", [4.0], math.nan, math.inf, True], []),
    "multi_class": (NAMES, ["'one_vs_rest'", "'softmax'"]),
    "mean": (NAMES, ["'zero'", "'constant'"]),
    "representation": (["surr", None, []], ["'auto'", "'surr-site'", "'float'"]),
    "hyperparameter_update": (["mh", None, 3], ["'auto'", "'slice'", "'hmc'", "callable"]),
    "n_inducing": ([0, 1.5, "many", True], []),
    "n_latent_updates": ([0, 1.5, "10", None, math.nan, True], []),
    "priors": ([[], "lognorm", 3], ["'dict' or None"]),
    "n_chains": ([0, -1, 1.5, None, math.nan, True], []),
    "n_warmup": ([-1, 1.5, None, True], []),
    "n_draws": ([3, 4.0, None, True], []),
    "min_ess": ([0, -1, "all", math.nan, True], []),
    "max_rhat": ([1.0, -1, "low", math.nan, True], []),
    "max_seconds": ([0, -1, "1 h", math.nan, True], []),
    "thin": ([0, 1.5, None, True], []),
    "max_prediction_draws": ([0, 1.5, "all", True], []),
    "memory_limit": ([0, -1, "8", math.nan, True], []),
    "copy_X_train": (["yes", 2, None], ["'bool'"]),
    "normalize_y": (["yes", 2, None], ["'bool'"]),
    "warm_start": (["yes", 1.0, None], ["'bool'"]),
    "checkpoint": ([3, True, b"path"], ["'str'"]),
    "n_jobs": ([0, 1.5, "2", True], []),
    "random_state": (["a", -1, 1.5, np.random.default_rng(0)], ["[0, 4294967295]", "RandomState"]),
    "verbose": (["yes", -1, None], ["[0, inf)"]),
    "alpha": ([-1.0, "a", None, math.nan, math.inf, True], []),
    "degrees_of_freedom": ([0.0, -1, "4", [4.0], math.nan, math.inf, True], []),
}


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [(n, v, words) for n, (values, words) in PARAMETERS.items() for v in values],
    ids=lambda x: x if isinstance(x, str) else type(x).__name__,
)
def test_every_parameter(name, value, words):
    takers = [e for e in ESTIMATORS if name in e().get_params()]
    for estimator in takers:
        check_message(lambda e=estimator: fit(e, **{name: value}), [name, repr(value)[:40], *words])
    assert takers


def test_the_table_is_complete():
    assert {name for e in ESTIMATORS for name in e().get_params()} == set(PARAMETERS)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("n_chains", ["[1, inf)"]),
        ("n_warmup", ["[0, inf)"]),
        ("n_draws", ["[4, inf)"]),
        ("n_jobs", ["None", "(-inf, -1]", "[1, inf)"]),
        ("memory_limit", ["None or a float in the range (0.0, inf)"]),
    ],
)
@each_estimator
def test_ranges_are_stated(estimator, name, words):
    check_message(lambda: fit(estimator, **{name: 0.5j}), [name, *words])


@each_estimator
def test_bools_are_no_numbers(estimator):
    for name in ("n_chains", "thin", "memory_limit", "n_jobs", "representation"):
        check_message(
            lambda n=name: fit(estimator, **{n: True}), [f"{name} must be a number, not a bool"]
        )


@pytest.mark.parametrize("value", [0.0, -1, math.nan, math.inf])
@each_estimator
def test_numbers_that_are_no_variance_of_surrogate_noise(estimator, value):
    check_message(lambda: fit(estimator, representation=value), ["representation", "positive"])


@each_estimator
def test_numpy_numbers_are_accepted(estimator):
    whole = ["n_chains", "n_draws", "n_warmup", "thin", "n_latent_updates", "max_prediction_draws"]
    options = {name: np.int64(5) for name in whole}
    model = fit(estimator, memory_limit=np.float32(1.0), n_jobs=np.int32(1), **options)
    assert model.trace_.latent.shape[:2] == (5, 5)
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize(
    ("estimator", "options", "words"),
    [
        (
            MCMCGaussianProcessClassifier,
            {"multi_class": "softmax", "link": "probit"},
            ["multi_class='softmax' needs link='logit'", "link='probit'", "'one_vs_rest'"],
        ),
        (
            MCMCGaussianProcessClassifier,
            {"hyperparameter_update": RandomWalk},
            ["hyperparameter_update", "class RandomWalk", "Give an instance"],
        ),
        (
            MCMCGaussianProcessRegressor,
            {"alpha": ["a"] * 6},
            ["alpha must be real numbers", "'a', 'a'"],
        ),
        (MCMCGaussianProcessRegressor, {"alpha": 1j * X[:, 0]}, ["alpha must be real", "1.5j"]),
        (MCMCGaussianProcessRegressor, {"alpha": [0.1]}, ["alpha", "(6,)", "got shape (1,)"]),
        (
            MCMCGaussianProcessRegressor,
            {"alpha": [1, 1, -2, 1, 1, math.nan]},
            ["alpha must be finite and >= 0; row 2 holds -2.0 (2 rows are wrong)"],
        ),
        (MCMCGaussianProcessRegressor, {"kernel": RBF(), "alpha": 0.0}, ["alpha", "WhiteKernel"]),
    ],
)
def test_parameters_that_do_not_go_together(estimator, options, words):
    check_message(lambda: fit(estimator, **options), words)


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "a", math.nan])
@each_estimator
def test_prediction_draws_set_after_fit(estimator, value):
    model = fit(estimator).set_params(max_prediction_draws=value)
    words = ["max_prediction_draws must be a whole number, at least 1", repr(value)]
    check_message(lambda: model.predict(X), words)


@each_estimator
def test_other_parameters_set_after_fit_do_not_change_predictions(estimator):
    model = fit(estimator)
    before = model.predict(X), model.predict_quantiles(X, 0.9)
    changes = {
        "kernel": None if model.kernel else RBF(),
        "mean": "constant" if model.mean == "zero" else "zero",
        "link": "probit",
        "multi_class": "softmax",
        "likelihood": "student-t",
        "degrees_of_freedom": None,
        "normalize_y": True,
    }
    model.set_params(**{n: v for n, v in changes.items() if n in model.get_params()})
    np.testing.assert_array_equal(model.predict(X), before[0])
    np.testing.assert_array_equal(model.predict_quantiles(X, 0.9), before[1])


class WrongKernel(RBF):
    """Returns what `change` makes of a squared exponential."""

    def __init__(self, change=None, length_scale=1.0):
        super().__init__(length_scale)
        self.change = change

    def __call__(self, X, Y=None, eval_gradient=False):
        return self.change(super().__call__(X, Y))


class HiddenHyperparameter(RBF):
    def __init__(self, unit):
        super().__init__(unit)
        self.unit = unit


def last_is_nan(K):
    K[0, -1] = K[-1, 0] = np.nan
    return K


POSITIVE = "must be a number, or a vector of numbers, positive and finite"
KERNELS = [
    (RBF(-1.0), ["'length_scale'", POSITIVE, "got -1.0"]),
    (RBF(-1.0, (0.1, 10.0)), ["'length_scale'", POSITIVE, "got -1.0"]),
    (RBF([1.0, -1.0]), ["'length_scale'", POSITIVE, "[1.0, -1.0]"]),
    (RBF(0.0), ["'length_scale'", POSITIVE, "got 0.0"]),
    (RBF(math.nan), ["'length_scale'", POSITIVE, "got nan"]),
    (RBF("1"), ["'length_scale'", POSITIVE, "got '1'"]),
    (RBF(None), ["'length_scale'", POSITIVE, "got None"]),
    (RBF([[1.0, 1.0]]), ["'length_scale'", POSITIVE, "[[1.0, 1.0]]"]),
    (RBF([]), ["'length_scale'", POSITIVE, "got []"]),
    (ConstantKernel(-2.0) * RBF(), ["'k1__constant_value'", POSITIVE, "got -2.0"]),
    (RBF() + WhiteKernel(-2.0), ["'k2__noise_level'", POSITIVE, "got -2.0"]),
    (RBF() + WhiteKernel(-2.0, "fixed"), ["'k2__noise_level'", "zero or larger", "got -2.0"]),
    (RBF(1.0, (10.0, 0.1)), ["bounds", "'length_scale'", "lower < upper", "[10.0, 0.1]"]),
    (RBF(1.0, (-1.0, 1.0)), ["bounds", "'length_scale'", "0 <= lower", "[-1.0, 1.0]"]),
    (RBF(1.0, (math.nan, 1.0)), ["bounds", "'length_scale'", "[nan, 1.0]"]),
    (RBF(1.0, "fix"), ["bounds", "'length_scale'", "'fixed' or a pair", "got 'fix'"]),
    (RBF(1.0, None), ["bounds", "'length_scale'", "'fixed' or a pair", "got None"]),
    (RBF(1.0, [(1, 2), (3, 4)]), ["bounds", "'length_scale'", "a pair", "[[1, 2], [3, 4]]"]),
    (RBF(1.0, (0.0, 1.0)), ["'length_scale'", "[0.0, 1.0]", "finite bounds", "a prior"]),
    (RBF([1.0, 1.0, 1.0]), ["RBF(length_scale=[1, 1, 1])", "shape (2, 2)", "(3!=2)"]),
    (ConstantKernel() * Matern([1.0] * 3), ["Matern(", "shape (2, 2)", "(3!=2)"]),
    (Matern(nu=-1.0), ["Matern(length_scale=1, nu=-1)", "math domain error"]),
    (CompoundKernel([RBF(), RBF()]), ["CompoundKernel", "(2, 2, 2)", "by + or *"]),
    (ExpSineSquared(1.0, 3.0), ["ExpSineSquared(", "smallest eigenvalue -", "one dimension"]),
    (ConstantKernel(0.0, "fixed") * RBF(), ["variance of row 0 is 0", "ConstantKernel"]),
    (DotProduct(0.0, "fixed"), ["DotProduct(sigma_0=0)", "variance of row 0 is 0"]),
    (WrongKernel(np.triu), ["WrongKernel", "not symmetric"]),
    (WrongKernel(last_is_nan), ["WrongKernel", "is nan"]),
    (WrongKernel(lambda K: 1j * K), ["WrongKernel", "real numbers", "complex128"]),
    (WrongKernel(lambda K: K[:1]), ["WrongKernel", "of shape (2, 2)", "returned shape (1, 2)"]),
    (WrongKernel(lambda K: None), ["WrongKernel", "returned shape ()"]),
    (HiddenHyperparameter(2.0), ["'length_scale'", "parameter of its __init__", "['unit']"]),
    (WrongKernel(lambda K: 1 / 0), ["WrongKernel", "division by zero"]),
]
GRID = np.array([[i, j] for i in range(4) for j in range(4)], dtype=float)


@pytest.mark.parametrize(("kernel", "words"), KERNELS)
@each_estimator
def test_kernels(estimator, kernel, words):
    y = np.arange(16) % 2
    check_message(lambda: estimator(kernel, **SHORT).fit(GRID, y), words)


KERNEL = ConstantKernel(1.0, "fixed") * RBF([1.0, 1.0], (0.1, 10.0))
LOGNORMAL = stats.lognorm(1.0)
SCALE = "k2__length_scale"


@pytest.mark.parametrize(
    ("priors", "words"),
    [
        ({"k2__lenght_scale": LOGNORMAL}, ["unknown", "Did you mean 'k2__length_scale'", "Valid"]),
        ({"length_scale": LOGNORMAL}, ["'length_scale'", "Did you mean 'k2__length_scale'"]),
        ({f"{SCALE}[2]": LOGNORMAL}, [f"'{SCALE}[2]'", "2 elements", f"'{SCALE}[0]'"]),
        ({3: LOGNORMAL}, ["unknown hyperparameters [3]", f"Valid names are ['{SCALE}']"]),
        ({"k1__constant_value": LOGNORMAL}, ["'k1__constant_value'", "'fixed'", "bounds"]),
        ({"mean": stats.norm()}, ["'mean'", "mean='zero'", "Set mean='constant'"]),
        ({SCALE: stats.lognorm}, [SCALE, "unfrozen family scipy.stats.lognorm", "call it"]),
        ({SCALE: stats.poisson(3)}, [SCALE, "poisson(3)", "is discrete", "frozen continuous"]),
        ({SCALE: 1.0}, [SCALE, "is 1.0 (float)", "frozen continuous distribution"]),
        ({SCALE: None}, [SCALE, "is None", "frozen continuous distribution"]),
        ({SCALE: "lognorm"}, [SCALE, "is 'lognorm' (str)", "frozen continuous distribution"]),
        ({SCALE: stats.uniform(20, 10)}, [SCALE, "[20.0, 30.0]", "[0.1, 10.0]", "Change one"]),
        ({SCALE: stats.norm()}, [SCALE, "is positive", "lognorm, halfnorm or gamma"]),
        ({SCALE: stats.gamma(-1.0)}, [SCALE, "gamma(-1.0)", "invalid parameters"]),
        ({SCALE: (0.1, 1.0)}, [SCALE, "holds numbers, [0.1, 1.0]", "loguniform(0.1, 10.0)"]),
        ({SCALE: np.ones(3)}, [SCALE, "holds numbers", "one distribution for each element"]),
        ({SCALE: [LOGNORMAL]}, [SCALE, "has 1 distributions", "2 element", "one for each"]),
        ({SCALE: [LOGNORMAL] * 3}, [SCALE, "has 3 distributions", "one for each"]),
        ({SCALE: [LOGNORMAL, 1.0]}, [f"{SCALE}[1]", "is 1.0 (float)"]),
        ({SCALE: stats.lognorm([1.0, 1.0])}, [SCALE, "array parameters", "pass a list"]),
    ],
)
@each_estimator
def test_priors(estimator, priors, words):
    check_message(lambda: fit(estimator, kernel=KERNEL, mean="zero", priors=priors), words)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"likelihood": "gaussian"}, ["likelihood='gaussian'", "Set likelihood='student-t'"]),
        ({"likelihood": "student-t"}, ["degrees_of_freedom=4.0", "degrees_of_freedom=None"]),
    ],
)
def test_prior_of_degrees_of_freedom_that_are_not_sampled(options, words):
    priors = {"degrees_of_freedom": LOGNORMAL}
    words = ["'degrees_of_freedom', which is not sampled", *words]
    check_message(lambda: fit(MCMCGaussianProcessRegressor, priors=priors, **options), words)


CHANGES = {
    "kernel": RBF(3.0),
    "link": "probit",
    "degrees_of_freedom": 7.0,
    "dispersion": 0.5,
    "alpha": 0.5,
    "normalize_y": True,
    "representation": "prior-white",
    "hyperparameter_update": RandomWalk(0.1),
    "n_latent_updates": 3,
    "n_chains": 2,
    "n_warmup": 5,
    "thin": 2,
    "n_draws": 4,
    "priors": {"k2__length_scale": LOGNORMAL},
}


OTHER_LIKELIHOODS = {
    MCMCGaussianProcessRegressor: "student-t",
    MCMCCoxProcessRegressor: "negative-binomial",
}


@pytest.mark.parametrize("name", [*CHANGES, "likelihood"])
@each_estimator
def test_warm_start_names_the_parameter_that_changed(estimator, name):
    if name not in estimator().get_params():
        return
    kernel = ConstantKernel() * RBF() + WhiteKernel(0.1)
    if name == "priors":
        kernel = ConstantKernel() * RBF()
    options = {"alpha": 0.1} if estimator is MCMCGaussianProcessRegressor else {}
    model = fit(estimator, kernel=kernel, warm_start=True, **{**options, "n_draws": 6})
    value = OTHER_LIKELIHOODS[estimator] if name == "likelihood" else CHANGES[name]
    words = ["warm_start=True", name]
    if name != "n_draws":
        words.append(f"differ from it: {name}. Pass the same values, or set warm_start=False")
    model.set_params(**{"n_draws": 8, name: value})
    check_message(lambda: model.fit(X, TARGETS[estimator]), words)


@each_estimator
def test_too_many_rows_are_refused_before_anything_is_allocated(estimator):
    rows = np.arange(50_000.0)[:, None]
    tracemalloc.start()
    words = ["50000 distinct rows need about", "gigabytes", "memory_limit=8", "raise memory_limit"]
    check_message(
        lambda: estimator(**SHORT, n_inducing=None).fit(rows, np.arange(50_000) % 2), words
    )
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6  # a covariance of all rows has 20e9 bytes
