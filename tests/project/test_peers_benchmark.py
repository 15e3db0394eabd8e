"""The comparison with other packages: processes, effective samples, ratios, the table."""

import csv
import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from benchmarks.peers import __main__ as comparison
from benchmarks.peers import exchange, packages
from benchmarks.peers.exchange import Lengths, Problem, Run, stack_draws, timed
from benchmarks.peers.results import largest_difference, make_entry, mean_and_error, ratio
from benchmarks.peers.table import make_page, with_error
from skgpmcmc.diagnostics import ess_bulk, rhat

pytestmark = pytest.mark.second_stage

PEERS = [name for name in packages.PACKAGES if name != packages.OURS]
LOG_LIKELIHOOD = "complete_data_log_likelihood"


def changed(run, **values):
    return Run(**vars(run) | values)


def tiny_problem():
    X = np.array([[0.0, 0.0], [0.4, 1.0], [1.0, 0.3]])
    bounds = (0.1, 10.0), (0.1, 10.0)
    return Problem("tiny", X, np.array([1.0, -1.0, 1.0]), "logit", *bounds, 1e-6)


def make_run(rng, n_chains=2, n_draws=200, *, shift=0.0, seconds=4.0):
    shape = (n_chains, n_draws)
    return Run(
        theta=shift + rng.standard_normal((*shape, 3)),
        complete_data_log_likelihood=rng.standard_normal(shape),
        warmup_seconds=np.full(n_chains, 1.0),
        seconds=np.full(n_chains, seconds),
        evaluations=10.0 * n_chains * n_draws,
        n_warmup=50,
        divergences=3,
        setup_seconds=7.0,
        versions={"other": "1.2"},
    )


def test_an_entry():
    problem = tiny_problem()
    rng = np.random.default_rng(0)
    runs = {seed: make_run(rng) for seed in range(3)}
    entry = make_entry(problem, "numpyro", runs)
    rates = []
    for seed, run in runs.items():
        draws = dict(zip(problem.names, np.moveaxis(run.theta, -1, 0), strict=True))
        draws[LOG_LIKELIHOOD] = run.complete_data_log_likelihood
        sizes = {name: ess_bulk(values) for name, values in draws.items()}
        row = entry.rows[seed]
        assert row.slowest == min(sizes, key=sizes.get)
        assert_allclose(row.smallest_ess, min(sizes.values()))
        assert_allclose([row.seconds, row.warmup_seconds, row.evaluations], [8.0, 2.0, 10.0])
        assert (row.n_chains, row.n_warmup, row.n_draws, row.divergences) == (2, 50, 200, 3)
        assert_allclose(row.rate, min(sizes.values()) / 8.0)
        assert_allclose(row.rate_with_warmup, min(sizes.values()) / 10.0)
        rates.append(row.rate)
    mean, error = entry.rate()
    assert_allclose([mean, error], [np.mean(rates), stats.sem(rates)])
    assert_allclose(entry.rate(with_warmup=True)[0], 0.8 * mean)
    everything = np.concatenate([run.theta for run in runs.values()])
    assert_allclose(entry.summary["log_variance"]["rhat"], rhat(everything[..., 0]))
    pooled = [*np.moveaxis(everything, -1, 0)]
    pooled.append(np.concatenate([run.complete_data_log_likelihood for run in runs.values()]))
    assert_allclose(entry.pooled_rate(), min(map(ess_bulk, pooled)) / 24.0)
    assert set(entry.summary) == {*problem.names, LOG_LIKELIHOOD}
    assert entry.worst_rhat() == max(row["rhat"] for row in entry.summary.values())


def test_seeds_that_disagree_show_in_rhat():
    rng = np.random.default_rng(0)
    runs = {seed: make_run(rng, shift=3.0 * seed) for seed in range(2)}
    assert all(rhat(run.theta[..., 0]) < 1.05 for run in runs.values())
    assert make_entry(tiny_problem(), "pymc", runs).worst_rhat() > 1.5


def test_a_quantity_that_never_moved_leaves_no_figure():
    run = make_run(np.random.default_rng(0))
    run.theta[..., 1] = 0.5
    entry = make_entry(tiny_problem(), "pymc", {0: run})
    assert entry.rows[0].slowest == "log_length_scale[0]"
    assert math.isnan(entry.rate()[0])
    assert math.isnan(entry.pooled_rate())
    assert math.isnan(entry.worst_rhat())
    assert with_error(entry.rate()) == "-"


def test_differences_of_posterior_means():
    problem, rng = tiny_problem(), np.random.default_rng(0)
    one, same, other = (make_entry(problem, "pymc", {0: make_run(rng, shift=s)}) for s in (0, 0, 1))
    # Four quantities; a standard error is about 1 / sqrt(400) on each side.
    assert largest_difference(one, same) < 4.0
    assert 10.0 < largest_difference(one, other) < 20.0


def test_means_and_ratios_with_their_errors():
    assert_allclose(mean_and_error([4.0, 5.0, 6.0]), [5.0, 1.0 / math.sqrt(3.0)])
    assert mean_and_error([4.0])[0] == 4.0
    assert math.isnan(mean_and_error([4.0])[1])
    # Relative errors of 3 % and 4 %.
    assert_allclose(ratio((20.0, 0.6), (4.0, 0.16)), [5.0, 0.25])


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        ((5.0, 0.25), "5.00 (0.25)"),
        ((123.4, 6.7), "123 (7)"),
        ((0.01234, 0.001), "0.0123 (0.0010)"),
        ((5.0, math.nan), "5.00 (-)"),
        ((math.nan, math.nan), "-"),
    ],
)
def test_numbers_in_the_table(estimate, text):
    assert with_error(estimate) == text


def cells(page):
    lines = [line for line in page.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_page():
    problem, rng = tiny_problem(), np.random.default_rng(0)
    ours = make_entry(problem, "ours", {s: make_run(rng, seconds=2.0) for s in range(2)})
    peer = make_entry(problem, "pymc", {s: make_run(rng, seconds=20.0) for s in range(2)})
    page = make_page({"tiny": {"ours": ours, "pymc": peer}}, {"tiny": 1.25}, {"threads": 1})
    head, line, first, second = cells(page)
    assert set(line) == {"---"}
    assert {len(row) for row in (head, line, first, second)} == {len(head)}
    assert first[:4] == ["tiny", "skgpmcmc, defaults", "2 x 2 x (50 + 200)", "10 covariances"]
    assert second[3:6] == ["10 gradients", "2", "40"]
    assert first[6] == with_error(ours.rate())
    assert first[7] == first[9] == first[12] == ""
    assert second[7] == with_error(ratio(ours.rate(), peer.rate()))
    warm = [entry.rate(with_warmup=True) for entry in (ours, peer)]
    assert second[8:10] == [with_error(warm[1]), with_error(ratio(*warm))]
    assert 5.0 < float(second[7].split()[0]) < 20.0
    assert second[10:12] == [f"{peer.pooled_rate():.3g}", f"{peer.worst_rhat():.3f}"]
    assert second[-1] == "6"
    assert "tiny 1.2 s" in page
    assert "PyMC, nutpie: other 1.2" in page
    assert "threads 1" in page


def test_the_page_without_ours_has_no_ratios():
    peer = make_entry(tiny_problem(), "pymc", {0: make_run(np.random.default_rng(0))})
    row = cells(make_page({"tiny": {"pymc": peer}}, {}, {}))[2]
    assert row[7] == row[9] == row[12] == ""


def test_draws_by_name_become_theta():
    chains = [
        {"log_variance": np.full(5, c), "log_length_scale": np.full((5, 2), c + 1.0)}
        for c in (0.0, 10.0)
    ]
    stacked = stack_draws(chains)
    assert set(stacked) == {"theta"}
    assert_array_equal(stacked["theta"][:, 0], [[0.0, 1.0, 1.0], [10.0, 11.0, 11.0]])
    for chain in chains:
        chain.update(mean=np.full(5, -1.0), white=np.zeros((5, 7)))
    stacked = stack_draws(chains)
    assert_array_equal(stacked["theta"][1, 4], [10.0, 11.0, 11.0, -1.0])
    assert stacked["whitened"].shape == (2, 5, 7)


def test_two_threads_are_noticed(monkeypatch):
    clock = {"cpu": iter([0.0, 3.0, 0.0, 3.0]), "wall": iter([0.0, 4.0, 0.0, 1.6])}
    monkeypatch.setattr(exchange.time, "process_time", lambda: next(clock["cpu"]))
    monkeypatch.setattr(exchange.time, "perf_counter", lambda: next(clock["wall"]))
    assert timed(lambda: "done") == ("done", 3.0)
    with pytest.raises(RuntimeError, match=r"3\.0 CPU seconds in 1\.6 seconds"):
        timed(lambda: "done")


def test_a_peer_needs_nothing_of_ours():
    code = (
        "import sys, benchmarks.peers.exchange; "
        "sys.exit(any(m in sys.modules for m in ('skgpmcmc', 'sklearn', 'scipy')))"
    )
    command = [sys.executable, "-c", code]
    subprocess.run(command, env=packages.environment(), cwd=packages.ROOT, check=True)


def test_every_peer_has_script_and_requirements():
    folder = packages.ROOT / "benchmarks" / "peers"
    for name in PEERS:
        package = packages.PACKAGES[name]
        assert (folder / f"{package.script}.py").is_file()
        assert package.imports[0] in (folder / f"requirements-{name}.txt").read_text()


def test_interpreters(monkeypatch):
    missing = replace(packages.PACKAGES["pymc"], imports=("no_such_module_here",))
    monkeypatch.setitem(packages.PACKAGES, "pymc", missing)
    assert packages.find_interpreters(["ours", "pymc"], {}) == {"ours": sys.executable}
    with pytest.raises(ValueError, match=r"--peer pymc.*requirements-pymc\.txt"):
        packages.find_interpreters(["ours", "pymc"], {"pymc": sys.executable})
    with pytest.raises(ValueError, match="no_such_python"):
        packages.find_interpreters(["pymc"], {"pymc": "no_such_python"})


def test_processes_use_one_thread():
    environment = packages.environment()
    assert environment["OMP_NUM_THREADS"] == environment["OPENBLAS_NUM_THREADS"] == "1"
    assert "multi_thread_eigen=false" in environment["XLA_FLAGS"]


@pytest.fixture
def calls(monkeypatch):
    """Every package is installed, and ends at once."""
    calls = []

    def run_package(name, interpreter, problem, run, seed, lengths):
        calls.append((name, Problem.load(problem).name, seed, lengths))
        n = len(Problem.load(problem).names)
        rng = np.random.default_rng(len(calls))
        done = make_run(rng, n_draws=20)
        changed(done, theta=rng.standard_normal((2, 20, n))).save(run)

    monkeypatch.setattr(packages, "is_installed", lambda package, interpreter: True)
    monkeypatch.setattr(comparison, "run_package", run_package)
    monkeypatch.setattr(comparison, "fit_seconds", lambda problem: 1.0)
    return calls


def test_the_command_runs_seed_by_seed_and_writes_the_table(calls, tmp_path, capsys):
    output = tmp_path / "results" / "page.md"
    options = ["--problems", "synthetic,mining", "--packages", "ours,pymc", "--seeds", "2"]
    comparison.main([*options, "--peer-n-draws", "30", "--output", str(output)])
    default, short = Lengths(), Lengths(500, 30, 1)
    assert calls[:5] == [
        ("ours", "synthetic", 0, default),
        ("pymc", "synthetic", 0, short),
        ("ours", "mining", 0, default),
        ("pymc", "mining", 0, replace(short, n_warmup=1000)),
        ("ours", "synthetic", 1, default),
    ]
    assert len(calls) == 8
    page = output.read_text(encoding="utf-8")
    assert page in capsys.readouterr().out
    assert [row[0] for row in cells(page)[2:]] == ["synthetic", "synthetic", "mining", "mining"]
    with output.with_suffix(".csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["seed"] for row in rows] == ["0", "1"] * 4
    assert_allclose(
        [float(row["rate"]) * float(row["seconds"]) for row in rows],
        [float(row["smallest_ess"]) for row in rows],
        rtol=1e-3,
    )


def test_runs_are_kept_where_asked_for_only(calls, tmp_path):
    options = ["--problems", "mining", "--packages", "ours,numpyro", "--seeds", "1"]
    options += ["--output", str(tmp_path / "page.md")]
    for expected in (2, 4):
        comparison.main(options)
        assert len(calls) == expected
    for seeds, expected in (("1", 6), ("1", 6), ("2", 8)):
        comparison.main([*options, "--keep", str(tmp_path / "runs"), "--seeds", seeds])
        assert len(calls) == expected


def test_smoke_runs_ours_alone_and_writes_nothing(calls, tmp_path):
    comparison.main(["--smoke", "--output", str(tmp_path / "page.md")])
    assert [(name, seed) for name, _, seed, _ in calls] == [("ours", 0), ("ours", 0)]
    assert calls[0][3].n_draws <= 20
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--problems", "mining,iris"], "got 'iris'"),
        (["--packages", "stan"], "got 'stan'"),
        (["--peer", "ours=python"], "must be NAME=PYTHON with a name of numpyro, pymc"),
        (["--peer", "pymc"], "got 'pymc'"),
        (["--seeds", "0"], "--seeds must be at least 1; got 0"),
    ],
)
def test_options_are_checked(options, message, capsys):
    with pytest.raises(SystemExit):
        comparison.main(options)
    assert message in capsys.readouterr().err
