"""The representations agree on the posteriors of real problems (slow; `-m slow -s` prints)."""

import numpy as np
import pytest
from scipy import stats
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from skgpmcmc._model import LatentGaussianModel
from skgpmcmc._sampler import run_chains
from skgpmcmc._settings import SamplerSettings
from skgpmcmc.datasets import load_coal_mining, load_ionosphere
from skgpmcmc.diagnostics import ess_bulk, mcse_mean, rhat
from skgpmcmc.likelihoods import BernoulliLogit, Poisson

#: Representation -> iterations for each kept draw: the slowly mixing ones need more,
#: and cost less.
THIN = {
    "post-site": 2,
    "post-taylor": 2,
    "surr-site": 4,
    "surr-taylor": 4,
    "prior-white": 8,
    "fixed": 40,
}


def mining():
    data = load_coal_mining()
    kernel = ConstantKernel(1.0, (0.01, 10.0)) * RBF(10.0, (1.0, 100.0))
    priors = {"mean": stats.norm(np.log(191 / 112), 2.0)}
    likelihood = Poisson(data.target)
    model = LatentGaussianModel(kernel, data.data, likelihood, priors=priors, mean="constant")
    return model, list(THIN), 6000


def ionosphere():
    data = load_ionosphere()
    # Column 1 is constant; the first four informative ones.
    X = data.data[:60, [2, 3, 4, 5]]
    kernel = ConstantKernel(1.0, (0.1, 100.0)) * RBF(np.ones(4), (0.1, 10.0))
    likelihood = BernoulliLogit(np.where(data.target[:60] == 1, 1.0, -1.0))
    names = [name for name in THIN if not name.endswith("taylor")]
    return LatentGaussianModel(kernel, X, likelihood), names, 8000


def moments(draws):
    """Return mean and sd of each column with their Monte Carlo standard errors."""
    rows = []
    for column in np.moveaxis(draws, -1, 0):
        sd = column.std()
        squares = mcse_mean((column - column.mean()) ** 2)
        rows.append((column.mean(), mcse_mean(column), sd, squares / (2.0 * sd)))
    return np.array(rows)


@pytest.mark.slow
@pytest.mark.parametrize("problem", [mining, ionosphere])
def test_representations_agree(problem):
    model, names, n_draws = problem()
    found = {}
    for name in names:
        settings = SamplerSettings(name, n_warmup=1000, n_draws=n_draws, thin=THIN[name])
        trace = run_chains(model, settings, n_chains=4, random_state=0, n_jobs=-1)
        columns = np.moveaxis(trace.theta, -1, 0)
        found[name] = moments(trace.theta)
        worst_rhat, worst_ess = max(map(rhat, columns)), min(map(ess_bulk, columns))
        print(f"{problem.__name__} {name}: R-hat {worst_rhat:.3f}, ESS {worst_ess:.0f}")
        for label, row in zip(model.layout.names, found[name], strict=True):
            print("   {:<24} mean {:.4f} ({:.4f}) sd {:.4f} ({:.4f})".format(label, *row))
        # A chain that has not converged has no Monte Carlo standard error to compare by.
        if worst_rhat >= 1.05:
            print(f"   {name} has not converged and is not compared")
            del found[name]
    assert list(found) == names
    for one in found.values():
        for other in found.values():
            for value, error in ((0, 1), (2, 3)):
                combined = np.hypot(one[:, error], other[:, error])
                assert (np.abs(one[:, value] - other[:, value]) <= 4.0 * combined).all()
