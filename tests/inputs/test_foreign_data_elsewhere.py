"""Dates, masks and lazy frames in the core, the likelihoods, the diagnostics and the displays."""

import numpy as np
import pytest
from foreign import BIG, DAYS, NUMBERS, PYTHON, TIMES, WAY, fitted, frame, lazy, masked, rows_of
from refusals import ESTIMATORS, SHORT, TARGETS, X, check_message
from sklearn.gaussian_process.kernels import RBF
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skgpmcmc.core import LatentGaussianModel, SamplerSettings, predict_latent, run_chains
from skgpmcmc.likelihoods import (
    BernoulliLogit,
    Binomial,
    Gaussian,
    NegativeBinomial,
    Poisson,
    StudentT,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

Classifier, Regressor, Cox = ESTIMATORS


# The core


def core_model(inputs=X, likelihood=None):
    return LatentGaussianModel(RBF(1.0, (0.1, 10.0)), inputs, likelihood or Poisson([1] * 6))


CORE = {
    "dates": (lambda: frame(DAYS), ["column 't' holds dates", *WAY]),
    "list of dates": (lambda: [[day] for day in PYTHON], ["column 0 holds dates", *WAY]),
    "masked": (lambda: masked(X), ["X must not be masked"]),
    "large": (lambda: rows_of(BIG), ["column 0 holds 9007199254740993"]),
    "lazy": (lazy, ["LazyFrame", "X.collect()"]),
    "dict": (lambda: {"a": NUMBERS}, ["dict", "pandas.DataFrame(X)"]),
    "ragged": (lambda: [[1.0], [1.0, 2.0]] * 3, ["X must be rows of finite numbers"]),
    "none": (lambda: None, ["X must be rows of finite numbers", "None"]),
}


@pytest.mark.parametrize("kind", CORE)
def test_inputs_of_the_core(kind):
    make, words = CORE[kind]
    check_message(lambda: core_model(make()), words)
    model = core_model()
    trace = run_chains(model, SamplerSettings(n_warmup=1, n_draws=4), n_chains=1, random_state=0)
    check_message(lambda: predict_latent(model, trace, make()), words)


def test_masked_starting_points():
    start = np.ma.array([[0.0]], mask=[[True]])
    words = ["theta must not be masked"]
    settings = SamplerSettings(n_warmup=1, n_draws=4)
    check_message(lambda: run_chains(core_model(), settings, n_chains=1, theta=start), words)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("name", "use"),
    [
        ("y", Poisson),
        ("y", Gaussian),
        ("y", NegativeBinomial),
        ("y", StudentT),
        ("y", lambda values: Binomial(values, np.ones(6))),
        ("y", BernoulliLogit),
        ("trials", lambda values: Binomial(np.ones(6), values)),
        ("exposure", lambda values: Poisson([1] * 6, values)),
        ("noise_variance", lambda values: Gaussian(NUMBERS, values)),
        ("scale2", lambda values: StudentT(NUMBERS, values)),
        ("known_variance", lambda values: Gaussian(NUMBERS, known_variance=values)),
        ("sample_weight", lambda values: Poisson([1] * 6, sample_weight=values)),
        ("latent_index", lambda values: Poisson([1] * 6, latent_index=values)),
    ],
)
def test_numbers_of_likelihoods(name, use):
    ones = np.ones(6, dtype=int)
    check_message(lambda: use(masked(ones)), [f"{name} must not be masked"])
    check_message(lambda: use(list(masked(ones))), [f"{name} must not be masked"])
    check_message(lambda: use([*ones[:5], np.ma.masked]), [f"{name} must not be masked"])
    check_message(lambda: use(set(ones.tolist())), [name, "set"])
    check_message(lambda: use(np.array(list(TIMES), object)), [name])
    use(np.ma.array(ones * np.arange(6) if name == "latent_index" else ones, mask=False))


# Diagnostics and displays


def test_draws_that_are_masked_or_no_numbers():
    diagnostics = pytest.importorskip("skgpmcmc.diagnostics")
    draws = np.random.default_rng(0).standard_normal((4, 50))
    functions = {
        "draws": [
            getattr(diagnostics, name)
            for name in ("rhat", "ess_bulk", "ess_tail", "ess_mean", "mcse_mean")
        ],
        "draws_by_name['a']": [lambda values: diagnostics.summarize({"a": values})],
    }
    for name, uses in functions.items():
        for use in uses:
            check_message(lambda u=use: u(masked(draws)), [f"{name} must not be masked"])
            times = draws.astype("m8[s]")
            check_message(lambda u=use, t=times: u(t), [f"{name} must be real numbers"])
            use(np.ma.array(draws))


def test_what_displays_take():
    pytest.importorskip("matplotlib").use("Agg")
    displays = pytest.importorskip("skgpmcmc.displays")
    model = fitted(Cox)
    draw = displays.PredictiveDisplay.from_estimator
    y = TARGETS[Cox]
    check_message(lambda: draw(model, masked(X), feature=0), ["X must not be masked"])
    check_message(lambda: draw(model, X, masked(y), feature=0), ["y must not be masked"])
    check_message(lambda: draw(model, frame(DAYS), feature="x"), ["column 't' holds dates"])
    check_message(lambda: draw(model, lazy(), feature=0), ["X", "LazyFrame", "X.collect()"])
    levels = np.ma.array([0.5, 0.9], mask=[0, 1])
    words = ["confidence_levels must not be masked"]
    check_message(lambda: draw(model, X, feature=0, confidence_levels=levels), words)
    labels = masked(TARGETS[Classifier])
    check_message(lambda: draw(fitted(Classifier), X, labels, feature=0), ["y must not be masked"])
    show = displays.IntensityDisplay.from_estimator
    check_message(lambda: show(model, frame(DAYS)), ["column 't' holds dates"])
    check_message(lambda: show(model, X, events=masked(X)), ["events must not be masked"])
    relevance = displays.RelevanceDisplay.from_estimator
    check_message(lambda: relevance(fitted(Regressor), frame(DAYS)), ["column 't' holds dates"])
    check_message(lambda: relevance(fitted(Regressor), masked(X)), ["X must not be masked"])
    pipeline = make_pipeline(StandardScaler(), Regressor(**SHORT)).fit(X, TARGETS[Regressor])
    words = ["column 0 holds dates", "A Pipeline may take a pandas DataFrame"]
    check_message(lambda: draw(pipeline, DAYS[:, None], feature=0), words)
