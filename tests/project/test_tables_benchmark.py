"""The suite of public tables: halves, splits, scores, resuming, and the report."""

import importlib.util

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_iris
from sklearn.gaussian_process.kernels import DotProduct, Matern
from sklearn.linear_model import LogisticRegression, RidgeCV

from benchmarks.tables import running
from benchmarks.tables.__main__ import main
from benchmarks.tables.catalogue import CHOOSE, CLASSES, COUNTS, NUMBERS, REPORT, TABLES, Table
from benchmarks.tables.forecasters import NormalByResiduals, PoissonRate, Probabilities
from benchmarks.tables.kernels import SharedScaleKernel
from benchmarks.tables.methods import Task, other_methods
from benchmarks.tables.ours import SMOKE, VARIANTS, our_methods
from benchmarks.tables.report import defeats, differences, draw, make_page, mean_ranks
from benchmarks.tables.running import Plan, append_row, read_rows, run
from benchmarks.tables.scoring import calibration_error, score_classes, score_counts
from benchmarks.tables.sources import MissingSourceError, encode


def make_row(table, method, split, loss, kind=NUMBERS):
    key = {"table": table, "split": split, "method": method, "kind": kind, "half": CHOOSE}
    return {**key, "loss": float(loss), "nlpd": float(loss)}


def written(rows, path):
    for row in rows:
        append_row(path, row)
    return read_rows([path])


def test_the_suite_is_as_large_as_promised():
    assert len(TABLES) >= 30
    kinds = {table.kind for table in TABLES.values()}
    assert kinds == {CLASSES, NUMBERS, COUNTS}
    assert all(40 <= table.n_train <= 1000 for table in TABLES.values())


def test_halves_depend_on_the_name_only():
    # Written down before any default was chosen: a change here makes the report worthless.
    assert TABLES["wine"].half == TABLES["breast-cancer"].half == CHOOSE
    assert TABLES["friedman1"].half == TABLES["diabetes"].half == REPORT
    for name, table in TABLES.items():
        assert Table(name, COUNTS, 1, table.load).half == table.half


def test_splits_are_fixed_disjoint_and_stratified():
    table = TABLES["iris"]
    y = load_iris().target
    train, test = table.split(3, y)
    assert np.array_equal(train, table.split(3, y)[0])
    assert not np.array_equal(train, table.split(4, y)[0])
    assert len(train) == table.n_train
    assert not set(train) & set(test)
    assert np.array_equal(np.bincount(y[train]), [25, 25, 25])


@pytest.mark.parametrize("name", TABLES)
def test_tables_can_be_loaded(name):
    try:
        X, y = TABLES[name].load()
    except MissingSourceError as error:
        pytest.skip(str(error))
    assert np.isfinite(X).all()
    assert X.shape[1] <= 60
    assert len(X) == len(y) > TABLES[name].n_train
    assert np.ptp(X, axis=0).min() > 0
    if TABLES[name].kind == COUNTS:
        assert (y >= 0).all()
        assert (y == np.floor(y)).all()


def test_categories_are_columns():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {
            "three": ["a", "b", "c"] * 10,
            "two": ["no", "yes"] * 15,
            "same": [1] * 30,
            "number": range(30),
            "y": ["u"] * 14 + ["v"] * 15 + ["rare"],
        }
    )
    X, y = encode(frame, "y", is_class=True)
    assert X.shape == (29, 5)
    assert set(y) == {"u", "v"}
    assert np.array_equal(X[:, :3].sum(axis=1), np.ones(29))
    assert np.array_equal(X[:, 3], np.arange(29) % 2)


def test_scores_of_classes():
    y, classes = np.array(["a", "b", "b"]), np.array(["a", "b"])
    probabilities = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    scores = score_classes(y, classes, probabilities)
    assert scores["loss"] == pytest.approx(-np.log([0.9, 0.8, 0.4]).mean())
    assert scores["brier"] == pytest.approx(2 * np.mean([0.01, 0.04, 0.36]))
    assert scores["error"] == pytest.approx(1 / 3)


def test_calibration_error():
    confidence = np.array([0.55, 0.55, 0.95, 0.95])
    assert calibration_error(confidence, np.array([1, 0, 1, 1])) == pytest.approx(0.05)


def test_scores_of_counts():
    y, rate = np.array([0.0, 3.0]), np.array([1.0, 3.0])
    scores = score_counts(y, rate, stats.poisson(rate).logpmf(y), (rate - 1.5, rate + 0.5))
    # Poisson deviance: 2 (y log(y / rate) - y + rate).
    assert scores["loss"] == pytest.approx((2.0 + 0.0) / 2)
    assert scores["coverage"] == 1.0
    assert scores["nlpd"] == pytest.approx(-stats.poisson(rate).logpmf(y).mean())


def test_residuals_are_out_of_fold():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 35)), rng.normal(size=40)
    forecaster = NormalByResiduals(RidgeCV([1e-6])).fit(X, y)
    inside = np.std(y - forecaster.model.predict(X))
    # With 35 columns for 40 rows the line follows the noise: only rows left out say how wide it is.
    assert forecaster.std_ > 4 * inside
    scores = forecaster.score(X, y)
    normal = stats.norm(forecaster.model.predict(X), forecaster.std_)
    assert scores["nlpd"] == pytest.approx(-normal.logpdf(y).mean())


def test_rates_are_positive():
    class Nothing:
        def fit(self, X, y):
            return self

        def predict(self, X):
            return np.zeros(len(X))

    y = np.array([1.0, 2.0])
    scores = PoissonRate(Nothing()).fit(y[:, None], y).score(y[:, None], y)
    assert scores["nlpd"] == pytest.approx(-stats.poisson(0.25).logpmf(y).mean())


def test_methods_fit_their_kinds():
    methods = other_methods()
    assert {"gp-iso", "gp-ard", "linear", "splines", "boosting", "forest"} <= set(methods)
    assert ("lightgbm" in methods) == (importlib.util.find_spec("lightgbm") is not None)
    wide = Task(NUMBERS, np.zeros((3, 2)), np.zeros(3), 0)
    narrow = Task(NUMBERS, np.zeros((3, 1)), np.zeros(3), 0)
    assert methods["splines"][NUMBERS](wide) is None
    assert methods["splines"][NUMBERS](narrow) is not None
    kernel = methods["gp-ard"][NUMBERS](wide).model.kernel
    assert len(kernel.k1.k2.length_scale) == 2


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"nu": 2.5},
        {"linear": 0.0, "linear_bounds": "fixed"},
        {"spread": 0.7, "spread_bounds": (0.1, 10.0)},
    ],
)
def test_kernel_with_a_shared_scale(options):
    X = np.random.default_rng(0).normal(size=(6, 3))
    kernel = SharedScaleKernel(
        constant_value=2.0, relative=np.array([1.5, 0.5, 2.0]), scale=1.3, **options
    )
    scales = 1.3 * kernel.relative**kernel.spread
    expected = 2.0 * Matern(scales, nu=kernel.nu)(X) + kernel.linear * DotProduct(0.0)(X)
    matrix, gradient = kernel(X, eval_gradient=True)
    np.testing.assert_allclose(matrix, expected, rtol=1e-12)
    np.testing.assert_allclose(kernel(X[:2], X[2:]), expected[:2, 2:], rtol=1e-12)
    np.testing.assert_allclose(kernel.diag(X), np.diag(expected), rtol=1e-12)
    step = 1e-5
    for number in range(kernel.n_dims):
        ahead = np.eye(kernel.n_dims)[number] * step
        up, down = (kernel.clone_with_theta(kernel.theta + s * ahead)(X) for s in (1, -1))
        # The error of a central difference is of the order of the step's square.
        np.testing.assert_allclose(gradient[..., number], (up - down) / (2 * step), atol=1e-7)


def test_variants_of_ours_can_be_made():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2))
    targets = {CLASSES: rng.choice(["a", "b", "c"], 20), NUMBERS: X[:, 0], COUNTS: np.arange(20.0)}
    methods = our_methods(SMOKE)
    assert set(methods) == set(VARIANTS)
    for method in methods.values():
        for kind, make in method.items():
            forecaster = make(Task(kind, X, targets[kind], 0))
            assert forecaster.model.n_draws == SMOKE["n_draws"]
            priors = forecaster.model.priors or {}
            kernel = forecaster.model.kernel
            assert not priors or set(priors) <= {h.name for h in kernel.hyperparameters}


def test_what_was_run_is_not_run_again(tmp_path, monkeypatch):
    calls = []

    def run_one(table, split, method, most_rows):
        calls.append((table.name, split))
        if table.name == "wine":
            return None
        return {"kind": CLASSES, "loss": 1.0, "fit_seconds": 0.0, "score_seconds": 0.0}

    monkeypatch.setattr(running, "run_one", run_one)
    path = tmp_path / "new" / "rows.csv"
    plan = Plan([TABLES["iris"], TABLES["wine"]], {"linear": {CLASSES: None}, "no": {}}, 2)
    run(plan, path)
    assert calls == [("iris", 0), ("wine", 0), ("iris", 1), ("wine", 1)]
    calls.clear()
    run(plan, path)
    assert calls == [("wine", 0), ("wine", 1)]
    assert len(read_rows([path])) == 2


def test_one_row_for_a_method_and_split():
    method = {CLASSES: lambda task: Probabilities(LogisticRegression())}
    row = running.run_one(TABLES["iris"], 0, method)
    assert (row["kind"], row["n_train"], row["n_columns"]) == (CLASSES, 75, 4)
    assert 0.0 < row["loss"] < 0.5
    assert row["fit_seconds"] > 0.0
    assert row["warned"] == 0
    assert running.run_one(TABLES["iris"], 0, method, 50)["n_train"] == 50
    assert running.run_one(TABLES["iris"], 0, {CLASSES: lambda task: None}) is None


def test_ranks_and_differences(tmp_path):
    rows = []
    for table, ours, linear in [("a", 1.0, 2.0), ("b", 1.0, 3.0), ("c", 5.0, 4.0)]:
        for split in range(3):
            rows += [
                make_row(table, "ours", split, ours),
                make_row(table, "linear", split, linear + 0.01 * split),
            ]
    rows.append(make_row("a", "splines", 0, 0.0))
    rows = written(rows, tmp_path / "rows.csv")
    ranks = mean_ranks(rows)
    assert list(ranks) == ["ours", "linear"]
    assert ranks["ours"][:3] == (3, pytest.approx(4 / 3), 0.0)
    assert ranks["linear"][2] == pytest.approx(1 / 3)
    assert ranks["linear"][3] == pytest.approx(2 / 3)
    mean, error = differences(rows, "linear")["b"]
    assert mean == pytest.approx(2.01)
    assert error == pytest.approx(0.01 / np.sqrt(3))


def test_defeats_are_named(tmp_path):
    rows = []
    for split in range(3):
        rows += [
            make_row("a", "ours", split, 2.0 + 0.1 * split),
            make_row("a", "ours-other", split, 0.0),
            make_row("a", "linear", split, 1.0),
            make_row("b", "ours", split, 1.0 + split),
            make_row("b", "linear", split, 1.9),
        ]
    rows = written(rows, tmp_path / "rows.csv")
    [(table, best, mean, error)] = defeats(rows)
    assert (table, best) == ("a", "linear")
    assert mean == pytest.approx(1.1)
    assert error == pytest.approx(0.1 / np.sqrt(3))
    assert defeats(rows, ["gp-iso"]) == []
    page = make_page(rows)
    assert "| a | linear | 1.1000 (0.0577) |" in page


def test_picture(tmp_path):
    pytest.importorskip("matplotlib")
    rows = [
        make_row(table, method, split, loss + 0.1 * split)
        for table in "ab"
        for split in range(2)
        for method, loss in [("ours", 1.0), ("linear", 2.0)]
    ]
    draw(written(rows, tmp_path / "rows.csv"), tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 1000


def test_the_command_line(capsys, tmp_path):
    main(["list"])
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{CHOOSE}: breast-cancer (classes), ")
    assert second.startswith(f"{REPORT}: banana (classes), ")
    path = tmp_path / "rows.csv"
    main(["run", "--output", str(path), "--tables", "iris", "--methods", "linear", "--splits", "1"])
    assert len(read_rows([path])) == 1
    with pytest.raises(SystemExit):
        main(["run", "--output", str(path), "--tables", "no-such-table"])
    assert "unknown table 'no-such-table'" in capsys.readouterr().err


@pytest.mark.second_stage
def test_smoke(capsys):
    main(["--smoke"])
    page = capsys.readouterr().out
    for line in ("Classes, log loss", "Numbers, negative log density", "Counts, Poisson deviance"):
        assert f"## {line}" in page
