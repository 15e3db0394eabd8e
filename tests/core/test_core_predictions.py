"""Predictions of new observations in the core."""

import numpy as np
import pytest
from problems import LIKELIHOODS, X_SMALL, make_model
from scipy import stats
from scipy.special import logsumexp

from skgpmcmc import core
from skgpmcmc._prediction import _dense
from skgpmcmc.exceptions import MissingCapabilityError
from skgpmcmc.likelihoods import Gaussian, Likelihood

NEW = np.array([[0.1, 0.3], [0.7, 0.2], [1.2, 1.2], [2.5, 0.0], [9.0, 9.0]])
EXPOSURE = np.array([0.1, 1.0, 4.0, 0.5, 2.0])


def sampled(likelihood, n_draws=6):
    model = make_model(likelihood)
    settings = core.SamplerSettings("prior-white", n_warmup=3, n_draws=n_draws)
    return model, core.run_chains(model, settings, n_chains=2, random_state=0)


@pytest.fixture(params=[1, 2, 5])
def chunks(request, monkeypatch):
    """Rows are predicted so many at a time."""
    monkeypatch.setattr(_dense, "CHUNK_BYTES", request.param * 8 * 12)
    return request.param


@pytest.mark.parametrize("name", ["poisson", "negative-binomial"])
def test_counts_in_unequal_exposures(name, chunks):
    model, trace = sampled(LIKELIHOODS[name].make())
    draws = _dense.PosteriorDraws.from_trace(model.kernel, model.X, trace, model.jitter, 200)
    assert len(list(draws.chunks(NEW))) == -(-len(NEW) // chunks)
    parts = [moments for _, *moments in draws.chunks(NEW)]
    mean, variance = (np.concatenate(part, axis=1) for part in zip(*parts, strict=True))
    found = core.predict_mean(model, trace, NEW, exposure=EXPOSURE)
    expected = EXPOSURE * np.exp(mean + 0.5 * variance).mean(axis=0)
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    z = np.linspace(-10.0, 10.0, 2001)
    rate = EXPOSURE[:, None] * np.exp(mean[..., None] + np.sqrt(variance)[..., None] * z)
    y = np.array([0, 2, 1, 7, 3])
    if name == "poisson":
        log_p = stats.poisson.logpmf(y[:, None], rate)
    else:
        shape = 1.0 / trace.posterior()["dispersion"].reshape(-1, 1, 1)
        log_p = stats.nbinom.logpmf(y[:, None], shape, shape / (shape + rate))
    log_p = logsumexp(log_p + stats.norm.logpdf(z) + np.log(z[1] - z[0]), axis=(0, 2))
    found = core.predict_log_density(model, trace, NEW, y, exposure=EXPOSURE)
    np.testing.assert_allclose(found, log_p - np.log(len(mean)), rtol=1e-6)


def test_rows_do_not_depend_on_each_other(chunks):
    model, trace = sampled(LIKELIHOODS["poisson"].make())
    found = core.predict_quantiles(model, trace, NEW, [0.5, 0.9], exposure=EXPOSURE)
    alone = [
        core.predict_quantiles(model, trace, NEW[[i]], [0.5, 0.9], exposure=EXPOSURE[i])[0]
        for i in range(len(NEW))
    ]
    np.testing.assert_array_equal(found, alone)


@pytest.mark.parametrize("name", ["student-t", "gaussian-noise", "logit"])
def test_samples_have_the_predicted_distribution(name):
    """The first is a likelihood of a user's, with `pointwise` and `sample` alone."""
    model, trace = sampled(LIKELIHOODS[name].make())
    n = 3000
    samples = core.predict_samples(model, trace, NEW[:2], n, random_state=0)
    assert samples.shape == (2, n)
    again = core.predict_samples(model, trace, NEW[:2], n, random_state=0)
    np.testing.assert_array_equal(samples, again)
    if name == "logit":
        probability = core.predict_mean(model, trace, NEW[:2])
        error = np.sqrt(probability * (1.0 - probability) / n)
        assert (np.abs((samples > 0.0).mean(axis=1) - probability) < 4.5 * error).all()
        return
    quantiles = core.predict_quantiles(model, trace, NEW[:2], [0.1, 0.5, 0.8])
    up_to = (samples[:, :, None] <= quantiles[:, None]).mean(axis=1)
    p = np.array([0.1, 0.5, 0.8])
    assert (np.abs(up_to - p) < 4.5 * np.sqrt(p * (1.0 - p) / n)).all()


def test_densities_of_a_user_s_likelihood_are_those_of_the_package_s():
    model, trace = sampled(LIKELIHOODS["student-t"].make())
    y = [0.0, 1.0, -3.0, 2.0, 0.5]
    found = core.predict_log_density(model, trace, NEW, y)
    model.likelihood = core_student_t()
    np.testing.assert_allclose(found, core.predict_log_density(model, trace, NEW, y), rtol=1e-7)


def core_student_t():
    from skgpmcmc.likelihoods import StudentT

    return StudentT(np.array([0.5, -0.2, 1.0, 0.3]), 1.0, 4.0)


class WithoutSample(Likelihood):
    def pointwise(self, latent, params=()):
        return stats.norm.logpdf(self.y, latent)


def test_refusals():
    model, trace = sampled(WithoutSample(np.zeros(len(X_SMALL))))
    with pytest.raises(MissingCapabilityError, match="does not define sample"):
        core.predict_samples(model, trace, NEW)
    with pytest.raises(ValueError, match="quantiles must be"):
        core.predict_quantiles(model, trace, NEW, [1.5])
    with pytest.raises(
        ValueError, match="y must have one element for each of the 5 rows of X; got 1"
    ):
        core.predict_log_density(model, trace, NEW, [0.0])
    with pytest.raises(TypeError, match="takes no 'exposure' for new rows"):
        core.predict_mean(model, trace, NEW, exposure=1.0)


@pytest.mark.parametrize("support", ["integers", None])
def test_a_support_that_there_is_not(support):
    likelihood = WithoutSample(np.zeros(len(X_SMALL)))
    likelihood.support = support
    with pytest.raises(ValueError, match=r"WithoutSample.support must be one of 'real', 'counts'"):
        make_model(likelihood)


IMPOSSIBLE = {"counts": [-1.0, 0.5, 1e300], "labels": [0.0, 0.5, 2.0]}


class OwnCounts(Likelihood):
    """Whose probabilities are finite for what is no count, too."""

    support = "counts"

    def pointwise(self, latent, params=()):
        return stats.geom.logpmf(1, 0.5) - np.abs(self.y - latent)


@pytest.mark.parametrize(
    "name", ["poisson", "negative-binomial", "binomial", "logit", "probit", "own"]
)
def test_what_is_impossible_has_density_zero(name):
    own = OwnCounts(np.zeros(len(X_SMALL)))
    model, trace = sampled(own if name == "own" else LIKELIHOODS[name].make())
    new = {"poisson": {"exposure": 1.0}, "negative-binomial": {"exposure": 1.0}}.get(name, {})
    new = {"trials": 3.0} if name == "binomial" else new
    for y in IMPOSSIBLE[model.likelihood.support]:
        found = core.predict_log_density(model, trace, NEW[:2], [y, 1.0], **new)
        assert found[0] == -np.inf
        assert np.isfinite(found[1])
        alone = core.predict_log_density(model, trace, NEW[1:2], [1.0], **new)
        np.testing.assert_allclose(found[1], alone[0], rtol=1e-9)


PREDICTIONS = {
    "mean": core.predict_mean,
    "quantiles": lambda *args, **new: core.predict_quantiles(*args, [0.5], **new),
    "log density": lambda *args, **new: core.predict_log_density(*args, [1.0, 1.0], **new),
    "samples": lambda *args, **new: core.predict_samples(*args, random_state=0, **new),
}


@pytest.fixture(scope="module")
def in_units():
    """Models with values of rows, what those of new rows are called, and what they must be."""
    y = np.array([0.5, -0.2, 1.0, 0.3])
    return {
        "exposure": (*sampled(LIKELIHOODS["poisson"].make()), "finite and >= 0"),
        "trials": (*sampled(LIKELIHOODS["binomial"].make()), "a whole number from 1 to 9e15"),
        "known_variance": (*sampled(Gaussian(y, np.ones(4))), "finite and >= 0"),
    }


@pytest.mark.parametrize("name", ["exposure", "trials", "known_variance"])
@pytest.mark.parametrize("predict", PREDICTIONS.values(), ids=PREDICTIONS)
def test_values_of_new_rows_that_cannot_be(in_units, name, predict):
    model, trace, allowed = in_units[name]
    args = model, trace, NEW[:2]
    assert np.isfinite(predict(*args, **{name: [1.0, 2.0]})).all()
    for value in (np.nan, np.inf, -1.0):
        with pytest.raises(ValueError, match=rf"{name} must be {allowed}.*row 1 holds {value}"):
            predict(*args, **{name: [1.0, value]})
    with pytest.raises(ValueError, match=rf"{name} must be one number or a vector of 2 .* \(3,\)"):
        predict(*args, **{name: [1.0, 2.0, 3.0]})
    with pytest.raises(ValueError, match=rf"{name} must be real numbers; got 'many'"):
        predict(*args, **{name: "many"})
    with pytest.raises(ValueError, match=r"differs between the training rows"):
        predict(*args, **{name: None})


@pytest.mark.parametrize("predict", PREDICTIONS.values(), ids=PREDICTIONS)
@pytest.mark.parametrize("name", ["logit", "gaussian-noise"])
def test_values_that_new_rows_do_not_have(name, predict):
    model, trace = sampled(LIKELIHOODS[name].make())
    with pytest.raises(TypeError, match="takes no 'exposure' for new rows"):
        predict(model, trace, NEW[:2], exposure=1.0)
