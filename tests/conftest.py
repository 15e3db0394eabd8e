"""Settings that all tests share."""

import sys

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True, scope="session")
def _one_blas_thread():
    """Tests run in parallel workers, one for each core."""
    with threadpool_limits(limits=1, user_api="blas"):
        yield


@pytest.fixture(autouse=True)
def _no_figure_is_left():
    """Close what a test has drawn; most tests draw nothing, and do not load pyplot for it."""
    yield
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")
