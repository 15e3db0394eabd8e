"""Covariance structures: what they answer, and that a new one needs nothing but its own class.

The toy structure here has a square root of its own, K^1/2 from an eigendecomposition, in place of
a Cholesky factor. Only the root differs, so posterior and predictions must not.
"""

import copy
import math
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from joint_distribution import is_invariant, iterations
from problems import (
    LIKELIHOODS,
    PRIORS,
    X_SMALL,
    check_representation,
    make_model,
    make_representation,
)
from rotation import in_turn
from scipy import stats
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from skgpmcmc._covariance import (
    Covariance,
    CovarianceStructure,
    DenseCovariance,
    DenseStructure,
    GridStructure,
    LowRankStructure,
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
    first_usable,
    representation_class,
    supports,
)

GRID = Grid((np.array([0.0, 1.0]), np.array([0.0, 0.7, 1.1])))
KERNEL = ConstantKernel(1.0, (0.1, 10.0)) * RBF([1.0, 1.0], (0.1, 10.0))
JITTER = 1e-6


def kernel_matrix(kernel, X):
    """The covariance with jitter, by scikit-learn."""
    K = kernel(X)
    return K + JITTER * np.diag(np.diagonal(K))


POINTS = np.array([[0.1, 0.2], [0.8, 0.9], [0.6, 0.1], [0.0, 1.5]])


def low_rank_matrix(kernel, X):
    """The covariance through inducing points, by dense algebra."""
    cross, among = kernel(X, POINTS), kernel(POINTS, POINTS)
    among[np.diag_indices(len(POINTS))] *= 1.0 + 1e-8
    Q = cross @ np.linalg.solve(among, cross.T)
    return Q + np.diag(kernel.diag(X) * (1.0 + JITTER) - np.diagonal(Q))


@dataclass(frozen=True)
class Entry:
    """A structure for the points of GRID, and the covariance that it stands for."""

    structure: CovarianceStructure
    matrix: Callable = kernel_matrix


#: A new structure is one line here: all tests with `entry` then run for it.
STRUCTURES = {
    "dense": Entry(DenseStructure()),
    "grid": Entry(GridStructure(GRID)),
    "low-rank": Entry(LowRankStructure(POINTS), low_rank_matrix),
}


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


ENTRIES = {**STRUCTURES, "toy": Entry(RootStructure())}


@pytest.fixture(params=ENTRIES)
def entry(request):
    return ENTRIES[request.param]


# "joint-post" has tests of its own, and test_invariance.py is for dense covariances.
OTHERS = [name for name in ENTRIES if name != "dense"]
WITH = ["fixed", "prior-white", "surr-site", "post-site", "post-taylor", 0.5]
USED = [
    (name, representation)
    for name, representation in product(OTHERS, WITH)
    if supports(ENTRIES[name].structure, representation_class(representation))
]


@pytest.mark.parametrize(("name", "representation"), in_turn(USED, 4, OTHERS, WITH))
def test_joint_distribution_with_every_structure(name, representation):
    likelihood = _of_rows(LIKELIHOODS["poisson"].make(), GRID.n)
    structure = ENTRIES[name].structure
    model = make_model(likelihood, X=GRID.points(), structure=structure)
    assert plan(model, SamplerSettings(representation)).structure is structure
    settings = SamplerSettings(representation, n_latent_updates=2, whitened_updates=True)
    assert is_invariant(model, iterations(settings), seed=0)


def test_joint_distribution_notices_a_missing_determinant(monkeypatch):
    log_normal = Root.log_normal
    monkeypatch.setattr(Root, "log_normal", lambda self, z: log_normal(self, z) + self.half_log_det)
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
    assert predictions_of(GridStructure(GRID)) is GridPosteriorDraws


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


# ---------------------------------------------------------------- what each capability means

THETA = np.array([0.4, -0.3, 0.2])
PRECISION = np.array([0.5, 2.0, 0.0, 1.0, 7.0, 0.1])


def factored(entry, gradient=False):
    """The covariance of a chain, its factor at THETA, and K as a matrix."""
    X = GRID.points()
    covariance = entry.structure.covariance(KERNEL, X, JITTER, 0.0, gradient)
    return covariance, covariance.factor(THETA), entry.matrix(KERNEL.clone_with_theta(THETA), X)


def test_factor_is_a_square_root(entry):
    _, factor, K = factored(entry)
    vector, eye = np.linspace(-1.0, 2.0, GRID.n), np.eye(GRID.n)
    L = factor.colour_columns(np.asfortranarray(eye))
    np.testing.assert_allclose(L @ L.T, K, atol=1e-12)
    np.testing.assert_allclose(factor.variance * np.ones(GRID.n), np.diagonal(K), rtol=1e-12)
    np.testing.assert_allclose(factor.colour(vector), L @ vector, atol=1e-12)
    np.testing.assert_allclose(factor.colour_transpose(vector), L.T @ vector, atol=1e-12)
    np.testing.assert_allclose(L @ factor.whiten(vector), vector, atol=1e-9)
    np.testing.assert_allclose(K @ factor.solve(vector), vector, atol=1e-9)
    expected = stats.multivariate_normal(cov=K).logpdf(L @ vector)
    constant = 0.5 * GRID.n * math.log(2.0 * math.pi)
    assert factor.log_normal(vector) - constant == pytest.approx(expected, abs=1e-8)


def test_pseudo_posterior_is_a_square_root(entry):
    covariance, factor, K = factored(entry)
    any_precisions = "any precisions" in entry.structure.capabilities
    W = PRECISION if any_precisions else np.full(GRID.n, 1.7)
    pseudo = covariance.pseudo_posterior_factory().build(factor, W)
    shift, mean, eta = np.linspace(-1.0, 1.0, GRID.n), 0.3, np.linspace(2.0, -1.0, GRID.n)
    b = pseudo.project(shift, mean)
    # f = m + L z and z = U^-T (eta + b): mean and covariance by dense inverses.
    L = factor.colour_columns(np.asfortranarray(np.eye(GRID.n)))
    root = L @ pseudo.colour_columns(np.asfortranarray(np.eye(GRID.n)))
    R = np.linalg.inv(np.linalg.inv(K) + np.diag(W))
    np.testing.assert_allclose(root @ root.T, R, atol=1e-9)
    centre = mean + R @ (shift - W * mean)
    z = pseudo.colour(eta, b)
    np.testing.assert_allclose(mean + L @ z, centre + root @ eta, atol=1e-8)
    np.testing.assert_allclose(pseudo.whiten(z, b), eta, atol=1e-9)
    log_det = np.linalg.slogdet(np.eye(GRID.n) + K * W)[1]
    assert pseudo.half_log_det == pytest.approx(0.5 * log_det, abs=1e-10)
    if "marginal variances" in entry.structure.capabilities:
        np.testing.assert_allclose(pseudo.marginal_variance(), np.diagonal(R), atol=1e-9)


WITH_NOISE = [name for name, one in ENTRIES.items() if "added noise" in one.structure.capabilities]


@pytest.mark.parametrize("name", WITH_NOISE)
def test_added_noise(name):
    entry = ENTRIES[name]
    gradient = entry.structure.has_gradient(KERNEL, GRID.points()[:2])
    covariance, factor, K = factored(entry, gradient)
    noise, deviation = 0.1 + PRECISION, np.linspace(-1.0, 1.0, GRID.n)
    noisy = covariance.noisy_factor(THETA, noise, factor)
    vector = np.linspace(1.0, -2.0, GRID.n)
    np.testing.assert_allclose((K + np.diag(noise)) @ noisy.solve(vector), vector, atol=1e-9)
    beside = covariance.factor_beside(THETA, noisy)
    np.testing.assert_allclose(K @ beside.solve(vector), vector, atol=1e-6)
    if gradient:

        def log_normal(theta):
            K = entry.matrix(KERNEL.clone_with_theta(theta), GRID.points()) + np.diag(noise)
            return stats.multivariate_normal(cov=K).logpdf(deviation)

        slope = covariance.log_normal_gradient(noisy, noise, deviation).theta
        step = 1e-5 * np.eye(3)
        expected = [(log_normal(THETA + h) - log_normal(THETA - h)) / 2e-5 for h in step]
        np.testing.assert_allclose(slope, expected, atol=1e-6)


def test_factors_of_another_theta_leave_the_current_one_valid(entry):
    covariance, factor, K = factored(entry)
    vector = np.linspace(-1.0, 2.0, GRID.n)
    before = factor.colour(vector)
    assert covariance.factor(THETA, factor) is factor
    assert covariance.factor(THETA + 0.1, factor) is not None
    np.testing.assert_array_equal(factor.colour(vector), before)
    afresh = covariance.rebuild(factor)
    np.testing.assert_allclose(K @ afresh.solve(vector), vector, atol=1e-9)


def test_memory_is_estimated(entry):
    X = GRID.points()
    assert 0.0 < entry.structure.memory(KERNEL, X, False) < 1e6
    assert predictions_of(entry.structure) is not None


# ---------------------------------------------------------------- the structures of the package


@pytest.mark.parametrize("structure", [GRID, DenseStructure, "dense", 3])
def test_anything_else_is_no_structure(structure):
    with pytest.raises(TypeError, match="structure must be an instance"):
        make_model(LIKELIHOODS["poisson"].make(), structure=structure)


KINDS = [*REPRESENTATIONS.values(), ApproximateMarginalRepresentation]


@pytest.mark.parametrize("kind", KINDS)
def test_what_representations_require_is_known_by_name(kind):
    assert set(kind.requires) <= LIKELIHOOD_CAPABILITIES.keys() | STRUCTURE_CAPABILITIES.keys()


def test_what_structures_have_is_known_by_name(entry):
    assert entry.structure.capabilities <= STRUCTURE_CAPABILITIES.keys()


SUPPORTED = [
    (name, one.structure)
    for one in ENTRIES.values()
    for name, kind in REPRESENTATIONS.items()
    if supports(one.structure, kind)
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
                       structure=GridStructure(GRID))  # fmt: skip
    before = copy.copy(vars(model))
    planned = plan(model, SamplerSettings("post-site"))
    assert type(planned.structure) is DenseStructure
    assert isinstance(planned.workspace().covariance, DenseCovariance)
    assert vars(model) == before
    assert planned.layout is model.layout


def test_structures_are_pickled(entry):
    again = pickle.loads(pickle.dumps(entry.structure))
    assert type(again) is type(entry.structure)
    X = GRID.points()
    assert again.memory(KERNEL, X, False) == entry.structure.memory(KERNEL, X, False)
    assert again.fits(KERNEL, False)


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
