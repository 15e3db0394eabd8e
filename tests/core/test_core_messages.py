"""What a user of the core is told of a likelihood or of settings that cannot work."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from problems import JOINT, LIKELIHOODS, make_model
from scipy import stats
from sklearn.gaussian_process.kernels import (
    RBF,
)

from skgpmcmc import core
from skgpmcmc.core import LatentGaussianModel, SamplerSettings, run_chains
from skgpmcmc.exceptions import MissingCapabilityError
from skgpmcmc.likelihoods import (
    BernoulliLogit,
    BernoulliProbit,
    Gaussian,
    Likelihood,
    NegativeBinomial,
    Poisson,
    StudentT,
)
from skgpmcmc.representations import REPRESENTATIONS
from skgpmcmc.updates import RandomWalk

COUNTS = [0.0, 1.0, 0.0, 2.0, 5.0]


def model_of(likelihood):
    X = np.arange(float(likelihood.n_latent))[:, np.newaxis]
    return LatentGaussianModel(RBF(1.0, (0.1, 10.0)), X, likelihood)


def named_in(message):
    """Names of representations that a message has, but for the one that was asked for."""
    advice = str(message).split("cannot be used here", 1)[1]
    return set(re.findall(r"'([a-z-]+)'", advice))


@pytest.mark.parametrize(
    ("representation", "likelihood"),
    [
        ("collapsed", Poisson(COUNTS)),
        ("marginal", Poisson(COUNTS)),
        ("joint-post", Poisson(COUNTS)),
        ("post-taylor", BernoulliLogit([1, -1, 1, 1])),
        ("collapsed", BernoulliProbit([1, -1, 1, 1], sample_weight=[0.5, 1, 1, 1])),
        ("collapsed", Gaussian(COUNTS, 0.1)),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_advice_can_be_followed_in_the_core(representation, likelihood):
    model = model_of(likelihood)
    with pytest.raises(MissingCapabilityError, match=f"'{representation}' cannot") as error:
        run_chains(model, SamplerSettings(representation), n_chains=1)
    names = named_in(error.value) - {"auto"}
    assert names >= {"surr-site", "post-ep", "prior-white"}
    assert "representation='auto' of the estimators" in str(error.value)
    for name in names:
        settings = SamplerSettings(name, n_warmup=1, n_draws=4)
        run_chains(model, settings, n_chains=1, random_state=0)


@pytest.mark.parametrize("unknown", ["surrsite", "auto", "", None, True, []])
def test_unknown_representations_are_refused_by_the_settings(unknown):
    with pytest.raises(ValueError, match="representation must be one of") as error:
        SamplerSettings(unknown)
    message = str(error.value)
    assert f"got {unknown!r}" in message
    assert all(repr(name) in message for name in REPRESENTATIONS)
    assert ("Did you mean 'surr-site'" in message) == (unknown == "surrsite")


@pytest.mark.parametrize("alpha", [0.0, -1, math.nan, math.inf])
def test_variances_of_surrogate_noise_are_checked_by_the_settings(alpha):
    with pytest.raises(ValueError, match="must be positive and finite"):
        SamplerSettings(alpha)


@pytest.mark.parametrize(
    ("name", "value", "least"),
    [
        ("n_draws", 0, 1),
        ("n_draws", 10.0, 1),
        ("n_warmup", -1, 0),
        ("thin", 0, 1),
        ("thin", True, 1),
        ("n_latent_updates", -1, 0),
        ("n_approximate", -1, 0),
        ("max_steps_out", -1, 0),
        ("max_steps_out", 1.5, 0),
    ],
)
def test_numbers_of_iterations_are_checked_by_the_settings(name, value, least):
    message = f"{name} must be a whole number, at least {least}; got {value!r}"
    with pytest.raises(ValueError, match=re.escape(message)):
        SamplerSettings(**{name: value})


@pytest.mark.parametrize("value", [0, -1.0, math.nan, math.inf, "wide", True, [1.0]])
@pytest.mark.parametrize("name", ["width", "path_length"])
def test_widths_and_lengths_are_checked_by_the_settings(name, value):
    with pytest.raises(ValueError, match=rf"{name} must be None or a positive, finite") as error:
        SamplerSettings(**{name: value})
    assert f"got {value!r}" in str(error.value)


SWITCHES = ["hamiltonian", "whitened_updates", "condition_each_scalar", "adapt_widths"]


@pytest.mark.parametrize("name", SWITCHES)
def test_switches_are_checked_by_the_settings(name):
    with pytest.raises(ValueError, match=f"{name} must be True or False; got 'no'"):
        SamplerSettings(**{name: "no"})
    assert getattr(SamplerSettings("collapsed", **{name: np.bool_(True)}), name)


@pytest.mark.parametrize("proposal", [3, "slice", RandomWalk])
def test_proposals_are_checked_by_the_settings(proposal):
    with pytest.raises(TypeError, match=r"proposal must be None .*RandomWalk\(0.1\)") as error:
        SamplerSettings(proposal=proposal)
    assert f"got {proposal!r}" in str(error.value)


@pytest.mark.parametrize("representation", [*REPRESENTATIONS, 0.5])
def test_trajectories_need_a_gradient(representation):
    if representation in ("marginal", "collapsed", *JOINT):
        assert SamplerSettings(representation, hamiltonian=True).hamiltonian
        return
    with pytest.raises(ValueError, match="hamiltonian=True needs a representation") as error:
        SamplerSettings(representation, hamiltonian=True)
    message = str(error.value)
    assert repr(representation) in message
    assert "'marginal', 'collapsed', 'joint-post', 'joint-ep'" in message


@pytest.mark.parametrize(
    "options",
    [{"representation": "marginal", "hamiltonian": True}, {"representation": "joint-post"}],
)
def test_theta_moves_by_one_kind_of_update(options):
    with pytest.raises(ValueError, match=r"trajectories, and a proposal .* proposal=None"):
        SamplerSettings(proposal=RandomWalk(0.1), **options)


# Messages of proposals speak to users of the core and of the estimators


def test_held_hyperparameters_cannot_be_proposed():
    model = make_model(LIKELIHOODS["negative-binomial"].make())
    settings = SamplerSettings("collapsed", proposal=RandomWalk(0.1), n_warmup=2, n_draws=4)
    with pytest.raises(ValueError, match="holds dispersion fixed") as error:
        run_chains(model, settings, n_chains=1, random_state=0)
    assert "proposal=None" in str(error.value)
    assert "hyperparameter_update='slice' of the estimators" in str(error.value)


@pytest.mark.parametrize(
    "proposal", [lambda theta: (theta, 0.0), lambda theta, rng: theta, lambda theta, rng: None]
)
def test_unusable_proposals_are_named_as_the_core_names_them(proposal):
    settings = SamplerSettings(proposal=proposal, n_warmup=2, n_draws=4)
    with pytest.raises((TypeError, ValueError), match=r"^proposal \(hyperparameter_update of"):
        run_chains(model_of(Poisson(COUNTS)), settings, n_chains=1)


# Likelihoods of the user's own


class Squared(Likelihood):
    def pointwise(self, latent, params=()):
        return -((self.y - latent) ** 2)


class WithoutParams(Likelihood):
    def pointwise(self, latent):
        return -((self.y - latent) ** 2)


class Summed(Likelihood):
    def pointwise(self, latent, params=()):
        return (-((self.y - latent) ** 2)).sum()


class SummedRows(Likelihood):
    def pointwise(self, latent, params=()):
        return (-((self.y - latent) ** 2)).sum(axis=-1)


class Nothing(Likelihood):
    def pointwise(self, latent, params=()):
        pass


class OneVectorOnly(Likelihood):
    def pointwise(self, latent, params=()):
        return np.array([-((a - b) ** 2) for a, b in zip(self.y, latent.ravel(), strict=False)])


class Listed(Likelihood):
    def pointwise(self, latent, params):
        return (-((self.y - latent) ** 2)).tolist()


class Complex(Likelihood):
    def pointwise(self, latent, params=()):
        return -((self.y - latent) ** 2) + 0j


class OneName(Squared):
    parameters = "odds"


class TotalWithoutParams(Squared):
    def log_likelihood(self, latent):
        return 0.0


class TotalOfEach(Squared):
    def log_likelihood(self, latent, params=()):
        return -((self.y - latent) ** 2)


@pytest.mark.parametrize(
    ("kind", "error", "words"),
    [
        (
            WithoutParams,
            TypeError,
            ["WithoutParams.pointwise", "arguments (latent, params)", "takes (latent)"],
        ),
        (Summed, ValueError, ["Summed.pointwise", "shape (5,)", "returned shape ()"]),
        (SummedRows, ValueError, ["SummedRows.pointwise", "shape (5,)", "returned shape ()"]),
        (Nothing, ValueError, ["Nothing.pointwise", "returned None"]),
        (OneVectorOnly, ValueError, ["shape (2, 5)", "returned shape (5,)", "shape (..., n_obs)"]),
        (Listed, ValueError, ["Listed.pointwise", "an array", "returned ["]),
        (Complex, ValueError, ["Complex.pointwise", "dtype complex128"]),
        (OneName, TypeError, ["OneName.parameters", "'odds'", "('odds',)"]),
        (
            TotalWithoutParams,
            TypeError,
            ["TotalWithoutParams.log_likelihood", "arguments (latent, params)", "takes (latent)"],
        ),
        (TotalOfEach, ValueError, ["TotalOfEach.log_likelihood", "one number", "shape (5,)"]),
    ],
)
def test_likelihoods_that_cannot_work_are_refused_with_the_model(kind, error, words):
    with pytest.raises(error) as caught:
        model_of(kind(COUNTS))
    assert all(word in str(caught.value) for word in words), caught.value


class Broken(Likelihood):
    def pointwise(self, latent, params=()):
        raise RuntimeError("of the user's own")


def test_errors_of_the_users_own_code_are_left_as_they_are():
    with pytest.raises(RuntimeError, match=r"^of the user's own$"):
        model_of(Broken(COUNTS))


class Impossible(Likelihood):
    def pointwise(self, latent, params=()):
        return np.where(latent == 0.0, -np.inf, np.log(latent))  # noise in the log: no warning


@pytest.mark.filterwarnings("error")
def test_values_at_the_trial_do_not_matter():
    assert model_of(Impossible(COUNTS)).n_latent == 5


class LogNormal(Likelihood):
    """Of positive y."""

    def pointwise(self, latent, params=()):
        with np.errstate(all="ignore"):
            return stats.norm.logpdf(np.log(self.y), latent) - np.log(self.y)


@pytest.mark.parametrize(
    ("options", "row", "y"),
    [
        ({}, 1, "-2"),
        ({"sample_weight": [1, 0, 1, 1]}, 3, "-0.5"),  # a row of weight zero may be anything
        ({"latent_index": [0, 1, 1, 1]}, 1, "-2"),
    ],
)
def test_a_y_that_the_likelihood_cannot_have_is_named(options, row, y):
    model = model_of(LogNormal([1.0, -2.0, 3.0, -0.5], **options))
    with pytest.raises(ValueError, match="no starting point found in 100 tries") as error:
        run_chains(model, SamplerSettings("prior-white", n_warmup=1, n_draws=2), n_chains=1)
    message = str(error.value)
    assert "the log likelihood was not finite in 100 of them" in message
    assert f"pointwise is nan for row {row} of y, which is {y}" in message
    assert "Can LogNormal have this y?" in message
    assert "kernel" not in message


class Constraint(Likelihood):
    """Of all observations together: each alone is possible."""

    def pointwise(self, latent, params=()):
        return np.zeros(latent.shape)

    def log_likelihood(self, latent, params=()):
        return -math.inf


def test_no_row_is_named_where_each_alone_is_possible():
    model = model_of(Constraint(COUNTS))
    with pytest.raises(ValueError, match="pointwise is finite for all rows of y"):
        run_chains(model, SamplerSettings("prior-white", n_warmup=1, n_draws=2), n_chains=1)


@pytest.mark.parametrize("structure", ["shared", "unobserved"])
def test_shapes_are_those_of_observations(structure):
    index = [0, 0, 1, 2, 2]
    n_latent = {"shared": None, "unobserved": 7}[structure]
    likelihood = Squared(COUNTS, latent_index=index, n_latent=n_latent)
    assert model_of(likelihood).n_latent == (n_latent or 3)


@pytest.mark.parametrize("random_state", ["a", -1, 1.5, np.random.default_rng(0)])
def test_no_source_of_randomness(random_state):
    model = model_of(Poisson(COUNTS))
    settings = SamplerSettings("prior-white", n_warmup=1, n_draws=2)
    trace = run_chains(model, settings, n_chains=1, random_state=0)
    words = r"random_state must be None, a whole number from 0 to .*RandomState; got "
    with pytest.raises(ValueError, match=words):
        run_chains(model, settings, n_chains=1, random_state=random_state)
    with pytest.raises(ValueError, match=words):
        core.predict_samples(model, trace, model.X, random_state=random_state)


WORD, NUMBER = np.str_("word"), np.float64(-1.5)
SETTINGS = SamplerSettings()
WRONG = {
    "kernel": lambda: LatentGaussianModel(WORD, [[0.0]], Poisson([1.0])),
    "X": lambda: LatentGaussianModel(RBF(), WORD, Poisson([1.0])),
    "mean": lambda: LatentGaussianModel(RBF(), [[0.0]], Poisson([1.0]), mean=WORD),
    "jitter": lambda: LatentGaussianModel(RBF(), [[0.0]], Poisson([1.0]), jitter=NUMBER),
    "priors": lambda: LatentGaussianModel(
        RBF(), [[0.0]], Poisson([1.0]), priors={WORD: stats.norm()}
    ),
    "representation": lambda: SamplerSettings(WORD),
    "width": lambda: SamplerSettings(width=NUMBER),
    "n_draws": lambda: SamplerSettings(n_draws=NUMBER),
    "proposal": lambda: SamplerSettings(proposal=WORD),
    "hamiltonian": lambda: SamplerSettings(hamiltonian=WORD),
    "random_state": lambda: run_chains(model_of(Poisson(COUNTS)), SETTINGS, random_state=WORD),
    "n_chains": lambda: run_chains(model_of(Poisson(COUNTS)), SETTINGS, n_chains=NUMBER),
    "exposure": lambda: Poisson([1.0], exposure=[WORD]),
    "y": lambda: Poisson(NUMBER),
    "degrees_of_freedom": lambda: StudentT([1.0], degrees_of_freedom=WORD),
    "dispersion": lambda: NegativeBinomial([1.0], dispersion=WORD),
}


@pytest.mark.parametrize("name", WRONG)
def test_scalars_of_numpy_are_shown_as_the_user_wrote_them(name):
    with pytest.raises((ValueError, TypeError), match=f"^{name}") as error:
        WRONG[name]()
    assert "np." not in str(error.value)
    assert "'word'" in str(error.value) or "-1.5" in str(error.value)


@pytest.mark.parametrize("y", [None, 3.0])
def test_a_single_value_is_no_vector(y):
    with pytest.raises(ValueError, match=f"^y must be one-dimensional .*; got {y}"):
        Poisson(y)
