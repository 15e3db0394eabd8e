"""Numbers of successes: the likelihood against definitions, and the classifier with trials."""

import numpy as np
import pytest
import sklearn
from rounding import ELEMENTWISE, TENS_OF_OPERATIONS
from scipy import integrate, stats
from scipy.special import expit
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.model_selection import GridSearchCV, KFold

from skgpmcmc import MCMCGaussianProcessClassifier
from skgpmcmc.likelihoods import BernoulliLogit, Binomial
from skgpmcmc.likelihoods._special import log_binomial
from skgpmcmc.likelihoods.predictive._logistic import binomial_log_pmf

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SHORT = {"n_chains": 2, "n_warmup": 20, "n_draws": 40, "random_state": 0}
SUCCESSES = np.array([0.0, 2.0, 7.0, 1.0])
TRIALS = np.array([1.0, 3.0, 9.0, 1.0])


def labels():
    """The single labels of the numbers of successes."""
    signs, index = [], []
    for i, (y, n) in enumerate(zip(SUCCESSES, TRIALS, strict=True)):
        signs += [1.0] * int(y) + [-1.0] * int(n - y)
        index += [i] * int(n)
    return BernoulliLogit(signs, latent_index=index)


def test_likelihood_is_that_of_the_single_labels_times_coefficients():
    likelihood, single = Binomial(SUCCESSES, TRIALS), labels()
    latent = np.array([0.3, -1.2, 2.0, 40.0])
    coefficients = np.log([1.0, 3.0, 36.0, 1.0])
    assert likelihood.log_likelihood(latent) == pytest.approx(
        single.log_likelihood(latent) + coefficients.sum(), rel=TENS_OF_OPERATIONS
    )
    for one, other in zip(
        (*likelihood.derivatives(latent), *likelihood.fit_sites(0.3, 2.0)),
        (*single.derivatives(latent), *single.fit_sites(0.3, 2.0)),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, rtol=1e-9)


def test_auxiliary_draws_are_those_of_the_single_labels():
    latent = np.array([0.3, -1.2, 2.0, 4.0])
    one, other = (
        likelihood.augment(latent, (), np.random.default_rng(0)).gaussian_sites()
        for likelihood in (Binomial(SUCCESSES, TRIALS), labels())
    )
    np.testing.assert_array_equal(one.precision, other.precision)
    np.testing.assert_array_equal(one.shift, other.shift)
    np.testing.assert_array_equal(one.shift, SUCCESSES - 0.5 * TRIALS)


def test_weights_need_not_be_whole():
    """E exp(-w f^2 / 2) with w ~ PG(n, 0) is cosh(f / 2)^-n, also for weighted trials."""
    n_draws, f = 40_000, 1.5
    likelihood = Binomial(np.ones(n_draws), np.full(n_draws, 3.0), sample_weight=[0.4] * n_draws)
    sites = likelihood.augment(np.zeros(n_draws), (), np.random.default_rng(0)).gaussian_sites()
    values = np.exp(-0.5 * sites.precision * f**2)
    error = values.std() / np.sqrt(n_draws)
    assert abs(values.mean() - np.cosh(0.5 * f) ** -1.2) < 5 * error
    np.testing.assert_allclose(sites.shift, 0.4 * (1 - 1.5))


def test_huge_numbers_of_trials():
    likelihood = Binomial([3e8, 0.0], [1e9, 1e12])
    latent = np.array([np.log(3 / 7), -25.0])
    # Stirling's formula at the mode, to 1 / (12 n); and Poisson counts of rate 1e12 exp(-25).
    expected = [-0.5 * np.log(2 * np.pi * 3e8 * 0.7), -1e12 * np.log1p(np.exp(-25.0))]
    np.testing.assert_allclose(likelihood.pointwise(latent), expected, rtol=1e-6)
    # The sum's terms are of the order 1e13, with sixteen digits.
    assert likelihood.log_likelihood(latent) == pytest.approx(sum(expected), abs=1e-2)


def test_taylor_sites():
    precision, shift = Binomial([2, 0, 5, 3], [8, 4, 5, 4]).taylor_sites()
    np.testing.assert_allclose(precision, [8 * 0.25 * 0.75, 0, 0, 4 * 0.75 * 0.25])
    np.testing.assert_allclose(shift, [1.5 * np.log(1 / 3), 0, 0, 0.75 * np.log(3)])


@pytest.mark.parametrize("shape", [0.01, 0.5, 1.0, 3.7, 15.0, 200.0])
def test_log_binomial(shape):
    count = np.array([0.0, 1.0, 2.0, 14.0, 16.0, 300.0])
    expected = [
        np.log(shape + np.arange(k)).sum() - np.log(np.arange(1, k + 1)).sum() for k in count
    ]
    np.testing.assert_allclose(
        log_binomial(count, shape), expected, rtol=ELEMENTWISE, atol=ELEMENTWISE
    )


def test_log_binomial_of_huge_numbers():
    # Gamma(y + r) / (Gamma(r) y!) = r (r + 1) (r + 2) / 6 for y = 3, and the same for r = 4 in y.
    for huge in (1e8, 1e15):
        expected = 3 * np.log(huge) - np.log(6.0)
        assert log_binomial(3.0, huge) == pytest.approx(expected, abs=1e-7)
        assert log_binomial(huge, 4.0) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("variance", [0.0, 1e-4, 1.0, 30.0])
@pytest.mark.parametrize(("y", "n"), [(0, 1), (0, 20), (7, 9), (400, 400), (12, 5000)])
def test_log_pmf_against_quadrature(y, n, variance):
    for mean in (-6.0, 0.2, 3.0):
        parts = (np.array([float(v)]) for v in (y, n))
        value = binomial_log_pmf(*parts, np.full((1, 1), mean), np.full((1, 1), variance))[0, 0]
        if variance == 0.0:
            assert value == pytest.approx(stats.binom.logpmf(y, n, expit(mean)), abs=1e-9)
            continue
        scale = np.sqrt(variance)
        grid = mean + scale * np.linspace(-60, 60, 200_001)
        terms = stats.binom.logpmf(y, n, expit(grid)) + stats.norm.logpdf(grid, mean, scale)
        expected = integrate.simpson(np.exp(terms - terms.max()), x=grid)
        assert value == pytest.approx(terms.max() + np.log(expected), abs=1e-7)


# The classifier


def shares(n=25, seed=0):
    rng = np.random.default_rng(seed)
    X, trials = rng.uniform(-3.0, 3.0, (n, 1)), rng.integers(1, 12, n)
    return X, rng.binomial(trials, expit(2.0 * np.sin(X[:, 0]))), trials


def single_labels(X, y, trials):
    rows = np.repeat(np.arange(len(y)), trials)
    outcomes = np.concatenate([[1] * s + [0] * (n - s) for s, n in zip(y, trials, strict=True)])
    return X[rows], outcomes


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_trials_are_single_labels(link):
    X, y, trials = shares()
    model = MCMCGaussianProcessClassifier(link=link, **SHORT)
    together = model.fit(X, y, trials=trials).predict_proba(X)
    np.testing.assert_array_equal(model.classes_, [0, 1])
    np.testing.assert_allclose(together.sum(axis=1), 1.0)
    single = model.fit(*single_labels(X, y, trials)).predict_proba(X)
    np.testing.assert_allclose(together, single, rtol=1e-6)


def test_weights_are_copies_of_rows_and_one_number_of_trials_is_for_all():
    X, y, _ = shares()
    y = np.minimum(y, 4)
    weights = np.arange(25) % 3
    rows = np.repeat(np.arange(25), weights)
    model = MCMCGaussianProcessClassifier(**SHORT)
    weighted = model.fit(X, y, sample_weight=weights, trials=5).predict_proba(X)
    repeated = model.fit(X[rows], y[rows], trials=np.full(rows.size, 5)).predict_proba(X)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-6)


def test_scores_of_trials():
    X, y, trials = shares()
    model = MCMCGaussianProcessClassifier(**SHORT).fit(X, y, trials=trials)
    X_single, outcomes = single_labels(X, y, trials)
    assert model.score(X, y, trials=trials) == pytest.approx(model.score(X_single, outcomes))
    weights = np.arange(25) % 3
    weighted = model.score(X, y, sample_weight=weights, trials=trials)
    assert weighted == pytest.approx(
        model.score(X_single, outcomes, sample_weight=np.repeat(weights, trials))
    )
    grid = np.repeat(X[:1], 8, axis=0)
    log_p = model.log_predictive_density(grid, np.arange(8), trials=7)
    assert np.exp(log_p).sum() == pytest.approx(1.0, abs=1e-7)
    expected = (np.exp(log_p) * np.arange(8)).sum() / 7
    assert expected == pytest.approx(model.predict_proba(X[:1])[0, 1], abs=1e-7)


def test_trials_are_routed():
    X, y, trials = shares()
    with sklearn.config_context(enable_metadata_routing=True):
        model = MCMCGaussianProcessClassifier(ConstantKernel(1.0) * RBF(1.0), **SHORT)
        model.set_fit_request(trials=True).set_score_request(trials=True)
        search = GridSearchCV(model, {"mean": ["zero", "constant"]}, cv=KFold(2), refit=False)
        search.fit(X, y, trials=trials)
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_no_successes_at_all():
    model = MCMCGaussianProcessClassifier(**SHORT).fit([[0.0], [1.0]], [0, 0], trials=[30, 40])
    assert model.predict_proba([[0.5]])[0, 1] < 0.2
    np.testing.assert_array_equal(model.predict([[0.5]]), [0])


@pytest.mark.parametrize(
    ("y", "trials", "message"),
    [
        (
            [1, 2, 0],
            [1, 1, 1],
            r"y must be at most the number of trials; row 1 holds 2\.0.*1 trials",
        ),
        ([1, 0, 0], [1, 0, 1], "trials must be positive and finite; row 1 holds 0"),
        ([1, 0, 0], [1, 1, 1.5], r"trials must be a whole number from 1.*row 2 holds 1\.5"),
        ([1, -1, 0], 2, r"y must be a whole number from 0.*row 1 holds -1\.0\.$"),
        (["a", "b", "a"], 2, "y must be real numbers"),
        ([1, 0, 0], [1, 1], r"trials must be a number, or have shape \(3,\)"),
    ],
)
def test_bad_trials(y, trials, message):
    X = np.arange(3.0)[:, None]
    with pytest.raises(ValueError, match=message):
        MCMCGaussianProcessClassifier().fit(X, y, trials=trials)


def test_what_takes_no_trials_says_so():
    X, y, trials = shares()
    with pytest.raises(ValueError, match=r"trials need a single latent function.*one_vs_rest"):
        MCMCGaussianProcessClassifier(multi_class="softmax").fit(X, y, trials=trials)
    model = MCMCGaussianProcessClassifier(link="probit", **SHORT).fit(X, y, trials=trials)
    with pytest.raises(ValueError, match="trials need link='logit'"):
        model.log_predictive_density(X, y, trials=trials)
    model = MCMCGaussianProcessClassifier(**SHORT).fit(X, np.where(y > 0, "a", "b"))
    with pytest.raises(ValueError, match=r"trials need the classes 0 and 1.*\['a', 'b'\]"):
        model.score(X, y, trials=trials)
