"""Trajectories that fail give way to slices; kernels without a fast gradient have them at once."""

from itertools import product

import numpy as np
import pytest
from rotation import in_turn
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Exponentiation,
    ExpSineSquared,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)

from skgpmcmc import MCMCGaussianProcessClassifier, MCMCGaussianProcessRegressor
from skgpmcmc._sampling import _hyperparameter_moves
from skgpmcmc._sampling._hyperparameter_moves import Trajectories
from skgpmcmc.updates import HamiltonianResult, HamiltonianTuner

RNG = np.random.default_rng(3)
X = RNG.normal(size=(30, 2))
F = np.sin(2.0 * X[:, 0]) + X[:, 1]
NUMBERS = F + 0.3 * RNG.standard_normal(30)
SHORT = {"n_chains": 2, "n_warmup": 60, "n_draws": 60, "random_state": 0}
DEFAULT = ConstantKernel() * RBF([1.0, 1.0]) + WhiteKernel()

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


class WrongGradient(RBF):
    """A user's kernel whose gradient has the wrong sign, and is far too large."""

    def __call__(self, X, Y=None, eval_gradient=False):
        if not eval_gradient:
            return super().__call__(X, Y)
        matrix, gradient = super().__call__(X, eval_gradient=True)
        return matrix, -100.0 * gradient


def rejects(evaluate, point, step_sizes, n_steps, rng, angle):
    evaluate(point.value)
    return HamiltonianResult(point, 0.0, False)


def regressor(kernel=DEFAULT, **options):
    return MCMCGaussianProcessRegressor(kernel, **SHORT | options)


def test_slices_take_over_where_all_trajectories_are_rejected(monkeypatch):
    monkeypatch.setattr(_hyperparameter_moves, "hamiltonian_step", rejects)
    model = regressor().fit(X, NUMBERS)
    assert model.hyperparameter_update_ == "slice"
    assert model.trace_.gave_up == [True, True]
    assert (model.trace_.moved == 1.0).all()


@pytest.mark.parametrize("n_warmup", [0, 1, 14])
def test_too_few_trajectories_are_not_judged(monkeypatch, n_warmup):
    monkeypatch.setattr(_hyperparameter_moves, "hamiltonian_step", rejects)
    model = regressor(n_warmup=n_warmup, n_draws=4).fit(X, NUMBERS)
    assert model.hyperparameter_update_ == "hmc"


def test_wrong_gradients_are_noticed():
    model = regressor(ConstantKernel() * WrongGradient(1.0) + WhiteKernel())
    model.set_params(hyperparameter_update="hmc").fit(X, NUMBERS)
    assert model.hyperparameter_update_ == "slice"


def test_some_chains_may_go_on(monkeypatch):
    """Each chain decides for itself, so that draws do not depend on `n_jobs`."""
    judged = iter([False, False, True, True])
    monkeypatch.setattr(Trajectories, "failed", lambda self: next(judged))
    model = regressor().fit(X, NUMBERS)
    assert model.trace_.gave_up == [False, True]
    assert model.hyperparameter_update_ == "hmc and slice"


def test_good_trajectories_go_on():
    for seed in range(3):
        model = regressor(random_state=seed).fit(X, NUMBERS)
        assert model.hyperparameter_update_ == "hmc"


@pytest.mark.parametrize("when", ["at the first look", "at the end"])
def test_fits_that_gave_up_go_on_to_the_same_draws(monkeypatch, tmp_path, when):
    looks = {"at the first look": [True], "at the end": [False, True]}[when]
    fits = {}
    for name, options in {
        "whole": {"n_draws": 130},
        "continued": {"warm_start": True},
        "saved": {"checkpoint": tmp_path},
    }.items():
        verdicts = iter(looks * SHORT["n_chains"])
        monkeypatch.setattr(Trajectories, "failed", lambda self, v=verdicts: next(v))
        fits[name] = regressor(**options).fit(X, NUMBERS)
        assert fits[name].hyperparameter_update_ == "slice"
        fits[name].set_params(n_draws=130)
        if name != "whole":
            fits[name].fit(X, NUMBERS)
        np.testing.assert_array_equal(fits[name].trace_.theta, fits["whole"].trace_.theta)
        assert fits[name].hyperparameter_update_ == "slice"


def test_what_failure_is():
    class Short(Trajectories):
        def __init__(self):
            self.tuner = HamiltonianTuner(2, 100)
            self._path_length = 1.5

    trajectories = Short()
    tuner = trajectories.tuner
    for number in range(24):
        assert trajectories.failed() == (number >= 15)
        tuner.record(np.zeros(2), 0.0)
    # As probable as they are tuned for: the step size is then what counts.
    for step_size, failed in [(0.029, True), (0.031, False)]:
        tuner.acceptance, tuner.step_size = 0.7, step_size
        assert trajectories.failed() is failed
    tuner.acceptance = 0.29
    assert trajectories.failed()


OTHERS = [
    RBF([1.0, 1.0]) + DotProduct(),
    ConstantKernel() * RBF() + ConstantKernel() * DotProduct(),
    ConstantKernel() * RBF([1.0, 1.0]) * DotProduct(),
    ConstantKernel() * RationalQuadratic(),
    ConstantKernel() * Matern([1.0, 1.0], nu=2.0),
    Exponentiation(ConstantKernel() * RBF() + DotProduct(), 2.0),
    ConstantKernel() * RBF() + ConstantKernel() * Matern(nu=0.5),
    ConstantKernel() * RBF() * ExpSineSquared(),
]
FAST = [
    ConstantKernel() * RBF([1.0, 1.0]),
    ConstantKernel() * Matern([1.0, 1.0], nu=1.5),
    ConstantKernel() * ConstantKernel() * Matern(nu=2.5),
]


KINDS = ["classes", "numbers"]


@pytest.mark.parametrize(
    ("kernel", "kind"), in_turn(product(OTHERS, KINDS), 2, OTHERS, KINDS), ids=str
)
def test_other_kernels_have_the_draws_of_slices(kernel, kind):
    options = SHORT | {"n_warmup": 5, "n_draws": 5, "representation": "collapsed"}
    inputs = X[:, :1] if "ExpSine" in str(kernel) else X
    if kind == "classes":
        model, y = MCMCGaussianProcessClassifier(kernel, **options), F > 0.0
    else:
        model = regressor(kernel + WhiteKernel(), **options | {"representation": "auto"})
        y = NUMBERS
    model.fit(inputs, y)
    assert model.hyperparameter_update_ == "slice"
    draws = model.trace_.theta
    model.set_params(hyperparameter_update="slice").fit(inputs, y)
    np.testing.assert_array_equal(model.trace_.theta, draws)


@pytest.mark.parametrize("kernel", FAST, ids=str)
def test_kernels_with_a_fast_gradient_follow_trajectories(kernel):
    model = regressor(kernel + WhiteKernel(), n_warmup=5, n_draws=5).fit(X, NUMBERS)
    assert model.hyperparameter_update_ == "hmc"


@pytest.mark.slow
@pytest.mark.parametrize("kernel", FAST, ids=str)
@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_trajectories_are_no_worse_than_slices(kernel, kind):
    """Paired over seeds: the mean log ratio of effective draws is not below 0 by 4 errors."""
    options = {"n_chains": 4, "n_warmup": 100, "n_draws": 200, "representation": "collapsed"}
    ratios = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        inputs = rng.normal(size=(60, 2))
        f = np.sin(2.0 * inputs[:, 0]) + inputs[:, 1]
        smallest = {}
        for update in ("auto", "slice"):
            changes = options | {"random_state": seed, "hyperparameter_update": update}
            if kind == "classes":
                model = MCMCGaussianProcessClassifier(kernel, **changes)
                model.fit(inputs, f + rng.logistic(size=60) > 0.0)
            else:
                model = regressor(kernel + WhiteKernel(), **changes | {"representation": "auto"})
                model.fit(inputs, f + 0.3 * rng.standard_normal(60))
            smallest[update] = min(row["ess_bulk"] for row in model.diagnostics_.values())
        ratios.append(np.log(smallest["auto"] / smallest["slice"]))
    error = np.std(ratios, ddof=1) / np.sqrt(len(ratios))
    assert np.mean(ratios) > -4.0 * error
