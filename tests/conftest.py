"""Settings that all tests share."""

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True, scope="session")
def _one_blas_thread():
    """Tests run in parallel workers, one for each core."""
    with threadpool_limits(limits=1, user_api="blas"):
        yield
