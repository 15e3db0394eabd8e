"""The table of the posterior: names, numbers, text."""

from __future__ import annotations

import html
import math
import pickle
import re
import sys

import numpy as np
import pytest
from rounding import ELEMENTWISE

from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
)
from skgpmcmc.diagnostics import SummaryTable, summarize

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SHORT = {"n_chains": 2, "n_warmup": 5, "n_draws": 20, "random_state": 0}
DIAGNOSTICS = ["mcse", "ess_bulk", "ess_tail", "rhat"]
GOOD = {"mean": 1.2345, "sd": 0.5, "5%": 0.3, "mcse": 0.0123, "ess_bulk": 1652.4,
        "ess_tail": 1800.0, "rhat": 1.0012}  # fmt: skip


def data(n=20, n_columns=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, (n, n_columns))
    return X, np.sin(X[:, 0]) + 0.3 * rng.standard_normal(n)


def named(X, names):
    return pytest.importorskip("pandas").DataFrame(X, columns=names)


@pytest.fixture(scope="module")
def regressor():
    X, y = data()
    options = {"mean": "constant", "likelihood": "student-t", "degrees_of_freedom": None}
    model = MCMCGaussianProcessRegressor(**options, **SHORT)
    return model.fit(named(X, ["petal width", "<age>"]), y)


@pytest.fixture(scope="module")
def classifier():
    X, y = data(24)
    labels = np.array(["a", "b", "c"])[np.digitize(y, [-0.5, 0.5])]
    model = MCMCGaussianProcessClassifier(multi_class="softmax", **SHORT)
    return model.fit(named(X, ["u", "v"]), labels)


def test_rows_are_named_after_columns(regressor):
    table = regressor.summary()
    assert list(table) == [
        "k1__k1__constant_value",
        "k1__k2__length_scale[petal width]",
        "k1__k2__length_scale[<age>]",
        "mean",
        "k2__noise_level",
        "degrees_of_freedom",
        "latent[worst]",
        "complete_data_log_likelihood",
    ]
    assert len(table) == len(regressor.diagnostics_)
    # The keys of diagnostics_ are numbers: they do not depend on the type of X.
    assert "k1__k2__length_scale[1]" in regressor.diagnostics_


def test_several_latent_functions_have_their_class_in_front(classifier):
    names = ["k1__constant_value", "k2__length_scale[u]", "k2__length_scale[v]"]
    names += ["latent[worst]", "complete_data_log_likelihood"]
    table = classifier.summary()
    assert list(table) == [f"{label}: {name}" for label in "abc" for name in names]
    draws = classifier.posterior_["k2__length_scale"][:, :, 1, 0]
    assert table["b: k2__length_scale[u]"]["50%"] == pytest.approx(
        np.median(draws), rel=ELEMENTWISE
    )
    lp = classifier.trace_[2].complete_data_log_likelihood
    assert table["c: complete_data_log_likelihood"]["5%"] == pytest.approx(np.quantile(lp, 0.05))


def test_numbers(regressor):
    table = regressor.summary(quantiles=[0.1, 0.975])
    for row, diagnostics in zip(table.values(), regressor.diagnostics_.values(), strict=True):
        assert list(row) == ["mean", "sd", "10%", "97.5%", *DIAGNOSTICS]
        assert {name: row[name] for name in diagnostics} == diagnostics
    draws = regressor.posterior_["k1__k2__length_scale"][..., 1]
    row = table["k1__k2__length_scale[<age>]"]
    assert row["10%"] == pytest.approx(np.quantile(draws, 0.1), rel=ELEMENTWISE)
    assert row["97.5%"] == pytest.approx(np.quantile(draws, 0.975), rel=ELEMENTWISE)


def test_columns_of_the_same_name_are_told_apart_by_number():
    X, y = data()
    model = MCMCCoxProcessRegressor(**SHORT).fit(X, np.round(np.exp(y)))
    model.feature_names_in_ = np.array(["u", "u"])  # which old versions of scikit-learn allow
    assert list(model.summary()) == list(model.diagnostics_)


@pytest.mark.parametrize("quantiles", [1.5, [-0.1], [[0.5]], ["x"]])
def test_bad_quantiles(regressor, quantiles):
    for table_of in (regressor.summary, regressor.trace_.summary):
        with pytest.raises(ValueError, match="quantiles"):
            table_of(quantiles=quantiles)


@pytest.mark.parametrize("quantiles", [(0.05, 0.5, 0.95), 0.25, [], [0.999, 0.001]])
def test_traces_of_the_core_have_the_same_table(quantiles):
    X, y = data()
    model = MCMCGaussianProcessRegressor(**SHORT).fit(X, y)
    table = model.trace_.summary(quantiles)
    assert type(table) is SummaryTable
    assert table == model.summary(quantiles)
    # But for what the estimator says of its rule and its predictions, below.
    remark = model._note_on_predictions()
    assert remark.startswith("Monte Carlo error of predictions")
    note, own_note = table._note(), f"{model.diagnostics_._note()}\n{remark}"
    assert model.diagnostics_.flagged() == table.flagged() == list(table)
    assert repr(table).removesuffix(note) + own_note == repr(model.summary(quantiles))
    html_table = table._repr_html_().removesuffix(f"{note}</p>")
    assert f"{html_table}{own_note}</p>" == model.summary(quantiles)._repr_html_()
    assert repr(model.trace_.summary()).removesuffix(note) + own_note == repr(model.summary())


def test_traces_of_the_core_make_a_frame(classifier):
    pandas = pytest.importorskip("pandas")
    traces = {f"{label}: ": trace for label, trace in zip("abc", classifier.trace_, strict=True)}
    frames = [trace.summary().to_frame() for trace in traces.values()]
    expected = classifier.summary().to_frame()
    for label, frame in zip(traces, frames, strict=True):
        rows = expected[expected.index.str.startswith(label)]
        np.testing.assert_array_equal(frame.to_numpy(), rows.to_numpy())
        assert list(frame.columns) == list(expected.columns)
    assert isinstance(frames[0], pandas.DataFrame)


def test_diagnostics_are_a_table_too(regressor, classifier):
    for model in (regressor, classifier):
        table = model.diagnostics_
        assert type(table) is SummaryTable
        assert list(next(iter(table.values()))) == ["mean", "sd", *DIAGNOSTICS]
        assert repr(table).splitlines()[0].split() == ["mean", "sd", *DIAGNOSTICS]
        assert table.flagged()  # the chains are short
    assert regressor.diagnostics_ == {
        name: {column: row[column] for column in ["mean", "sd", *DIAGNOSTICS]}
        for name, row in regressor.trace_.summary().items()
    }


def test_summaries_of_any_draws_are_a_table():
    table = summarize({"a": np.random.default_rng(0).normal(size=(4, 500))})
    assert type(table) is SummaryTable
    assert repr(table).splitlines()[1].startswith("a ")


def test_nothing_to_sum_up():
    for table in (summarize({}), SummaryTable({})):
        assert table == {}
        assert repr(table) == ""
        assert table._repr_html_() == ""


def test_needs_a_fitted_model():
    for estimator in (MCMCGaussianProcessClassifier(), MCMCGaussianProcessRegressor()):
        with pytest.raises(ValueError, match="not fitted"):
            estimator.summary()


@pytest.mark.parametrize(
    ("mean", "mcse", "text"),
    [
        (1.2345, 0.0123, "1.23"),
        (123.456, 2.0, "123"),
        (12345.6, 123.0, "12300"),
        (-0.001, 0.2, "0.0"),
        (0.04, 3.0, "0"),
        (2.5e-7, 1.2e-9, "2.50e-07"),
        (2.5678e9, 1.0e7, "2.57e+09"),
        (1234567.0, 0.9, "1.2345670e+06"),
        (1.23456, 0.0, "1.235"),
        (1.23456, math.nan, "1.235"),
        (math.nan, math.nan, "nan"),
    ],
)
def test_last_digit_has_the_size_of_the_error(mean, mcse, text):
    table = SummaryTable({"x": GOOD | {"mean": mean, "mcse": mcse}})
    assert repr(table).splitlines()[1].split()[1] == text


def test_text_is_aligned():
    other = GOOD | {"mean": 23.4, "sd": 11.0, "5%": 0.012, "mcse": 1.7, "ess_bulk": 85.0}
    assert repr(SummaryTable({"a": GOOD, "a longer name": other})).splitlines()[:3] == [
        "                mean     sd     5%   mcse  ess_bulk  ess_tail   rhat",
        "a               1.23   0.50  0.30   0.012      1652      1800  1.001",
        "a longer name  23     11     0.012  1.7          85      1800  1.001  *",
    ]


@pytest.mark.parametrize(
    ("change", "doubtful"),
    [
        ({}, False),
        ({"rhat": 1.05}, False),
        ({"rhat": 1.0501}, True),
        ({"rhat": math.nan}, True),
        ({"ess_bulk": 99.9}, True),
        ({"ess_tail": 99.9}, True),
        ({"ess_bulk": math.nan}, True),
        ({"ess_tail": math.nan}, True),
    ],
)
def test_rows_that_have_not_converged_are_marked(change, doubtful):
    table = SummaryTable({"good": GOOD, "other": GOOD | change})
    rows = repr(table).splitlines()[1:]
    assert [row.endswith("*") for row in rows[:2]] == [False, doubtful]
    assert table.flagged() == ["other"] * doubtful
    notes = [row for row in rows[2:] if row.startswith("* ")]
    assert len(notes) == len(rows[2:]) == doubtful
    assert all("n_draws" in note for note in notes)
    assert ("n_draws" in table._repr_html_()) == doubtful


@pytest.fixture(scope="module")
def enough():
    """A fit that its rule ended, whose rows miss the usual limits."""
    X, y = data(60)
    model = MCMCGaussianProcessRegressor(min_ess=10, max_rhat=3.0, **(SHORT | {"n_draws": 100}))
    return model.fit(X, y)


def test_marks_follow_the_rule_that_ended_the_fit(enough):
    assert enough.converged_
    assert enough.n_draws_ == 50
    assert enough.trace_.summary().flagged()  # by the usual limits
    for table in (enough.summary(), enough.diagnostics_, enough.summary().copy()):
        assert table.flagged() == []
        assert "*" not in repr(table)
    again = pickle.loads(pickle.dumps(enough))
    assert repr(again.summary()) == repr(enough.summary())


def test_the_note_names_the_limits_and_the_parameter_in_use(regressor):
    note = regressor.summary()._note().splitlines()[0]
    assert note.startswith(
        "* R-hat above 1.05, ess_bulk below 100, or undefined: raise n_draws (now 20)"
    )
    X, y = data()
    model = MCMCGaussianProcessRegressor(min_ess=1e4, max_rhat=None, **SHORT).fit(X, y)
    assert model.summary()._note().startswith("* ess_bulk below 10000, or undefined: raise n_draws")


def test_html_holds_the_same_and_is_escaped(regressor):
    table = regressor.summary()
    page = table._repr_html_()
    assert "&lt;age&gt;" in page
    assert "<age>" not in page
    cells = re.findall(r"<t[hd](?: [^>]*)?>(.*?)</t[hd]>", page)
    words = " ".join(html.unescape(cell) for cell in cells).split()
    text = repr(table).splitlines()[: len(table) + 1]  # notes follow
    assert words == " ".join(text).split()
    assert page.count("<tr") == page.count("</tr>") == len(table) + 1


def test_frame(regressor):
    pandas = pytest.importorskip("pandas")
    table = regressor.summary()
    frame = table.to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.index) == list(table)
    assert list(frame.columns) == list(table["mean"])
    expected = [list(row.values()) for row in table.values()]
    np.testing.assert_array_equal(frame.to_numpy(), expected)


def test_pandas_takes_the_table_itself(regressor):
    pandas = pytest.importorskip("pandas")
    table = regressor.summary()
    pandas.testing.assert_frame_equal(pandas.DataFrame(table).T, table.to_frame())


def test_frame_without_pandas(regressor, monkeypatch):
    table = regressor.summary()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        table.to_frame()


def test_table_is_a_mapping_that_can_be_pickled(regressor):
    table = regressor.summary()
    copy = pickle.loads(pickle.dumps(table))
    assert repr(copy) == repr(table)
    assert copy == table
    with pytest.raises(KeyError):
        table["nothing"]
    assert "mean" in table


def test_all_elements_of_a_long_vector_are_shown():
    X, y = data(20, n_columns=34)
    model = MCMCGaussianProcessClassifier(**SHORT).fit(X, y > 0.0)
    lines = repr(model.summary()).splitlines()
    assert [line.split()[0] for line in lines[2:36]] == [
        f"k2__length_scale[{i}]" for i in range(34)
    ]


def test_copies_are_tables(regressor):
    table = regressor.summary()
    copied = table.copy()
    assert type(copied) is SummaryTable
    assert copied is not table
    assert repr(copied) == repr(table)
    copied["more"] = next(iter(table.values()))  # its rows follow what it holds
    assert repr(copied).count("\n") == repr(table).count("\n") + 1
