"""The paper's experiments: exact problem definitions, resuming, and the tables."""

import math
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from problems import check_representation
from scipy.special import polygamma

from benchmarks.paper import results, runner
from benchmarks.paper.__main__ import main
from benchmarks.paper.agreement import (
    comparable,
    compare_methods,
    compare_reference,
    has_converged,
)
from benchmarks.paper.conditionals import (
    CONSTANT,
    PosteriorDraw,
    Sizes,
    conditional_variance,
    held_variance,
    problem_rows,
)
from benchmarks.paper.problems import (
    EXPERIMENTS,
    KNOWN_VARIANCE,
    METHODS,
    PROBLEMS,
    QUICK_PROBLEMS,
    Lengths,
)
from benchmarks.paper.reference import REFERENCES, Reference
from benchmarks.paper.report import write_report
from skgpmcmc.datasets import make_gp_regression

pytestmark = pytest.mark.second_stage

SIZES = {
    "ionosphere": (200, 34, (0.1, 100.0), (0.1, 10.0)),
    "ionosphere-small-variance": (200, 34, (0.1, 3.0), (0.1, 10.0)),
    "synthetic": (200, 10, (0.1, 10.0), (0.01, 10.0)),
    "mining": (112, 1, (0.01, 10.0), (1.0, 100.0)),
    "redwoods": (625, 2, (0.01, 100.0), (0.01, 1.0)),
}
LOG_RATES = {"mining": math.log(191 / 112), "redwoods": math.log(195 / 625)}


@pytest.mark.parametrize("name", SIZES)
def test_sizes_and_priors(name):
    n, dimension, variance, length_scale = SIZES[name]
    model = PROBLEMS[name].make_model()
    assert np.shape(model.X) == (n, dimension)
    assert model.likelihood.n_latent == n
    assert model.jitter == 1e-6
    priors = model.layout.priors
    for prior, bounds in zip(priors, [variance] + dimension * [length_scale], strict=False):
        assert_allclose(prior.support, np.log(bounds))
        # Log-uniform: a constant density of the logarithm.
        inside = np.linspace(*np.log(bounds), 5)[1:-1]
        expected = -math.log(np.diff(np.log(bounds)).item())
        assert_allclose([prior.log_density(value) for value in inside], expected)
    offsets = priors[1 + dimension :]
    assert len(offsets) == (name in LOG_RATES)
    for prior in offsets:
        assert prior.name == "mean"
        centre = LOG_RATES[name]
        assert_allclose(prior.log_density(centre), -0.5 * math.log(2 * math.pi * 4.0))
        assert_allclose(prior.log_density(centre + 2.0) - prior.log_density(centre), -0.5)


def test_a_known_variance_is_no_hyperparameter():
    model = PROBLEMS["ionosphere-known-variance"].make_model()
    assert model.layout.names == [f"length_scale[{d}]" for d in range(34)]
    for prior in model.layout.priors:
        assert_allclose(prior.support, np.log([0.1, 10.0]))
    factor = model.workspace().covariance.factor(np.zeros(34))
    assert_allclose(factor.variance, KNOWN_VARIANCE, rtol=1e-5)


def test_data():
    targets = {name: PROBLEMS[name].make_model().likelihood.y for name in EXPERIMENTS}
    assert_array_equal(np.unique(targets["ionosphere"], return_counts=True), [[-1, 1], [99, 101]])
    assert_array_equal(targets["synthetic"], make_gp_regression()[1])
    assert targets["mining"].sum() == 191
    assert targets["redwoods"].sum() == 195
    assert PROBLEMS["mining"].make_model().X[0] == 0.5
    noise = PROBLEMS["synthetic"].make_model().likelihood
    assert noise.parameters == ()
    assert_allclose(noise.gaussian_sites().precision, 1 / 0.09)


def test_methods():
    taylor = {name: name in ("mining", "redwoods") for name in EXPERIMENTS}
    for name in EXPERIMENTS:
        expected = [m for m in METHODS if taylor[name] or not m.endswith("taylor")]
        assert list(PROBLEMS[name].methods) == expected
    assert set(EXPERIMENTS) < set(QUICK_PROBLEMS) < set(PROBLEMS)


@pytest.mark.parametrize("name", PROBLEMS)
def test_protocol(name):
    likelihood = PROBLEMS[name].make_model().likelihood
    for method, settings in PROBLEMS[name].methods.items():
        check_representation(settings.representation, likelihood)
        assert method.startswith(settings.representation)
        assert settings.n_latent_updates == 10
        assert not settings.adapt_widths
        assert settings.n_approximate == settings.max_steps_out == 0
        assert settings.width is None
        assert (settings.proposal is not None) == ("M-H" in method)
    n_draws = 20_000 if name.startswith("mining") else 5000
    assert PROBLEMS[name].full == (1000, n_draws, 10)


def test_work_is_chain_major():
    tasks = runner.make_tasks("mining", ["fixed", "surr-site"], Lengths(1, 2, 2))
    assert [(t.chain, t.method) for t in tasks] == [
        (0, "fixed"),
        (0, "surr-site"),
        (1, "fixed"),
        (1, "surr-site"),
    ]


def test_methods_start_at_the_same_point_and_chains_do_not():
    tasks = runner.make_tasks("mining", ["fixed", "post-site"], Lengths(1, 2, 2))
    model = PROBLEMS["mining"].make_model()
    starts = [runner.start_chain(task, model).state for task in tasks]
    assert_array_equal(starts[0].theta, starts[1].theta)
    assert_array_equal(starts[0].latent, starts[1].latent)
    assert not np.isin(starts[2].theta, starts[0].theta).any()


def test_no_two_chains_share_a_file():
    lengths = [Lengths(1, 2, 3), Lengths(2, 2, 3), Lengths(1, 3, 3)]
    tasks = [
        task
        for name, problem in PROBLEMS.items()
        for sizes in lengths
        for task in runner.make_tasks(name, list(problem.methods), sizes)
    ]
    assert len({task.path(Path()) for task in tasks}) == len(tasks)


@pytest.fixture
def folder(tmp_path):
    """A finished run of two chains each of two methods."""
    run(tmp_path)
    return tmp_path


def run(folder, *options):
    sizes = ["--n-warmup", "2", "--n-draws", "12", "--n-chains", "2", "--n-jobs", "1"]
    what = ["--problems", "mining", "--methods", "prior-white,surr-site"]
    main([*what, *sizes, "--output", str(folder), *options])


def test_a_chain_is_recorded(folder):
    rows = results.read_rows(folder / "results" / "mining.csv")
    assert [(row["method"], row["chain"]) for row in rows] == [
        ("prior-white", 0),
        ("prior-white", 1),
        ("surr-site", 0),
        ("surr-site", 1),
    ]
    with np.load(folder / "chains" / "mining" / "surr-site_chain01_2+12.npz") as file:
        record = dict(file)
    row = rows[3]
    assert record["theta"].shape == (12, 3)
    assert_allclose(row["mean_log_length_scale"], record["theta"][:, 1].mean(), rtol=1e-5)
    assert_allclose(row["sd_mean"], record["theta"][:, 2].std(ddof=1), rtol=1e-5)
    assert row["n_covariances"] >= 12 * 2
    # At least one proposal for each of three hyperparameters and for each of ten ellipses.
    assert row["n_likelihoods"] >= 12 * 13
    assert row["warmup_n_likelihoods"] >= 2 * 13
    assert row["seconds"] > row["warmup_seconds"] * 0.5 > 0
    assert row["threads"] == 1
    trace = record["complete_data_log_likelihood"]
    assert_allclose(row["mean_first_quarter"], trace[:3].mean(), rtol=1e-5)
    assert_allclose(row["mean_last_quarter"], trace[-3:].mean(), rtol=1e-5)


def test_a_second_run_does_no_work_and_gives_the_same_tables(folder, monkeypatch):
    tables = {path: path.read_bytes() for path in (folder / "results").glob("*.csv")}
    assert len(tables) == 2

    def fail(task):
        raise AssertionError(f"{task} was run again")

    monkeypatch.setattr(runner, "run_chain", fail)
    run(folder)
    assert {path: path.read_bytes() for path in tables} == tables


def test_a_stopped_run_goes_on(folder):
    missing = folder / "chains" / "mining" / "surr-site_chain00_2+12.npz"
    with np.load(missing) as file:
        theta = file["theta"]
    others = {p: p.stat().st_mtime_ns for p in missing.parent.iterdir() if p != missing}
    missing.unlink()
    missing.with_suffix(".0.tmp").write_bytes(b"half a file")
    run(folder, "--report")
    assert len(results.read_rows(folder / "results" / "mining.csv")) == 3
    run(folder)
    assert len(results.read_rows(folder / "results" / "mining.csv")) == 4
    with np.load(missing) as file:
        assert_array_equal(file["theta"], theta)
    assert {p: p.stat().st_mtime_ns for p in others} == others


def chain_row(method, chain, ess, seconds):
    row = {"problem": "mining", "method": method, "chain": chain, "n_warmup": 5, "n_draws": 9}
    row |= {"ess": ess, "n_likelihoods": 2000, "n_covariances": 500, "seconds": seconds}
    row |= {"mean_first_quarter": 10.0 + chain, "mean_last_quarter": 3.0 - chain}
    versions = ("python", "numpy", "scipy", "skgpmcmc", "machine", "processor")
    return row | dict.fromkeys(versions, "1.0")


def moment_row(method, mean, quantity="mean", rhat=1.0, ess=1000.0):
    row = {"problem": "mining", "method": method, "quantity": quantity, "n_chains": 3}
    row |= {"mean": mean, "mcse_mean": 0.03, "sd": 0.5, "mcse_sd": 0.04}
    return row | {"ess_bulk": ess, "rhat": rhat}


def test_efficiency_is_mean_and_standard_error_over_chains():
    rows = [chain_row("fixed", i, ess, s) for i, (ess, s) in enumerate([(8, 2), (20, 4), (12, 2)])]
    mean, error = results.efficiency(rows, "seconds")  # of 4, 5 and 6
    assert_allclose([mean, error], [5.0, 1.0 / math.sqrt(3)])
    mean, error = results.efficiency(rows, "n_likelihoods", 1000.0)  # of 4, 10 and 6
    assert_allclose([mean, error], [20 / 3, math.sqrt(28 / 3) / math.sqrt(3)])
    assert_allclose(results.efficiency(rows)[0], 40 / 3)
    assert math.isnan(results.efficiency(rows[:1])[1])


def test_report_of_a_hand_made_table(tmp_path):
    pairs = [("surr-site", [(8, 2), (20, 4), (12, 2)]), ("fixed", [(1, 1), (1, 1), (1, 1)])]
    rows = [chain_row(m, i, e, s) for m, values in pairs for i, (e, s) in enumerate(values)]
    results.write_rows(tmp_path / "mining.csv", rows)
    posterior = [moment_row("surr-site", 0.3), moment_row("fixed", 0.5, rhat=1.2)]
    results.write_rows(tmp_path / "mining_posterior.csv", posterior)
    text = write_report(tmp_path)
    assert text == (tmp_path / "README.md").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith(("| surr-site", "| fixed"))]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    per_unit = ["6.7 (1.8)", "26.7 (7.1)", "5.00 (0.58)"]
    assert cells[0] == ["surr-site", "3", "13.3 (3.5)", *per_unit, "2.7", "1.2e+02", "1.000", ""]
    assert cells[1][-1] == "burn-in did not suffice: `mean`"
    assert cells[2][-1] == "1.00 (0.12)"
    assert cells[3][0] == "fixed *"
    assert cells[3][-1] == "0.2 (-)"
    assert "nothing has converged that could be compared" in text
    assert "| fixed | 11.00 (0.58) | 2.00 (0.58) | -9.0 (1.2) |" in text.splitlines()


def test_drift_is_shown_where_something_has_not_converged(tmp_path):
    rows = [chain_row("surr-site", i, 8, 2) for i in range(3)]
    results.write_rows(tmp_path / "mining.csv", rows)
    results.write_rows(tmp_path / "mining_posterior.csv", [moment_row("surr-site", 0.3)])
    assert "first quarter" not in write_report(tmp_path)


@pytest.mark.parametrize(
    ("log_density", "variance"),
    [
        (lambda x: -0.5 * (x - 1.1) ** 2 / 0.7**2, 0.7**2),
        (lambda x: -0.5 * (x - 1.1) ** 2 / 0.1**2, 0.1**2),  # far narrower than a step
        (lambda x: 0.0, 10.0**2 / 12.0),  # as wide as the support
    ],
)
def test_conditional_variance(log_density, variance):
    class Density:
        def evaluate(self, theta):
            assert theta[0] == 7.0
            return log_density(theta[1])

    found = conditional_variance(Density(), np.array([7.0, 1.0]), 1, (-5.0, 5.0))
    assert_allclose(found, variance, rtol=0.07)  # 31 nodes in the support: 100 * 32 / 30 / 12


def test_variance_given_the_latent_variables():
    model = PROBLEMS["ionosphere"].make_model()
    rng = np.random.default_rng(3)
    draw = PosteriorDraw(np.full(35, 1.0), rng.standard_normal(200))
    # Given f the signal variance has an inverse gamma distribution of shape 200 / 2.
    found = held_variance(model, draw, "fixed", 0, rng)
    assert_allclose(found, polygamma(1, 100), rtol=1e-3)


def test_conditional_variances_by_method(tmp_path):
    sizes = Sizes(n_chains=1, n_warmup=2, n_states=2, spacing=1)
    rows = problem_rows("ionosphere", ["log_variance"], sizes)
    found = {row["method"]: row["variance"] for row in rows}
    assert list(found) == ["fixed", "prior-white", "surr-site", "post-site", CONSTANT]
    results.write_rows(tmp_path / "ionosphere_conditionals.csv", rows)
    results.write_rows(tmp_path / "ionosphere.csv", [chain_row("post-site", 0, 8, 2)])
    posterior = [moment_row("post-site", 4.1, quantity="log_variance")]
    results.write_rows(tmp_path / "ionosphere_posterior.csv", posterior)
    share = f"| `log_variance` | {found['fixed'] / 0.25:.3f} ("
    assert share in write_report(tmp_path)


def test_methods_are_compared_where_they_converged():
    rows = [
        moment_row("a", 0.3),
        moment_row("b", 0.5),
        moment_row("c", 9.0, rhat=1.06),
        moment_row("d", 9.0, rhat=math.nan),
        moment_row("e", 9.0, ess=100.0),
        moment_row("f", 9.0),
        moment_row("f", 9.0, quantity="other", rhat=1.06),
    ]
    assert [has_converged(row) for row in rows] == [True, True, False, False, True, True, False]
    assert [row["method"] for row in comparable(rows)] == ["a", "b"]
    comparisons = compare_methods(rows)
    assert [(c.moment, c.method, c.other) for c in comparisons] == [
        ("mean", "a", "b"),
        ("sd", "a", "b"),
    ]
    assert_allclose([c.z for c in comparisons], [-0.2 / (0.03 * math.sqrt(2)), 0.0])


def test_reference_has_the_errors_of_both_sides():
    reference = Reference(100.0, {"mean": ("0.2", "0.60")})
    comparisons = compare_reference([moment_row("a", 0.5)], reference)
    mean_error = math.sqrt(0.06**2 + 0.1**2 / 12 + 0.03**2)
    sd_error = math.sqrt(0.06**2 / 2 + 0.01**2 / 12 + 0.04**2)
    assert_allclose([c.z for c in comparisons], [0.3 / mean_error, -0.1 / sd_error])


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_references_name_existing_quantities(name):
    assert set(REFERENCES[name].values) <= set(results.quantities(name))


def test_figure(folder):
    pytest.importorskip("matplotlib")
    figure = folder / "results" / "effective_samples.png"
    assert figure.read_bytes()[:4] == b"\x89PNG"
    assert figure.name in (folder / "results" / "README.md").read_text(encoding="utf-8")


def test_unknown_names_are_refused(capsys):
    with pytest.raises(SystemExit):
        main(["--problems", "minning"])
    assert "got 'minning'" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--problems", "ionosphere", "--methods", "surr-taylor"])
    assert "got 'surr-taylor'" in capsys.readouterr().err
