"""`priors_` as a table: names, families, quantiles, and where each prior comes from."""

from __future__ import annotations

import copy
import html
import math
import pickle
import re

import joblib
import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.pipeline import make_pipeline

from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
)
from skgpmcmc.estimators._pickling import from_plain, to_plain
from skgpmcmc.estimators._prior_table import PriorTable
from skgpmcmc.priors import HyperPrior

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SHORT = {"n_chains": 2, "n_warmup": 4, "n_draws": 6, "random_state": 0}
X = np.random.default_rng(0).normal(size=(16, 2))
Y = np.arange(16) % 2
KERNEL = ConstantKernel(1.0, (0.1, 10.0)) * RBF([1.0, 1.0], [(1e-5, 1e5), (0.5, 2.0)])
PRIORS = {"k2__length_scale[<age>]": stats.gamma(3.0, scale=2.0)}
ESTIMATORS = [
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
    MCMCCoxProcessRegressor,
]


def frame(names=("<age>", "petal width")):
    return pytest.importorskip("pandas").DataFrame(X, columns=list(names))


@pytest.fixture(scope="module")
def classifier():
    model = MCMCGaussianProcessClassifier(KERNEL, priors=PRIORS, mean="constant", **SHORT)
    return model.fit(frame(), Y)


def rows_of(table):
    """Return the cells of the text, by the name of the row."""
    cells = [re.split(r" {2,}", line.strip()) for line in repr(table).splitlines()]
    assert cells[0] == ["family", "median", "90 % range", "origin"]
    return {row[0]: row[1:] for row in cells[1:]}


def test_rows_are_named_as_in_the_summary(classifier):
    names = [name for name in classifier.summary() if name != "complete_data_log_likelihood"]
    assert set(rows_of(classifier.priors_)) <= set(names)
    assert list(rows_of(classifier.priors_)) == [
        "k1__constant_value",
        "k2__length_scale[<age>]",
        "k2__length_scale[petal width]",
        "mean",
    ]


def test_families_quantiles_and_origins(classifier):
    rows = rows_of(classifier.priors_)
    family = classifier.priors_["k1__constant_value"][0].dist.name
    assert rows["k1__constant_value"] == [family, "1.00", "0.126 to 7.94", "from bounds"]
    low, median, high = PRIORS["k2__length_scale[<age>]"].ppf([0.05, 0.5, 0.95])
    expected = ["gamma", f"{median:.3g}", f"{low:.3g} to {high:.3g}", "given"]
    assert rows["k2__length_scale[<age>]"] == [expected[0], "5.35", "1.64 to 12.6", "given"]
    assert expected[1:] == ["5.35", "1.64 to 12.6", "given"]
    assert rows["k2__length_scale[petal width]"][1:] == ["1.00", "0.536 to 1.87", "from bounds"]
    assert rows["mean"] == ["norm", "0", "-3.29 to 3.29", "default"]


def test_priors_that_bounds_cut_are_shown_as_they_are_used():
    given = {"k2__length_scale": stats.lognorm(1.0), "k1__constant_value": stats.uniform(0, 20)}
    table = MCMCGaussianProcessClassifier(KERNEL, priors=given, **SHORT).fit(X, Y).priors_
    rows = rows_of(table)
    assert rows["k1__constant_value"] == [
        "uniform",
        "5.05",
        "0.595 to 9.50",
        "given, cut to bounds",
    ]
    assert rows["k2__length_scale[0]"] == ["lognorm", "1.00", "0.193 to 5.18", "given"]
    low, high = stats.norm.cdf(np.log([0.5, 2.0]))
    ends = np.exp(stats.norm.ppf(low + (high - low) * np.array([0.05, 0.95])))
    assert rows["k2__length_scale[1]"][2] == f"{ends[0]:.3f} to {ends[1]:.2f}"
    assert rows["k2__length_scale[1]"][3] == "given, cut to bounds"
    assert table["k2__length_scale"] == (given["k2__length_scale"],) * 2  # as they were given


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_defaults_of_all_estimators(estimator):
    model = estimator(mean="constant", **SHORT).fit(X, Y)
    rows = rows_of(model.priors_)
    names = [name for name in model.summary() if name != "complete_data_log_likelihood"]
    assert set(rows) <= set(names)
    assert {row[3] for row in rows.values()} == {"default"}


def test_degrees_of_freedom_dispersion_and_noise():
    model = MCMCGaussianProcessRegressor(
        likelihood="student-t", degrees_of_freedom=None,
        priors={"k2__noise_level": stats.halfcauchy()}, **SHORT,
    ).fit(X, X[:, 0])  # fmt: skip
    rows = rows_of(model.priors_)
    assert rows["k2__noise_level"] == ["halfcauchy", "1.00", "0.0787 to 12.7", "given"]
    assert rows["degrees_of_freedom"][::3] == ["gamma", "default"]
    counts = MCMCCoxProcessRegressor(likelihood="negative-binomial", **SHORT).fit(X, Y)
    assert rows_of(counts.priors_)["dispersion"][::3] == ["gamma", "default"]


@pytest.mark.parametrize("multi_class", ["one_vs_rest", "softmax"])
def test_the_priors_of_all_classes_are_one_table(multi_class):
    model = MCMCGaussianProcessClassifier(multi_class=multi_class, **SHORT).fit(
        X, np.arange(16) % 3
    )
    assert list(rows_of(model.priors_)) == [
        "k1__constant_value", "k2__length_scale[0]", "k2__length_scale[1]"
    ]  # fmt: skip


def test_it_is_the_mapping_that_it_was(classifier):
    table = classifier.priors_
    assert isinstance(table, dict)
    assert list(table) == ["k1__constant_value", "k2__length_scale", "mean"]
    assert [len(priors) for priors in table.values()] == [1, 2, 1]
    assert table["k2__length_scale"][0] is PRIORS["k2__length_scale[<age>]"]
    assert {**table} == table
    with pytest.raises(KeyError):
        table["k2__length_scale[0]"]


def test_html_holds_the_same_and_is_escaped(classifier):
    page = classifier.priors_._repr_html_()
    assert "&lt;age&gt;" in page
    assert "<age>" not in page
    cells = re.findall(r"<t[hd](?: [^>]*)?>(.*?)</t[hd]>", page)
    words = " ".join(html.unescape(cell) for cell in cells).split()
    assert words == repr(classifier.priors_).split()
    assert page.count("<tr") == page.count("</tr>") == 5


def test_frame(classifier):
    pandas = pytest.importorskip("pandas")
    data = classifier.priors_.to_frame()
    assert isinstance(data, pandas.DataFrame)
    assert list(data.columns) == ["family", "median", "5%", "95%", "origin"]
    assert list(data.index) == list(rows_of(classifier.priors_))
    ends = data.loc["k2__length_scale[<age>]", ["5%", "95%"]].to_numpy(dtype=float)
    np.testing.assert_allclose(ends, stats.gamma(3.0, scale=2.0).ppf([0.05, 0.95]), rtol=1e-9)


@pytest.mark.parametrize(
    "copied",
    [
        lambda model: pickle.loads(pickle.dumps(model)).priors_,
        lambda model: copy.deepcopy(model).priors_,
        lambda model: pickle.loads(pickle.dumps(model.priors_)),
        lambda model: copy.deepcopy(model.priors_),
        lambda model: copy.copy(model.priors_),
        lambda model: model.priors_.copy(),
        lambda model: pickle.loads(pickle.dumps(model.priors_, protocol=0)),
        lambda model: clone(model.priors_, safe=False),
    ],
)
def test_copies(classifier, copied):
    other = copied(classifier)
    assert type(other) is PriorTable
    assert repr(other) == repr(classifier.priors_)
    for name, priors in classifier.priors_.items():
        assert [p.median() for p in other[name]] == [p.median() for p in priors]


def test_files_and_their_kinds(classifier, tmp_path):
    joblib.dump(classifier, tmp_path / "model")
    assert repr(joblib.load(tmp_path / "model").priors_) == repr(classifier.priors_)
    tables = {
        "priors_": classifier.priors_,
        "diagnostics_": classifier.diagnostics_,
        "summary": classifier.summary(),
    }
    plain = to_plain(tables)
    assert {type(value) for value in plain.values()} == {dict}
    back = from_plain(plain)
    for name, table in tables.items():
        assert type(back[name]) is type(table)
        assert repr(back[name]) == repr(table)
    assert back["summary"] == tables["summary"]


def test_skops(classifier):
    io = pytest.importorskip("skops.io", reason="skops is not installed")
    data = io.dumps(classifier)
    loaded = io.loads(data, trusted=io.get_untrusted_types(data=data))
    assert repr(loaded.priors_) == repr(classifier.priors_)
    assert repr(loaded.diagnostics_) == repr(classifier.diagnostics_)


def test_nothing_sampled_is_said():
    model = MCMCGaussianProcessClassifier(RBF(1.0, "fixed"), **SHORT).fit(X, Y)
    assert model.priors_ == {}
    assert repr(model.priors_) == "no hyperparameter is sampled"
    assert "no hyperparameter is sampled" in model.priors_._repr_html_()


@pytest.mark.parametrize(
    ("scale", "median", "ends"),
    [
        (1e-8, "1.00e-08", "1.93e-09 to 5.18e-08"),
        (3e-3, "0.00300", "5.79e-04 to 0.0155"),
        (1.0, "1.00", "0.193 to 5.18"),
        (2e4, "20000", "3860 to 104000"),
        (1.5e5, "150000", "29000 to 777000"),
        (1e8, "1.00e+08", "1.93e+07 to 5.18e+08"),
        (1e-300, "1.00e-300", "1.93e-301 to 5.18e-300"),
    ],
)
def test_numbers_of_all_scales(scale, median, ends):
    prior = HyperPrior(stats.lognorm(1.0, scale=scale), name="x")
    assert rows_of(PriorTable.of({"x": [prior]}))["x"][1:3] == [median, ends]


def test_numbers_of_other_families():
    cases = {
        "a": stats.norm(-1234.0, 1e-3),
        "b": stats.cauchy(0.0, 1e9),
        "c": stats.uniform(-1.0, 2.0),
    }
    table = PriorTable.of({n: [HyperPrior(d, log_scale=False, name=n)] for n, d in cases.items()})
    rows = rows_of(table)
    assert rows["a"][1:3] == ["-1234.0000", "-1234.0016 to -1233.9984"]
    assert rows["b"][1:3] == ["0", "-6.31e+09 to 6.31e+09"]
    assert rows["c"][1:3] == ["0", "-0.900 to 0.900"]


def test_lines_are_aligned(classifier):
    lines = repr(classifier.priors_).splitlines()
    origins = [re.search(r"(from bounds|given|default|origin)$", line).start() for line in lines]
    assert len(set(origins)) == 1
    assert len({line.index(" to ") for line in lines[1:]}) == 1


def test_priors_of_families_of_one_s_own():
    class Triangle(stats.rv_continuous):
        def _pdf(self, x):
            return 2.0 * x

    prior = Triangle(a=0.0, b=1.0, name="triangle")()
    model = MCMCGaussianProcessClassifier(priors={"k1__constant_value": prior}, **SHORT).fit(X, Y)
    row = rows_of(model.priors_)["k1__constant_value"]
    assert row == ["triangle", "0.707", "0.224 to 0.975", "given"]


def test_default_bounds_count_as_not_set():
    kernel = ConstantKernel() * RBF([1.0, 1.0]) + WhiteKernel(1.0, (1e-5, 2e5))
    rows = rows_of(MCMCGaussianProcessRegressor(kernel, **SHORT).fit(X, X[:, 0]).priors_)
    assert [row[3] for row in rows.values()] == ["default"] * 3 + ["from bounds"]


def test_a_given_prior_equal_to_the_bounds_is_given():
    priors = {"k1__constant_value": stats.loguniform(0.1, 10.0)}
    model = MCMCGaussianProcessClassifier(KERNEL, priors=priors, **SHORT).fit(X, Y)
    assert rows_of(model.priors_)["k1__constant_value"][3] == "given"
    assert math.isclose(model.priors_["k1__constant_value"][0].median(), 1.0)


def set_it(table):
    table["mean"] = [stats.norm()]


def delete(table):
    del table["mean"]


def merge(table):
    table |= {"mean": [stats.norm()]}


@pytest.mark.parametrize(
    "change",
    [
        set_it,
        delete,
        merge,
        lambda table: table.update(mean=[stats.norm()]),
        lambda table: table.pop("mean"),
        lambda table: table.popitem(),
        lambda table: table.setdefault("other", []),
        lambda table: table.clear(),
        lambda table: set_it(table.copy()),
        lambda table: set_it(pickle.loads(pickle.dumps(table))),
    ],
)
def test_it_cannot_be_changed(classifier, change):
    text, keys = repr(classifier.priors_), list(classifier.priors_)
    with pytest.raises(TypeError, match=r"cannot be changed.*dict\(model\.priors_\)"):
        change(classifier.priors_)
    assert (repr(classifier.priors_), list(classifier.priors_)) == (text, keys)
    assert all(type(priors) is tuple for priors in classifier.priors_.values())


def test_dictionaries_made_of_it_can_be_changed(classifier):
    other = {"mean": stats.norm(3.0)}
    for merged in (classifier.priors_ | other, {**classifier.priors_, **other}):
        assert type(merged) is dict
        assert merged["mean"] is other["mean"]
    own = dict(classifier.priors_)
    own.pop("mean")
    assert "mean" in classifier.priors_


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_table_as_priors_of_another_estimator(estimator):
    first = estimator(KERNEL, mean="constant", **SHORT).fit(X, Y)
    again = estimator(KERNEL, mean="constant", priors=first.priors_, **SHORT)
    late = estimator(KERNEL, mean="constant", **SHORT).set_params(priors=first.priors_)
    for model in (again, late, clone(again), make_pipeline(again), clone(make_pipeline(late))):
        text = repr(model)
        assert "family" not in text
        assert "priors={'k1__constant_value'" in text
        assert "90 % range" not in model._repr_html_()
    assert type(clone(again).get_params()["priors"]) is dict
    fitted = clone(again).fit(X, Y)
    assert list(fitted.priors_) == list(first.priors_)
    np.testing.assert_array_equal(fitted.trace_.theta, first.trace_.theta)
    assert {row[3] for row in rows_of(fitted.priors_).values()} == {"given"}


def test_the_table_of_a_fit_continues_it():
    first = MCMCGaussianProcessClassifier(**SHORT).fit(X, Y)
    model = MCMCGaussianProcessClassifier(priors=first.priors_, warm_start=True, **SHORT).fit(X, Y)
    longer = model.set_params(n_draws=8).fit(X, Y)
    assert longer.trace_.n_draws == 8
    np.testing.assert_array_equal(longer.trace_.theta[:, :6], first.trace_.theta)


def test_it_is_shown_as_a_table_where_it_is_printed(classifier, capsys):
    print(classifier.priors_)
    assert capsys.readouterr().out == repr(classifier.priors_) + "\n"
    assert str(classifier.priors_).splitlines()[0].split()[0] == "family"
