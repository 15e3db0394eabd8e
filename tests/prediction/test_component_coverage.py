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
T = np.linspace(0.0, 4.0, 26)[:, None]
#: Some of the rows, between them, and ahead.
NEW = np.concatenate([T[::5], T[3::8] + 0.05, [[4.3], [5.1]]])
KERNEL = ConstantKernel() * RBF() + ConstantKernel() * ExpSineSquared(
    1.0, 1.0, length_scale_bounds="fixed", periodicity_bounds="fixed"
)
PRIORS = {
    "k1__k1__constant_value": stats.lognorm(s=0.5),
    "k1__k2__length_scale": stats.lognorm(s=0.3, scale=2.0),
    "k2__k1__constant_value": stats.lognorm(s=0.5, scale=0.5),
}
SHORT = {"n_chains": 2, "n_warmup": 60, "n_draws": 100, "min_ess": None, "max_rhat": None}


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


def shares_inside(fit, seed, factors):
    """For each factor of their lengths, each part and level: the share of truths in intervals."""
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
            from_median = np.reshape(ends, (len(LEVELS), 2, -1)) - median
            for low, high in from_median:
                off = truth - median
                inside = [(f * low <= off) & (off <= f * high) for f in factors]
                found.append(np.mean(inside, axis=1))
    return np.transpose(found)


@pytest.mark.slow
@pytest.mark.parametrize("fit", [fit_numbers, fit_counts])
def test_coverage_of_each_part(fit):
    """And the control: intervals of three quarters of their length have another one."""
    shares = np.array([shares_inside(fit, seed, (1.0, 0.75)) for seed in range(N_DATA_SETS)])
    error = shares.std(axis=0, ddof=1) / np.sqrt(N_DATA_SETS)
    deviations = (shares.mean(axis=0) - np.tile(LEVELS, 4)) / error
    # Eight numbers for each: one of them is above 4 standard errors once in some thousand runs.
    assert (abs(deviations[0]) < 4.0).all()
    assert (deviations[1] < -4.0).any()
