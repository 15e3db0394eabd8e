"""Intervals of each part have their coverage, over data sets drawn from the model."""

import numpy as np
import pytest
from fits import quiet
from scipy import stats
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, ExpSineSquared, WhiteKernel

from skgpmcmc import MCMCCoxProcessRegressor, MCMCGaussianProcessRegressor
from skgpmcmc._covariance import summands_of

N_DATA_SETS = 100
LEVELS = (0.5, 0.9)
T = np.linspace(0.0, 5.0, 40)[:, None]
#: Some of the rows, between them, and ahead.
NEW = np.concatenate([T[::6], T[3::12] + 0.05, [[5.3], [6.1]]])
KERNEL = ConstantKernel() * RBF() + ConstantKernel() * ExpSineSquared(
    periodicity=1.0, periodicity_bounds="fixed"
)
PRIORS = {
    "k1__k1__constant_value": stats.lognorm(s=0.5),
    "k1__k2__length_scale": stats.lognorm(s=0.3, scale=2.0),
    "k2__k1__constant_value": stats.lognorm(s=0.5, scale=0.5),
    "k2__k2__length_scale": stats.lognorm(s=0.3, scale=1.0),
}
SHORT = {"n_chains": 2, "n_warmup": 150, "n_draws": 200, "min_ess": None, "max_rhat": None}


def simulated(rng):
    """Hyperparameters of the prior, and both parts at all rows, given them."""
    theta = [np.log(prior.rvs(random_state=rng)) for prior in PRIORS.values()]
    X = np.concatenate([T, NEW])
    parts = []
    for one in summands_of(KERNEL.clone_with_theta(theta)):
        covariance = one.kernel(X) + 1e-9 * np.eye(len(X))
        values = np.linalg.cholesky(covariance) @ rng.standard_normal(len(X))
        parts.append(np.split(values, [len(T)]))
    return parts


def fit_numbers(parts, rng, seed):
    level = stats.lognorm(s=0.3, scale=0.05)
    noise = np.sqrt(level.rvs(random_state=rng)) * rng.standard_normal(len(T))
    # The names of a kernel with noise.
    priors = {f"k1__{name}": prior for name, prior in PRIORS.items()} | {"k2__noise_level": level}
    model = MCMCGaussianProcessRegressor(
        KERNEL + WhiteKernel(), priors=priors, random_state=seed, **SHORT
    )
    return quiet(model, T, parts[0][0] + parts[1][0] + noise)


def fit_counts(parts, rng, seed):
    y = rng.poisson(np.exp(parts[0][0] + parts[1][0]))
    model = MCMCCoxProcessRegressor(KERNEL, priors=PRIORS, mean="zero", random_state=seed, **SHORT)
    return quiet(model, T, y)


def shares_inside(fit, seed, factor=1.0):
    """For each part, plain and centred, and each level: the share of truths inside of intervals."""
    rng = np.random.default_rng(seed)
    parts = simulated(rng)
    model = fit(parts, rng, seed)
    quantiles = [0.5 * (1.0 + sign * level) for level in LEVELS for sign in (-1, 1)]
    found = []
    for rows in (None, T):
        predicted = model.predict_components(
            NEW, [*quantiles, 0.5], labels=["trend", "season"], centre_on=rows
        )
        for (at_rows, truth), name in zip(parts, ("trend", "season"), strict=True):
            truth = truth - (0.0 if rows is None else at_rows.mean())
            *ends, median = predicted[name].quantiles.T
            for low, high in zip(ends[::2], ends[1::2], strict=True):
                low, high = median + factor * (low - median), median + factor * (high - median)
                found.append(((low <= truth) & (truth <= high)).mean())
    return found


def deviations(fit, factor=1.0):
    """Deviations of mean shares from the levels, in standard errors over data sets."""
    shares = np.array([shares_inside(fit, seed, factor) for seed in range(N_DATA_SETS)])
    error = shares.std(axis=0, ddof=1) / np.sqrt(N_DATA_SETS)
    print(shares.mean(axis=0).round(3))
    return (shares.mean(axis=0) - np.tile(LEVELS, 4)) / error


@pytest.mark.slow
@pytest.mark.parametrize("fit", [fit_numbers, fit_counts])
def test_coverage_of_each_part(fit):
    # Eight numbers for each: one of them is above 4 standard errors once in some thousand runs.
    assert (abs(deviations(fit)) < 4.0).all()


@pytest.mark.slow
def test_intervals_that_are_too_short_are_noticed():
    """The control: three quarters of their length."""
    assert (deviations(fit_numbers, 0.75) < -4.0).any()
