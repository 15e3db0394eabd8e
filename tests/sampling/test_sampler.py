"""Chains: reproducibility, costs, rejections, and what one iteration does."""

from __future__ import annotations

import joblib
import numpy as np
import pytest
from problems import LIKELIHOODS, PRIORS, X_SMALL, make_model
from rounding import ELEMENTWISE
from scipy import stats
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from skgpmcmc._covariance import KernelCovariance, StationaryCovariance
from skgpmcmc._model._model import LatentGaussianModel
from skgpmcmc._running._chains import run_chains
from skgpmcmc._sampling import _latent_moves
from skgpmcmc._sampling._chain import Chain
from skgpmcmc._sampling._settings import SamplerSettings
from skgpmcmc.diagnostics import mcse_mean
from skgpmcmc.exceptions import MissingCapabilityError
from skgpmcmc.likelihoods import BernoulliLogit, Gaussian, Likelihood, Poisson

SHORT = {"n_warmup": 6, "n_draws": 8, "n_latent_updates": 2}
TARGETS = np.array([0.5, -0.2, 1.0, 0.3])


def poisson_model():
    return make_model(LIKELIHOODS["poisson"].make())


def gaussian_model(kernel=None, **options):
    """Return a model with a Gaussian likelihood and log-uniform priors on the bounds."""
    likelihood = Gaussian(TARGETS, noise_variance=0.3)
    kernel = RBF(1.0, (0.2, 5.0)) if kernel is None else kernel
    return LatentGaussianModel(kernel, X_SMALL, likelihood, **options)


def run(model, representation="surr-site", *, n_chains=1, random_state=0, theta=None, **options):
    settings = SamplerSettings(representation, **{**SHORT, **options})
    return run_chains(model, settings, n_chains=n_chains, random_state=random_state, theta=theta)


def assert_same_draws(a, b):
    np.testing.assert_array_equal(a.theta, b.theta)
    np.testing.assert_array_equal(a.latent, b.latent)
    np.testing.assert_array_equal(a.log_likelihood, b.log_likelihood)


# Reproducibility


def test_draws_do_not_depend_on_how_chains_run():
    model, settings = poisson_model(), SamplerSettings("surr-site", **SHORT)
    alone = run_chains(model, settings, n_chains=3, random_state=3)
    processes = run_chains(model, settings, n_chains=3, random_state=3, n_jobs=2)
    with joblib.parallel_config(backend="threading", n_jobs=2):
        threads = run_chains(model, settings, n_chains=3, random_state=3)
    assert_same_draws(alone, processes)
    assert_same_draws(alone, threads)


def test_a_chain_does_not_depend_on_the_number_of_chains():
    few, many = run(poisson_model(), n_chains=2), run(poisson_model(), n_chains=5)
    np.testing.assert_array_equal(few.theta, many.theta[:2])
    np.testing.assert_array_equal(few.latent, many.latent[:2])


def test_chains_differ_from_each_other():
    trace = run(poisson_model(), n_chains=4)
    assert len(np.unique(trace.theta[:, 0, 0])) == 4
    assert len(np.unique(trace.latent[:, -1, 0])) == 4


def test_random_state():
    first = run(poisson_model(), random_state=7)
    assert_same_draws(first, run(poisson_model(), random_state=7))
    generator = np.random.RandomState(7)
    assert_same_draws(first, run(poisson_model(), random_state=generator))
    others = [generator, 8, None, None]  # the generator has moved on
    draws = [run(poisson_model(), random_state=state).theta[0, 0, 0] for state in others]
    assert len({first.theta[0, 0, 0], *draws}) == 5


def test_a_run_leaves_the_model_alone():
    model = poisson_model()
    assert_same_draws(run(model), run(model))


# Which iterations are kept


@pytest.mark.parametrize("representation", ["surr-site", "fixed"])
def test_thin_keeps_every_thin_th_draw(representation):
    every = run(poisson_model(), representation, n_draws=12)
    third = run(poisson_model(), representation, n_draws=4, thin=3)
    np.testing.assert_array_equal(third.theta, every.theta[:, 2::3])
    np.testing.assert_array_equal(third.latent, every.latent[:, 2::3])
    assert third.sampling[0].n_likelihoods == every.sampling[0].n_likelihoods


def test_warmup_is_dropped():
    options = {"adapt_widths": False}
    all_draws = run(poisson_model(), n_warmup=0, n_draws=10, **options)
    kept = run(poisson_model(), n_warmup=6, n_draws=4, **options)
    np.testing.assert_array_equal(kept.theta, all_draws.theta[:, 6:])
    assert all_draws.warmup[0].n_covariances == 1  # the starting point


# Starting points


def never(theta, rng):
    """Propose something that is never accepted."""
    return theta + 0.1, -np.inf


def test_given_starting_points_are_used():
    starts = np.log([[0.5], [1.0], [3.0]])
    trace = run(gaussian_model(), n_chains=3, theta=starts, proposal=never)
    np.testing.assert_array_equal(trace.theta, np.repeat(starts[:, None], 8, axis=1))
    assert (trace.moved == 0.0).all()


@pytest.mark.parametrize("shape", [(1,), (1, 1), (2, 2)])
def test_starting_points_of_another_shape(shape):
    with pytest.raises(ValueError, match=r"theta must have the shape .* = \(2, 1\); got"):
        run(gaussian_model(), n_chains=2, theta=np.zeros(shape))


def test_starting_points_are_drawn_from_the_prior():
    model = gaussian_model(priors={"length_scale": stats.uniform(1.0, 0.5)})
    trace = run(model, n_chains=20, n_warmup=0, n_draws=1, proposal=never)
    starts = np.exp(trace.theta[:, 0, 0])
    assert ((starts >= 1.0) & (starts <= 1.5)).all()
    assert len(np.unique(starts)) == 20


class Indefinite(RBF):
    """Positive definite only for length scales below `limit`; else of the given kind."""

    limit, fault = 1.0, "indefinite"

    def __call__(self, X, Y=None, eval_gradient=False):
        K = super().__call__(X, Y)
        if self.length_scale < self.limit:
            return K
        if self.fault == "indefinite":
            return 2.0 - K  # 1 on the diagonal, and more beside it
        K[1, 0] = K[0, 1] = np.nan
        return K


class Never(Indefinite):
    limit = 0.0


class NeverFinite(Never):
    fault = "nan"


def test_impossible_start_says_what_to_do():
    model = gaussian_model(Never(1.0, (0.2, 5.0)))
    with pytest.raises(ValueError, match="no starting point found in 100 tries") as error:
        run(model)
    message = str(error.value)
    assert "Never(length_scale=1) could not be factored in 100 of them" in message
    assert "At the last, at length_scale=" in message
    assert "not positive definite (smallest eigenvalue -" in message
    assert "rescale them, or state narrower priors" in message


def test_impossible_start_of_a_kernel_without_free_hyperparameters():
    model = gaussian_model(NeverFinite(1.0, "fixed"))
    with pytest.raises(ValueError, match="the covariance of rows 0 and 1 is nan") as error:
        run(model)
    assert "priors" not in str(error.value)


# Rejected proposals


class Holes(Likelihood):
    """Gaussian, but NaN where the first latent value is large or the scale is."""

    parameters = ("scale",)

    def pointwise(self, latent, params=()):
        scale = params[0]
        values = stats.norm.logpdf(TARGETS, latent, scale)
        return np.where((latent[..., :1] > 0.4) | (scale > 1.5), np.nan, values)


REJECTING = ["fixed", "prior-white", "surr-site", "surr-taylor", "post-site", 0.5]


@pytest.mark.parametrize("representation", REJECTING)
def test_nan_likelihood_is_rejected(representation):
    model = LatentGaussianModel(
        RBF(1.0, (0.2, 5.0)),
        X_SMALL,
        Holes(TARGETS),
        priors={"scale": stats.loguniform(0.3, 10.0)},
    )
    trace = run(model, representation, n_draws=100)
    assert np.isfinite(trace.log_likelihood).all()
    assert np.isfinite(trace.complete_data_log_likelihood).all()
    assert trace.latent[..., 0].max() <= 0.4
    assert trace.posterior()["scale"].max() <= 1.5
    assert (trace.moved > 0.0).all()


@pytest.mark.parametrize("fault", ["indefinite", "nan"])
@pytest.mark.parametrize("representation", [*REJECTING, "marginal"])
def test_kernel_that_is_not_positive_definite_is_rejected(representation, fault, monkeypatch):
    monkeypatch.setattr(Indefinite, "fault", fault)
    trace = run(gaussian_model(Indefinite(1.0, (0.2, 5.0))), representation, n_draws=100)
    assert trace.posterior()["length_scale"].max() < 1.0
    assert trace.sampling[0].n_failures > 10
    assert np.isfinite(trace.complete_data_log_likelihood).all()
    assert trace.moved[0, 0] > 0.5


def test_metropolis_rejects_what_has_no_density():
    model = gaussian_model(Indefinite(1.0, (0.2, 5.0)))

    def beyond(theta, rng):
        return theta + 10.0 * rng.standard_normal(1), 0.0  # mostly outside the support

    trace = run(model, proposal=beyond, n_draws=200)
    assert trace.posterior()["length_scale"].max() < 1.0
    assert 0.0 < trace.moved[0, 0] < 0.5


class ProposalError(Exception):
    pass


def test_error_in_a_proposal_propagates():
    def broken(theta, rng):
        raise ProposalError

    with pytest.raises(ProposalError):
        run(gaussian_model(), proposal=broken)


# Combinations that do not exist


class Counting(Gaussian):
    """Counts evaluations of the log likelihood."""

    def __init__(self, y, **options):
        super().__init__(y, **options)
        self.calls = []

    def log_likelihood(self, latent, params=()):
        self.calls.append(1)
        return super().log_likelihood(latent, params)


def test_missing_capability_is_reported_before_sampling(monkeypatch):
    def start(*args):
        raise AssertionError("a chain was started")

    monkeypatch.setattr(Chain, "start", start)
    logit = make_model(BernoulliLogit([1.0, -1.0, 1.0, 1.0]))
    for representation in ("surr-taylor", "post-taylor"):
        with pytest.raises(MissingCapabilityError, match="BernoulliLogit has no Taylor sites"):
            run(logit, representation)
    with pytest.raises(MissingCapabilityError, match="Poisson is not a Gaussian likelihood"):
        run(poisson_model(), "marginal")
    with pytest.raises(ValueError, match="representation must be one of 'fixed'"):
        run(poisson_model(), "surr")


@pytest.mark.parametrize("alpha", [0.0, -1.0, np.nan, np.inf])
def test_surrogate_noise_must_be_positive(alpha):
    with pytest.raises(ValueError, match="must be positive and finite"):
        run(poisson_model(), alpha)


# Costs


class CountedRBF(RBF):
    """Counts constructions; not one of the kernels of the fast path."""

    calls = 0

    def __call__(self, X, Y=None, eval_gradient=False):
        CountedRBF.calls += 1
        return super().__call__(X, Y, eval_gradient)


@pytest.mark.parametrize("representation", [*REJECTING, "post-taylor"])
def test_costs_count_covariances_and_likelihoods(representation):
    likelihood = Counting(TARGETS)
    # The fixed addend: otherwise moves of the signal variance would only rescale K.
    kernel = ConstantKernel(1.0) * CountedRBF(1.0) + ConstantKernel(0.1, "fixed")
    names = {f"k1__{n}": n for n in ("k1__constant_value", "k2__length_scale")}
    priors = {n: PRIORS[names.get(n, n)] for n in (*names, "mean", "noise_level")}
    model = make_model(likelihood, kernel, priors)
    CountedRBF.calls = 0
    likelihood.calls.clear()  # of the trial with which a model begins
    trace = run(model, representation, n_draws=20)
    warmup, sampling = trace.warmup[0], trace.sampling[0]
    # Apart from the point after the warm-up from which the chain can be continued, and from the
    # round that goes on from there: costs do not depend on rounds.
    assert warmup.n_covariances + sampling.n_covariances == CountedRBF.calls - 2
    assert warmup.n_likelihoods + sampling.n_likelihoods == len(likelihood.calls) - 1
    # Two hyperparameters of the kernel in 20 iterations: at least one proposal each.
    assert sampling.n_covariances >= 40
    assert warmup.n_covariances < sampling.n_covariances
    assert warmup.n_failures == sampling.n_failures == 0
    assert warmup.seconds > 0.0
    assert sampling.seconds > 0.0


def test_mean_and_likelihood_moves_construct_no_covariance():
    kernel = ConstantKernel(1.0, "fixed") * CountedRBF(1.0, "fixed")
    trace = run(make_model(Gaussian(TARGETS), kernel), n_draws=20)
    assert trace.theta.shape[-1] == 2
    assert (trace.moved > 0.5).all()
    assert trace.sampling[0].n_covariances == 0


# What one iteration does


def test_no_free_hyperparameters():
    model = gaussian_model(RBF(1.0, "fixed"))
    trace = run(model, "prior-white", n_chains=2, n_draws=2000, n_latent_updates=3)
    assert trace.theta.shape == (2, 2000, 0)
    K = RBF(1.0)(X_SMALL) + 1e-6 * np.eye(4)
    gain = K @ np.linalg.inv(K + 0.3 * np.eye(4))
    for draws, expected in zip(np.moveaxis(trace.latent, -1, 0), gain @ TARGETS, strict=True):
        assert abs(draws.mean() - expected) < 4.0 * mcse_mean(draws)
    assert trace.sampling[0].n_covariances == 0


def test_marginal_draws_latents_exactly():
    model = gaussian_model(RBF(1.0, "fixed"))
    draws = run(model, "marginal", n_draws=4000).latent[0]
    K = RBF(1.0)(X_SMALL) + 1e-6 * np.eye(4)
    gain = K @ np.linalg.inv(K + 0.3 * np.eye(4))
    mean, covariance = gain @ TARGETS, K - gain @ K
    whitened = np.linalg.solve(np.linalg.cholesky(covariance), (draws - mean).T)
    # Four standard errors of a mean and of a product; those of a square are sqrt(2) larger.
    error = 4.0 / np.sqrt(4000)
    np.testing.assert_allclose(whitened.mean(axis=1), 0.0, atol=error)
    np.testing.assert_allclose(whitened @ whitened.T / 4000, np.eye(4), atol=1.5 * error)
    np.testing.assert_allclose(whitened[:, 1:] @ whitened[:, :-1].T / 4000, 0.0, atol=error)


@pytest.mark.parametrize(("representation", "n_updates"), [("marginal", 0), ("surr-site", 5)])
def test_number_of_elliptical_updates(representation, n_updates, monkeypatch):
    chain = Chain.start(
        gaussian_model(),
        SamplerSettings(representation, n_latent_updates=5),
        np.random.default_rng(0),
    )
    calls, step = [], _latent_moves.elliptical_slice_step
    monkeypatch.setattr(
        _latent_moves, "elliptical_slice_step", lambda *args: calls.append(1) or step(*args)
    )
    for _ in range(3):
        chain.iterate()
    assert len(calls) == 3 * n_updates


@pytest.mark.parametrize(("each", "n_draws"), [(True, 4), (False, 1)])
def test_how_often_surrogate_data_are_drawn(each, n_draws, monkeypatch):
    model = make_model(Gaussian(TARGETS))  # four hyperparameters
    settings = SamplerSettings("surr-site", condition_each_scalar=each)
    chain = Chain.start(model, settings, np.random.default_rng(0))
    surrogates, condition = [], chain.representation.condition

    def recorded(state, rng):
        conditional = condition(state, rng)
        surrogates.append(conditional._surrogate)
        return conditional

    monkeypatch.setattr(chain.representation, "condition", recorded)
    for _ in range(3):
        chain.iterate()
    assert len(surrogates) == 3 * n_draws
    assert len({tuple(g) for g in surrogates}) == 3 * n_draws


def recorded_widths(monkeypatch, model, **options):
    """Return the widths of the brackets at the start of every iteration."""
    widths, iterate = [], Chain.iterate

    def recording(self, **options):
        widths.append(self.widths.widths.copy())
        iterate(self, **options)

    monkeypatch.setattr(Chain, "iterate", recording)
    run(model, n_warmup=80, n_draws=80, **options)
    return np.array(widths)


def test_widths_adapt_in_warmup_only(monkeypatch):
    widths = recorded_widths(monkeypatch, poisson_model())
    assert len(widths) == 160
    assert (widths[:80].min(axis=0) < widths[:80].max(axis=0)).all()
    assert (widths[80:] == widths[80]).all()


def test_widths_stay_without_adaptation(monkeypatch):
    model = make_model(
        Gaussian(TARGETS),
        RBF(1.0, (0.2, 5.0)),
        {"length_scale": stats.lognorm(s=0.1), "noise_level": stats.lognorm(s=0.5)},
        mean="zero",
    )
    widths = recorded_widths(monkeypatch, model, adapt_widths=False)
    # The support where it is bounded, else the central 99 %.
    expected = np.tile([np.log(25.0), stats.norm.ppf(0.995)], (160, 1))
    np.testing.assert_allclose(widths, expected, rtol=ELEMENTWISE)


def test_given_width_is_used(monkeypatch):
    widths = recorded_widths(monkeypatch, gaussian_model(), width=3.5, adapt_widths=False)
    assert (widths == 3.5).all()


def test_moved_is_the_share_of_draws_that_moved():
    trace = run(poisson_model(), n_draws=50, n_warmup=1)
    changes = (np.diff(trace.theta[0], axis=0) != 0.0).mean(axis=0)
    np.testing.assert_allclose(trace.moved[0], changes, atol=1.0 / 50.0)


# The fast path of the covariance


class UserRBF(RBF):
    """The same function, but the package cannot know that."""


@pytest.mark.parametrize("representation", ["fixed", "prior-white", "surr-site", "post-site"])
@pytest.mark.parametrize("collapse", [False, True])
def test_generic_and_fast_covariances_give_the_same_chain(representation, collapse):
    traces = []
    for kernel, path in ((RBF, StationaryCovariance), (UserRBF, KernelCovariance)):
        priors = {
            "k1__constant_value": stats.lognorm(s=0.7),
            "k2__length_scale": stats.lognorm(s=0.8),
            "mean": stats.norm(0.3, 0.7),
        }
        model = make_model(
            Poisson([0.0, 3.0, 1.0, 0.0]),
            ConstantKernel(1.0) * kernel([1.0, 1.0]),
            priors,
            collapse_mean=collapse,
        )
        assert type(model.workspace().covariance) is path
        traces.append(run(model, representation, n_warmup=0, n_draws=20))
    fast, generic = traces
    np.testing.assert_allclose(fast.theta, generic.theta, rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(fast.latent, generic.latent, rtol=0.0, atol=1e-8)
    assert fast.sampling[0].n_covariances == generic.sampling[0].n_covariances


@pytest.mark.parametrize(("n_warmup", "n_approximate"), [(10, 10), (0, 1)])
def test_kept_draws_are_never_approximate(n_warmup, n_approximate):
    with pytest.raises(ValueError, match=f"n_approximate.*n_warmup={n_warmup}.*{n_approximate}"):
        SamplerSettings(n_warmup=n_warmup, n_approximate=n_approximate)
