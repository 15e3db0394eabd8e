"""Comparison of models by their leave-one-out estimates."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, WhiteKernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
    compare_models,
)
from skgpmcmc.comparison import stacking_weights
from skgpmcmc.diagnostics import LooEstimate

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:(loo|models.*). Pareto:UserWarning"),
]

N = 40
RNG = np.random.default_rng(1)
LEVELS = RNG.normal(-1.0, 0.5, N)
SHORT = {"n_chains": 2, "n_warmup": 5, "n_draws": 6, "min_ess": None, "random_state": 0}
X = RNG.uniform(-2.0, 2.0, (12, 1))
Y = RNG.poisson(3.0, 12)


def estimate(pointwise, shape=0.3, **data):
    zeros = np.zeros(len(pointwise))
    return LooEstimate(
        np.asarray(pointwise), zeros, zeros + shape, float(np.sum(pointwise)) + 2.0, 400, data
    )


MODELS = {
    "worse": estimate(LEVELS - RNG.uniform(0.0, 0.8, N)),
    "best": estimate(LEVELS),
    "other": estimate(LEVELS - 0.1 + RNG.normal(0.0, 0.6, N) - 0.3, shape=0.9),
}


def test_columns():
    table = compare_models(MODELS)
    assert next(iter(table)) == "best"
    best = MODELS["best"]
    for rank, (name, row) in enumerate(table.items()):
        one = MODELS[name]
        difference = best.pointwise - one.pointwise
        assert row["rank"] == rank
        assert row["elpd_loo"] == pytest.approx(one.pointwise.sum())
        assert row["p_loo"] == pytest.approx(2.0)
        assert row["elpd_diff"] == pytest.approx(difference.sum())
        assert row["se"] == pytest.approx(np.sqrt(N) * one.pointwise.std())
        assert row["dse"] == pytest.approx(np.sqrt(N) * difference.std())
        assert row["warning"] == (name == "other")
    assert sum(row["weight"] for row in table.values()) == pytest.approx(1.0)
    assert table["worse"]["weight"] < 1e-4  # dominated at every row


def test_text_and_frame():
    table = compare_models(MODELS)
    first, *rows = repr(table).splitlines()
    columns = "rank elpd_loo p_loo elpd_diff weight se dse"
    assert first.split() == columns.split()
    assert rows[0].split()[:2] == ["best", "0"]
    marked = [row for row in rows[:3] if row.endswith("*")]
    assert [row.split()[0] for row in marked] == ["other"]
    assert "* Pareto k too large at some rows: see loo() of this model." in rows
    pytest.importorskip("pandas")
    frame = table.to_frame()
    assert list(frame.columns) == [*columns.split(), "warning", "converged"]
    assert list(frame.index) == list(table)


def test_says_where_the_rows_do_not_tell():
    close = {"a": estimate(LEVELS), "b": estimate(LEVELS - 0.05)}
    assert "These rows do not tell apart: a, b (less than 4," in repr(compare_models(close))
    clear = {"a": estimate(LEVELS), "b": estimate(LEVELS - 0.5)}
    assert "do not tell" not in repr(compare_models(clear))


def test_names_all_models_that_the_rows_do_not_tell_from_the_best():
    noisy = np.random.default_rng(0).normal(0.0, 5.0, N)
    models = {
        "clear": estimate(LEVELS - 0.5),
        "close": estimate(LEVELS - 0.09),
        "noisy": estimate(LEVELS - 1.0 + noisy - noisy.mean()),  # 40 below, 2 dse are 63
        "best": estimate(LEVELS),
    }
    assert "do not tell apart: best, close, noisy (less than" in repr(compare_models(models))
    only_noisy = {name: models[name] for name in ("best", "clear", "noisy")}
    assert "do not tell apart: best, noisy (less than" in repr(compare_models(only_noisy))


@pytest.mark.parametrize(("p_loo", "is_told"), [(N - 1.0, False), (N + 1.0, True)])
def test_says_where_a_model_fits_each_row_by_itself(p_loo, is_told):
    in_sample = float(LEVELS.sum()) + p_loo
    flexible = replace(estimate(LEVELS, kind="numbers"), in_sample=in_sample)
    text = "p_loo is above the number of rows: the model fits each row by itself"
    assert (text in repr(flexible)) == is_told
    assert ("WhiteKernel" in repr(flexible)) == is_told
    other = estimate(LEVELS - 0.5, kind="numbers")
    table = compare_models({"rough": flexible, "smooth": other})
    assert (f"rough: {text}" in repr(table)) == is_told
    assert (f"rough: {text}" in repr(table.copy())) == is_told
    counts = replace(flexible, data={"kind": "classes or counts"})
    assert (text in repr(counts)) == is_told
    assert "WhiteKernel" not in repr(counts)


def test_a_row_of_weight_w_is_w_rows():
    weighted = estimate(LEVELS, sample_weight=np.full(N, 3.0))
    assert "p_loo is above" not in repr(replace(weighted, in_sample=LEVELS.sum() + 2.0 * N))
    assert "p_loo is above" in repr(replace(weighted, in_sample=LEVELS.sum() + 4.0 * N))
    light = estimate(LEVELS, sample_weight=np.full(N, 1.0 / N))  # no less than a row each
    assert "p_loo is above" not in repr(replace(light, in_sample=LEVELS.sum() + 2.0))


def test_weights_maximise_the_log_score():
    """Of two models, against all weights on a fine grid."""
    log_densities = np.column_stack([LEVELS, LEVELS + RNG.normal(-0.1, 1.0, N)])
    grid = np.linspace(0.0, 1.0, 10_001)
    densities = np.exp(log_densities)
    scores = np.log(np.outer(densities[:, 0], grid) + np.outer(densities[:, 1], 1.0 - grid))
    weight = grid[scores.sum(axis=0).argmax()]
    assert 0.05 < weight < 0.95
    found = stacking_weights(log_densities)
    np.testing.assert_allclose(found, [weight, 1.0 - weight], rtol=0, atol=1e-3)
    far = log_densities - 5000.0 * np.arange(N)[:, np.newaxis]
    np.testing.assert_allclose(stacking_weights(far), found, rtol=0, atol=1e-3)


def test_agrees_with_arviz():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        az = pytest.importorskip("arviz")
    if not hasattr(az, "ELPDData") and not hasattr(az, "compare"):
        pytest.skip("another version of ArviZ")
    rng = np.random.default_rng(4)
    log_likelihoods = {
        "a": rng.normal(-1.0, 0.1, (2, 250, N)),
        "b": rng.normal(-1.3, 0.2, (2, 250, N)),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = {
            name: az.from_dict({"theta": rng.normal(size=(2, 250))}, log_likelihood={"y": values})
            for name, values in log_likelihoods.items()
        }
        expected = az.compare(data)
        own = {
            name: estimate(az.loo(each, pointwise=True).loo_i.values) for name, each in data.items()
        }
    table = compare_models(own).to_frame()
    assert list(table.index) == list(expected.index)
    for column in ("rank", "elpd_loo", "elpd_diff", "se", "dse"):
        np.testing.assert_allclose(table[column], expected[column], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(table["weight"], expected["weight"], rtol=0, atol=1e-3)


def regressor(kernel):
    return MCMCGaussianProcessRegressor(kernel + WhiteKernel(), **SHORT)


def test_fitted_estimators():
    models = {
        "curve": regressor(ConstantKernel() * RBF()).fit(X, Y),
        "line": regressor(DotProduct()).fit(X, Y),
    }
    table = compare_models(models)
    assert {name: row["elpd_loo"] for name, row in table.items()} == {
        name: model.loo().elpd_loo for name, model in models.items()
    }
    assert compare_models({"curve": models["curve"].loo(), "line": models["line"]}) == table


def classifier_of_trials():
    return MCMCGaussianProcessClassifier(**SHORT).fit(X, Y, trials=np.full(12, 20))


DIFFERENT = {
    r"'a' and 'b' were fitted to different rows \(12 and 11\)": lambda: MCMCCoxProcessRegressor(
        **SHORT
    ).fit(X[1:], Y[1:]),
    r"'a' and 'b' were fitted to different y \(in row 3 of these, ": lambda: (
        MCMCCoxProcessRegressor(**SHORT).fit(X, Y + (np.arange(12) == 3))
    ),
    r"different sample_weight \(none and one for each row\)": lambda: MCMCCoxProcessRegressor(
        **SHORT
    ).fit(X, Y, sample_weight=np.arange(1.0, 13.0)),
    r"different kinds of y \(classes or counts and numbers\)\. The density of a": lambda: (
        MCMCGaussianProcessRegressor(**SHORT).fit(X, Y)
    ),
    r"different rows \(in place 3, row number 3 and row number 4\)\. .* of weight zero": lambda: (
        MCMCCoxProcessRegressor(**SHORT).fit(
            np.vstack([X, X[-1:]]), np.append(Y, 1), sample_weight=np.arange(13) != 3
        )
    ),
    r"different numbers of trials \(none and one for each row\)": classifier_of_trials,
}


@pytest.mark.parametrize("message", DIFFERENT)
def test_different_data_are_refused(message):
    first = MCMCCoxProcessRegressor(**SHORT).fit(X, Y)
    with pytest.raises(ValueError, match=message):
        compare_models({"a": first, "b": DIFFERENT[message]()})


def test_what_is_no_model_is_refused():
    with pytest.raises(TypeError, match="must be a dictionary, name -> fitted estimator"):
        compare_models([MODELS["best"]])
    with pytest.raises(ValueError, match="at least two, to be compared; got 1"):
        compare_models({"a": MODELS["best"]})
    with pytest.raises(TypeError, match=r"models\['b'\] must be a fitted estimator"):
        compare_models({"a": MODELS["best"], "b": 3})
    with pytest.raises(TypeError, match=r"models\['b'\] must be a fitted estimator"):
        compare_models({"a": MODELS["best"], "b": MCMCCoxProcessRegressor})
    with pytest.raises(NotFittedError, match=r"models\['b'\]: .*not fitted"):
        compare_models({"a": MODELS["best"], "b": MCMCCoxProcessRegressor()})
    with pytest.raises(TypeError, match=r"pass the last step, pipeline\[-1\]"):
        compare_models(
            {"a": MODELS["best"], "b": make_pipeline(StandardScaler(), MCMCCoxProcessRegressor())}
        )
    with pytest.raises(ValueError, match=r"different names as text.* got 1, '1'"):
        compare_models({1: MODELS["best"], "1": MODELS["best"]})


def test_errors_name_the_model():
    first = MCMCCoxProcessRegressor(**SHORT).fit(X, Y)
    first.set_params(max_prediction_draws=1)
    with pytest.raises(ValueError, match=r"models\['b'\]: loo needs two draws"):
        compare_models({"a": MODELS["best"], "b": first})


def test_warnings_name_the_model():
    models = {
        "short": MCMCCoxProcessRegressor(**SHORT).fit(X, Y),
        "estimate": MCMCCoxProcessRegressor(**SHORT).fit(X, Y).loo(),
    }
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        table = compare_models(models)
    texts = [str(w.message) for w in caught]
    assert len(texts) == 2
    assert texts[0].startswith("models['short']: Pareto k cannot be judged: 12 draws are too few")
    assert "raise n_draws (now 6)" in texts[0]
    assert issubclass(caught[1].category, ConvergenceWarning)
    assert "the chains of models 'short', 'estimate' have not converged" in texts[1]
    assert [row["converged"] for row in table.values()] == [False, False]
    assert all(line.endswith("!*") for line in repr(table).splitlines()[1:3])


def test_models_that_have_not_converged_are_marked():
    good = estimate(LEVELS)
    table = compare_models({"good": good, "bad": replace(good, converged=False)})
    lines = repr(table).splitlines()
    assert [line.split()[0] for line in lines[1:3] if line.endswith("!")] == ["bad"]
    assert any(line.startswith("! The chains of this model have not converged") for line in lines)
    assert "!" not in repr(compare_models({"a": good, "b": good}))
    assert "have not converged" in repr(replace(good, converged=False))
    assert "converged" not in repr(good)


def test_one_trial_in_each_row_is_like_none():
    labels = (Y > 2).astype(int)
    model = MCMCGaussianProcessClassifier(**SHORT)
    first = model.fit(X, labels).loo()
    second = model.fit(X, labels, trials=np.ones(12)).loo()
    assert len(compare_models({"a": first, "b": second})) == 2
