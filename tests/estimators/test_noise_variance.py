"""Noise variances of rows as an argument of `fit`: values, routing, continuation, messages."""

import pickle
import re
from itertools import product

import numpy as np
import pytest
import sklearn
from refusals import check_message
from rotation import in_turn
from scipy.linalg import cho_solve, cholesky
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skgpmcmc import MCMCGaussianProcessRegressor

pytestmark = [
    pytest.mark.second_stage,
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

SHORT = {"n_chains": 2, "n_warmup": 5, "n_draws": 6, "random_state": 0}
RNG = np.random.default_rng(0)
X = RNG.uniform(-3.0, 3.0, (18, 1))
NOISE = np.where(np.arange(18) % 3 == 0, 0.5, 0.01)
Y = 3.0 + 2.0 * np.sin(X[:, 0]) + np.sqrt(NOISE) * RNG.standard_normal(18)
KERNEL = ConstantKernel(4.0, "fixed") * RBF(1.0, "fixed")
FOLDS = KFold(3, shuffle=True, random_state=0)
MODEL = MCMCGaussianProcessRegressor(ConstantKernel(4.0) * RBF(1.0), **SHORT)


def theta(model):
    return model.trace_.theta


def exact(noise, y, at):
    """The predictive mean with the fixed kernel, in dense matrices."""
    factor = cholesky(KERNEL(X) + np.diag(noise), lower=True)
    return KERNEL(at, X) @ cho_solve((factor, True), y)


@pytest.mark.parametrize("normalize_y", [False, True])
def test_values_with_a_fixed_kernel(normalize_y):
    """In the units of y, also where y is divided by its standard deviation."""
    model = MCMCGaussianProcessRegressor(KERNEL, normalize_y=normalize_y, **SHORT)
    model.fit(X, Y, noise_variance=NOISE)
    at = np.linspace(-2.0, 2.0, 5)[:, np.newaxis]
    if normalize_y:
        centre, scale = Y.mean(), Y.std()
        expected = centre + scale * exact(NOISE / scale**2, (Y - centre) / scale, at)
    else:
        expected = exact(NOISE, Y, at)
    np.testing.assert_allclose(model.predict(at), expected, rtol=1e-6)


@pytest.mark.parametrize("likelihood", ["gaussian", "student-t"])
@pytest.mark.parametrize("kernel", [None, RBF(1.0), RBF(1.0) + WhiteKernel()])
def test_it_is_what_alpha_is(kernel, likelihood):
    model = MCMCGaussianProcessRegressor(kernel, likelihood=likelihood, **SHORT)
    by_alpha = clone(model).set_params(alpha=NOISE).fit(X, Y)
    for given in (NOISE, NOISE.tolist(), NOISE.astype(object)):
        np.testing.assert_array_equal(theta(model.fit(X, Y, noise_variance=given)), theta(by_alpha))
    one = clone(model).set_params(alpha=0.3).fit(X, Y)
    for given in (0.3, np.float64(0.3), np.full(18, 0.3)):
        np.testing.assert_array_equal(theta(model.fit(X, Y, noise_variance=given)), theta(one))


def test_units_of_y_do_not_matter_where_it_is_normalised():
    model = MCMCGaussianProcessRegressor(normalize_y=True, **SHORT)
    one = theta(model.fit(X, Y, noise_variance=NOISE))
    other = theta(model.fit(X, 2.0**30 * Y, noise_variance=2.0**60 * NOISE))
    np.testing.assert_allclose(one, other, rtol=1e-6)


def test_series_are_taken_by_order_and_rows_of_weight_zero_left_out():
    pandas = pytest.importorskip("pandas")
    series = pandas.Series(NOISE, index=np.arange(18)[::-1])
    model = clone(MODEL)
    by_array = theta(model.fit(X, Y, noise_variance=NOISE))
    np.testing.assert_array_equal(theta(model.fit(X, Y, noise_variance=series)), by_array)
    weights = np.where(np.arange(18) < 10, 1.0, 0.0)
    some = theta(model.fit(X, Y, sample_weight=weights, noise_variance=NOISE))
    few = theta(model.fit(X[:10], Y[:10], noise_variance=NOISE[:10]))
    np.testing.assert_array_equal(some, few)


def test_sliced_in_a_search():
    grid = {"mean": ["zero", "constant"]}
    with sklearn.config_context(enable_metadata_routing=True):
        model = clone(MODEL).set_fit_request(noise_variance=True)
        search = GridSearchCV(model, grid, cv=FOLDS).fit(X, Y, noise_variance=NOISE)
    for i, options in enumerate(search.cv_results_["params"]):
        for fold, (train, test) in enumerate(FOLDS.split(X)):
            by_hand = clone(MODEL).set_params(**options)
            by_hand.fit(X[train], Y[train], noise_variance=NOISE[train])
            score = search.cv_results_[f"split{fold}_test_score"][i]
            assert score == by_hand.score(X[test], Y[test])
    best = clone(MODEL).set_params(**search.best_params_).fit(X, Y, noise_variance=NOISE)
    np.testing.assert_array_equal(search.predict(X), best.predict(X))


def test_sliced_by_other_tools():
    expected = [
        clone(MODEL).fit(X[train], Y[train], noise_variance=NOISE[train]).predict(X[test])
        for train, test in FOLDS.split(X)
    ]
    at_rows = np.empty(18)
    at_rows[np.concatenate([test for _, test in FOLDS.split(X)])] = np.concatenate(expected)
    params = {"noise_variance": NOISE}
    # Without routing too: it is an argument of fit alone.
    found = cross_val_predict(MODEL, X, Y, cv=FOLDS, params=params)
    np.testing.assert_array_equal(found, at_rows)
    with sklearn.config_context(enable_metadata_routing=True):
        model = clone(MODEL).set_fit_request(noise_variance=True)
        found = cross_val_predict(model, X, Y, cv=FOLDS, params=params)
        np.testing.assert_array_equal(found, at_rows)
        pipeline = make_pipeline(StandardScaler(), model)
        scores = cross_val_score(pipeline, X, Y, cv=FOLDS, params=params)
        assert np.isfinite(scores).all()
        pipeline.fit(X, Y, noise_variance=NOISE)
    scaled = StandardScaler().fit_transform(X)
    by_hand = clone(MODEL).fit(scaled, Y, noise_variance=NOISE)
    np.testing.assert_array_equal(theta(pipeline[-1]), theta(by_hand))
    doubled = TransformedTargetRegressor(
        clone(MODEL), func=lambda y: 2.0 * y, inverse_func=lambda y: 0.5 * y
    ).fit(X, Y, noise_variance=4.0 * NOISE)
    by_hand = clone(MODEL).fit(X, 2.0 * Y, noise_variance=4.0 * NOISE)
    np.testing.assert_allclose(doubled.predict(X), 0.5 * by_hand.predict(X), rtol=1e-12)


def test_a_vector_in_the_constructor_says_why_cross_validation_fails():
    words = [
        "alpha must be a number, or have shape (12,), one for each row of X; got shape (18,)",
        "Cross-validation",
        "fit(X, y, noise_variance=...)",
        "set_fit_request(noise_variance=True)",
    ]
    model = clone(MODEL).set_params(alpha=NOISE)
    check_message(lambda: cross_val_score(model, X, Y, cv=FOLDS, error_score="raise"), words)
    check_message(lambda: model.fit(X[:12], Y[:12]), words)


@pytest.mark.parametrize("alpha", [0.1, NOISE, NOISE.tolist(), 1.1e-10, 1])
def test_both_are_refused(alpha):
    model = clone(MODEL).set_params(alpha=alpha)
    words = ["noise_variance", "alpha", "default", "leave noise_variance out"]
    check_message(lambda: model.fit(X, Y, noise_variance=NOISE), words)


@pytest.mark.parametrize("alpha", [0, 0.0, 1e-10, np.zeros(18), 1e-12])
def test_an_alpha_of_no_noise_is_none(alpha):
    expected = theta(clone(MODEL).fit(X, Y, noise_variance=NOISE))
    model = clone(MODEL).set_params(alpha=alpha).fit(X, Y, noise_variance=NOISE)
    np.testing.assert_array_equal(theta(model), expected)


@pytest.mark.parametrize(
    ("noise", "words"),
    [
        (NOISE[:5], ["must be a number, or have shape (18,)", "got shape (5,)"]),
        (NOISE[:, np.newaxis], ["got shape (18, 1)", "numpy.ravel"]),
        (-NOISE, ["must be finite and >= 0; row 0 holds -0.5 (18 rows are wrong)"]),
        (np.nan, ["must be finite and >= 0; got nan"]),
        (np.inf, ["must be finite and >= 0; got inf"]),
        ("a", ["must be real numbers; got 'a'"]),
        (1j, ["must be real numbers"]),
        (np.where(np.arange(18) == 4, 0.0, NOISE), ["must be positive where", "row 4"]),
        (0.0, ["must be positive where the kernel has no WhiteKernel"]),
    ],
)
def test_bad_values(noise, words):
    check_message(lambda: clone(MODEL).fit(X, Y, noise_variance=noise), ["noise_variance", *words])


def test_next_to_no_student_t_noise_is_refused_by_its_name():
    model = clone(MODEL).set_params(likelihood="student-t")
    words = ["likelihood='student-t'", "noise_variance is at most 1e-12"]
    check_message(lambda: model.fit(X, Y, noise_variance=1e-12), words)


TINY = np.where(np.arange(18) == 4, 1e-320, NOISE)


TOO_SMALL = (["noise_variance", "alpha"], [1.0, 1e90], [False, True], ["gaussian", "student-t"])


@pytest.mark.parametrize(
    ("source", "scale", "normalize_y", "likelihood"),
    in_turn(product(*TOO_SMALL), 2, *TOO_SMALL),
)
def test_noise_too_small_for_double_precision_is_named(source, scale, normalize_y, likelihood):
    kernel = ConstantKernel(1.0 if normalize_y else scale**2, "fixed") * RBF(1.0)
    options = {"normalize_y": normalize_y, "likelihood": likelihood, **SHORT}
    in_units = 1.0 if normalize_y and source == "alpha" else scale**2
    noise = np.where(TINY < 1e-300, TINY, TINY * in_units)
    weights = np.where(np.arange(18) == 4, 1e6, 1.0)
    for sample_weight in (None, weights):
        model, data = MCMCGaussianProcessRegressor(kernel, **options), {}
        if source == "alpha":
            model.set_params(alpha=noise)
        else:
            data["noise_variance"] = noise
        words = [f"{source} is too small", "the smallest is 1e-320,", f"Raise {source}", "White"]
        with pytest.raises(ValueError, match="it must be at least") as error:
            model.fit(X, Y * scale, sample_weight, **data)
        assert all(word in str(error.value) for word in words)
        # What the message says is enough.
        least = float(re.search(r"at least ([-+.e0-9]+)\. ", str(error.value))[1]) * 1.01
        enough = np.maximum(noise, least)
        if source == "alpha":
            model.set_params(alpha=enough)
        else:
            data["noise_variance"] = enough
        assert np.isfinite(model.fit(X, Y * scale, sample_weight, **data).trace_.theta).all()


@pytest.mark.parametrize("noise", [5e-324, 1e-320, 1e-308])
@pytest.mark.parametrize(
    "kernel", [RBF(1.0), RBF(1.0) + WhiteKernel(1e-320, "fixed"), RBF(1.0, "fixed")]
)
def test_noise_too_small_in_all_rows(kernel, noise):
    model = MCMCGaussianProcessRegressor(kernel, **SHORT)
    check_message(lambda: model.fit(X, Y, noise_variance=noise), ["noise_variance is too small"])
    model.set_params(alpha=noise)
    check_message(lambda: model.fit(X, Y), ["alpha is too small", f"{noise:.3g}"])


def test_little_noise_of_small_targets_is_much_where_they_are_normalised():
    model = MCMCGaussianProcessRegressor(RBF(1.0), normalize_y=True, **SHORT)
    small = model.fit(X, Y * 1e-150**0.5, noise_variance=NOISE * 1e-150).trace_.theta
    np.testing.assert_allclose(small, model.fit(X, Y, noise_variance=NOISE).trace_.theta, rtol=1e-6)


@pytest.mark.parametrize("noise", [1e-320, TINY])
def test_little_noise_beside_white_noise(noise):
    model = MCMCGaussianProcessRegressor(RBF(1.0) + WhiteKernel(0.1), **SHORT)
    assert np.isfinite(model.fit(X, Y, noise_variance=noise).predict(X)).all()
    fixed = MCMCGaussianProcessRegressor(RBF(1.0) + WhiteKernel(0.1, "fixed"), **SHORT)
    assert np.isfinite(fixed.fit(X, Y, noise_variance=noise).predict(X)).all()


def test_zero_beside_white_noise():
    kernel = RBF(1.0) + WhiteKernel(0.1)
    model = MCMCGaussianProcessRegressor(kernel, **SHORT)
    none = model.fit(X, Y, noise_variance=0.0)
    assert np.isfinite(none.predict(X)).all()


def test_warm_start_and_checkpoints_tell_variances_apart(tmp_path):
    model = clone(MODEL).set_params(warm_start=True).fit(X, Y, noise_variance=NOISE)
    model = pickle.loads(pickle.dumps(model)).set_params(n_draws=9)
    words = ["differ from it: y, sample_weight, trials, exposure or noise_variance. "]
    check_message(lambda: model.fit(X, Y, noise_variance=2.0 * NOISE), words)
    check_message(lambda: model.fit(X, Y), words)
    continued = theta(model.fit(X, Y, noise_variance=NOISE.tolist()))
    at_once = clone(MODEL).set_params(n_draws=9).fit(X, Y, noise_variance=NOISE)
    np.testing.assert_array_equal(continued, theta(at_once))

    kept = clone(MODEL).set_params(checkpoint=tmp_path / "chains")
    kept.fit(X, Y, noise_variance=NOISE)
    words[0] = words[0].replace(". ", "")
    check_message(lambda: kept.fit(X, Y, noise_variance=NOISE[::-1]), words)
    kept.set_params(n_draws=9).fit(X, Y, noise_variance=NOISE)
    np.testing.assert_array_equal(theta(kept), theta(at_once))


@pytest.mark.filterwarnings("default::sklearn.exceptions.ConvergenceWarning")
def test_advice_of_noise_is_not_given_where_noise_is_known():
    model = MCMCGaussianProcessRegressor(RBF(1.0), **SHORT)
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(X, Y, noise_variance=NOISE)
    assert "no WhiteKernel" not in str(caught[0].message)
    with pytest.warns(ConvergenceWarning, match="no WhiteKernel.*noise_variance"):
        model.fit(X, Y)


def test_exported():
    pytest.importorskip("arviz")
    weights = np.arange(18) % 2
    model = MCMCGaussianProcessRegressor(normalize_y=True, **SHORT)
    data = model.fit(X, Y, weights, noise_variance=NOISE).to_arviz()
    exported = data["constant_data"]["noise_variance"]
    np.testing.assert_array_equal(exported, NOISE[1::2])
    assert "noise_variance" not in model.fit(X, Y).to_arviz()["constant_data"]
