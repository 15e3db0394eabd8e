"""What a user of the core is told of a model that cannot work, when it is made."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from sklearn.gaussian_process.kernels import (
    RBF,
    CompoundKernel,
    GenericKernelMixin,
    Kernel,
    StationaryKernelMixin,
)

from skgpmcmc.core import LatentGaussianModel, SamplerSettings, run_chains
from skgpmcmc.likelihoods import Gaussian, Poisson

COUNTS = [0.0, 1.0, 0.0, 2.0, 5.0]
KERNEL = RBF(1.0, (0.1, 10.0))
X = np.arange(5.0)[:, np.newaxis]


class WithoutGradient(RBF):
    def __call__(self, X, Y=None, eval_gradient=False):
        if eval_gradient:
            raise NotImplementedError
        return super().__call__(X, Y)


def test_trajectories_need_a_kernel_with_a_gradient():
    model = LatentGaussianModel(WithoutGradient(1.0, (0.1, 10.0)), X, Gaussian(COUNTS, 0.1))
    with pytest.raises(ValueError, match=r"hamiltonian=True needs a kernel .*WithoutGradient"):
        run_chains(model, SamplerSettings("marginal", hamiltonian=True))


@pytest.mark.parametrize("kernel", [None, "rbf", RBF, len])
def test_kernels_that_are_none_are_refused(kernel):
    with pytest.raises(TypeError, match="kernel must be a kernel of sklearn") as error:
        LatentGaussianModel(kernel, X, Poisson(COUNTS))
    message = str(error.value)
    assert f"got {kernel!r}" in message
    assert ("an instance" in message) == (kernel is RBF)


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (RBF([1.0, 1.0, 1.0], (0.1, 10.0)), ["shape (2, 1)", "(3!=1)", "Give a kernel"]),
        (CompoundKernel([KERNEL, KERNEL]), ["by + or *", "CompoundKernel"]),
        (RBF(-1.0), ["'length_scale'", "positive and finite", "-1.0"]),
        (RBF(1.0, (2.0, 1.0)), ["bounds", "'length_scale'", "lower < upper"]),
    ],
)
def test_kernels_that_do_not_fit_are_refused_with_the_model(kernel, words):
    with pytest.raises(ValueError, match=r"[Kk]ernel") as error:
        LatentGaussianModel(kernel, X, Poisson(COUNTS))
    assert all(word in str(error.value) for word in words), error.value


@pytest.mark.parametrize("likelihood", [None, np.array(COUNTS), "poisson", Poisson])
def test_likelihoods_that_are_none_are_refused(likelihood):
    with pytest.raises(TypeError, match=r"likelihood must be .*skgpmcmc.likelihoods") as error:
        LatentGaussianModel(KERNEL, X, likelihood)
    message = str(error.value)
    assert "got " in message
    assert ("an instance" in message) == (likelihood is Poisson)


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        (None, ["None"]),
        (3.0, ["2D"]),
        (X[:, 0], ["1D", "reshape(-1, 1)"]),
        (X[np.newaxis], ["dim 3"]),
        ([["a"]] * 5, ["'a'"]),
        (np.full((5, 1), np.nan), ["NaN"]),
        (1j * X, ["Complex"]),
        (X[:0], ["0 sample"]),
    ],
)
def test_inputs_that_are_no_rows_of_numbers_are_refused_with_the_model(inputs, words):
    with pytest.raises(ValueError, match=r"^X must be rows of finite numbers, of shape") as error:
        LatentGaussianModel(KERNEL, inputs, Poisson(COUNTS))
    assert all(word in str(error.value) for word in words), error.value


def test_as_many_rows_as_latent_variables():
    with pytest.raises(ValueError, match="X has 4 rows, but the likelihood has 5 latent"):
        LatentGaussianModel(KERNEL, X[:4], Poisson(COUNTS))


class Letters(StationaryKernelMixin, GenericKernelMixin, Kernel):
    """A kernel for words: alike are those that begin alike."""

    def __init__(self):
        pass

    def __call__(self, X, Y=None, eval_gradient=False):
        Y = X if Y is None else Y
        return np.array([[float(a == b) + 0.5 * (a[0] == b[0]) for b in Y] for a in X])

    def diag(self, X):
        return np.full(len(X), 1.5)


def test_inputs_of_other_kinds_go_to_the_kernel_as_they_are():
    words = ["ant", "ape", "bee", "cat", "cow"]
    assert LatentGaussianModel(Letters(), words, Poisson(COUNTS)).X is words
    for nothing in (None, 3.0):
        with pytest.raises(TypeError, match=f"X must be a sequence .*; got {nothing}"):
            LatentGaussianModel(Letters(), nothing, Poisson(COUNTS))
    with pytest.raises(ValueError, match="fails on the first rows of X"):
        LatentGaussianModel(Letters(), [1.0] * 5, Poisson(COUNTS))


def test_data_frames_are_rows_of_numbers():
    pandas = pytest.importorskip("pandas")
    model = LatentGaussianModel(KERNEL, pandas.DataFrame(X), Poisson(COUNTS))
    np.testing.assert_array_equal(model.X, X)


@pytest.mark.parametrize("jitter", ["a", None, -1, math.nan, math.inf, True, [1e-6]])
def test_jitter_is_checked_with_the_model(jitter):
    with pytest.raises(ValueError, match="jitter must be a finite number, zero or") as error:
        LatentGaussianModel(KERNEL, X, Poisson(COUNTS), jitter=jitter)
    assert f"got {jitter!r}" in str(error.value)


@pytest.mark.parametrize("mean", ["linear", None, 1.0, np.zeros(5)])
def test_mean_is_checked_with_the_model(mean):
    with pytest.raises(ValueError, match="mean must be 'zero' or 'constant'; got") as error:
        LatentGaussianModel(KERNEL, X, Poisson(COUNTS), mean=mean)
    assert repr(mean) in str(error.value)


@pytest.mark.parametrize(
    ("likelihood", "options", "name", "example"),
    [
        (Poisson, {"mean": "constant"}, "mean", "scipy.stats.norm(0.0, 1.0)"),
        (Gaussian, {}, "noise_level", "scipy.stats.lognorm(1.0)"),
    ],
)
def test_what_has_no_bounds_needs_a_prior(likelihood, options, name, example):
    with pytest.raises(ValueError, match=f"Hyperparameter '{name}' needs a prior") as error:
        LatentGaussianModel(KERNEL, X, likelihood(COUNTS), **options)
    message = str(error.value)
    assert "bounds" not in message
    assert f"priors={{{name!r}: {example}}}" in message
    prior = eval(example.replace("scipy.", ""), {"stats": stats})  # as the message says
    LatentGaussianModel(KERNEL, X, likelihood(COUNTS), priors={name: prior}, **options)
