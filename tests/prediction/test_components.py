"""Parts of the latent function: exact given each draw, and what adds up to the whole."""

import numpy as np
import pytest
from fits import quiet
from scipy import stats
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Matern,
    WhiteKernel,
)

from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
    core,
)
from skgpmcmc._covariance import GridStructure, split_white_noise, summands_of
from skgpmcmc._grid import Grid
from skgpmcmc._prediction._averages import latent_summary
from skgpmcmc._prediction._dense import PosteriorDraws
from skgpmcmc._prediction._parts import PartOfSum, Parts, sample_parts
from skgpmcmc._prediction._registry import posterior_draws
from skgpmcmc.likelihoods import BernoulliLogit, Gaussian, Poisson

RNG = np.random.default_rng(5)
GRID = Grid((np.linspace(0.0, 2.0, 5), np.linspace(0.0, 1.0, 4)))
X = GRID.points()
N = len(X)
NEW = np.concatenate([RNG.uniform(-0.5, 2.5, (6, 2)), X[:2]])
#: Nested, with a fixed hyperparameter, and white noise that the latent function has.
SUM = (
    ConstantKernel(1.2) * RBF([1.0, 0.5])
    + (ConstantKernel(0.3) * Matern(0.4, nu=1.5) + WhiteKernel(0.05))
) + DotProduct(1.0, "fixed")
ON_GRID = ConstantKernel(1.2) * RBF([1.0, 0.5]) + WhiteKernel(0.05)
STRUCTURES = {
    "dense": (core.DenseStructure(), SUM),
    "grid": (GridStructure(GRID), ON_GRID),
    "points": (core.LowRankStructure(X[::3] + 0.05), SUM),
}
LIKELIHOODS = {
    "gaussian": lambda: Gaussian(RNG.standard_normal(N)),
    "logistic": lambda: BernoulliLogit(np.where(RNG.random(N) < 0.5, -1.0, 1.0)),
    "poisson": lambda: Poisson(RNG.poisson(2.0, N)),
}


def sampled(structure, kernel, likelihood):
    """Draws of a short chain, and the parts with the names of the kernel."""
    names = {h.name: stats.lognorm(s=0.5) for h in kernel.hyperparameters if not h.fixed}
    priors = names | {"mean": stats.norm()}
    priors |= {name: stats.lognorm(s=0.5, scale=0.3) for name in likelihood.parameters}
    model = core.LatentGaussianModel(
        kernel, X, likelihood, priors=priors, mean="constant", structure=structure
    )
    settings = core.SamplerSettings("prior-white", n_warmup=3, n_draws=4)
    trace = core.run_chains(model, settings, n_chains=1, random_state=0)
    draws = posterior_draws(model.structure, kernel, X, trace, model.jitter, 10)
    return draws, trace


def parts_of(draws, kernel):
    n = len(summands_of(kernel))
    names = {str(i): PartOfSum([i], False) for i in range(n)} | {"mean": PartOfSum([], True)}
    return Parts.of(draws, kernel, names)


def joint_posterior(kernel, points, theta, values, mean, noise, jitter, new=NEW):
    """Mean and covariance of all parts at new rows given values of f, from a joint covariance."""
    kernels = [one.kernel for one in summands_of(kernel.clone_with_theta(theta))]
    n, m = len(new), len(points)
    prior = np.zeros((len(kernels) * n + m,) * 2)
    for i, one in enumerate(kernels):
        rows = slice(i * n, (i + 1) * n)
        prior[rows, rows] = one(new)
        prior[rows, -m:] = one(new, points)
        prior[-m:, rows] = one(points, new)
        prior[-m:, -m:] += one(points, points) if jitter == 1e-8 else one(points)
    at = np.arange(-m, 0)
    prior[at, at] = prior[at, at] * (1.0 + jitter) + noise
    gain = np.linalg.solve(prior[-m:, -m:], prior[-m:, :-m]).T
    return gain @ (values - mean), prior[:-m, :-m] - gain @ prior[-m:, :-m]


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_parts_given_each_draw(name, likelihood):
    structure, kernel = STRUCTURES[name]
    draws, trace = sampled(structure, kernel, LIKELIHOODS[likelihood]())
    points, jitter = (structure.points, 1e-8) if name == "points" else (X, 1e-6)
    parts = parts_of(draws, kernel)
    offsets = trace.mean_offset().reshape(-1)
    for d, theta in enumerate(trace.all_theta()):
        given = theta[: kernel.n_dims], trace.latent[0, d], offsets[d], 0.0, jitter
        mean, covariance = joint_posterior(kernel, points, *given)
        for i, part in enumerate(parts.functions.values()):
            own = slice(i * len(NEW), (i + 1) * len(NEW))
            (rows, means, variances), *others = part.chunks(NEW)
            assert rows == slice(0, len(NEW))
            assert not others
            expected = mean[own], covariance[own, own]
            np.testing.assert_allclose(means[d], expected[0], atol=1e-6)
            np.testing.assert_allclose(variances[d], np.diagonal(expected[1]), atol=1e-6)
            for found, one in zip(part.joint(NEW, d), expected, strict=True):
                np.testing.assert_allclose(found, one, atol=1e-6)
        assert (next(parts.offset["mean"].chunks(NEW))[1][d] == offsets[d]).all()


def test_parts_given_noisy_values():
    """Gaussian noise: f is integrated out, given the noise of each draw."""
    likelihood = Gaussian(RNG.standard_normal(N), known_variance=RNG.uniform(0.0, 0.2, N))
    _, trace = sampled(core.DenseStructure(), SUM, likelihood)
    draws = PosteriorDraws.from_gaussian(SUM, X, trace, likelihood, 1e-6, 10)
    for d, theta in enumerate(trace.all_theta()):
        noise = 1.0 / likelihood.gaussian_sites(trace.layout.likelihood_params(theta)).precision
        given = theta[: SUM.n_dims], likelihood.y, trace.mean_offset()[0, d], noise, 1e-12
        mean, covariance = joint_posterior(SUM, X, *given)
        for i, part in enumerate(parts_of(draws, SUM).functions.values()):
            own = slice(i * len(NEW), (i + 1) * len(NEW))
            found = part.joint(NEW, d)
            np.testing.assert_allclose(found[0], mean[own], atol=1e-9)
            np.testing.assert_allclose(found[1], covariance[own, own], atol=1e-9)


@pytest.mark.parametrize("name", STRUCTURES)
def test_samples_of_parts_have_the_joint_moments(name):
    structure, kernel = STRUCTURES[name]
    draws, trace = sampled(structure, kernel, LIKELIHOODS["poisson"]())
    points, jitter = (structure.points, 1e-8) if name == "points" else (X, 1e-6)
    parts, n = parts_of(draws, kernel), 20_000
    found = parts.sample(NEW, 2, n, np.random.RandomState(0))
    assert (found.pop("mean") == trace.mean_offset()[0, 2]).all()
    samples = np.concatenate(list(found.values()))
    given = trace.latent[0, 2], trace.mean_offset()[0, 2], 0.0, jitter
    theta = trace.all_theta()[2, : kernel.n_dims]
    mean, covariance = joint_posterior(kernel, points, theta, *given)
    variances = np.diagonal(covariance)
    assert (abs(samples.mean(axis=1) - mean) < 5.0 * np.sqrt(variances / n) + 1e-6).all()
    error = np.sqrt((np.outer(variances, variances) + covariance**2) / n)
    assert (abs(np.cov(samples) - covariance) < 5.5 * error + 1e-6).all()


@pytest.mark.parametrize("name", STRUCTURES)
def test_centred_parts_given_each_draw(name):
    """Linear functions of all parts at new rows and at those that they average to zero over."""
    structure, kernel = STRUCTURES[name]
    draws, trace = sampled(structure, kernel, LIKELIHOODS["poisson"]())
    points, jitter = (structure.points, 1e-8) if name == "points" else (X, 1e-6)
    rows = RNG.uniform(0.0, 2.0, (5, 2))
    n, names = len(NEW), [str(i) for i in range(len(summands_of(kernel)))]
    parts = Parts.centred(
        draws,
        kernel,
        {name: PartOfSum([int(name)], False) for name in names} | {"mean": PartOfSum([], True)},
        rows,
    ).predictable()
    assert list(parts) == [*names, "mean"]
    centred = np.hstack([np.eye(n), np.full((n, 5), -0.2)])
    average = np.hstack([np.zeros((n, n)), np.full((n, 5), 0.2)])
    for d, theta in enumerate(trace.all_theta()):
        given = theta[: kernel.n_dims], trace.latent[0, d], trace.mean_offset()[0, d], 0.0, jitter
        mean, covariance = joint_posterior(kernel, points, *given, new=np.concatenate([NEW, rows]))
        maps = [np.kron(np.eye(len(names))[i], centred) for i in range(len(names))]
        maps += [np.kron(np.ones(len(names)), average)]
        for part, linear in zip(parts.values(), maps, strict=True):
            expected = linear @ mean, linear @ covariance @ linear.T
            if linear is maps[-1]:
                expected = expected[0] + trace.mean_offset()[0, d], expected[1]
            (_, means, variances), *_ = part.chunks(NEW)
            np.testing.assert_allclose(means[d], expected[0], atol=2e-6)
            np.testing.assert_allclose(variances[d], np.diagonal(expected[1]), atol=2e-6)
            for found, one in zip(part.joint(NEW, d), expected, strict=True):
                np.testing.assert_allclose(found, one, atol=2e-6)


def test_quantiles_are_those_of_the_mixture():
    draws, _ = sampled(core.DenseStructure(), SUM, LIKELIHOODS["poisson"]())
    part = parts_of(draws, SUM).functions["0"]
    _, _, values = latent_summary(part, NEW, np.array([0.1, 0.8]))
    (_, means, variances), *_ = part.chunks(NEW)
    for column, level in zip(values.T, (0.1, 0.8), strict=True):
        up_to = stats.norm.cdf(column, means, np.sqrt(variances)).mean(axis=0)
        np.testing.assert_allclose(up_to, level, atol=1e-8)


def test_the_only_function_is_known_at_the_points_of_its_grid():
    kernel = ConstantKernel(1.2) * RBF([1.0, 0.5])
    draws, trace = sampled(GridStructure(GRID), kernel, LIKELIHOODS["poisson"]())
    parts = parts_of(draws, kernel)
    found = parts.sample(X[::-1], 1, 2, np.random.RandomState(0))
    expected = trace.latent[0, 1] - trace.mean_offset()[0, 1]
    np.testing.assert_array_equal(found["0"], np.repeat(expected[::-1, None], 2, axis=1))


# Estimators ---------------------------------------------------------------------------------------

T = np.arange(24.0)[:, None] / 4.0
AHEAD = np.linspace(-1.0, 8.0, 11)[:, None]
TREND, SEASON = 1.0 * RBF(3.0), 0.5 * ExpSineSquared(1.0, 1.0, periodicity_bounds="fixed")
SIGNAL = 0.4 * T[:, 0] + np.sin(2.0 * np.pi * T[:, 0])
COUNTS = np.random.default_rng(0).poisson(np.exp(1.0 + 0.5 * SIGNAL))
SHORT = {"n_chains": 2, "n_warmup": 5, "n_draws": 8, "random_state": 0}
NOISY = TREND + SEASON + WhiteKernel(0.1)
ESTIMATORS = {
    "regression": (MCMCGaussianProcessRegressor(NOISY, normalize_y=True), 50.0 + 9.0 * SIGNAL),
    "regression with a mean": (MCMCGaussianProcessRegressor(NOISY, mean="constant"), SIGNAL),
    "regression with points": (MCMCGaussianProcessRegressor(NOISY, n_inducing=12), SIGNAL),
    "student-t": (MCMCGaussianProcessRegressor(NOISY, likelihood="student-t"), SIGNAL),
    "two classes": (MCMCGaussianProcessClassifier(TREND + SEASON), SIGNAL > 1.0),
    "one against the rest": (MCMCGaussianProcessClassifier(TREND + SEASON), COUNTS % 3),
    "softmax": (
        MCMCGaussianProcessClassifier(TREND + SEASON, multi_class="softmax"),
        COUNTS % 3,
    ),
    "counts": (MCMCCoxProcessRegressor(TREND + SEASON), COUNTS),
    "counts with points": (MCMCCoxProcessRegressor(TREND + SEASON, n_inducing=12), COUNTS),
}


@pytest.fixture(scope="module")
def models():
    return {name: quiet(e.set_params(**SHORT), T, y) for name, (e, y) in ESTIMATORS.items()}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_means_add_up_to_the_latent_function(models, name):
    model = models[name]
    whole, std = model.predict_latent(AHEAD, return_std=True)
    parts = model.predict_components(AHEAD, quantiles=[0.1, 0.5, 0.9])
    size = max(abs(part.mean).max() for part in parts.values())
    total = sum(part.mean for part in parts.values())
    np.testing.assert_allclose(total, whole, rtol=0.0, atol=1e-8 * size)
    for part in parts.values():
        assert part.mean.shape == part.std.shape == whole.shape == std.shape
        assert part.quantiles.shape == (*whole.shape, 3)
        assert (np.diff(part.quantiles, axis=-1) >= 0.0).all()


@pytest.mark.parametrize("name", ESTIMATORS)
def test_samples_add_up_to_draws_of_the_latent_function(models, name):
    model, n = models[name], 1500
    samples = model.sample_components(AHEAD, n, random_state=1)
    assert list(samples) == list(model.predict_components(AHEAD))
    total = sum(samples.values())
    mean, std = model.predict_latent(AHEAD, return_std=True)
    assert total.shape == (len(AHEAD), n, *mean.shape[1:])
    assert (abs(total.mean(axis=1) - mean) < 5.0 * std / np.sqrt(n)).all()
    # The standard error of a variance, by the fourth moment: the mixture is not normal.
    deviations = (total - mean[:, None]) ** 2
    error = deviations.std(axis=1) / np.sqrt(n)
    assert (abs(deviations.mean(axis=1) - std**2) < 5.0 * error).all()
    again = model.sample_components(AHEAD, n, random_state=1)
    for own, other in zip(again.values(), samples.values(), strict=True):
        np.testing.assert_array_equal(own, other)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_centred_parts_add_up_and_average_to_zero(models, name):
    model = models[name]
    whole = model.predict_latent(T)
    parts = model.predict_components(T, centre_on=T)
    total = sum(part.mean for part in parts.values())
    np.testing.assert_allclose(total, whole, rtol=0.0, atol=1e-8 * abs(whole).max())
    assert list(parts)[-1] == "mean"
    average = parts.pop("mean")
    np.testing.assert_allclose(average.mean, whole.mean(axis=0) + 0.0 * whole, atol=1e-7)
    plain = model.predict_components(T)
    for part_name, part in parts.items():
        scale = abs(part.mean).max() + 1e-6
        assert abs(part.mean.mean(axis=0)).max() < 1e-6 * scale + 1e-8
        # What the data do not tell, which part a constant belongs to, is left out.
        assert part.std.mean() < plain[part_name].std.mean()


def test_names_and_labels(models):
    assert list(models["regression"].predict_components(AHEAD)) == ["k1__k1", "k1__k2", "mean"]
    assert list(models["counts"].predict_components(AHEAD)) == ["k1", "k2", "mean"]
    assert list(models["two classes"].predict_components(AHEAD)) == ["k1", "k2"]
    model = models["counts"]
    plain = model.predict_components(AHEAD)
    named = model.predict_components(AHEAD, labels=["trend", "season"])
    assert list(named) == ["trend", "season", "mean"]
    np.testing.assert_array_equal(named["season"].mean, plain["k2"].mean)
    merged = model.predict_components(AHEAD, labels=["mean", "season"])
    assert list(merged) == ["mean", "season"]
    both = plain["k1"].mean + plain["mean"].mean
    np.testing.assert_allclose(merged["mean"].mean, both, atol=1e-8)
    all_in_one = model.predict_components(AHEAD, labels=["mean", "mean"])["mean"]
    mean, std = model.predict_latent(AHEAD, return_std=True)
    np.testing.assert_allclose(all_in_one.mean, mean, atol=1e-8)
    np.testing.assert_allclose(all_in_one.std, std, atol=1e-8)
    assert list(model.sample_components(AHEAD, labels=["a", "b"])) == ["a", "b", "mean"]


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (["trend"], "2 summands, k1, k2; got"),
        ("ab", "labels must be a list of names"),
        (["trend", 2], "labels must be a list of names"),
        ({"k1": "trend", "k2": "season"}, "labels must be a list of names"),
    ],
)
def test_refused_labels(models, labels, words):
    with pytest.raises(ValueError, match=words):
        models["counts"].predict_components(AHEAD, labels=labels)


def test_refusals(models):
    with pytest.raises(ValueError, match="quantiles must be"):
        models["counts"].predict_components(AHEAD, quantiles=[5.0])
    with pytest.raises(ValueError, match="labels must not have 'mean' together with centre_on"):
        models["counts"].predict_components(AHEAD, labels=["mean", "season"], centre_on=T)
    with pytest.raises(ValueError, match="X has 2 features"):
        models["counts"].predict_components(AHEAD, centre_on=np.ones((3, 2)))
    with pytest.raises(ValueError, match="n_samples must be"):
        models["counts"].sample_components(AHEAD, n_samples=0)
    model = models["counts"]
    many = np.repeat(AHEAD, 50, axis=0)
    model.set_params(memory_limit=0.01)
    with pytest.raises(ValueError, match="the joint covariance of 2 parts there"):
        model.sample_components(many)
    model.set_params(memory_limit=8.0)


@pytest.mark.parametrize(
    "estimator",
    [MCMCCoxProcessRegressor, MCMCGaussianProcessClassifier, MCMCGaussianProcessRegressor],
)
@pytest.mark.parametrize(
    "method",
    [
        "predict_components",
        "sample_components",
        "component_shares",
        "column_shares",
        "predict_derivative",
    ],
)
def test_not_fitted(estimator, method):
    with pytest.raises(NotFittedError):
        getattr(estimator(), method)(AHEAD)


def test_a_kernel_that_is_no_sum_has_one_part():
    model = quiet(MCMCCoxProcessRegressor(TREND, mean="zero", **SHORT), T, COUNTS)
    parts = model.predict_components(AHEAD)
    assert list(parts) == ["latent"]
    mean, std = model.predict_latent(AHEAD, return_std=True)
    np.testing.assert_allclose(parts["latent"].mean, mean, atol=1e-8)
    np.testing.assert_allclose(parts["latent"].std, std, atol=1e-8)
    model = quiet(MCMCGaussianProcessRegressor(TREND + WhiteKernel(), **SHORT), T, SIGNAL)
    assert list(model.predict_components(AHEAD)) == ["k1"]


@pytest.mark.parametrize(
    ("kernel", "names"),
    [
        (TREND + SEASON + WhiteKernel(), ["k1__k1", "k1__k2"]),
        ((TREND + WhiteKernel()) + SEASON, ["k1__k1", "k2"]),
        (WhiteKernel() + (TREND + SEASON), ["k2__k1", "k2__k2"]),
        (TREND + (WhiteKernel() + (SEASON + TREND)), ["k1", "k2__k2__k1", "k2__k2__k2"]),
        (TREND + WhiteKernel(), ["k1"]),
        (TREND + SEASON, ["k1", "k2"]),
        (TREND, [""]),
    ],
)
def test_names_in_a_kernel_with_noise(kernel, names):
    split = split_white_noise(kernel)
    found = summands_of(split.latent)
    assert [split.name_of(one.name) for one in found] == names
    for one, name in zip(found, names, strict=True):
        part = kernel
        for step in filter(None, name.split("__")):
            part = getattr(part, step)
        assert part == one.kernel


def test_table_and_frame(models):
    parts = models["counts"].predict_components(AHEAD, quantiles=[0.05, 0.95])
    assert "average std" in repr(parts)
    assert len(repr(parts).splitlines()) == 4
    frame = parts.to_frame()
    assert frame.shape == (len(AHEAD), 12)
    np.testing.assert_array_equal(frame["k2", "95%"], parts["k2"].quantiles[:, 1])
    parts = models["softmax"].predict_components(AHEAD)
    frame = parts.to_frame()
    labels = models["softmax"].classes_.tolist()
    np.testing.assert_array_equal(frame["k1", "mean", labels[2]], parts["k1"].mean[:, 2])
    np.testing.assert_array_equal(frame["k1", "5%", labels[0]], parts["k1"].quantiles[:, 0, 0])


def test_each_row_alone(models):
    whole = models["counts"].predict_components(AHEAD)
    alone = models["counts"].predict_components(AHEAD[3:4])
    for name, part in whole.items():
        np.testing.assert_allclose(part.mean[3], alone[name].mean[0], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(part.std[3], alone[name].std[0], rtol=1e-6)


def test_samples_of_one_draw_add_up_on_every_structure():
    """`sample_parts` over several functions keeps the draws of each together."""
    draws, _ = sampled(core.DenseStructure(), SUM, LIKELIHOODS["poisson"]())
    parts = parts_of(draws, SUM)
    values = sample_parts([parts, parts], NEW, 3, np.random.RandomState(0), None)
    assert len(values) == 2
    assert all(one.shape == (len(NEW), 3) for each in values for one in each.values())
