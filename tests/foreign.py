"""Data of other packages and types, and what the tests that refuse them share."""

import functools

import numpy as np
import pytest
from refusals import SHORT, TARGETS, X, check_message
from sklearn.gaussian_process.kernels import GenericKernelMixin, Kernel, StationaryKernelMixin

DAYS = np.datetime64("2020-01-01") + np.arange(6)
TIMES = DAYS - DAYS[0]
PYTHON = [day.item() for day in DAYS]
NUMBERS = np.arange(6.0)
# What is said of dates.
WAY = ["- start) / numpy.timedelta64(1, 'D')", "same date as start", "point_patterns.bin_events"]
BIG = 2**53 + 1


@functools.cache
def fitted(estimator):
    return estimator(**SHORT).fit(X, TARGETS[estimator])


def refuses_inputs(estimator, inputs, words):
    """All that takes X says the same."""
    y, model = TARGETS[estimator], fitted(estimator)
    check_message(lambda: estimator(**SHORT).fit(inputs, y), words)
    methods = {
        "predict": (),
        "predict_latent": (),
        "predict_interval": (),
        "predict_quantiles": (0.5,),
        "predict_proba": (),
        "predict_log_proba": (),
        "log_predictive_density": (y,),
        "score": (y,),
        "sample_y": (),
    }
    for name in filter(lambda name: hasattr(model, name), methods):
        check_message(lambda n=name: getattr(model, n)(inputs, *methods[n]), words)


def frame(values, **dtype):
    """Return a data frame of pandas: a column of such values, and one of numbers."""
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({"t": pandas.Series(values, **dtype), "x": NUMBERS})


def dates_of_pandas(**zone):
    return pytest.importorskip("pandas").Series(DAYS).dt.tz_localize(**zone)


def polars_frame(**columns):
    return pytest.importorskip("polars").DataFrame(columns)


class Nearness(StationaryKernelMixin, GenericKernelMixin, Kernel):
    """A kernel on dates of any type."""

    def __init__(self):
        """Have no parameters, as scikit-learn wants it said."""

    def __call__(self, X, Y=None, eval_gradient=False):
        first, second = (
            np.asarray(each, "M8[h]").astype(float) for each in (X, X if Y is None else Y)
        )
        matrix = np.exp(-np.abs(first[:, None] - second) / 24.0)
        return (matrix, np.empty((*matrix.shape, 0))) if eval_gradient else matrix

    def diag(self, X):
        return np.ones(len(X))


def rows_of(first, dtype=None):
    """Return two columns, all of the first one larger than the doubles can tell apart."""
    return np.array([[first + 2 * i, i] for i in range(6)], dtype=dtype)


class Variable:
    """Hands over a masked array, as variables of NetCDF files do."""

    def __init__(self, values):
        self.values = values
        self.shape = values.shape

    def __len__(self):
        return len(self.values)

    def __array__(self, dtype=None, copy=None):
        return self.values if dtype is None else self.values.astype(dtype)


def masked(values, row=2):
    """Return a masked array in which the first entry of a row is masked."""
    mask = np.zeros(np.shape(values), dtype=bool)
    mask[(row, 0) if mask.ndim == 2 else row] = True
    return np.ma.array(values, mask=mask)


def na():
    return pytest.importorskip("pandas").NA


def series(values, **dtype):
    return pytest.importorskip("pandas").Series(values, **dtype)


def lazy():
    return pytest.importorskip("polars").LazyFrame({"a": NUMBERS, "b": NUMBERS})
