"""Draws of fifteen short chains, bit for bit those of version 0.1.0 but for rounding.

A change of the algorithm changes them: then the numbers here change too, with the reason in
CHANGELOG.md. A change of the code alone must not.
"""

import numpy as np
import pytest
from scipy import stats
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
)
from skgpmcmc.core import LatentGaussianModel, SamplerSettings, run_chains
from skgpmcmc.likelihoods import (
    BernoulliLogit,
    BernoulliProbit,
    Binomial,
    Gaussian,
    NegativeBinomial,
    Poisson,
    StudentT,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

X = np.array([[0.0, 0.3], [0.7, 0.1], [1.5, 1.2], [2.1, 0.4], [0.4, 1.9], [1.1, 0.8]])
GRID = np.array([[a, b] for a in (0.0, 1.0, 2.0) for b in (0.0, 1.0)])
COUNTS = np.array([0, 2, 5, 1, 3, 0])
SIGNS = np.array([1.0, -1.0, 1.0, 1.0, -1.0, 1.0])
Y = np.array([0.5, -0.2, 1.0, 0.3, 1.4, 0.1])
KERNEL = ConstantKernel(1.0, (0.1, 10.0)) * RBF([0.5, 0.5], (0.1, 3.0))
PRIORS = {
    "noise_level": stats.lognorm(1.0),
    "noise_scale": stats.lognorm(1.0),
    "degrees_of_freedom": stats.lognorm(1.0, scale=4.0),
    "dispersion": stats.lognorm(1.0),
}
LENGTH = {"n_warmup": 12, "n_draws": 4}
# Rounding grows along a chain, most along trajectories: 1e-9 and 1e-7 with other BLAS kernels.
BY_SLICES, BY_TRAJECTORIES = 1e-7, 1e-5


def last_draw(likelihood, representation, mean="zero", **options):
    """Return theta and f of the last draw of a chain."""
    priors = {name: PRIORS[name] for name in likelihood.parameters}
    if mean == "constant":
        priors["mean"] = stats.norm(0.0, 1.0)
    model = LatentGaussianModel(KERNEL, X, likelihood, mean=mean, priors=priors)
    settings = SamplerSettings(representation, n_latent_updates=3, **LENGTH, **options)
    trace = run_chains(model, settings, n_chains=1, random_state=5)
    return np.append(trace.theta[0, -1], trace.latent[0, -1])


def predictions(estimator, inputs, y):
    estimator.set_params(n_chains=1, random_state=5, **LENGTH).fit(inputs, y)
    if hasattr(estimator, "predict_proba"):
        return estimator.predict_proba(inputs)[:, -1]
    return estimator.predict(inputs)


CASES = {
    "fixed, logit": (
        lambda: last_draw(BernoulliLogit(SIGNS), "fixed"),
        [
            -0.08225184628,
            -1.902159238,
            -0.7348055041,
            0.7304650151,
            -0.892716389,
            0.2952985393,
            1.142659633,
            0.4774064747,
            0.1419852206,
        ],
        BY_SLICES,
    ),
    "prior-white, Poisson, mean": (
        lambda: last_draw(Poisson(COUNTS), "prior-white", mean="constant"),
        [
            1.704932412,
            1.057175109,
            1.061566474,
            -0.8312872916,
            0.4127587254,
            0.6142889468,
            0.4447008072,
            -0.3500355878,
            0.1490171849,
            0.4956356122,
        ],
        BY_SLICES,
    ),
    "surr-site, probit": (
        lambda: last_draw(BernoulliProbit(SIGNS), "surr-site"),
        [
            1.546822334,
            -1.878826528,
            -0.6732647052,
            4.525188798,
            -1.659009301,
            -0.3195999403,
            1.197899337,
            0.6519218781,
            3.589034196,
        ],
        BY_SLICES,
    ),
    "surr-taylor, Poisson, whitened": (
        lambda: last_draw(Poisson(COUNTS), "surr-taylor", whitened_updates=True),
        [
            -1.432287423,
            -0.8123460129,
            -0.1959729701,
            0.3617656295,
            -0.2918490672,
            0.967161951,
            0.140502776,
            -0.2435449273,
            0.1638686514,
        ],
        BY_SLICES,
    ),
    "post-site, binomial, approximation": (
        lambda: last_draw(Binomial(COUNTS, np.full(6, 6)), "post-site", n_approximate=5),
        [
            2.289795708,
            0.2471325773,
            -1.844699736,
            -2.990840154,
            0.09565483115,
            1.148483021,
            -3.696933712,
            -0.4672028413,
            -2.335412089,
        ],
        BY_SLICES,
    ),
    "post-taylor, negative binomial": (
        lambda: last_draw(NegativeBinomial(COUNTS), "post-taylor"),
        [
            0.3618655003,
            -0.9123453915,
            -2.250676299,
            -0.6108406734,
            -1.460318712,
            0.7937243475,
            1.036973348,
            -0.03182773865,
            1.38129969,
            -1.699899092,
        ],
        BY_SLICES,
    ),
    "surr-ep, logit": (
        lambda: last_draw(BernoulliLogit(SIGNS), "surr-ep"),
        [
            0.3275375286,
            -0.391003407,
            -2.176067614,
            2.519207464,
            -2.525224379,
            0.5979825061,
            -0.2686720287,
            -0.0501473696,
            1.611881956,
        ],
        BY_SLICES,
    ),
    "post-ep, Poisson": (
        lambda: last_draw(Poisson(COUNTS), "post-ep"),
        [
            -2.010521821,
            -1.628223568,
            0.5575237769,
            0.4404415878,
            0.05185014945,
            0.6447030544,
            -0.4401431615,
            0.4765553289,
            -0.2622490415,
        ],
        BY_SLICES,
    ),
    "constant noise, Poisson": (
        lambda: last_draw(Poisson(COUNTS), 1.0),
        [
            0.05583187161,
            -0.54258989,
            -0.2143674405,
            0.5226928818,
            -0.525580033,
            0.5217475504,
            0.8897299082,
            1.605615581,
            -0.2210621437,
        ],
        BY_SLICES,
    ),
    "marginal, Gaussian, trajectories": (
        lambda: last_draw(Gaussian(Y), "marginal", hamiltonian=True),
        [
            -1.814566509,
            -0.7296924017,
            0.01616262077,
            -0.0443716152,
            -0.08159530374,
            -0.2071688219,
            0.4079459799,
            0.2903486866,
            0.3860204644,
            0.07660385395,
        ],
        BY_TRAJECTORIES,
    ),
    "collapsed, logit": (
        lambda: last_draw(BernoulliLogit(SIGNS), "collapsed"),
        [
            0.1618150517,
            -0.8685693033,
            -0.6909301639,
            -0.2451572107,
            0.04491175288,
            0.7022972303,
            -0.2319796124,
            -0.2890427755,
            0.06171539324,
        ],
        BY_SLICES,
    ),
    "collapsed, Student-t": (
        lambda: last_draw(StudentT(Y), "collapsed"),
        [
            -1.028889705,
            -0.2395487695,
            0.02997428813,
            -0.2542068971,
            0.0412499145,
            0.5081966861,
            0.4679274694,
            -0.2771400151,
            0.5463741686,
            0.69069919,
        ],
        BY_SLICES,
    ),
    "classifier, softmax": (
        lambda: predictions(
            MCMCGaussianProcessClassifier(
                multi_class="softmax", representation="surr-site", hyperparameter_update="slice"
            ),
            X,
            np.array(list("abcabc")),
        ),
        [0.01759581266, 0.03778616698, 0.9387224687, 0.3837165149, 0.001805356932, 0.878697513],
        BY_SLICES,
    ),
    "regressor": (
        lambda: predictions(MCMCGaussianProcessRegressor(hyperparameter_update="hmc"), X, Y),
        [0.2628362048, 0.161738155, 0.6430148329, 0.2344757417, 0.9489996562, 0.4792603088],
        BY_TRAJECTORIES,
    ),
    "Cox on a grid, joint": (
        lambda: predictions(MCMCCoxProcessRegressor(representation="joint-post"), GRID, COUNTS),
        [0.867320682, 1.9201736157, 3.21285923, 0.9283435815, 2.1079307974, 0.8452554311],
        BY_TRAJECTORIES,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_draws_are_those_of_version_0_1_0(name):
    draw, expected, tolerance = CASES[name]
    np.testing.assert_allclose(draw(), expected, rtol=tolerance, atol=tolerance)
