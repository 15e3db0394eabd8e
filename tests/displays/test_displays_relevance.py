"""Relevance of columns that were constant where the model was fitted: the data say nothing."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
)
from skgpmcmc.displays import RelevanceDisplay

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

#: tests/displays/test_displays.py draws each kind of picture by default.
pytestmark = [
    pytest.mark.second_stage,
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

SETTINGS = {"n_chains": 2, "n_warmup": 5, "n_draws": 10, "random_state": 0}
N = 16
NAMES = ["still", "a", "b"]
VARYING = np.random.default_rng(0).normal(size=(N, 3))
TARGETS = {
    MCMCGaussianProcessRegressor: VARYING[:, 1],
    MCMCGaussianProcessClassifier: np.where(VARYING[:, 1] > 0.0, "yes", "no"),
    MCMCCoxProcessRegressor: np.arange(N) % 3,
}


def standing(value):
    """Return the rows, with the first column at one value."""
    return np.column_stack([np.full(N, value), VARYING[:, 1:]])


def draw(X, new=None, kind=MCMCGaussianProcessRegressor, y=None, scaled=False, **weights):
    """Return the display of a model that was fitted to X."""
    model = kind(**SETTINGS)
    model = make_pipeline(StandardScaler(), model) if scaled else model
    model.fit(X, TARGETS[kind] if y is None else y, **weights)
    return RelevanceDisplay.from_estimator(model, new, feature_names=NAMES)


def check_still(display):
    """Check that the first column has no relevance, comes last and is called constant."""
    assert np.isnan(display.relevance[..., 0]).all()
    assert np.isfinite(display.relevance[..., 1:]).all()
    assert display.order_[-1] == 0
    assert display.ax_.get_yticklabels()[-1].get_text() == "still (constant)"
    assert np.isnan(display.prior[0]).all()
    display.figure_.canvas.draw()
    plt.close(display.figure_)


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("scaled", [False, True])
def test_a_column_that_was_constant_in_fit_has_none(kind, scaled):
    check_still(draw(standing(0.0), kind=kind, scaled=scaled))


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("scaled", [False, True])
def test_nor_has_it_with_new_rows_in_which_it_varies(kind, scaled):
    # Its length scale has its prior as posterior: the spread of the new rows says nothing of it.
    check_still(draw(standing(0.0), VARYING, kind=kind, scaled=scaled))


@pytest.mark.parametrize("value", [0.1, 1e-9, -1e12, 1.0 / 3.0])
def test_constants_that_are_not_round_numbers_are_constant(value):
    check_still(draw(standing(value), VARYING, scaled=True))
    check_still(draw(standing(value), VARYING))


def test_a_column_that_varies_only_in_rows_without_weight_is_constant():
    X, weight = standing(2.0), np.ones(N)
    X[:2, 0], weight[:2] = 5.0, 0.0
    check_still(draw(X, VARYING, kind=MCMCGaussianProcessClassifier, sample_weight=weight))


def test_each_of_several_classes_has_none():
    y = np.array(["x", "y", "z"])[np.arange(N) % 3]
    display = draw(standing(0.0), VARYING, kind=MCMCGaussianProcessClassifier, y=y)
    assert display.relevance.shape[0] == 3
    check_still(display)


def test_a_column_that_is_constant_in_the_new_rows_alone_has_none():
    check_still(draw(VARYING, standing(1.0)))


def test_rows_that_vary_only_where_fit_saw_a_constant_are_refused():
    new = np.column_stack([VARYING[:, 0], np.zeros(N), np.ones(N)])
    with pytest.raises(
        ValueError, match=r"X must have a column that varies in X and in the rows of fit"
    ):
        draw(standing(0.0), new)
