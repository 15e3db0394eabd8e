"""`joint-ep`: theta and latent variables move together, with inducing points."""

import numpy as np
import pytest
from joint_distribution import is_invariant, iterations
from problems import LIKELIHOODS, POINTS, X_SMALL, frozen_for, make_model, make_representation
from refusals import check_message
from scipy import stats
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Matern, WhiteKernel

from skgpmcmc import MCMCCoxProcessRegressor, MCMCGaussianProcessClassifier
from skgpmcmc._covariance import LowRankCovariance, LowRankStructure
from skgpmcmc._covariance._low_rank_coordinates import LowRankCoordinates
from skgpmcmc.core import SamplerSettings, run_chains
from skgpmcmc.exceptions import MissingCapabilityError
from skgpmcmc.likelihoods import Poisson

KERNELS = {
    "ard": ConstantKernel(1.0) * RBF([1.0, 1.0]),
    "matern-white": ConstantKernel(1.0) * Matern(1.0, nu=1.5) + WhiteKernel(0.3),
    "sum": ConstantKernel(1.0) * RBF(1.0) + DotProduct(sigma_0=0.5),
    "alone": Matern(1.0, nu=2.5),
}
MEANS = {"constant": {}, "zero": {"mean": "zero"}, "collapsed": {"collapse_mean": True}}


def conditional_of(model, seed=0):
    """The representation, its conditional at a draw from the prior, and the generator."""
    workspace, rng = model.workspace(), np.random.default_rng(seed)
    state = workspace.initial_state(rng, np.full(len(model.layout), -0.2))
    held = make_representation("joint-ep", workspace)
    assert held.prepare(state)
    return held, held.condition(state, rng), rng


def model_of(name="poisson", kernel="ard", **options):
    priors = {h.name: stats.lognorm(s=1.0) for h in KERNELS[kernel].hyperparameters if not h.fixed}
    priors |= {"mean": stats.norm(0.3, 0.7)}
    priors |= {p: stats.lognorm(s=0.7, scale=3.0) for p in LIKELIHOODS[name].make().parameters}
    options = {"structure": LowRankStructure(POINTS), **options}
    return make_model(LIKELIHOODS[name].make(), KERNELS[kernel], priors, **options)


@pytest.mark.parametrize("mean", MEANS)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", ["poisson", "logit-repeated", "student-t-noise"])
def test_gradient_by_differences(name, kernel, mean):
    held, conditional, rng = conditional_of(model_of(name, kernel, **MEANS[mean]))
    theta = conditional.state.theta
    n_theta, n_free, step = len(theta), len(held.free), 1e-5

    def density(position):
        return conditional.evaluate_joint(position[:n_theta], position[n_theta:])

    start = np.concatenate([theta, conditional.joint_position])
    # The likelihood's parameters stay: the sites depend on them.
    moving = np.r_[0:n_free, n_theta : len(start)]
    shift = np.zeros_like(start)
    shift[moving] = 0.2 * rng.standard_normal(len(moving))
    for position in (start, start + shift):
        density(position)
        gradient = conditional.gradient()
        expected = [
            (density(position + step * e) - density(position - step * e)) / (2.0 * step)
            for e in np.eye(len(start))[moving]
        ]
        np.testing.assert_allclose(gradient[moving], expected, 1e-5, 1e-5)
        assert not gradient[n_free:n_theta].any()


def test_coordinates_of_a_state_give_its_latent_variables():
    _, conditional, _ = conditional_of(model_of())
    state = conditional.state
    before = conditional.log_density
    assert conditional.evaluate(state.theta) == pytest.approx(before, rel=1e-12)
    conditional.accept()
    np.testing.assert_allclose(conditional.state.latent, state.latent, rtol=1e-10)
    np.testing.assert_allclose(conditional.state.whitened, state.whitened, rtol=1e-8, atol=1e-10)


def test_density_by_dense_algebra():
    """Of v, e and theta: the prior of (v, e) times the likelihood, and the determinant of the map.

    The map from eta is linear; its matrix is found by evaluating it.
    """
    _, conditional, rng = conditional_of(model_of())
    n_eta, theta = len(conditional.joint_position), conditional.state.theta
    densities, ours = [], []
    for at in (theta, theta + 0.3):
        eta = rng.standard_normal(n_eta)
        ours.append(conditional.evaluate_joint(at, eta))
        inner = _inner_variables(conditional, at)
        offset = inner(np.zeros(n_eta))
        matrix = np.stack([inner(e) - offset for e in np.eye(n_eta)], axis=1)
        log_prior = stats.norm.logpdf(offset + matrix @ eta).sum()
        log_likelihood = conditional._candidate.log_likelihood
        densities.append(log_likelihood + log_prior + np.linalg.slogdet(matrix)[1])
    assert ours[1] - ours[0] == pytest.approx(densities[1] - densities[0], rel=1e-9)


def _inner_variables(conditional, theta):
    """Return the map from eta to (v, e), by plain algebra."""
    conditional.evaluate_joint(theta, conditional.joint_position)
    columns, amplitude = conditional._at.columns, conditional._at.amplitude
    A, own = np.sqrt(amplitude) * columns.values, amplitude * columns.residual
    w, h = conditional._sites
    r, c = h - w * conditional._candidate.mean, 1.0 / (1.0 + own * w)
    B = np.eye(A.shape[1]) + A.T @ np.diag(w * c) @ A
    C = np.linalg.cholesky(B)

    def inner(eta):
        m = A.shape[1]
        v = np.linalg.solve(B, A.T @ (c * r)) + np.linalg.solve(C.T, eta[:m])
        x = c * (A @ v + own * r) + np.sqrt(own * c) * eta[m:]
        return np.concatenate([v, (x - A @ v) / np.sqrt(own)])

    return inner


# tests/statistics/test_low_rank_chains.py and test_invariance.py have the joint distribution.


def _without_evidence(*given):
    made = _AT(*given)
    if made is not None:
        made.log_evidence = 0.0
    return made


_AT = LowRankCoordinates.at


@pytest.mark.second_stage
def test_forgotten_evidence_is_rejected(monkeypatch):
    rows = np.linspace(0.0, 3.0, 12)[:, np.newaxis]
    likelihood = Poisson(np.ones(12), exposure=np.full(12, 5.0))
    model = make_model(likelihood, X=rows, structure=LowRankStructure(rows[1::3]))
    settings = SamplerSettings("joint-ep", n_latent_updates=1)
    frozen = frozen_for("joint-ep", model)
    monkeypatch.setattr(LowRankCoordinates, "at", _without_evidence)
    assert not is_invariant(model, iterations(settings, frozen, 4, 0.5), seed=14)


def test_starts_near_the_data():
    """At a draw from the prior f is far from many labels: eta would be far from normal."""
    model = model_of("logit")
    held, conditional, rng = conditional_of(model)
    state = held.first_state(conditional.state, rng)
    assert (state.latent != conditional.state.latent).all()
    eta = held.condition(state, rng).joint_position
    assert eta @ eta < stats.chi2(len(eta)).isf(1e-9)


def test_factor_that_fails_keeps_the_state(monkeypatch):
    _, conditional, _ = conditional_of(model_of())
    state, covariance = conditional.state, conditional.workspace.covariance
    conditional.evaluate(state.theta + 0.1)
    monkeypatch.setattr(LowRankCovariance, "factor_at", lambda *_: None)
    before = covariance.n_failures
    conditional.accept()
    assert conditional.state is state
    assert covariance.n_failures == before + 1


@pytest.mark.parametrize("estimator", [MCMCGaussianProcessClassifier, MCMCCoxProcessRegressor])
@pytest.mark.parametrize("n_chains", [1, 3])
def test_what_auto_stands_for(estimator, n_chains):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, (60, 2))
    y = (X[:, 0] > 0.0).astype(int)
    settings = {"n_warmup": 15, "n_draws": 20, "min_ess": None, "random_state": 0}
    model = estimator(n_inducing=8, n_chains=n_chains, **settings).fit(X, y)
    assert (model.representation_, model.hyperparameter_update_) == ("joint-ep", "hmc")
    sliced = estimator(n_inducing=8, hyperparameter_update="slice", **settings).fit(X, y)
    assert sliced.representation_ != "joint-ep"


def test_what_it_needs():
    model = make_model(LIKELIHOODS["poisson"].make())
    with pytest.raises(MissingCapabilityError, match="inducing points"):
        run_chains(model, SamplerSettings("joint-ep"))
    cox = MCMCCoxProcessRegressor(
        kernel=_NoGradient(), representation="joint-ep", n_inducing=X_SMALL[:2]
    )
    check_message(
        lambda: cox.fit(X_SMALL, [1, 2, 3, 4]), ["representation='joint-ep'", "eval_gradient"]
    )


class _NoGradient(RBF):
    def __call__(self, X, Y=None, eval_gradient=False):
        if eval_gradient:
            raise NotImplementedError
        return super().__call__(X, Y)
