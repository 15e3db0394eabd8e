"""Chains against posteriors that are known by quadrature.

Two latent variables and two hyperparameters: four integrals, by Gauss-Legendre rules
over the logarithms of positive hyperparameters and trapezoidal rules, which converge
exponentially, over the mean offset and the whitened latent variables. Nothing of the
package enters the reference.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from numpy.polynomial.legendre import leggauss
from problems import COMBINATIONS, JOINT, REPRESENTATIONS, StudentT
from rotation import in_turn, one_in
from scipy import special, stats
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from skgpmcmc._covariance import GridStructure, LowRankStructure
from skgpmcmc._grid import Grid
from skgpmcmc._model._model import LatentGaussianModel
from skgpmcmc._running._chains import run_chains
from skgpmcmc._sampling._settings import SamplerSettings
from skgpmcmc.diagnostics import ess_bulk, mcse_mean
from skgpmcmc.likelihoods import (
    BernoulliLogit,
    BernoulliProbit,
    Binomial,
    Gaussian,
    Likelihood,
    NegativeBinomial,
    Poisson,
)
from skgpmcmc.likelihoods import StudentT as StudentTNoise
from skgpmcmc.updates import RandomWalk

DISTANCE = 1.3
X = np.array([[0.0], [DISTANCE]])
JITTER = 1e-6
BOUNDS = (0.3, 4.0)
MEAN_PRIOR = stats.norm(0.3, 0.9)

#: Short name of a hyperparameter -> its name in the model and its prior on BOUNDS.
#: They stand in the order of theta.
HYPERPARAMETERS = {
    "s2": ("k1__constant_value", stats.gamma(2.0, scale=0.7)),
    "l": ("k2__length_scale", stats.loguniform(*BOUNDS)),
    "mean": ("mean", MEAN_PRIOR),
    "noise": ("noise_level", stats.loguniform(*BOUNDS)),
    "dispersion": ("dispersion", stats.loguniform(*BOUNDS)),
}
VALUES_IF_FIXED = {"s2": 1.0, "l": 1.0, "mean": 0.0, "noise": np.nan, "dispersion": np.nan}


class FastStudentT(StudentT):
    """The user's likelihood of the other tests, its density written out for speed."""

    def pointwise(self, latent, params=()):
        return np.log(0.375) - 2.5 * np.log1p((self.y - latent) ** 2 / 4.0)


@dataclass(frozen=True)
class Problem:
    """Data on two latent variables, and their log likelihood as scipy has it."""

    likelihood: Likelihood
    log_likelihood: Callable[..., np.ndarray]  # of f_1, f_2 and the likelihood's parameter
    free: tuple[str, ...] = ("s2", "l")
    fast_sites: bool = True  # False: sites by quadrature, milliseconds each

    def model(self, **options):
        return make_model(self.likelihood, self.free, **options)


PROBLEMS = {
    "logit": Problem(
        BernoulliLogit([1.0, -1.0]),
        lambda f, g, _: stats.logistic.logcdf(f) + stats.logistic.logsf(g),
    ),
    "logit-repeated": Problem(
        BernoulliLogit([1.0, 1.0, -1.0, -1.0, 1.0], latent_index=[0, 0, 1, 1, 0]),
        lambda f, g, _: 3.0 * stats.logistic.logcdf(f) + 2.0 * stats.logistic.logsf(g),
        free=("l", "mean"),
        fast_sites=False,
    ),
    "probit": Problem(
        BernoulliProbit([1.0, 1.0]), lambda f, g, _: stats.norm.logcdf(f) + stats.norm.logcdf(g)
    ),
    "gaussian-fixed": Problem(
        Gaussian([1.5, 0.2], noise_variance=[0.3, 0.6]),
        lambda f, g, _: stats.norm.logpdf(1.5, f, 0.3**0.5) + stats.norm.logpdf(0.2, g, 0.6**0.5),
    ),
    "gaussian-noise": Problem(
        Gaussian([1.8, -1.5]),
        lambda f, g, v: stats.norm.logpdf(1.8, f, v**0.5) + stats.norm.logpdf(-1.5, g, v**0.5),
        free=("l", "noise"),
    ),
    "gaussian-known": Problem(
        Gaussian([1.8, -1.5], known_variance=[0.0, 0.8]),
        lambda f, g, v: (
            stats.norm.logpdf(1.8, f, v**0.5) + stats.norm.logpdf(-1.5, g, (0.8 + v) ** 0.5)
        ),
        free=("l", "noise"),
    ),
    "poisson": Problem(
        Poisson([7.0, 1.0], exposure=[2.0, 0.5]),
        lambda f, g, _: (
            stats.poisson.logpmf(7, 2 * np.exp(f)) + stats.poisson.logpmf(1, np.exp(g) / 2)
        ),
        free=("l", "mean"),
    ),
    "binomial": Problem(
        Binomial([4.0, 1.0], trials=[5, 3]),
        lambda f, g, _: (
            stats.binom.logpmf(4, 5, special.expit(f)) + stats.binom.logpmf(1, 3, special.expit(g))
        ),
    ),
    "negative-binomial": Problem(
        NegativeBinomial([7.0, 1.0], exposure=[2.0, 0.5]),
        lambda f, g, a: (
            stats.nbinom.logpmf(7, 1 / a, 1 / (1 + 2 * a * np.exp(f)))
            + stats.nbinom.logpmf(1, 1 / a, 1 / (1 + a * np.exp(g) / 2))
        ),
        free=("l", "dispersion"),
    ),
    "student-t": Problem(
        FastStudentT([2.0, -1.0]),
        lambda f, g, _: stats.t.logpdf(2.0 - f, 4) + stats.t.logpdf(-1.0 - g, 4),
        fast_sites=False,
    ),
    "student-t-noise": Problem(
        StudentTNoise([1.8, -1.5], degrees_of_freedom=3.0),
        lambda f, g, v: stats.t.logpdf(1.8, 3, f, v**0.5) + stats.t.logpdf(-1.5, 3, g, v**0.5),
        free=("l", "noise"),
    ),
}


ON_GRID = {"structure": GridStructure(Grid((np.array([0.0, DISTANCE]),)))}
#: Of representations that have no dense covariance; points that are the rows are exact.
STRUCTURES = {"joint-post": ON_GRID, "joint-ep": {"structure": LowRankStructure(X)}}


def make_model(likelihood, free, X=X, **options):
    bounds = {name: BOUNDS if name in free else "fixed" for name in HYPERPARAMETERS}
    return LatentGaussianModel(
        ConstantKernel(1.0, bounds["s2"]) * RBF(1.0, bounds["l"]),
        X,
        likelihood,
        priors={HYPERPARAMETERS[name][0]: HYPERPARAMETERS[name][1] for name in free},
        mean="constant" if "mean" in free else "zero",
        jitter=JITTER,
        **options,
    )


def normal_rule(step):
    """Return nodes and weights for the standard normal distribution."""
    nodes = np.arange(-8.0, 8.0 + step, step)
    return nodes, np.exp(-0.5 * nodes**2)


def hyperparameter_rule(name, size):
    """Return nodes on the sampling scale, and weights that contain the prior."""
    prior = HYPERPARAMETERS[name][1]
    if name == "mean":
        nodes, weights = normal_rule(8.0 / size)
        return prior.mean() + prior.std() * nodes, weights
    nodes, weights = leggauss(size)
    low, high = np.log(BOUNDS)
    nodes = 0.5 * (low + high) + 0.5 * (high - low) * nodes
    return nodes, weights * prior.pdf(np.exp(nodes)) * np.exp(nodes)


def summaries(theta, latent, centre):
    """Return the quantities that are compared; theta and latent have them in the last axis."""
    names = {f"theta[{i}]": theta[..., i] for i in range(theta.shape[-1])}
    squares = {f"{name} squared": (x - centre[name]) ** 2 for name, x in names.items()}
    f, g = latent[..., 0], latent[..., 1]
    return {**names, **squares, "f": f, "g": g, "fg": f * g}


def exact(problem, n_hyper=16, step=0.25):
    """Return the posterior means of `summaries`, variances of theta among them."""
    rules = [hyperparameter_rule(name, n_hyper) for name in problem.free]
    nodes = np.meshgrid(*(r[0] for r in rules), indexing="ij")
    theta = np.stack(nodes, axis=-1).reshape(-1, 1, 1, 2)
    prior = np.outer(rules[0][1], rules[1][1]).reshape(-1, 1, 1)
    values = {
        name: theta[..., i] if name == "mean" else np.exp(theta[..., i])
        for i, name in enumerate(problem.free)
    }
    values = {**VALUES_IF_FIXED, **values}
    s2, length, mean = (values[name] for name in ("s2", "l", "mean"))
    parameter = values["dispersion" if "dispersion" in problem.free else "noise"]
    z, weights = normal_rule(step)
    variance, covariance = s2 * (1.0 + JITTER), s2 * np.exp(-0.5 * (DISTANCE / length) ** 2)
    f = mean + np.sqrt(variance) * z[:, np.newaxis]
    g = mean + covariance / np.sqrt(variance) * z[:, np.newaxis]
    g = g + np.sqrt(variance - covariance**2 / variance) * z
    mass = prior * np.outer(weights, weights) * np.exp(problem.log_likelihood(f, g, parameter))
    mass /= mass.sum()
    centre = {f"theta[{i}]": (mass * theta[..., i]).sum() for i in range(2)}
    latent = np.stack(np.broadcast_arrays(f, g), axis=-1)
    functions = summaries(theta, latent, centre)
    return {name: float((mass * values).sum()) for name, values in functions.items()}


@cache
def exact_for(name):
    return exact(PROBLEMS[name])


def assert_agree(trace, expected, theta=None):
    """Compare means over the chains with exact ones, within 4 Monte Carlo standard errors."""
    theta = trace.theta if theta is None else theta
    wrong = {}
    for name, draws in summaries(theta, trace.latent, expected).items():
        assert ess_bulk(draws) > 300, name
        error = (draws.mean() - expected[name]) / mcse_mean(draws)
        if not abs(error) < 4.0:
            wrong[name] = error
    assert not wrong


@pytest.mark.parametrize("name", one_in(2, PROBLEMS))
def test_quadrature_is_accurate(name):
    coarse, fine = exact_for(name), exact(PROBLEMS[name], 20, 0.2)
    assert coarse == pytest.approx(fine, rel=1e-6, abs=1e-6)


def sample(model, representation, n_draws=1500, **options):
    """Run two chains, with brackets as wide as in M&A (sigma = 10) unless told otherwise."""
    options = {"width": 10.0, "adapt_widths": False, "n_latent_updates": 3, **options}
    settings = SamplerSettings(representation, n_warmup=100, n_draws=n_draws, **options)
    return run_chains(model, settings, n_chains=2, random_state=0)


#: What estimators choose by themselves is always compared; on grids, by
#: tests/covariance/test_grids.py.
DEFAULTS = {
    *((name, "post-ep") for name in ("logit", "probit", "poisson")),
    *((name, "marginal") for name in ("gaussian-fixed", "gaussian-noise")),
    *((name, "collapsed") for name in ("negative-binomial", "student-t-noise", "binomial")),
    ("poisson", "joint-post"),
    ("logit", "joint-ep"),
    ("poisson", "joint-ep"),
}


#: With each representation one likelihood, beside the defaults; trajectories of the latents
#: take a minute for each likelihood.
PAIRS = in_turn(
    COMBINATIONS,
    len(PROBLEMS),
    PROBLEMS,
    REPRESENTATIONS,
    always=DEFAULTS.__contains__,
    never=lambda case: case[1] in JOINT,
)


@pytest.mark.parametrize(("name", "representation"), PAIRS)
def test_every_representation_agrees_with_quadrature(name, representation):
    problem = PROBLEMS[name]
    joint = representation in JOINT
    slow = not problem.fast_sites and str(representation).endswith("site")
    model = problem.model(**STRUCTURES.get(representation, {}))
    # Trajectories of latent variables begin with short steps, and need those of a warm-up.
    options = {"adapt_widths": True} if joint else {}
    n_draws = 800 if joint else 500 if slow else 1500
    trace = sample(model, representation, n_draws=n_draws, **options)
    assert_agree(trace, exact_for(name))


UPDATES = {
    "adapted": {"width": None, "adapt_widths": True, "n_draws": 4000},
    "stepping-out": {"width": 0.5, "max_steps_out": 4, "n_draws": 2500},
    "sweep": {"condition_each_scalar": False},
    "metropolis": {"proposal": RandomWalk(1.0), "n_draws": 4000},
}


# By default what the warm-up adapts; the joint-distribution tests have all of them.
@pytest.mark.parametrize("update", one_in(4, UPDATES))
def test_every_update_agrees_with_quadrature(update):
    trace = sample(PROBLEMS["probit"].model(), "surr-site", **UPDATES[update])
    assert_agree(trace, exact_for("probit"))


COLLAPSED = ["surr-site", "fixed", "post-taylor", "prior-white"]


@pytest.mark.parametrize("representation", one_in(2, COLLAPSED))
def test_collapsed_mean_agrees_with_quadrature(representation):
    # The same reference as for the sampled mean, the problem "poisson" above.
    trace = sample(PROBLEMS["poisson"].model(collapse_mean=True), representation)
    theta = np.stack([trace.theta[..., 0], trace.collapsed_mean], axis=-1)
    assert_agree(trace, exact_for("poisson"), theta)


def gaussian_posterior(X, y, noise, size):
    """Return the posterior means of `summaries` under Gaussian noise, f integrated out."""
    (s2, v), (length, w) = (hyperparameter_rule(name, size) for name in ("s2", "l"))
    theta, mass, mean, cross = [], [], [], []
    for i, j in np.ndindex(size, size):
        r = np.exp(-0.5 * ((X - X.T) / np.exp(length[j])) ** 2)
        K = np.exp(s2[i]) * (r + JITTER * np.eye(len(y)))
        C = K + np.diag(noise)
        theta.append([s2[i], length[j]])
        mass.append(v[i] * w[j] * stats.multivariate_normal.pdf(y, cov=C))
        mean.append((K @ np.linalg.solve(C, y))[:2])
        cross.append((K - K @ np.linalg.solve(C, K))[0, 1])
    mass, theta, mean = np.array(mass) / np.sum(mass), np.array(theta), np.array(mean)
    centre = dict(zip(["theta[0]", "theta[1]"], mass @ theta, strict=True))
    functions = summaries(theta, mean, centre)
    functions["fg"] = functions["fg"] + cross
    return {name: float(mass @ values) for name, values in functions.items()}


def test_quadrature_agrees_with_gaussian_algebra():
    expected = gaussian_posterior(X, [1.5, 0.2], [0.3, 0.6], 16)
    assert exact_for("gaussian-fixed") == pytest.approx(expected, rel=1e-6, abs=1e-6)


SIX_INPUTS = np.array([[0.0], [0.4], [1.1], [1.9], [2.2], [3.5]])
SIX_TARGETS = np.array([0.3, 0.9, 1.4, 0.1, -0.4, -1.2])
SIX_VARIANCES = np.full(6, 0.1)


@cache
def exact_for_six(size=24):
    return gaussian_posterior(SIX_INPUTS, SIX_TARGETS, SIX_VARIANCES, size)


def test_quadrature_for_six_latents_is_accurate():
    assert exact_for_six() == pytest.approx(exact_for_six(32), rel=1e-6, abs=1e-6)


# The data are informative, where "fixed" and "prior-white" mix slowly (M&A section 5).
SIX = ["marginal", "surr-site", "post-site", 0.5]


@pytest.mark.parametrize("representation", one_in(2, SIX))
def test_six_latents_agree_with_marginal_posterior(representation):
    likelihood = Gaussian(SIX_TARGETS, noise_variance=SIX_VARIANCES)
    model = make_model(likelihood, ("s2", "l"), SIX_INPUTS)
    assert_agree(sample(model, representation, n_draws=3000), exact_for_six())
