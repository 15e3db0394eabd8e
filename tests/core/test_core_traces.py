"""Running, continuing and predicting from the core: what does not belong together is refused."""

from __future__ import annotations

import dataclasses
import math
import pickle

import numpy as np
import pytest
from problems import COMBINATIONS, LIKELIHOODS, REPRESENTATIONS, X_SMALL, make_model_for
from rotation import in_turn
from scipy import stats
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from skgpmcmc._covariance import GridStructure
from skgpmcmc._grid import Grid
from skgpmcmc._running._continuation import check_origin
from skgpmcmc.core import LatentGaussianModel, SamplerSettings, predict_latent, run_chains
from skgpmcmc.likelihoods import BernoulliLogit, Poisson
from skgpmcmc.updates import RandomWalk

X = np.linspace(0.0, 4.0, 9)[:, np.newaxis]
SIGNS = np.where(np.arange(9) < 5, 1.0, -1.0)
NEW = [[0.5], [3.0]]


def good(kernel=None, inputs=X, y=SIGNS, likelihood=BernoulliLogit, **options):
    kernel = ConstantKernel(1.0, (0.1, 10.0)) * RBF(1.0, (0.2, 5.0)) if kernel is None else kernel
    return LatentGaussianModel(kernel, inputs, likelihood(y), **options)


def settings_of(n_draws=20, **options):
    return SamplerSettings(**{"n_warmup": 10, "n_draws": n_draws, **options})


@pytest.fixture(scope="module")
def trace():
    return run_chains(good(), settings_of(), n_chains=2, random_state=0)


AMPLITUDE, LENGTH = ConstantKernel(1.0, (0.1, 10.0)), RBF(1.0, (0.2, 5.0))
#: What is not as it was, and words of the message.
OTHERS = {
    "more hyperparameters": ({"kernel": AMPLITUDE * LENGTH + AMPLITUDE}, ["'k2__constant_value'"]),
    "fewer": ({"kernel": LENGTH}, ["['length_scale']"]),
    "kernel": ({"kernel": AMPLITUDE * Matern(1.0, (0.2, 5.0))}, ["kernel, X or jitter"]),
    "jitter": ({"jitter": 1e-2}, ["kernel, X or jitter"]),
    "X": ({"inputs": 10.0 * X}, ["kernel, X or jitter"]),
    "rows": ({"inputs": X[:8], "y": SIGNS[:8]}, ["9 latent variables", "8"]),
    "y": ({"y": -SIGNS}, ["the likelihood or its data"]),
    "likelihood": (
        {"likelihood": Poisson, "y": (SIGNS > 0.0).astype(float)},
        ["the likelihood or its data"],
    ),
    "mean": (
        {"mean": "constant", "priors": {"mean": stats.norm(0.0, 1.0)}},
        ["'mean'"],
    ),
    "integrated mean": (
        {"mean": "constant", "priors": {"mean": stats.norm(0.0, 1.0)}, "collapse_mean": True},
        ["mean (integrated out)"],
    ),
    "priors": (
        {"priors": {"k2__length_scale": stats.lognorm(s=1.0)}},
        ["priors"],
    ),
}


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("use", ["predict_latent", "run_chains"])
def test_traces_of_other_models_are_refused(other, use, trace):
    options, words = OTHERS[other]
    model = good(**options)
    name = "trace" if use == "predict_latent" else "previous"
    calls = {
        "predict_latent": lambda: predict_latent(model, trace, NEW),
        "run_chains": lambda: run_chains(model, settings_of(30), n_chains=2, previous=trace),
    }
    with pytest.raises(ValueError, match=f"^{name} is not of this model: ") as error:
        calls[use]()
    message = str(error.value)
    assert all(word in message for word in words), message


def test_traces_of_a_model_made_anew_are_taken(trace):
    """Of copies of everything, in another process, and with another start of the kernel."""
    kernel = ConstantKernel(2.0, (0.1, 10.0)) * RBF(0.5, (0.2, 5.0))
    copied = pickle.loads(pickle.dumps(trace))
    for one, model in ((trace, good(kernel)), (copied, good(inputs=X.tolist(), y=SIGNS.copy()))):
        mean, std = predict_latent(model, one, NEW)
        expected = predict_latent(good(), trace, NEW)
        np.testing.assert_allclose((mean, std), expected, rtol=1e-6)
        longer = run_chains(model, settings_of(40), n_chains=2, previous=one)
        np.testing.assert_array_equal(longer.latent[:, :20], trace.latent)


@pytest.mark.parametrize(
    ("name", "representation"),
    in_turn(
        # With points draws do not keep f, and the check has less to go by.
        [case for case in COMBINATIONS if case[1] != "joint-ep"],
        2,
        list(LIKELIHOODS),
        REPRESENTATIONS,
    ),
)
def test_every_trace_is_of_its_model(name, representation):
    # Every second one, in turn, with a mean that is integrated out; not on grids.
    collapse = (
        COMBINATIONS.index((name, representation)) % 2 == 0 and representation != "joint-post"
    )
    model = make_model_for(representation, LIKELIHOODS[name].make(), collapse_mean=collapse)
    settings = settings_of(5, representation=representation, n_warmup=3)
    once = run_chains(model, settings, n_chains=1, random_state=0)
    mean, _ = predict_latent(model, once, X_SMALL)
    assert np.isfinite(mean).all()
    options = {"collapse_mean": collapse, "jitter": 1e-2}
    other = make_model_for(representation, LIKELIHOODS[name].make(), **options)
    with pytest.raises(ValueError, match="kernel, X or jitter"):
        predict_latent(other, once, X_SMALL)


@pytest.mark.parametrize("collapse", [True, False])
@pytest.mark.parametrize("jitter", [0.0, 1e-13, 1e-10])
def test_traces_of_covariances_that_are_almost_singular_are_taken(jitter, collapse):
    """Their densities have few digits: in every draw they are taken for the same."""
    inputs = np.linspace(0.0, 1.0, 12)[:, np.newaxis]
    kernel = AMPLITUDE * RBF(0.3, (0.1, 0.5))
    options = {"mean": "constant", "priors": {"mean": stats.norm(0.0, 3.0)}}
    model = good(kernel, inputs, np.ones(12), jitter=jitter, collapse_mean=collapse, **options)
    settings = settings_of(100, representation="prior-white", whitened_updates=True)
    trace = run_chains(model, settings, n_chains=1, random_state=1)
    for n in range(1, 101):
        first = {name: getattr(trace, name)[:, :n] for name in trace.chain(0).arrays()}
        check_origin("trace", dataclasses.replace(trace, **first), model)


@pytest.mark.parametrize("representation", ["joint-post", "prior-white", "post-site"])
def test_traces_of_grids_are_those_of_the_same_points(representation):
    grid = Grid((np.linspace(0.0, 1.0, 5), np.linspace(0.0, 1.0, 4)))
    counts = np.arange(20.0) % 3
    kernel = AMPLITUDE * RBF([0.5, 0.5], (0.1, 3.0))
    on_grid = good(kernel, grid.points(), counts, Poisson, structure=GridStructure(grid))
    once = run_chains(on_grid, settings_of(representation=representation), n_chains=1)
    for model in (on_grid, good(kernel, grid.points(), counts, Poisson)):
        assert np.isfinite(predict_latent(model, once, [[0.3, 0.3]])).all()


@pytest.mark.parametrize("nothing", [None, "trace", np.zeros((2, 20, 2)), []])
def test_traces_that_are_none_are_refused(nothing, trace):
    with pytest.raises(TypeError, match=r"trace must be a Trace, as run_chains returns it; got"):
        predict_latent(good(), nothing, NEW)
    if nothing is not None:
        with pytest.raises(TypeError, match=r"previous must be a Trace, as run_chains"):
            run_chains(good(), settings_of(30), n_chains=2, previous=nothing)


@pytest.mark.parametrize(
    ("new", "words"),
    [
        (None, ["X must be rows of finite numbers", "None"]),
        ([0.5, 3.0], ["X must be rows of finite numbers", "1D"]),
        ([[math.nan]], ["NaN"]),
        ([[0.5, 3.0]], ["(n_samples, 1)", "(1, 2)"]),
    ],
)
def test_new_inputs_are_checked(new, words, trace):
    with pytest.raises(ValueError, match="X") as error:
        predict_latent(good(), trace, new)
    assert all(word in str(error.value) for word in words), error.value


@pytest.mark.parametrize("max_draws", [0, -1, 2.5])
def test_number_of_draws_to_predict_with_is_named_as_the_core_names_it(max_draws, trace):
    with pytest.raises(ValueError, match="max_draws must be a whole number, at least 1; got"):
        predict_latent(good(), trace, NEW, max_draws=max_draws)


# Chains


@pytest.mark.parametrize("nothing", [None, "model", LatentGaussianModel, SamplerSettings()])
def test_models_that_are_none_are_refused(nothing):
    message = r"model must be a LatentGaussianModel of skgpmcmc.core; got"
    with pytest.raises(TypeError, match=message):
        run_chains(nothing, SamplerSettings())
    with pytest.raises(TypeError, match=message):
        predict_latent(nothing, None, NEW)


@pytest.mark.parametrize("nothing", [None, "surr-site", {}, SamplerSettings])
def test_settings_that_are_none_are_refused(nothing):
    message = r"settings must be a SamplerSettings of skgpmcmc.core; got"
    with pytest.raises(TypeError, match=message):
        run_chains(good(), nothing)


@pytest.mark.parametrize("n_chains", [0, -1, 1.5, None, True])
def test_number_of_chains_is_checked(n_chains):
    with pytest.raises(ValueError, match="n_chains must be a whole number, at least 1") as error:
        run_chains(good(), SamplerSettings(), n_chains=n_chains)
    assert f"got {n_chains!r}" in str(error.value)


@pytest.mark.parametrize("option", ["checkpoint", "n_chain", "listeners"])
def test_options_that_the_core_does_not_have(option):
    with pytest.raises(TypeError, match=rf"run_chains\(\) got an unexpected .*{option}"):
        run_chains(good(), SamplerSettings(), **{option: "directory"})


def test_starting_points_that_are_no_numbers():
    with pytest.raises(ValueError, match=r"theta must be numbers of shape .* 'a'"):
        run_chains(good(), SamplerSettings(), n_chains=1, theta=[["a", "b"]])


@pytest.mark.parametrize(
    ("n_chains", "options", "words"),
    [
        (3, {}, ["n_chains must be 2", "previous", "got 3"]),
        (1, {}, ["n_chains must be 2", "previous", "got 1"]),
        (2, {"n_draws": 10}, ["n_draws must be at least 20", "previous", "got 10"]),
        (2, {"thin": 2}, ["but was 1", "thin=2"]),
        (2, {"n_warmup": 11}, ["but was 10", "n_warmup=11"]),
        (2, {"representation": "fixed"}, ["but was 'surr-site'", "representation='fixed'"]),
        (2, {"proposal": RandomWalk(0.1)}, ["proposal"]),
    ],
)
def test_chains_continue_as_they_began(n_chains, options, words, trace):
    settings = settings_of(**{"n_draws": 30, **options})
    with pytest.raises(ValueError, match="previous") as error:
        run_chains(good(), settings, n_chains=n_chains, previous=trace)
    assert all(word in str(error.value) for word in words), error.value


def test_chains_that_continue_have_begun(trace):
    with pytest.raises(ValueError, match=r"theta .* previous"):
        run_chains(good(), settings_of(30), n_chains=2, previous=trace, theta=np.zeros((2, 2)))


def test_numbers_are_the_same_whatever_their_type(trace):
    settings = settings_of(30, thin=np.int64(1), n_latent_updates=np.int32(10))
    assert run_chains(good(), settings, n_chains=2, previous=trace).n_draws == 30


def test_printed_traces_are_one_line(trace):
    assert repr(trace) == (
        "<Trace of 2 chains with 20 draws each: k1__constant_value, k2__length_scale; "
        "9 latent variables>"
    )
    assert all(len(repr(snapshot)) < 200 for snapshot in trace.snapshots)
    offset = {"mean": "constant", "priors": {"mean": stats.norm(0.0, 1.0)}, "collapse_mean": True}
    other = run_chains(good(**offset), settings_of(4), n_chains=1, random_state=0)
    assert ", mean; 9 latent variables" in repr(other)
