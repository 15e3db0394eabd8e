"""The warning of chains that have not converged: one for each fit, with advice that fits."""

from __future__ import annotations

import copy
import dataclasses
import math
import re
import warnings

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
)
from skgpmcmc._running._stopping import StoppingRule, convergence
from skgpmcmc.estimators._convergence import Run, more_draws, warn_once
from skgpmcmc.updates import RandomWalk

SHORT = {"n_chains": 2, "n_warmup": 4, "n_draws": 12, "random_state": 0}
RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 3))
Y = (X[:, 0] > 0).astype(int)
ESTIMATORS = [
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
    MCMCCoxProcessRegressor,
]
each_estimator = pytest.mark.parametrize("estimator", ESTIMATORS)

GOOD = {"mean": 1.0, "sd": 0.5, "mcse": 0.01, "ess_bulk": 1652.0, "ess_tail": 1800.0, "rhat": 1.001}
MORE_DRAWS = "Raise n_draws (now 1000; warm_start=True continues the chains)"
MORE_WARM_UP = "more n_warmup (now 250)"
STUCK = "More draws alone will not help"


def caught(call):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    return [str(w.message) for w in found if issubclass(w.category, ConvergenceWarning)]


def text_of(row, stopped="", **run):
    """Return the one warning about a table with a good quantity and another one."""
    values = {"n_chains": 4, "n_draws": 1000, "n_warmup": 250, "other_moves": "", "fit": "F"}
    values |= {"warmup_is_longest": True, "rule": StoppingRule()} | run
    table = {"good": GOOD, "bad": GOOD | row}
    texts = caught(lambda: warn_once(table, Run(**values), stopped))
    assert len(texts) <= 1
    return "".join(texts)


# ------------------------------------------------------------------ advice


def test_few_draws_that_agree_need_more_draws_and_nothing_else():
    text = text_of({"ess_bulk": 62.4, "rhat": 1.02})
    assert "the worst quantity is 'bad' with 62 effective draws" in text
    assert "R-hat" not in text
    assert MORE_DRAWS in text
    assert "n_warmup" not in text
    assert STUCK not in text
    assert "TraceDisplay" not in text


def test_chains_that_disagree_a_little_need_more_draws_or_a_longer_warm_up():
    text = text_of({"ess_bulk": 150.0, "rhat": 1.07})
    assert "R-hat 1.070 (should be at most 1.05)" in text
    assert "effective draws" not in text
    assert MORE_DRAWS in text
    assert MORE_WARM_UP in text
    assert STUCK not in text


def test_a_warm_up_that_ended_by_itself_would_end_there_again():
    text = text_of({"ess_bulk": 150.0, "rhat": 1.07}, warmup_is_longest=False)
    assert "start afresh with narrower priors" in text
    assert "n_warmup" not in text


def test_a_larger_rhat_than_that_of_the_worst_quantity_is_named_too():
    rows = {"few": GOOD | {"ess_bulk": 20.0}, "apart": GOOD | {"rhat": 1.06}}
    run = Run(4, 1000, 250, True, "", "F", StoppingRule())
    (text,) = caught(lambda: warn_once(rows, run))
    assert (
        "'few' with 20 effective draws (bulk; should be at least 100); 'apart' has R-hat 1.060"
        in text
    )
    rows["apart"] = GOOD | {"rhat": 1.04}
    (text,) = caught(lambda: warn_once(rows, run))
    assert "apart" not in text


@pytest.mark.parametrize("seed", range(8))
def test_the_rule_and_the_table_judge_the_same_numbers(seed):
    lengths = {"n_chains": 2, "n_warmup": 10, "n_draws": 30, "min_ess": None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = MCMCGaussianProcessClassifier(random_state=seed, **lengths).fit(X, Y)
    found = convergence([[model.trace_]])
    table = model.diagnostics_.values()
    assert found.rhat >= max(row["rhat"] for row in table)
    assert found.ess <= min(row["ess_bulk"] for row in table)


@pytest.mark.parametrize(
    "row",
    [
        {"ess_bulk": 6.1, "rhat": 1.8},
        {"ess_bulk": 79.0, "rhat": 1.12},
        {"ess_bulk": math.nan, "rhat": math.inf},
        {"ess_bulk": 4.0, "rhat": math.inf},
    ],
)
def test_chains_that_stay_at_different_places_need_a_look_and_other_moves(row):
    text = text_of(row, other_moves='hyperparameter_update="slice"')
    assert STUCK in text
    assert "compare the chains with skgpmcmc.displays.TraceDisplay" in text
    assert "priors" in text
    assert 'hyperparameter_update="slice"' in text
    assert "Raise n_draws" not in text


def test_a_quantity_that_never_moved_is_said_to():
    row = {
        "sd": 0.0,
        "mcse": math.nan,
        "ess_bulk": math.nan,
        "ess_tail": math.nan,
        "rhat": math.nan,
    }
    text = text_of(row)
    assert "the worst quantity is 'bad', which never moved" in text
    assert "nan" not in text
    assert STUCK in text


def test_too_few_draws_to_tell_are_said_to_be():
    """With four or five draws of each chain there is no effective sample size."""
    row = {"ess_bulk": math.nan, "ess_tail": math.nan, "mcse": math.nan, "rhat": 1.01}
    text = text_of(row, n_draws=5)
    assert "too few draws to estimate" in text
    assert "nan" not in text
    assert "Raise n_draws (now 5;" in text
    assert STUCK not in text
    text = text_of(row | {"rhat": math.nan}, n_draws=2)
    assert "too few draws to estimate" in text
    assert "nan" not in text


def test_short_runs_are_not_called_stuck():
    """Ten draws of four chains: R-hat says nothing of what more draws would do."""
    text = text_of({"ess_bulk": 8.0, "rhat": 1.6}, n_draws=10)
    assert "Raise n_draws (now 10;" in text
    assert STUCK not in text


@pytest.mark.parametrize(("rhat", "ess"), [(1.05, 100.0), (1.001, 4000.0), (1.0499, 101.0)])
def test_good_chains_get_no_warning(rhat, ess):
    assert text_of({"rhat": rhat, "ess_bulk": ess}) == ""
    text = text_of({"rhat": rhat, "ess_bulk": ess}, stopped="fit was stopped. ")
    assert text == "fit was stopped. They have converged."


def test_every_warning_points_at_the_summary_and_says_which_fit():
    for row in ({"ess_bulk": 60.0}, {"rhat": 1.07}, {"rhat": 2.0, "ess_bulk": 5.0}):
        text = text_of(row, fit="the fit of a model to 9 rows")
        assert "summary() has the table of all quantities" in text
        assert "the fit of a model to 9 rows" in text
        assert "diagnostics_" not in text
        assert text.startswith("The chains have not converged: the worst quantity is 'bad' with ")


@pytest.mark.parametrize("row", [{"ess_bulk": 60.0}, {"rhat": 1.07}])
def test_chains_that_were_stopped_only_have_to_go_on(row):
    text = text_of(row, stopped="fit was stopped. ", n_draws=770)
    assert "Raise n_draws" not in text
    assert "Going on makes the draws that are missing" in text
    assert (MORE_WARM_UP in text) == ("rhat" in row)
    stuck = text_of({"ess_bulk": 6.0, "rhat": 2.0}, stopped="fit was stopped. ")
    assert STUCK in stuck


def advised(**changes):
    model = MCMCGaussianProcessRegressor(min_ess=changes.pop("min_ess", 100.0), n_draws=1000)
    model._stopped_by = ""
    model.converged_, model.n_draws_ = True, 400
    return more_draws(vars(model).update(changes) or model)


def test_more_draws_come_from_what_ended_the_fit():
    assert advised() == "raise min_ess (now 100)"
    assert advised(n_draws_=1000) == "raise min_ess (now 100) and n_draws (now 1000)"
    assert advised(n_draws_=1000, converged_=False) == "raise n_draws (now 1000)"
    assert advised(n_draws_=1000, min_ess=None) == "raise n_draws (now 1000)"
    assert advised(_stopped_by="user") == "fit again with warm_start=True"
    assert advised(_stopped_by="time", checkpoint="somewhere") == "call fit again"


# ------------------------------------------------------------------ fits


@each_estimator
def test_the_fit_is_named(estimator):
    (text,) = caught(lambda: estimator(**SHORT).fit(X, Y))
    assert (
        f"This is the fit of {estimator.__name__} with the default kernel to 20 rows and 3 col"
        in text
    )
    (text,) = caught(lambda: estimator(1.0 * Matern(2.0) + WhiteKernel(0.1), **SHORT).fit(X, Y))
    assert "with the kernel 1**2 * Matern(length_scale=2, nu=1.5) + WhiteKernel(" in text


def test_long_kernels_are_shortened_in_the_middle():
    rows = RNG.normal(size=(20, 60))
    kernel = ConstantKernel(2.0) * RBF([1.0] * 60) + WhiteKernel(0.125)
    (text,) = caught(lambda: MCMCGaussianProcessRegressor(kernel, **SHORT).fit(rows, Y))
    shown = re.search(r"with the kernel (.*) to 20 rows and 60 columns", text)[1]
    assert len(shown) <= 120
    assert shown.startswith("1.41**2 * RBF(")
    assert shown.endswith("WhiteKernel(noise_level=0.125)")


def test_rows_are_those_that_count():
    weights = np.r_[0.0, np.ones(19)]
    twice = np.vstack([X, X])
    for rows, y, w, n in (
        (X, Y, weights, 19),
        (twice, np.r_[Y, Y], None, 40),
        (X[:, :1], Y, None, 20),
    ):
        (text,) = caught(
            lambda rows=rows, y=y, w=w: MCMCGaussianProcessClassifier(**SHORT).fit(rows, y, w)
        )
        assert f"to {n} rows and {rows.shape[1]} column" in text


def test_inputs_without_columns():
    class Letters(RBF):
        @property
        def requires_vector_input(self):
            return False

        def __call__(self, X, Y=None, eval_gradient=False):
            numbers = [np.array([[float(len(x))] for x in Z]) for Z in (X, X if Y is None else Y)]
            return RBF(self.length_scale)(*numbers)

        def diag(self, X):
            return np.ones(len(X))

    words = ["a", "bb", "ccc", "dddd", "eeeee", "ffffff"]
    (text,) = caught(lambda: MCMCGaussianProcessClassifier(Letters(), **SHORT).fit(words, Y[:6]))
    assert "to 6 rows." in text


def test_fits_of_a_search_are_told_apart():
    grid = {"kernel": [1.0 * RBF(1.0), 1.0 * Matern(1.0)]}
    model = MCMCGaussianProcessClassifier(**SHORT)
    texts = caught(lambda: GridSearchCV(model, grid, cv=2, refit=False).fit(X, Y))
    assert len(texts) == 4
    assert sum("RBF" in text for text in texts) == sum("Matern" in text for text in texts) == 2
    assert all("to 10 rows and 3 columns" in text for text in texts)
    piped = make_pipeline(StandardScaler(), model)
    texts = caught(lambda: cross_val_score(piped, X, Y, cv=4))
    assert len(texts) == 4
    assert all("MCMCGaussianProcessClassifier" in text and "to 15 rows" in text for text in texts)


PRIOR = stats.lognorm(0.5, scale=2.0)
VECTOR = np.linspace(0.1, 0.2, 20)


@pytest.mark.parametrize(
    ("estimator", "changes", "words"),
    [
        (ESTIMATORS[0], {"link": "probit", "thin": 2}, "link='probit', thin=2"),
        (ESTIMATORS[0], {"multi_class": "softmax"}, "multi_class='softmax'"),
        (ESTIMATORS[1], {"alpha": 0.25}, "alpha=0.25"),
        (ESTIMATORS[1], {"alpha": np.float64(0.25)}, "alpha=0.25"),
        (ESTIMATORS[1], {"mean": "constant", "normalize_y": True}, "normalize_y=True, mean="),
        (ESTIMATORS[2], {"likelihood": "negative-binomial"}, "likelihood='negative-binomial'"),
        (
            ESTIMATORS[2],
            {"priors": {"k1__constant_value": PRIOR}},
            "priors={'k1__constant_value': lognorm(0.5, scale=2.0)}",
        ),
    ],
)
def test_parameters_that_are_not_the_defaults_are_named(estimator, changes, words):
    (text,) = caught(lambda: estimator(**changes, **SHORT).fit(X, Y))
    found = re.search(r"with the default kernel, (.*), to 20 rows and 3 columns\.", text)[1]
    assert all(word in found for word in words.split(", "))
    assert len(found.split("=")) >= 1 + len(changes)
    for name in ("n_chains", "n_draws", "n_warmup", "random_state", "kernel"):
        assert f"{name}=" not in found


def test_parameters_that_change_no_posterior_are_not_named():
    options = {"verbose": 0, "n_jobs": 1, "memory_limit": 1.0, "copy_X_train": False}
    options |= {"min_ess": 90.0, "max_rhat": 1.04, "max_seconds": 1e3, "max_prediction_draws": 9}
    (text,) = caught(lambda: MCMCGaussianProcessRegressor(**options, **SHORT).fit(X, Y))
    assert "with the default kernel to 20 rows" in text
    explicit = {"alpha": 1e-10, "mean": "zero", "priors": None, "thin": 1}
    (text,) = caught(lambda: MCMCGaussianProcessRegressor(**explicit, **SHORT).fit(X, Y))
    assert "with the default kernel to 20 rows" in text


def test_long_parameters_are_shortened():
    names = {f"k1__k2__length_scale[{i}]": PRIOR for i in range(3)}
    model = MCMCGaussianProcessRegressor(
        alpha=VECTOR, priors=names, likelihood="student-t", **SHORT
    )
    (text,) = caught(lambda: model.fit(X, Y))
    found = re.search(r"with the default kernel, (.*), to 20 rows", text)[1]
    assert len(found) <= 180
    assert "\n" not in found
    assert "object at" not in found
    assert all(name in found for name in ("alpha=array(", "priors={", "likelihood='student-t'"))


def test_candidates_of_a_search_are_told_apart_by_their_parameters():
    grid = {"m__alpha": [0.1, 0.2], "m__mean": ["zero", "constant"]}
    model = Pipeline([("s", StandardScaler()), ("m", MCMCGaussianProcessRegressor(**SHORT))])
    texts = caught(lambda: GridSearchCV(model, grid, cv=2, refit=False).fit(X, Y))
    assert len(texts) == 8
    for alpha in (0.1, 0.2):
        assert sum(f"kernel, alpha={alpha}, to" in text for text in texts) == 2
        assert sum(f"alpha={alpha}, " in text and "mean='constant'" in text for text in texts) == 2


@pytest.mark.parametrize("multi_class", ["one_vs_rest", "softmax"])
def test_one_warning_for_all_classes_names_the_class(multi_class):
    model = MCMCGaussianProcessClassifier(multi_class=multi_class, **SHORT)
    (text,) = caught(lambda: model.fit(X, np.array(["a", "b", "c"])[np.arange(20) % 3]))
    name = re.search(r"the worst quantity is '(.*?)'", text)[1]
    assert name in model.diagnostics_
    assert name[:3] in ("a: ", "b: ", "c: ")


def test_the_worst_quantity_has_the_name_that_the_summary_prints():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["age", "bmi", "bp"])
    kernel = RBF([1.0, 1.0, 1.0])
    names = set()
    for seed in range(8):
        model = MCMCGaussianProcessClassifier(kernel, **(SHORT | {"random_state": seed}))
        (text,) = caught(lambda model=model: model.fit(frame, Y))
        name = re.search(r"the worst quantity is '(.*?)'", text)[1]
        assert name in model.summary()
        names.add(name)
    assert not any(re.search(r"\[\d\]", name) for name in names)


# ------------------------------------------------------------------ the latent function


@pytest.fixture(scope="module")
def fits():
    """Fits whose traces are replaced by draws of chains that agree."""
    rng = np.random.default_rng(1)
    models = {
        "classifier": MCMCGaussianProcessClassifier(**SHORT).fit(X, Y),
        "softmax": MCMCGaussianProcessClassifier(multi_class="softmax", **SHORT).fit(
            X, np.arange(20) % 3
        ),
        "regressor": MCMCGaussianProcessRegressor(**SHORT).fit(X, Y),
        "counts": MCMCCoxProcessRegressor(**SHORT).fit(X, Y),
    }
    for model in models.values():
        for group in model._traces:
            group[:] = [agreeing(trace, rng) for trace in group]
    return models


def agreeing(trace, rng, n_draws=400):
    size = (trace.n_chains, n_draws)
    theta = rng.normal(size=(*size, trace.theta.shape[2]))
    return dataclasses.replace(
        trace,
        theta=theta,
        latent=rng.normal(size=(*size, trace.latent.shape[2])),
        log_likelihood=rng.normal(size=size),
        complete_data_log_likelihood=rng.normal(size=size),
    )


def refitted(model, change):
    """Set the fitted attributes anew after a change of the latent draws of the last trace."""
    model = copy.deepcopy(model).set_params(n_draws=400)
    traces = [trace for group in model._traces for trace in group]
    change(traces[-1].latent)
    texts = caught(lambda: model._set_fitted(traces))
    return model, texts


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ["classifier", "softmax", "regressor", "counts"])
def test_a_latent_function_with_two_modes_is_noticed(fits, name):
    model, texts = refitted(fits[name], lambda latent: None)
    assert texts == []

    def move(latent):
        latent[0, :, 7] += 5.0  # one chain is in another mode

    model, (text,) = refitted(fits[name], move)
    assert re.search(
        r"the worst quantity is '(2: )?latent\[worst\]', the latent function where", text
    )
    assert STUCK in text
    key = next(key for key in reversed(model.diagnostics_) if key.endswith("latent[worst]"))
    assert model.diagnostics_[key]["rhat"] > 1.5
    assert model.summary()[key]["rhat"] == model.diagnostics_[key]["rhat"]
    assert model.diagnostics_.flagged() == [key]
    others = [row["rhat"] for other, row in model.diagnostics_.items() if other != key]
    assert max(others) < 1.05


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_two_modes_of_the_latent_function_are_seen_where_hyperparameters_are_good():
    """Which of two rows is the outlier? Around one normal approximation that is seldom asked anew.

    The logarithm of the ratio, averaged over four fits, was -2.4 with a standard deviation of 0.3.
    """
    kernel = ConstantKernel(1.0, (0.5, 2.0)) * RBF(3.0, (2.5, 3.6)) + WhiteKernel(0.05, "fixed")
    options = {"likelihood": "student-t", "n_warmup": 100, "n_draws": 500, "min_ess": None}
    ratios = []
    for seed in range(4):
        model = MCMCGaussianProcessRegressor(
            kernel, representation="post-ep", random_state=seed, **options
        ).fit([[0.0], [1.0]], [3.0, -2.0])
        effective = {name: row["ess_bulk"] for name, row in model.diagnostics_.items()}
        latent = effective.pop("latent[worst]")
        ratios.append(latent / min(effective[name] for name in model.priors_))
        assert model.diagnostics_["k1__k1__constant_value"]["rhat"] < 1.05
    assert np.log(ratios).mean() < np.log(0.5)


# ------------------------------------------------------------------ other moves


def test_chains_without_an_accepted_proposal_need_smaller_steps():
    # So far away no prior has any density in double precision.
    model = MCMCGaussianProcessRegressor(hyperparameter_update=RandomWalk(1e6), **SHORT)
    (text,) = caught(lambda: model.fit(X, Y))
    assert "which never moved" in text or "R-hat inf" in text
    assert STUCK in text
    assert "No proposal of the hyperparameters was accepted in 2 of 2 chains" in text
    assert "smaller steps in hyperparameter_update" in text
    assert 'hyperparameter_update="slice"' in text
    assert "Raise n_draws" not in text


SLICES = 'hyperparameter_update="slice"'


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (MCMCGaussianProcessRegressor(hyperparameter_update="hmc"), SLICES),
        (MCMCGaussianProcessClassifier(representation="collapsed"), SLICES),
        (MCMCGaussianProcessClassifier(representation="post-ep"), "(now 'post-ep')"),
        (
            MCMCCoxProcessRegressor(representation="joint-post"),
            f'representation="prior-white" with {SLICES}',
        ),
    ],
)
def test_other_moves_are_such_as_can_be_made(model, words):
    rows = np.stack(np.meshgrid(np.arange(5.0), np.arange(4.0)), axis=-1).reshape(-1, 2)
    rows = np.column_stack([rows, X[:, 0]]) if "Cox" not in type(model).__name__ else rows
    fitted = clone(model).set_params(**SHORT)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted.fit(rows, Y)
    fitted.set_params(n_draws=400)
    rng = np.random.default_rng(2)
    trace = agreeing(fitted.trace_, rng)
    trace.theta[0] += 9.0
    (text,) = caught(lambda: fitted._set_fitted([trace]))
    assert STUCK in text
    assert words in text
    settings = dict(re.findall(r'(representation|hyperparameter_update)="([a-z-]+)"', words))
    fitted.set_params(**SHORT, **settings)
    caught(lambda: fitted.fit(rows, Y))  # the advice can be followed
