"""Covariance structures: what they answer, and that a new one needs nothing but its own class.

The toy structure here has a square root of its own, K^1/2 from an eigendecomposition, in place of
a Cholesky factor. Only the root differs, so posterior and predictions must not.
"""

import copy
import math
import pickle

import numpy as np
import pytest
from joint_distribution import is_invariant, iterations
from problems import LIKELIHOODS, PRIORS, X_SMALL, make_model
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from skgpmcmc._covariance import (
    Covariance,
    CovarianceStructure,
    DenseCovariance,
    DenseStructure,
    GridStructure,
    covariances,
)
from skgpmcmc._grid import Grid
from skgpmcmc._prediction._dense import PosteriorDraws
from skgpmcmc._prediction._grid import GridPosteriorDraws
from skgpmcmc._prediction._registry import PREDICTIONS, predictions_of
from skgpmcmc._sampling import _plan
from skgpmcmc._sampling._plan import plan
from skgpmcmc.core import SamplerSettings, predict_latent, run_chains
from skgpmcmc.exceptions import MissingCapabilityError
from skgpmcmc.representations import (
    LIKELIHOOD_CAPABILITIES,
    REPRESENTATIONS,
    STRUCTURE_CAPABILITIES,
    ApproximateMarginalRepresentation,
    check_representation,
    first_usable,
    make_representation,
    supports,
)

GRID = Grid((np.array([0.0, 1.0]), np.array([0.0, 0.7, 1.1])))
STRUCTURES = [DenseStructure(), GridStructure(GRID)]


# ---------------------------------------------------------------- a structure in a few lines


class Root:
    """K = L L^T with the symmetric root L; see `Factor`."""

    def __init__(self, theta, K):
        values, self.vectors = np.linalg.eigh(K)
        self.theta, self.n, self.variance = theta, len(K), np.diagonal(K).copy()
        self.root = np.sqrt(values)
        self.half_log_det = float(np.log(self.root).sum())

    def colour(self, whitened):
        return self.vectors @ (self.root * (self.vectors.T @ whitened))

    def colour_columns(self, whitened):
        return self.vectors @ (self.root[:, np.newaxis] * (self.vectors.T @ whitened))

    colour_transpose = colour

    def whiten(self, deviation):
        return self.vectors @ ((self.vectors.T @ deviation) / self.root)

    def solve(self, vector):
        return self.whiten(self.whiten(vector))

    def log_normal(self, whitened):
        return -0.5 * float(whitened @ whitened) - self.half_log_det


class RootPosterior:
    """U = (I + L W L)^1/2, also symmetric; see `AnyPseudoPosterior`."""

    def __init__(self, factor, precision):
        L = factor.colour_columns(np.eye(factor.n))
        self._root = Root(factor.theta, np.eye(factor.n) + L @ (precision[:, np.newaxis] * L))
        self.factor, self.precision = factor, precision
        self.half_log_det = self._root.half_log_det

    def project(self, shift, mean):
        return self._root.whiten(self.factor.colour(shift - self.precision * mean))

    def whiten(self, whitened, projection):
        return self._root.colour(whitened) - projection

    def colour(self, eta, projection):
        return self._root.whiten(eta + projection)

    def colour_columns(self, eta):
        return np.stack([self._root.whiten(column) for column in eta.T], axis=-1)

    def build(self, factor, precision, current=None):
        return RootPosterior(factor, precision)


class RootCovariance(Covariance[Root]):
    def __init__(self, kernel, X, jitter):
        super().__init__(len(X), jitter)
        self._kernel, self._X = kernel, X

    def _new_factor(self, theta, current, moved):
        K = covariances(self._kernel.clone_with_theta(theta), self._X)
        np.fill_diagonal(K, np.diagonal(K) * (1.0 + self.jitter))
        if not np.isfinite(K).all() or np.linalg.eigvalsh(K)[0] <= 0.0:
            return None
        return Root(theta, K)

    def _build_afresh(self, current):
        return self._new_factor(current.theta, None, [])

    def pseudo_posterior_factory(self):
        return RootPosterior(Root(np.empty(0), np.eye(self.n)), np.zeros(self.n))


class RootStructure(CovarianceStructure):
    """For any kernel, but without a mean that is integrated out, and without added noise."""

    capabilities = frozenset({"any precisions"})

    def fits(self, kernel, integrates_mean):
        return not integrates_mean

    def covariance(self, kernel, X, jitter, offset_variance, gradient):
        return RootCovariance(kernel, X, jitter)

    def memory(self, kernel, X, gradient):
        return 100.0 * len(X) ** 2


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    """The one line of the registry; predictions do not depend on the root."""
    monkeypatch.setitem(PREDICTIONS, RootStructure, PosteriorDraws)


USED = ["fixed", "prior-white", "surr-site", "post-site", "post-taylor", 0.5]


@pytest.mark.parametrize("representation", USED)
def test_joint_distribution_with_another_structure(representation):
    model = make_model(LIKELIHOODS["poisson"].make(), structure=RootStructure())
    settings = SamplerSettings(representation, n_latent_updates=2, whitened_updates=True)
    assert is_invariant(model, iterations(settings), seed=0)


def test_joint_distribution_notices_a_wrong_determinant(monkeypatch):
    log_normal = Root.log_normal
    monkeypatch.setattr(
        Root, "log_normal", lambda self, z: log_normal(self, z) + 0.5 * self.half_log_det
    )
    model = make_model(LIKELIHOODS["poisson"].make(), structure=RootStructure())
    settings = SamplerSettings("fixed", n_latent_updates=2)
    assert not is_invariant(model, iterations(settings, n=4), seed=0)


def settings_of(representation, **options):
    return SamplerSettings(representation, n_warmup=10, n_draws=10, **options)


def test_predictions_with_another_structure():
    model = make_model(LIKELIHOODS["poisson"].make(), structure=RootStructure())
    trace = run_chains(model, settings_of("post-site"), n_chains=2, random_state=0)
    new = X_SMALL + 0.2
    dense = model.with_structure(DenseStructure())
    for own, other in zip(
        predict_latent(model, trace, new), predict_latent(dense, trace, new), strict=True
    ):
        np.testing.assert_array_equal(own, other)
    once = run_chains(model, settings_of("post-site"), n_chains=2, random_state=0, previous=trace)
    np.testing.assert_array_equal(once.latent, trace.latent)


def test_predictions_of_a_structure_that_is_not_registered_are_refused():
    class Unknown(CovarianceStructure):
        covariance = memory = None

    with pytest.raises(MissingCapabilityError, match=r"no predictions.*Unknown"):
        predictions_of(Unknown())

    class Derived(DenseStructure):
        pass

    assert predictions_of(Derived()) is PosteriorDraws
    assert predictions_of(STRUCTURES[1]) is GridPosteriorDraws


def test_a_structure_says_which_representations_it_has():
    model = make_model(LIKELIHOODS["gaussian-noise"].make(), structure=RootStructure())
    for representation, reason in [
        ("marginal", "noise of any variances can be added"),
        ("post-ep", "variances of the pseudo-posterior"),
        ("joint-post", "only a covariance on a grid"),
    ]:
        with pytest.raises(MissingCapabilityError, match=reason) as error:
            run_chains(model, settings_of(representation))
        assert "'post-site'" in str(error.value)
        assert "'surr-ep'" not in str(error.value)
        with pytest.raises(MissingCapabilityError, match=reason):
            make_representation(representation, model.workspace())
    names = ("marginal", "collapsed", "surr-ep", "surr-site")
    assert first_usable(names, model.likelihood, model.structure) == "surr-site"


def test_a_covariance_without_the_structure_is_refused():
    with pytest.raises(ValueError, match=r"structure=RootStructure cannot be used.*constant.*mean"):
        make_model(
            LIKELIHOODS["poisson"].make(),
            structure=RootStructure(),
            collapse_mean=True,
            priors=PRIORS,
        )


def test_trajectories_need_a_gradient_of_the_structure():
    class WithNoise(RootStructure):
        capabilities = frozenset({"any precisions", "added noise"})

    model = make_model(LIKELIHOODS["gaussian-noise"].make(), structure=WithNoise())
    with pytest.raises(ValueError, match="hamiltonian=True needs"):
        run_chains(model, settings_of("marginal", hamiltonian=True))


# ---------------------------------------------------------------- the structures of the package


@pytest.mark.parametrize("structure", [GRID, DenseStructure, "dense", 3])
def test_anything_else_is_no_structure(structure):
    with pytest.raises(TypeError, match="structure must be an instance"):
        make_model(LIKELIHOODS["poisson"].make(), structure=structure)


KINDS = [*REPRESENTATIONS.values(), ApproximateMarginalRepresentation]


@pytest.mark.parametrize("kind", KINDS)
def test_what_representations_require_is_known_by_name(kind):
    assert set(kind.requires) <= LIKELIHOOD_CAPABILITIES.keys() | STRUCTURE_CAPABILITIES.keys()


@pytest.mark.parametrize("structure", STRUCTURES)
def test_what_structures_have_is_known_by_name(structure):
    assert structure.capabilities <= STRUCTURE_CAPABILITIES.keys()


SUPPORTED = [
    (name, structure)
    for structure in [*STRUCTURES, RootStructure()]
    for name, kind in REPRESENTATIONS.items()
    if supports(structure, kind)
]


@pytest.mark.parametrize(("name", "structure"), SUPPORTED)
def test_a_structure_has_what_it_says(name, structure):
    """With a likelihood that has what it must, each representation makes steps."""
    X = GRID.points()
    likelihoods = [case.make() for case in LIKELIHOODS.values() if case.make().n_latent == 4]
    likelihood = next(one for one in likelihoods if _is_usable(name, one, structure))
    likelihood = _of_rows(likelihood, len(X))
    model = make_model(likelihood, X=X, structure=structure)
    assert plan(model, SamplerSettings(name)).structure is structure
    trace = run_chains(model, settings_of(name), n_chains=1, random_state=0)
    assert np.isfinite(trace.complete_data_log_likelihood).all()


def _is_usable(name, likelihood, structure):
    try:
        check_representation(name, likelihood, structure)
    except MissingCapabilityError:
        return False
    return True


def _of_rows(likelihood, n):
    """A likelihood of the same kind on n latent variables, the last of them unobserved."""
    kind = type(likelihood)
    return kind(likelihood.y, latent_index=np.arange(len(likelihood.y)), n_latent=n)


def test_a_plan_asks_once(monkeypatch):
    model = make_model(LIKELIHOODS["poisson"].make())
    asked = []
    original = _plan.usable_structure
    monkeypatch.setattr(
        _plan, "usable_structure", lambda *args: asked.append(args) or original(*args)
    )
    taylor = type(model.likelihood).taylor_sites
    calls = []
    monkeypatch.setattr(
        type(model.likelihood),
        "taylor_sites",
        lambda self, params: calls.append(params) or taylor(self, params),
    )
    run_chains(model, settings_of("fixed"), n_chains=3, random_state=0)
    assert len(asked) == 1
    assert not calls


def test_plans_leave_the_model_as_it_is():
    kernel = ConstantKernel(1.0) * RBF(1.0)
    model = make_model(_of_rows(LIKELIHOODS["poisson"].make(), 6), kernel, X=GRID.points(),
                       structure=STRUCTURES[1])  # fmt: skip
    before = copy.copy(vars(model))
    planned = plan(model, SamplerSettings("post-site"))
    assert type(planned.structure) is DenseStructure
    assert isinstance(planned.workspace().covariance, DenseCovariance)
    assert vars(model) == before
    assert planned.layout is model.layout


@pytest.mark.parametrize("structure", STRUCTURES)
def test_structures_are_pickled(structure):
    again = pickle.loads(pickle.dumps(structure))
    assert type(again) is type(structure)
    kernel, X = ConstantKernel(1.0) * RBF(1.0), GRID.points()
    assert again.memory(kernel, X, False) == structure.memory(kernel, X, False) > 0.0
    assert again.fits(kernel, False)


def test_grids_fit_kernels_that_separate():
    structure = GridStructure(GRID)
    assert structure.fits(RBF(1.0), integrates_mean=False)
    assert not structure.fits(RBF(1.0), integrates_mean=True)
    assert not structure.fits(Matern(1.0), integrates_mean=False)
    assert not structure.has_gradient(RBF(1.0), GRID.points()[:2])


def test_only_the_first_rows_of_large_structures_are_looked_at_for_messages():
    X = np.arange(600.0)[:, np.newaxis]
    X[-1] = math.nan
    kernel = RBF(1.0)
    with np.errstate(invalid="ignore"):
        assert DenseStructure().describe_fault(kernel, X, 1e-6)
        assert not RootStructure().describe_fault(kernel, X, 1e-6)
