"""Methods belong to the class that users know: errors about arguments name it, and help."""

import inspect
import pickle
import re

import numpy as np
import pytest

from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
)

ESTIMATORS = [MCMCCoxProcessRegressor, MCMCGaussianProcessClassifier, MCMCGaussianProcessRegressor]
METHODS = [
    (estimator, name)
    for estimator in ESTIMATORS
    for name in dir(estimator)
    if not name.startswith("_")
    and inspect.isfunction(getattr(estimator, name))
    and getattr(estimator, name).__module__.startswith("skgpmcmc")
]
names = [f"{estimator.__name__}.{name}" for estimator, name in METHODS]


def test_methods_are_found():
    assert {name.partition(".")[2] for name in names} >= {"fit", "loo", "predict", "summary"}


@pytest.mark.parametrize(("estimator", "name"), METHODS, ids=names)
def test_errors_of_arguments_name_the_public_class(estimator, name):
    shown = re.escape(f"{estimator.__name__}.{name}()")
    method = getattr(estimator(), name)
    arguments = [
        np.zeros((2, 1))
        for parameter in inspect.signature(method).parameters.values()
        if parameter.default is parameter.empty
    ]
    with pytest.raises(TypeError, match=rf"^{shown} got an unexpected keyword argument 'nonsense'"):
        method(*arguments, nonsense=1)
    with pytest.raises(TypeError, match=rf"^{shown} takes"):
        method(*range(20))
    if arguments:
        with pytest.raises(TypeError, match=rf"^{shown} missing"):
            method()


@pytest.mark.parametrize(("estimator", "name"), METHODS, ids=names)
def test_methods_can_be_pickled(estimator, name):
    method = getattr(estimator, name)
    assert pickle.loads(pickle.dumps(method)) is method
    assert inspect.getdoc(method)


@pytest.mark.parametrize(
    ("estimator", "name", "parameter", "words"),
    [
        (ESTIMATORS[0], "predict_interval", "exposure", "predict_quantiles(X, [0.05, 0.95], expos"),
        (ESTIMATORS[0], "predict_exceedance", "exposure", "divide the threshold by the exposure"),
        (ESTIMATORS[0], "predict", "return_std", "predict_interval(X)"),
        (ESTIMATORS[0], "predict_latent", "exposure", "per unit of exposure"),
        (ESTIMATORS[1], "predict", "return_std", "predict_interval(X)"),
        (ESTIMATORS[1], "predict_proba", "return_std", "predict_latent(X, return_std=True)"),
        (ESTIMATORS[1], "predict_proba", "trials", "predict_proba(X)[:, 1] * trials"),
    ],
)
def test_what_users_of_scikit_learn_look_for_is_pointed_at(estimator, name, parameter, words):
    shown = re.escape(f"{estimator.__name__}.{name}() has no parameter '{parameter}'.")
    with pytest.raises(TypeError, match=rf"^{shown}.*{re.escape(words)}"):
        getattr(estimator(), name)(np.zeros((2, 1)), **{parameter: True})
