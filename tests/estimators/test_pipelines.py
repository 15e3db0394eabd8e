"""The estimators inside scikit-learn's tools, on data frames, and with kernels of scripts."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from rounding import ELEMENTWISE, EPS
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris
from sklearn.ensemble import StackingClassifier, StackingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process.kernels import (
    ConstantKernel,
    GenericKernelMixin,
    Hyperparameter,
    Kernel,
    Matern,
    StationaryKernelMixin,
)
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import skgpmcmc
from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
)

pytestmark = [
    pytest.mark.second_stage,
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

SHORT = {"n_chains": 2, "n_warmup": 8, "n_draws": 10, "random_state": 0}
ESTIMATORS = {
    "classifier": MCMCGaussianProcessClassifier(**SHORT),
    "regressor": MCMCGaussianProcessRegressor(**SHORT),
    "cox": MCMCCoxProcessRegressor(**SHORT),
}
COLOURS = ["blue", "green", "red"]


def targets(name, signal, rng):
    """Return targets of each estimator for values of a latent function."""
    if name == "cox":
        return rng.poisson(3.0 * np.exp(signal))
    noisy = signal + 0.1 * rng.standard_normal(len(signal))
    return np.where(noisy > 0.0, "up", "down") if name == "classifier" else noisy


def predict(model, X):
    return getattr(model, "predict_proba", model.predict)(X)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_data_frame_through_a_column_transformer(name):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    numbers, colours = rng.normal(50.0, 10.0, (30, 2)), rng.integers(0, 3, 30)
    frame = pandas.DataFrame(numbers, columns=["width", "height"])
    frame["colour"] = np.array(COLOURS)[colours]
    y = targets(name, (numbers[:, 0] - 50.0) / 10.0 + (colours == 2), rng)
    columns = ColumnTransformer(
        [
            ("numbers", StandardScaler(), ["width", "height"]),
            ("words", OneHotEncoder(sparse_output=False), ["colour"]),
        ]
    ).set_output(transform="pandas")
    # Trajectories enlarge rounding errors, in which the two ways to scale differ; slices do not.
    model = clone(ESTIMATORS[name]).set_params(hyperparameter_update="slice")
    pipeline = make_pipeline(columns, model).fit(frame, y)

    by_hand = np.column_stack(
        [(numbers - numbers.mean(axis=0)) / numbers.std(axis=0), np.eye(3)[colours]]
    )
    expected = predict(clone(model).fit(by_hand, y), by_hand)
    # Covariances that differ by ulps, times their condition number: 30 rows, jitter of 1e-6.
    np.testing.assert_allclose(predict(pipeline, frame), expected, rtol=30.0 / 1e-6 * EPS)
    shuffled = frame[["colour", "height", "width"]].assign(other=1.0)
    np.testing.assert_array_equal(predict(pipeline, shuffled), predict(pipeline, frame))
    names = [f"numbers__{n}" for n in ("width", "height")] + [f"words__colour_{c}" for c in COLOURS]
    assert list(pipeline[-1].feature_names_in_) == names


def test_grid_search_scores_each_candidate_as_by_hand():
    X, y = load_iris(return_X_y=True)
    X, y = X[::5], y[::5]
    kernel = ConstantKernel() * Matern(nu=1.5)
    model = MCMCGaussianProcessClassifier(kernel, **{**SHORT, "n_chains": 1})
    grid = {"representation": ["surr-site", "prior-white"], "kernel__k2__nu": [0.5, 2.5]}
    folds = StratifiedKFold(2)
    scoring = ["neg_log_loss", "roc_auc_ovr"]
    search = GridSearchCV(model, grid, cv=folds, scoring=scoring, refit="neg_log_loss").fit(X, y)

    train, test = next(folds.split(X, y))
    for i, candidate in enumerate(search.cv_results_["params"]):
        by_hand = clone(model).set_params(**candidate).fit(X[train], y[train])
        p = by_hand.predict_proba(X[test])
        scores = {name: search.cv_results_[f"split0_test_{name}"][i] for name in scoring}
        assert scores["neg_log_loss"] == pytest.approx(-log_loss(y[test], p), rel=ELEMENTWISE)
        assert scores["roc_auc_ovr"] == pytest.approx(
            roc_auc_score(y[test], p, multi_class="ovr"), rel=ELEMENTWISE
        )
        assert scores["roc_auc_ovr"] > 0.9
        assert by_hand.kernel_.kernels[0].k2.nu == candidate["kernel__k2__nu"]
    assert len(set(search.cv_results_["mean_test_neg_log_loss"])) == 4  # each candidate matters
    again = clone(model).set_params(**search.best_params_).fit(X, y)
    np.testing.assert_array_equal(search.predict_proba(X), again.predict_proba(X))
    assert kernel.k2.nu == model.kernel.k2.nu == 1.5


def two_classes(n=40):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, (n, 2))
    return X, targets("classifier", X[:, 0], rng)


def test_probabilities_by_cross_validation():
    X, y = two_classes()
    model = MCMCGaussianProcessClassifier(**SHORT)
    folds = KFold(3)
    p = cross_val_predict(model, X, y, cv=folds, method="predict_proba")
    for train, test in folds.split(X):
        by_hand = clone(model).fit(X[train], y[train])
        np.testing.assert_array_equal(p[test], by_hand.predict_proba(X[test]))


def test_calibration():
    X, y = two_classes()
    model = MCMCGaussianProcessClassifier(**SHORT).fit(X[:20], y[:20])
    frozen = CalibratedClassifierCV(FrozenEstimator(model), method="isotonic", cv=2)
    p = frozen.fit(X[20:], y[20:]).predict_proba(X[20:])
    # Isotonic regression keeps the mean of what it is fitted to, here all 20 rows.
    assert p[:, 1].mean() == pytest.approx((y[20:] == "up").mean(), abs=1e-9)
    np.testing.assert_array_equal(frozen.classes_, model.classes_)
    # Larger probabilities stay larger.
    order = np.argsort(model.predict_proba(X[20:])[:, 1])
    assert (np.diff(p[order, 1]) >= 0.0).all()
    refitted = CalibratedClassifierCV(clone(model), cv=2).fit(X, y)
    assert refitted.score(X, y) > 0.85


def test_stacked_classifier():
    X, y = two_classes()
    model = MCMCGaussianProcessClassifier(**SHORT)
    members = [("gp", model), ("tree", DecisionTreeClassifier(max_depth=1, random_state=0))]
    stack = StackingClassifier(members, LogisticRegression(), cv=2).fit(X, y)
    np.testing.assert_array_equal(
        stack.transform(X)[:, 0], clone(model).fit(X, y).predict_proba(X)[:, 1]
    )
    assert stack.score(X, y) > 0.85
    assert stack.final_estimator_.coef_[0, 0] > 0.0


def test_stacked_regressor():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, (40, 2))
    y = targets("regressor", X[:, 0], rng)
    model = MCMCGaussianProcessRegressor(**SHORT)
    members = [("gp", model), ("tree", DecisionTreeRegressor(max_depth=1, random_state=0))]
    stack = StackingRegressor(members, cv=2).fit(X, y)
    np.testing.assert_array_equal(stack.transform(X)[:, 0], clone(model).fit(X, y).predict(X))
    assert stack.score(X, y) > 0.9
    assert stack.final_estimator_.coef_[0] > stack.final_estimator_.coef_[1]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_permutation_importance(name):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, (40, 2))
    X = np.column_stack([X, np.ones(40)])
    y = targets(name, X[:, 0], rng)
    model = clone(ESTIMATORS[name]).fit(X, y)
    importances = permutation_importance(model, X, y, n_repeats=3, random_state=0).importances
    assert importances[0].min() > max(0.2, importances[1].max())
    np.testing.assert_array_equal(importances[2], 0.0)  # a constant column


SCRIPT = """
import warnings

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from skgpmcmc import MCMCGaussianProcessClassifier


class Bent(RBF):
    def __call__(self, X, Y=None, eval_gradient=False):
        return super().__call__(np.tanh(X), None if Y is None else np.tanh(Y))


warnings.simplefilter("ignore")
X = np.random.default_rng(0).uniform(-2.0, 2.0, (20, 1))
y = X[:, 0] > 0.0
for n_jobs in (None, 2):
    model = MCMCGaussianProcessClassifier(
        ConstantKernel() * Bent(), n_chains=2, n_warmup=5, n_draws=10, n_jobs=n_jobs, random_state=0
    ).fit(X, y)
    print(model.predict_proba(X)[:, 1].tolist())
"""


@pytest.mark.second_stage
def test_kernel_of_a_script_runs_in_several_processes(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    path = [str(Path(skgpmcmc.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path))}
    done = subprocess.run(
        [sys.executable, str(script)], env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    serial, parallel = done.stdout.splitlines()
    assert serial == parallel


class SharedLetters(GenericKernelMixin, StationaryKernelMixin, Kernel):
    """Likeness of two words: a kernel on strings."""

    def __init__(self, weight=0.5, weight_bounds=(0.1, 0.9)):
        self.weight = weight
        self.weight_bounds = weight_bounds

    @property
    def hyperparameter_weight(self):
        return Hyperparameter("weight", "numeric", self.weight_bounds)

    def __call__(self, X, Y=None, eval_gradient=False):
        Y = X if Y is None else Y
        return self.weight ** np.array([[len(set(x) ^ set(y)) for y in Y] for x in X], dtype=float)

    def diag(self, X):
        return np.ones(len(X))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_list_of_strings_in_a_grid_search(name):
    rng = np.random.default_rng(0)
    alphabets = [list("abcd"), list("wxyz")]
    words = ["".join(sorted(rng.choice(alphabets[i % 2], 3))) for i in range(24)]
    y = targets(name, np.tile([-1.0, 1.0], 12), rng)
    kernel = ConstantKernel() * SharedLetters()
    model = clone(ESTIMATORS[name]).set_params(kernel=kernel)
    if name == "regressor":
        model.set_params(alpha=0.01)
    search = GridSearchCV(model, {"n_draws": [10, 12]}, cv=2).fit(words, y)
    assert search.best_score_ > (0.3 if name == "cox" else 0.9)
    assert set(search.best_estimator_.X_train_) == set(words)
    # A word never seen is as its letters are.
    low, high = predict(search.best_estimator_, ["aabbcd", "wwxyz"]).reshape(2, -1)[:, -1]
    assert low < high


@pytest.mark.parametrize("name", ["classifier", "regressor", "cox"])
def test_predictions_do_not_depend_on_the_number_of_threads(name):
    X = np.random.default_rng(0).standard_normal((20, 2))
    y = np.abs(np.round(3.0 * X[:, 0]))
    estimator, y = {
        "classifier": (MCMCGaussianProcessClassifier, y > 2.0),
        "regressor": (MCMCGaussianProcessRegressor, y),
        "cox": (MCMCCoxProcessRegressor, y),
    }[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = estimator(n_chains=2, n_warmup=5, n_draws=5, random_state=0).fit(X, y)
    mean, std = model.predict_latent(X + 0.1, return_std=True)
    for n_jobs in (2, -1):
        model.set_params(n_jobs=n_jobs)
        again = model.predict_latent(X + 0.1, return_std=True)
        np.testing.assert_array_equal(again, (mean, std))
