"""The representations agree on the posteriors of real problems (slow; `-m slow -s` prints).

Each problem compares about 100 numbers by 4 standard errors: by chance one problem in 150 fails.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_iris
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from skgpmcmc._model._model import LatentGaussianModel
from skgpmcmc._running._chains import run_groups
from skgpmcmc._sampling._settings import SamplerSettings
from skgpmcmc.datasets import load_coal_mining, load_ionosphere, make_gp_regression
from skgpmcmc.diagnostics import ess_bulk, mcse_mean, rhat
from skgpmcmc.likelihoods import (
    BernoulliLogit,
    BernoulliProbit,
    Gaussian,
    Poisson,
    SoftmaxClass,
    StudentT,
)


@dataclass(frozen=True)
class Way:
    """How a posterior is sampled."""

    representation: str
    n_draws: int
    #: Iterations for each draw: those that mix slowly need more, and cost less.
    thin: int = 1
    hamiltonian: bool = False
    whitened_updates: bool = False

    @property
    def name(self) -> str:
        return self.representation + (" hamiltonian" if self.hamiltonian else "")


@dataclass(frozen=True)
class Problem:
    """A posterior, of one latent function or of several coupled ones."""

    make: Callable[[], list[LatentGaussianModel]]
    ways: list[Way]


def mining():
    data = load_coal_mining()
    kernel = ConstantKernel(1.0, (0.01, 10.0)) * RBF(10.0, (1.0, 100.0))
    priors = {"mean": stats.norm(np.log(191 / 112), 2.0)}
    likelihood = Poisson(data.target)
    return [LatentGaussianModel(kernel, data.data, likelihood, priors=priors, mean="constant")]


def ionosphere(likelihood, largest_variance):
    data = load_ionosphere()
    # Column 1 is constant; the first four informative ones.
    X = data.data[:60, [2, 3, 4, 5]]
    kernel = ConstantKernel(1.0, (0.1, largest_variance)) * RBF(np.ones(4), (0.1, 10.0))
    signs = np.where(data.target[:60] == 1, 1.0, -1.0)
    return lambda: [LatentGaussianModel(kernel, X, likelihood(signs))]


def iris():
    X, y = load_iris(return_X_y=True)
    rows = np.concatenate([np.arange(20) + start for start in (0, 50, 100)])
    kernel = ConstantKernel(1.0, (0.5, 20.0)) * RBF(1.0, (0.3, 10.0))
    return [
        LatentGaussianModel(kernel, X[rows], SoftmaxClass(np.where(y[rows] == c, 1.0, -1.0), 3))
        for c in range(3)
    ]


def synthetic(likelihood, **priors):
    X, y = make_gp_regression(60, 2)
    # Below 0.1 points are so far apart that another mode explains y without noise.
    kernel = ConstantKernel(1.0, (0.1, 10.0)) * RBF(np.ones(2), (0.1, 10.0))
    priors = {"noise_level": stats.lognorm(s=0.7, scale=0.1), **priors}
    return lambda: [LatentGaussianModel(kernel, X, likelihood(y), priors=priors)]


def heavy_tailed(y):
    return StudentT(y, degrees_of_freedom=None)


def integrated(representation, n_slices, n_trajectories):
    """Return both updates of theta with f integrated out."""
    return [
        Way(representation, n_slices, whitened_updates=True),
        Way(representation, n_trajectories, whitened_updates=True, hamiltonian=True),
    ]


def by_sites(n_draws, prior_white_thin):
    """Return the paper's representations that every likelihood has, but the slowest."""
    return [
        Way("post-site", n_draws, 2),
        Way("surr-site", n_draws, 3),
        Way("prior-white", 2000, prior_white_thin),
    ]


PROBLEMS = {
    "mining": Problem(
        mining,
        [
            Way("post-site", 6000, 2),
            Way("post-taylor", 6000, 2),
            Way("surr-site", 6000, 4),
            Way("surr-taylor", 6000, 4),
            Way("prior-white", 6000, 8),
            Way("fixed", 6000, 40),
        ],
    ),
    "logit": Problem(
        ionosphere(BernoulliLogit, 100.0), integrated("collapsed", 3000, 1500) + by_sites(2000, 5)
    ),
    # The larger the latent values, the less the auxiliary variables move.
    "probit": Problem(
        ionosphere(BernoulliProbit, 10.0), integrated("collapsed", 4000, 2000) + by_sites(2000, 5)
    ),
    "softmax": Problem(iris, integrated("collapsed", 1000, 800) + by_sites(1200, 2)),
    "gaussian": Problem(
        synthetic(Gaussian), integrated("marginal", 2000, 1000) + by_sites(1500, 8)
    ),
    "student-t": Problem(
        synthetic(heavy_tailed, degrees_of_freedom=stats.gamma(2.0, scale=10.0)),
        integrated("collapsed", 2000, 1000) + by_sites(800, 5),
    ),
}


def sample(problem, way):
    """Return draws of shape (n_parameters, n_chains, n_draws), and what they are called."""
    models = problem.make()
    settings = SamplerSettings(n_warmup=500, **dataclasses.asdict(way))
    traces = run_groups([models], settings, n_chains=4, random_state=0, n_jobs=-1)[0]
    names = [
        name if len(models) == 1 else f"{number}: {name}"
        for number, model in enumerate(models)
        for name in model.layout.names
    ]
    return np.concatenate([np.moveaxis(trace.theta, -1, 0) for trace in traces]), names


def moments(column):
    """Return mean and sd of draws (n_chains, n_draws), each with its Monte Carlo error."""
    sd = column.std()
    squares = mcse_mean((column - column.mean()) ** 2)
    return column.mean(), mcse_mean(column), sd, squares / (2.0 * sd)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROBLEMS)
def test_representations_agree(name):
    problem = PROBLEMS[name]
    found, rhats = {}, {}
    for way in problem.ways:
        draws, labels = sample(problem, way)
        found[way.name] = np.array([moments(column) for column in draws])
        rhats[way.name] = max(map(rhat, draws))
        ess = min(map(ess_bulk, draws))
        print(f"{name}, {way.name}: R-hat {rhats[way.name]:.3f}, ESS {ess:.0f}")
        for label, row in zip(labels, found[way.name], strict=True):
            print("   {:<24} mean {:.4f} ({:.4f}) sd {:.4f} ({:.4f})".format(label, *row))
    # A chain that has not converged has no Monte Carlo standard error to compare by.
    assert {way: value for way, value in rhats.items() if value >= 1.05} == {}
    worst = {}
    for (way, one), (other_way, other) in combinations(found.items(), 2):
        for value in (0, 2):
            combined = np.hypot(one[:, value + 1], other[:, value + 1])
            distance = np.abs(one[:, value] - other[:, value]) / combined
            worst[way, other_way, ("mean", "sd")[value // 2]] = distance.max()
    print(f"{name}: at most {max(worst.values()):.2f} standard errors apart")
    assert {pair: distance for pair, distance in worst.items() if distance > 4.0} == {}
