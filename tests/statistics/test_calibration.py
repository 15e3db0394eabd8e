"""Simulation-based calibration of the three estimators, and a control that fails (slow)."""

import pytest

from benchmarks.bench_calibration import LENGTH, run, studies

STUDIES = studies()
N_DATA_SETS = 200
# One false alarm in a thousand runs of this file: 36 tests are made, each at this level.
LEVEL = 1e-3 / 36


@pytest.mark.slow
@pytest.mark.parametrize("study", STUDIES[:-1], ids=lambda study: study.name)
def test_ranks_are_uniform_and_intervals_cover(study):
    for row in run(study, N_DATA_SETS, LENGTH, None):
        assert float(row["p"]) > LEVEL, row


@pytest.mark.slow
def test_a_wrong_prior_is_found_out():
    rows = run(STUDIES[-1], N_DATA_SETS // 2, LENGTH, None)
    assert min(float(row["p"]) for row in rows) < LEVEL
