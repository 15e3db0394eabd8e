"""Every representation on a covariance through inducing points, against dense normal densities.

The references are those of dense covariances. Only K is that of the structure, Q + diag(K - Q), or
the kernel's own where the points are the rows, and roots of K and R are the structure's, which
`tests/covariance` compares with dense inverses.
"""

import numpy as np
import pytest
import test_representations as dense
from problems import COMBINATIONS, LIKELIHOODS, REPRESENTATIONS_OF_DENSE, X_SMALL, make_model

from skgpmcmc._covariance import LowRankStructure
from skgpmcmc._covariance._low_rank_gradient import POINT_JITTER

POINTS = {"fewer": np.array([X_SMALL[1], [1.6, 0.6]]), "rows": X_SMALL}
MODELS = {name: dense.MODELS[name] for name in ("constant-mean", "collapsed-mean", "ard-and-noise")}
KERNEL_CALL = dense._prior.__wrapped__


def dense_prior(model, theta):
    """Return Q + diag(K - Q), m and the likelihood's parameters at theta."""
    K, mean, params = KERNEL_CALL(model, theta)
    points = model.structure.points
    if points is X_SMALL:
        return K, mean, params
    kernel = model.kernel.clone_with_theta(np.array(theta[: model.layout.n_kernel]))
    among, cross = kernel(points, points), kernel(points, model.X)
    among[np.diag_indices(len(points))] *= 1.0 + POINT_JITTER
    Q = cross.T @ np.linalg.solve(among, cross)
    offset = 0.0 if model.mean_prior is None else model.mean_prior[1] ** 2
    return Q + np.diag(np.diagonal(K) - offset - np.diagonal(Q)) + offset, mean, params


class Roots:
    """Roots of K and R, by the structure, for matrices that `prior` has returned."""

    def __init__(self, model):
        self.covariance = model.workspace().covariance
        self.theta = {}

    def prior(self, model, theta):
        K, mean, params = dense_prior(model, theta)
        self.theta[K.tobytes()] = np.array(theta[: model.layout.n_kernel])
        return K, mean, params

    def factor(self, K):
        return self.covariance.factor(self.theta[K.tobytes()])

    def of_prior(self, K):
        return self.factor(K).colour_columns(np.asfortranarray(np.eye(len(K))))

    def pseudo_posterior(self, K, mean, W, h):
        factor, eye = self.factor(K), np.asfortranarray(np.eye(len(K)))
        pseudo = self.covariance.pseudo_posterior_factory().build(factor, W)
        root = factor.colour_columns(pseudo.colour_columns(eye))
        R = np.linalg.inv(np.linalg.inv(K) + np.diag(W))
        return R @ (h + np.linalg.solve(K, np.full(len(K), mean))), root, R


class PriorWhiteReference(dense.FixedReference):
    """log L(f), with f = m + L nu."""

    roots = None

    def set_held(self, conditional):
        K, mean, _ = dense.prior_at(self.model, conditional.state.theta)
        self.nu = np.linalg.solve(self.roots.of_prior(K), self.latent - mean)

    def __call__(self, theta):
        K, mean, params = dense.prior_at(self.model, theta)
        return self.log_likelihood(mean + self.roots.of_prior(K) @ self.nu, params)


@pytest.fixture
def model(request, monkeypatch):
    name, options, points = request.param
    structure = LowRankStructure(POINTS[points])
    model = make_model(LIKELIHOODS[name].make(), structure=structure, **MODELS[options])
    roots = Roots(model)
    monkeypatch.setattr(dense, "_prior", roots.prior)
    monkeypatch.setattr(dense, "pseudo_posterior", roots.pseudo_posterior)
    monkeypatch.setattr(PriorWhiteReference, "roots", roots)
    dense._sites.cache_clear()
    yield model
    dense._sites.cache_clear()


def rotating():
    """Return for each representation, kind of points and model one likelihood, another for each."""
    cases = []
    for i, representation in enumerate(REPRESENTATIONS_OF_DENSE):
        names = [name for name, other in COMBINATIONS if other == representation]
        for j, (options, points) in enumerate((o, p) for o in MODELS for p in POINTS):
            name = names[(i + j) % len(names)]
            cases.append(((name, options, points), representation))
    return cases


@pytest.mark.parametrize(("model", "representation"), rotating(), indirect=["model"])
def test_differences_equal_dense_densities(model, representation):
    _, chosen, state, rng = dense.start(model, representation)
    conditional = chosen.condition(state, rng)
    kind = dense.REFERENCES[representation]
    kind = PriorWhiteReference if representation == "prior-white" else kind
    reference = kind(model, representation, conditional)
    at_start = reference(state.theta)
    for theta in dense.moves(state.theta, rng):
        difference = conditional.evaluate(theta) - conditional.log_density
        assert difference == pytest.approx(reference(theta) - at_start, rel=1e-7, abs=1e-7)


# Where all rows are points, so little of their variance is left that finite differences, divided by
# its root, have rounding errors as large as the tolerance.
HOLDS_ETA = [
    (case, representation)
    for case, representation in rotating()
    if case[2] == "fewer" and representation not in ("fixed", "prior-white", *dense.INTEGRATES)
]


@pytest.mark.parametrize(
    ("model", "representation"),
    HOLDS_ETA,
    indirect=["model"],
)
def test_target_is_the_joint_density_under_a_change_of_variables(
    model, representation, monkeypatch
):
    """The Jacobian by finite differences: nothing here knows of the roots."""
    monkeypatch.setattr(dense, "model_of", lambda name: model)
    dense.test_target_is_the_joint_density_under_a_change_of_variables(None, representation)
