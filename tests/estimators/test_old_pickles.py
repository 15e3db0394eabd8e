"""Estimators saved by 0.1.0, which kept copies of what their likelihood knows."""

import pickle

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone

from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
)
from skgpmcmc.priors import HyperPrior

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
SHORT = {"n_chains": 2, "n_warmup": 5, "n_draws": 5, "random_state": 0}
X = np.linspace(-2.0, 2.0, 12)[:, np.newaxis]
COUNTS = np.random.default_rng(0).poisson(3.0, 12)

#: Fitted estimator, and the attributes that it would have had; wrong ones would show.
CASES = {
    "counts": (
        lambda: MCMCCoxProcessRegressor(likelihood="negative-binomial", **SHORT).fit(X, COUNTS),
        {"_is_poisson": True, "_fixed_dispersion": None},
    ),
    "targets": (
        lambda: MCMCGaussianProcessRegressor(likelihood="student-t", **SHORT).fit(X, COUNTS),
        {"_is_gaussian": True, "_fixed_nu": 4.0, "_noise_likelihood": None},
    ),
    "classes": (
        lambda: MCMCGaussianProcessClassifier(**SHORT).fit(X, COUNTS > 2),
        {"_likelihood": None, "_is_softmax": True, "_is_logit": False, "_had_trials": True},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_they_predict_as_before(case):
    make, copies = CASES[case]
    model = make()
    old = type(model)()
    old.__setstate__(model.__getstate__() | copies)
    old = pickle.loads(pickle.dumps(old))
    for method in ("predict", "predict_latent"):
        np.testing.assert_array_equal(getattr(old, method)(X), getattr(model, method)(X))
    quantiles = old.predict_quantiles(X, [0.1, 0.9])
    np.testing.assert_array_equal(quantiles, model.predict_quantiles(X, [0.1, 0.9]))
    samples = old.sample_y(X, 5, random_state=0)
    np.testing.assert_array_equal(samples, model.sample_y(X, 5, random_state=0))


# Attributes of a fit that version 0.1.0 did not set.
SINCE = ["_stopped_by", "approximation_", "converged_", "inducing_points_", "max_rhat"]
SINCE += ["max_seconds", "min_ess", "n_draws_", "n_inducing", "n_inducing_", "n_warmup_"]


@pytest.mark.parametrize("case", CASES)
def test_they_have_what_came_later(case):
    model = CASES[case][0]().set_params(n_inducing=None, min_ess=None)
    state = {name: v for name, v in model.__getstate__().items() if name not in SINCE}
    del state["_structure"]
    old = type(model)()
    for name in SINCE:
        vars(old).pop(name, None)
    old.__setstate__(state | {"_grid": None})
    with pytest.warns(UserWarning, match=r"raise n_draws \(now 5\)"):
        estimate = old.loo()
    np.testing.assert_array_equal(estimate.pointwise, model._estimate().pointwise)
    assert str(old.summary()) == str(model.summary())
    assert (old.n_draws_, old.n_warmup_, old.n_inducing_) == (5, 5, None)
    # A fit of the copy is one of 0.1.0, in its length and without points.
    again = clone(old)
    assert (again.min_ess, again.n_inducing) == (None, None)


@pytest.mark.parametrize("case", CASES)
def test_no_copies_are_kept(case):
    make, copies = CASES[case]
    assert not set(copies) & set(vars(make()))


def test_priors_have_the_old_names_of_their_attributes():
    new = HyperPrior(stats.lognorm(s=1.0))
    state = new.__getstate__()
    state["reach"], state["parabola"] = state.pop("finite_support"), state.pop("normal_form")
    old = HyperPrior.__new__(HyperPrior)
    old.__setstate__(state)
    assert set(vars(old)) == set(vars(new))
    assert (old.finite_support, old.score(0.3)) == (new.finite_support, new.score(0.3))
