"""Several latent functions, coupled through a softmax likelihood."""

import numpy as np
import pytest
from joint_distribution import N_FRESH, passes, remember_quantiles
from problems import PRIORS, X_SMALL, make_model
from rotation import one_in
from rounding import ELEMENTWISE
from scipy import stats
from scipy.special import log_softmax, logsumexp
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from skgpmcmc import MCMCGaussianProcessClassifier
from skgpmcmc._sampling._chain import Chain
from skgpmcmc._sampling._latent_functions import LatentFunctionsGibbs
from skgpmcmc._sampling._settings import SamplerSettings
from skgpmcmc.diagnostics import mcse_mean
from skgpmcmc.exceptions import MissingCapabilityError
from skgpmcmc.likelihoods import BernoulliLogit, SoftmaxClass

N_CLASSES = 3
#: Latent values far apart, so that what the classes know of each other matters.
KERNEL_PRIORS = {
    "k1__constant_value": stats.lognorm(s=0.5, scale=9.0),
    "k2__length_scale": PRIORS["k2__length_scale"],
}


def class_model(signs):
    likelihood = SoftmaxClass(signs, N_CLASSES)
    return make_model(likelihood, priors=KERNEL_PRIORS, mean="zero")


def joint_draw(workspaces, rng):
    """Draw theta and f of every class, and labels given them."""
    states = []
    for workspace in workspaces:
        theta = workspace.layout.sample(rng)
        states.append(workspace.state_at(theta, rng.standard_normal(len(X_SMALL))))
    bounds = np.cumsum(np.exp(log_softmax([s.latent for s in states], axis=0)), axis=0)
    labels = (rng.random(len(X_SMALL)) > bounds[:-1]).sum(axis=0)
    return states, labels


def observe(workspaces, labels):
    for c, workspace in enumerate(workspaces):
        workspace.likelihood = workspace.likelihood.with_targets(np.where(labels == c, 1.0, -1.0))


def statistics(states, labels):
    latent = np.array([state.latent for state in states])
    log_p = log_softmax(latent, axis=0)[labels, np.arange(len(labels))]
    return [
        *states[0].theta,
        *states[2].theta,
        latent[0, 0],
        float(latent[1] @ latent[1]),
        # Labels say nothing about the sum, unless a class is updated as if it were alone.
        float(np.square(latent.sum(axis=0)).sum()),
        log_p.sum(),
        states[1].factor.log_normal(states[1].whitened),
    ]


def three_sweeps(conditions, representation):
    models = [class_model(np.array([1.0, -1.0, -1.0, 1.0])) for _ in range(N_CLASSES)]
    for model in models:
        remember_quantiles(model)
    workspaces = [model.workspace() for model in models]
    settings = SamplerSettings(representation, n_latent_updates=3, whitened_updates=True)

    def move(states, labels, rng):
        observe(workspaces, labels)
        pairs = zip(workspaces, states, strict=True)
        group = LatentFunctionsGibbs([Chain(w, settings, rng, s) for w, s in pairs], rng)
        for _ in range(3):
            if conditions:
                group.iterate()
            else:
                for chain in group.chains:
                    chain.iterate()
        return [chain.state for chain in group.chains]

    def draw(size, rng):
        moved, fresh = [], []
        for _ in range(size):
            states, labels = joint_draw(workspaces, rng)
            moved.append(statistics(move(states, labels, rng), labels))
        for _ in range(N_FRESH * size):
            fresh.append(statistics(*joint_draw(workspaces, rng)))
        return np.array(moved), np.array(fresh)

    return draw


@pytest.mark.parametrize("representation", one_in(3, ["surr-site", "post-site", "prior-white"]))
def test_sweeps_over_the_classes_leave_the_joint_distribution_invariant(representation):
    assert passes(three_sweeps(True, representation), seed=0)


def test_classes_that_do_not_know_of_each_other_are_detected():
    assert not passes(three_sweeps(False, "surr-site"), seed=0)


def test_likelihood_given_the_others_is_the_softmax():
    rng = np.random.default_rng(0)
    latent, labels = rng.normal(size=(3, 5)), np.array([0, 1, 2, 0, 1])
    likelihood = SoftmaxClass(np.where(labels == 0, 1.0, -1.0), 3)
    likelihood.condition_on([latent[1], latent[2]])

    def joint(first):
        values = log_softmax(np.array([first, *latent[1:]]), axis=0)
        return values[labels, np.arange(5)].sum()

    other = rng.normal(size=5)
    difference = likelihood.log_likelihood(latent[0]) - likelihood.log_likelihood(other)
    assert difference == pytest.approx(joint(latent[0]) - joint(other), rel=ELEMENTWISE)


@pytest.mark.parametrize("n_classes", [2, 4, 5])
def test_every_class_is_updated_given_all_others(n_classes):
    """Not the first and the last of the others alone: three classes could not tell."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, n_classes, len(X_SMALL))
    settings = SamplerSettings("surr-site", n_latent_updates=1)
    chains = []
    for c in range(n_classes):
        likelihood = SoftmaxClass(np.where(labels == c, 1.0, -1.0), n_classes)
        model = make_model(likelihood, priors=KERNEL_PRIORS, mean="zero")
        chains.append(Chain.start(model, settings, rng))
    group = LatentFunctionsGibbs(chains, rng)
    for number, chain in enumerate(group._in_turn()):
        chain.iterate()
        latent = np.array([each.state.latent for each in group.chains])
        others = np.delete(latent, number, axis=0)
        sign = np.where(labels == number, 1.0, -1.0)
        margin = latent[number] - logsumexp(others, axis=0)
        expected = -np.log1p(np.exp(-sign * margin)).sum()
        assert chain.state.log_likelihood == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("n_classes", [2, 4, 5])
def test_rows_of_a_group_have_the_probability_of_their_class(n_classes):
    rng = np.random.default_rng(1)
    index, weights = np.array([0, 2, 1, 0, 2]), np.array([1.0, 0.5, 3.0, 2.0, 1.0])
    labels = rng.integers(0, n_classes, 5)
    group = [
        SoftmaxClass(
            np.where(labels == c, 1.0, -1.0), n_classes, latent_index=index, sample_weight=weights
        )
        for c in range(n_classes)
    ]
    latents = rng.normal(size=(n_classes, 3))
    share = np.exp(latents) / np.exp(latents).sum(axis=0)
    found = group[0].log_likelihood_of_rows(group, list(latents))
    np.testing.assert_allclose(found, weights * np.log(share[labels, index]), rtol=1e-12)
    flat = group[0].class_probabilities(latents[:, None], 0.0 * latents[:, None])
    np.testing.assert_allclose(flat, share.T, rtol=1e-12)


def test_rows_of_a_group_that_is_none():
    group = [BernoulliLogit([1.0]), BernoulliLogit([1.0])]
    with pytest.raises(MissingCapabilityError, match="one latent function, not on 2"):
        group[0].log_likelihood_of_rows(group, [np.zeros(1)] * 2)


def test_sites_are_those_at_equal_latent_values():
    signs = np.array([1.0, -1.0])
    sites = SoftmaxClass(signs, 4).fit_sites(0.3, 2.0)
    offset = logsumexp(np.zeros(3))
    binary = BernoulliLogit(signs).fit_sites(0.3 - offset, 2.0)
    np.testing.assert_allclose(sites.precision, binary.precision, rtol=ELEMENTWISE)
    means = sites.shift / sites.precision
    np.testing.assert_allclose(means, binary.shift / binary.precision + offset, rtol=1e-10)


def test_a_likelihood_of_one_function_cannot_be_coupled():
    with pytest.raises(MissingCapabilityError, match="one latent function, not on 3"):
        BernoulliLogit([1.0]).condition_on([np.zeros(1)] * 2)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("n_chains", "n_draws"), [(2, 400), pytest.param(4, 500, marks=pytest.mark.slow)]
)
def test_two_classes_equal_the_binary_model_of_twice_the_variance(n_chains, n_draws):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, (8, 1))
    y = (X[:, 0] > 0.3).astype(int)

    def probabilities(variance, **options):
        kernel = ConstantKernel(variance, "fixed") * RBF(1.0, "fixed")
        model = MCMCGaussianProcessClassifier(
            kernel,
            n_warmup=50,
            n_chains=n_chains,
            n_draws=n_draws,
            min_ess=None,
            random_state=0,
            max_prediction_draws=2000,
            **options,
        )
        model.fit(X, y)
        grid = np.array([[-1.5], [0.4], [3.0]])
        latent = np.array([t.latent for t in np.atleast_1d(model.trace_)])
        f = latent[1] - latent[0] if len(latent) == 2 else latent[0]
        error = max(mcse_mean(column) for column in np.moveaxis(1.0 / (1.0 + np.exp(-f)), 2, 0))
        return model.predict_proba(grid)[:, 1], error

    binary, binary_error = probabilities(2.0)
    joint, joint_error = probabilities(1.0, multi_class="softmax")
    assert (np.abs(joint - binary) < 4.0 * np.hypot(binary_error, joint_error)).all()
