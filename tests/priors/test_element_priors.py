"""Priors of single elements, by the names that `summary()` prints."""

from __future__ import annotations

import copy
import re

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skgpmcmc import (
    MCMCCoxProcessRegressor,
    MCMCGaussianProcessClassifier,
    MCMCGaussianProcessRegressor,
)
from skgpmcmc.core import LatentGaussianModel
from skgpmcmc.likelihoods import Gaussian
from skgpmcmc.priors._data_scaled import FEATURE_FACTOR, ard_scale

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SHORT = {"n_chains": 2, "n_warmup": 4, "n_draws": 6, "random_state": 0}
X = np.random.default_rng(0).normal(size=(16, 3))
Y = np.arange(16) % 2
ESTIMATORS = {
    MCMCGaussianProcessClassifier: "k2__length_scale",
    MCMCGaussianProcessRegressor: "k1__k2__length_scale",
    MCMCCoxProcessRegressor: "k2__length_scale",
}
FAMILIES = stats.lognorm(0.5), stats.gamma(3.0), stats.halfnorm(scale=2.0)
each_estimator = pytest.mark.parametrize("estimator", ESTIMATORS)


def frame(names=("age", "bmi", "bp"), rows=X):
    return pytest.importorskip("pandas").DataFrame(rows[:, : len(names)], columns=list(names))


def fit(estimator, rows, priors, kernel=None, y=Y, **options):
    return estimator(kernel, priors=priors, **{**SHORT, **options}).fit(rows, y)


def families(model, name):
    return [prior.dist.name for prior in model.priors_[name]]


def refusal(call):
    with pytest.raises(ValueError) as error:  # noqa: PT011  (what it says is checked by the caller)
        call()
    return str(error.value)


# ------------------------------------------------------------------ what is taken


@each_estimator
def test_one_element_has_its_prior_and_the_others_the_default(estimator):
    name = ESTIMATORS[estimator]
    default = fit(estimator, X, None).priors_[name]
    priors = fit(estimator, X, {f"{name}[2]": FAMILIES[1]}).priors_[name]
    assert priors[2] is FAMILIES[1]
    for i in (0, 1):
        assert priors[i].dist.name == "lognorm"
        assert priors[i].median() == default[i].median()
        assert priors[i].median() == pytest.approx(
            X[:, i].std()
            * ard_scale(3)
            * (1.0 if estimator is MCMCCoxProcessRegressor else FEATURE_FACTOR)
        )


@each_estimator
@pytest.mark.parametrize("key", ["[bmi]", "[1]"])
def test_columns_have_their_names_and_their_numbers(estimator, key):
    name = ESTIMATORS[estimator]
    model = fit(estimator, frame(), {name + key: FAMILIES[1]})
    assert families(model, name) == ["lognorm", "gamma", "lognorm"]
    assert f"{name}[bmi]" in model.summary()


@each_estimator
@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("whole", [FAMILIES[0], [FAMILIES[0]] * 3, tuple(FAMILIES)])
def test_an_element_goes_before_the_vector_in_any_order(estimator, whole, backwards):
    name = ESTIMATORS[estimator]
    entries = [(name, whole), (f"{name}[0]", FAMILIES[2])]
    model = fit(estimator, X, dict(entries[::-1] if backwards else entries))
    expected = list(whole) if isinstance(whole, list | tuple) else [whole] * 3
    expected[0] = FAMILIES[2]
    assert list(model.priors_[name]) == expected


def test_all_elements_one_by_one_are_a_list():
    name = "k2__length_scale"
    one_by_one = {f"{name}[{i}]": family for i, family in enumerate(FAMILIES)}
    fits = [
        fit(MCMCGaussianProcessClassifier, X, priors)
        for priors in (one_by_one, {name: list(FAMILIES)})
    ]
    np.testing.assert_array_equal(fits[0].trace_.theta, fits[1].trace_.theta)


def test_draws_follow_the_element_s_prior():
    """A column that says nothing, and a prior that allows little: its draws are there."""
    priors = {"k2__length_scale[1]": stats.uniform(40.0, 0.5)}
    draws = fit(MCMCGaussianProcessClassifier, X, priors).posterior_["k2__length_scale"]
    assert ((draws[..., 1] >= 40.0) & (draws[..., 1] <= 40.5)).all()
    assert (draws[..., [0, 2]] < 40.0).any()


@pytest.mark.parametrize("multi_class", ["one_vs_rest", "softmax"])
def test_an_element_s_prior_is_that_of_every_class(multi_class):
    priors = {"k2__length_scale[bp]": stats.uniform(40.0, 0.5)}
    model = fit(
        MCMCGaussianProcessClassifier, frame(), priors, y=np.arange(16) % 3, multi_class=multi_class
    )
    draws = model.posterior_["k2__length_scale"]
    assert draws.shape == (2, 6, 3, 3)
    assert ((draws[..., 2] >= 40.0) & (draws[..., 2] <= 40.5)).all()


def test_names_are_those_of_the_whole_kernel_where_its_noise_is_split_off():
    kernel = WhiteKernel(0.1) + ConstantKernel() * Matern([1.0, 1.0, 1.0])
    priors = {"k2__k2__length_scale[age]": FAMILIES[1], "k1__noise_level": FAMILIES[2]}
    model = fit(MCMCGaussianProcessRegressor, frame(), priors, kernel)
    assert families(model, "k2__k2__length_scale") == ["gamma", "lognorm", "lognorm"]
    assert families(model, "k1__noise_level") == ["halfnorm"]
    text = refusal(lambda: fit(MCMCGaussianProcessRegressor, X, {"k2__length_scale[0]": 1}, kernel))
    assert "Did you mean 'k2__k2__length_scale[0]'?" in text


def test_an_element_s_prior_is_cut_to_the_element_s_bounds():
    bounds = [(0.1, 10.0), (0.5, 2.0), (1e-5, 1e5)]
    kernel = ConstantKernel() * RBF([1.0, 1.0, 1.0], bounds)
    priors = {f"k2__length_scale[{i}]": stats.lognorm(1.0) for i in (1, 2)}
    model = fit(MCMCGaussianProcessClassifier, X, priors, kernel)
    supports = [prior.support for prior in model.trace_.layout.priors[1:]]
    np.testing.assert_allclose(supports[:2], np.log([[0.1, 10.0], [0.5, 2.0]]))
    assert supports[2] == (-np.inf, np.inf)
    outside = {"k2__length_scale[1]": stats.uniform(5.0, 1.0)}
    text = refusal(lambda: fit(MCMCGaussianProcessClassifier, X, outside, kernel))
    assert "'k2__length_scale[1]'" in text
    assert "does not overlap the bounds [0.5, 2.0]" in text


@each_estimator
def test_bounds_of_some_elements_alone(estimator):
    """Those that were set are log-uniform, those like scikit-learn's default scaled to the data."""
    bounds = [(1e-5, 1e5), (0.2, 5.0), (1e-5, 2e5)]
    kernel = ConstantKernel() * RBF([1.0, 1.0, 1.0], bounds) + WhiteKernel(0.1)
    name = "k1__k2__length_scale"
    model = fit(estimator, X, None, kernel)
    scaled, *log_uniform = model.priors_[name]
    factor = 1.0 if estimator is MCMCCoxProcessRegressor else FEATURE_FACTOR
    assert scaled.dist.name == "lognorm"
    assert scaled.median() == pytest.approx(factor * ard_scale(3) * X[:, 0].std())
    assert np.log(scaled.ppf(stats.norm.cdf(1.0)) / scaled.median()) == pytest.approx(1.0)
    for prior, (low, high) in zip(log_uniform, bounds[1:], strict=True):
        assert prior.support() == pytest.approx((low, high))
        assert prior.median() == pytest.approx(np.sqrt(low * high))
        assert prior.cdf(low * (high / low) ** 0.25) == pytest.approx(0.25)
    where = model.trace_.layout.groups[name]
    supports = [prior.support for prior in model.trace_.layout.priors[where]]
    assert supports[0] == (-np.inf, np.inf)  # not cut to bounds that nobody set
    np.testing.assert_allclose(supports[1:], np.log(bounds[1:]))


# ------------------------------------------------------------------ names of columns


def test_names_of_columns_with_brackets_and_spaces():
    names = ["x[0]", "petal width", "1]"]
    for i, column in enumerate(names):
        priors = {f"k2__length_scale[{column}]": FAMILIES[1]}
        model = fit(MCMCGaussianProcessClassifier, frame(names), priors)
        expected = ["lognorm"] * 3
        expected[i] = "gamma"
        assert families(model, "k2__length_scale") == expected
        assert f"k2__length_scale[{column}]" in model.summary()


def test_names_of_columns_that_are_numbers_but_not_their_own():
    rows = frame(["2019", "1", "0"])
    for key, number in (("2019", 0), ("1", 1), ("2", 2)):
        model = fit(MCMCGaussianProcessClassifier, rows, {f"k2__length_scale[{key}]": FAMILIES[1]})
        assert families(model, "k2__length_scale").index("gamma") == number
    text = refusal(
        lambda: fit(MCMCGaussianProcessClassifier, rows, {"k2__length_scale[0]": FAMILIES[1]})
    )
    assert "'k2__length_scale[0]'" in text
    assert "name of column 2" in text
    assert "a list" in text


def test_columns_of_the_same_name_have_only_numbers():
    model = LatentGaussianModel(
        RBF([1.0, 1.0, 1.0], (0.1, 10.0)), X, Gaussian(X[:, 0], 0.1),
        priors={"length_scale[2]": FAMILIES[1]}, feature_names=["u", "v", "u"],
    )  # fmt: skip
    assert model.layout.priors[2].distribution is FAMILIES[1]
    text = refusal(
        lambda: LatentGaussianModel(
            RBF([1.0, 1.0, 1.0], (0.1, 10.0)), X, Gaussian(X[:, 0], 0.1),
            priors={"length_scale[u]": FAMILIES[1]}, feature_names=["u", "v", "u"],
        )
    )  # fmt: skip
    assert "name of columns 0 and 2" in text


def test_positions_in_the_core():
    model = LatentGaussianModel(
        RBF([1.0, 1.0, 1.0], (0.1, 10.0)), X, Gaussian(X[:, 0], 0.1),
        priors={"length_scale[1]": FAMILIES[1], "length_scale": FAMILIES[0]},
    )  # fmt: skip
    assert [prior.distribution for prior in model.layout.priors] == [
        FAMILIES[0], FAMILIES[1], FAMILIES[0],
    ]  # fmt: skip
    assert model.layout.names == [f"length_scale[{i}]" for i in range(3)]


@pytest.mark.parametrize("names", [["a"], "abc", [1, 2, 3], 3, [["a"], ["b", "c"], []]])
def test_names_of_columns_are_checked_in_the_core(names):
    with pytest.raises(ValueError, match=r"feature_names must be 3 strings, .* got"):
        LatentGaussianModel(
            RBF([1.0] * 3, (0.1, 1.0)), X, Gaussian(X[:, 0], 0.1), feature_names=names
        )


# ------------------------------------------------------------------ what is refused

ELEMENTS = "'k2__length_scale[age]', 'k2__length_scale[bmi]', 'k2__length_scale[bp]'"
NUMBERED = "'k2__length_scale[0]' to 'k2__length_scale[2]'"


@pytest.mark.parametrize(
    ("rows", "key", "words"),
    [
        ("array", "k2__length_scale[3]", ["has 3 elements", NUMBERED]),
        ("array", "k2__length_scale[-1]", ["has 3 elements", NUMBERED]),
        ("array", "k2__length_scale[01]", ["has 3 elements", NUMBERED]),
        ("array", "k2__length_scale[]", ["has 3 elements", NUMBERED]),
        ("array", "k2__length_scale[0:2]", ["has 3 elements", NUMBERED]),
        ("array", "k2__length_scale[bmi]", ["X has no names of columns", NUMBERED]),
        ("frame", "k2__length_scale[bmx]", ["Did you mean 'k2__length_scale[bmi]'?", ELEMENTS]),
        ("frame", "k2__length_scale[sex]", ["has 3 elements", ELEMENTS]),
        ("frame", "k2__length_scale[7]", ["has 3 elements", ELEMENTS]),
        ("frame", "k2__lenght_scale[bmi]", ["Did you mean 'k2__length_scale[bmi]'?"]),
        ("frame", "length_scale[bmi]", ["Did you mean 'k2__length_scale[bmi]'?"]),
        ("frame", "k2__length_scale[bmi", ["Did you mean 'k2__length_scale[bmi]'?"]),
        ("frame", "k1__constant_value[0]", ["is one number", "Write 'k1__constant_value'"]),
        ("frame", "mean[0]", ["is one number", "Write 'mean'"]),
        ("frame", "1: k2__length_scale[bmi]", ["every class", "Write 'k2__length_scale[bmi]'"]),
        ("frame", "1: mean", ["every class", "Write 'mean'"]),
    ],
)
def test_refused_names(rows, key, words):
    rows = frame() if rows == "frame" else X
    text = refusal(
        lambda: fit(
            MCMCGaussianProcessClassifier,
            rows,
            {key: FAMILIES[0]},
            mean="constant",
            y=np.arange(16) % 3,
        )
    )
    assert repr(key) in text
    for word in [*words, "'k1__constant_value', 'k2__length_scale', 'mean'"]:
        assert word in text, text


@each_estimator
def test_one_length_scale_for_all_columns_has_no_elements(estimator):
    kernel = ConstantKernel() * RBF(1.0)
    text = refusal(lambda: fit(estimator, frame(), {"k2__length_scale[bmi]": FAMILIES[0]}, kernel))
    assert "'k2__length_scale' is one number" in text


def test_one_column_has_no_elements_as_in_the_summary():
    rows = frame(["age"])
    assert "k2__length_scale" in fit(MCMCGaussianProcessClassifier, rows, None).summary()
    for key in ("k2__length_scale[age]", "k2__length_scale[0]"):
        text = refusal(lambda key=key: fit(MCMCGaussianProcessClassifier, rows, {key: FAMILIES[0]}))
        assert "is one number. Write 'k2__length_scale'" in text


class Bent(RBF):
    """Two length scales for any number of columns."""

    def __call__(self, X, Y=None, eval_gradient=False):
        return RBF(self.length_scale)(X[:, :2], None if Y is None else Y[:, :2])


def test_vectors_of_another_length_than_there_are_columns_have_numbers():
    model = fit(
        MCMCGaussianProcessClassifier, frame(), {"length_scale[1]": FAMILIES[1]}, Bent([1.0, 1.0])
    )
    assert families(model, "length_scale") == ["lognorm", "gamma"]
    text = refusal(
        lambda: fit(
            MCMCGaussianProcessClassifier, frame(), {"length_scale[bmi]": FAMILIES[1]}, Bent([1, 1])
        )
    )
    assert "has 2 elements, 'length_scale[0]' to 'length_scale[1]'" in text
    assert "not one for each of the 3 columns" in text


@each_estimator
def test_elements_of_what_is_fixed(estimator):
    kernel = ConstantKernel() * RBF([1.0, 1.0, 1.0], "fixed") + WhiteKernel(0.1)
    key = "k1__k2__length_scale[bmi]"
    text = refusal(lambda: fit(estimator, frame(), {key: FAMILIES[0]}, kernel))
    assert f"{key!r}, which is not sampled" in text
    assert "'fixed'" in text
    text = refusal(lambda: fit(estimator, X, {"mean[0]": stats.norm()}, kernel, mean="zero"))
    assert "'mean[0]', which is not sampled: mean='zero'" in text


def test_an_element_given_twice():
    name = "k2__length_scale"
    priors = {f"{name}[bp]": FAMILIES[0], f"{name}[2]": FAMILIES[1]}
    text = refusal(lambda: fit(MCMCGaussianProcessClassifier, frame(), priors))
    assert f"'{name}[bp]' and '{name}[2]'" in text
    assert "the same element" in text


@pytest.mark.parametrize(
    ("prior", "words"),
    [(1.0, "is 1.0"), (None, "is None"), (stats.norm(), "is positive"), ([FAMILIES[0]], "is [")],
)
def test_bad_priors_of_elements_go_by_the_name_that_was_given(prior, words):
    with pytest.raises((TypeError, ValueError), match=r"'k2__length_scale\[bmi\]'") as error:
        fit(MCMCGaussianProcessClassifier, frame(), {"k2__length_scale[bmi]": prior})
    assert words in str(error.value)


def test_a_bad_vector_is_refused_although_elements_go_before_it():
    priors = {"k2__length_scale": [FAMILIES[0]], "k2__length_scale[0]": FAMILIES[0]}
    text = refusal(lambda: fit(MCMCGaussianProcessClassifier, X, priors))
    assert "has 1 distributions" in text


def test_many_columns_are_not_all_listed():
    rows = np.random.default_rng(0).normal(size=(16, 300))
    names = [f"gene {i}" for i in range(300)]
    for X_, shown in ((rows, "[299]'"), (frame(names, rows), "and 29")):
        text = refusal(
            lambda X_=X_: fit(MCMCGaussianProcessClassifier, X_, {"k2__length_scale[x]": 1})
        )
        assert shown in text
        assert len(text) < 700


def test_many_hyperparameters_are_not_all_listed():
    kernel = RBF(1.0)
    for _ in range(30):
        kernel = kernel + ConstantKernel()
    text = refusal(lambda: fit(MCMCGaussianProcessClassifier, X, {"length": FAMILIES[0]}, kernel))
    assert re.search(r"and \d+ more", text)
    assert len(text) < 2000


def test_nothing_sampled_has_no_names():
    kernel = RBF(1.0, "fixed")
    text = refusal(lambda: fit(MCMCGaussianProcessClassifier, X, {"x": FAMILIES[0]}, kernel))
    assert "['x']" in text
    assert "no hyperparameter is sampled" in text


def test_many_unknown_names_are_not_all_listed():
    priors = {f"k2__length_scale[{i}]": FAMILIES[0] for i in range(1000)}
    text = refusal(lambda: fit(MCMCGaussianProcessClassifier, X, priors))
    assert "and 985 more" in text
    assert len(text) < 1000


def test_names_that_a_pipeline_lost():
    priors = {"k2__length_scale[bmi]": FAMILIES[0]}
    model = make_pipeline(StandardScaler(), MCMCGaussianProcessClassifier(priors=priors, **SHORT))
    assert 'set_output(transform="pandas")' in refusal(lambda: model.fit(frame(), Y))
    model.set_output(transform="pandas").fit(frame(), Y)
    assert families(model[-1], "k2__length_scale") == ["lognorm", "lognorm", "lognorm"]


# ------------------------------------------------------------------ with the rest of the package


def test_search_clone_and_warm_start():
    grid = {"priors": [None, {"k2__length_scale[bmi]": FAMILIES[1]}]}
    search = GridSearchCV(MCMCGaussianProcessClassifier(**SHORT), grid, cv=2).fit(frame(), Y)
    assert search.best_score_ > 0.0
    model = MCMCGaussianProcessClassifier(priors=grid["priors"][1], warm_start=True, **SHORT)
    fresh = clone(model).set_params(n_draws=9).fit(frame(), Y)
    model.fit(frame(), Y)
    # the same prior under its number: the chains go on
    model.set_params(n_draws=9, priors={"k2__length_scale[1]": copy.deepcopy(FAMILIES[1])})
    np.testing.assert_array_equal(model.fit(frame(), Y).trace_.theta, fresh.trace_.theta)
    model.set_params(n_draws=12, priors={"k2__length_scale[0]": FAMILIES[1]})
    assert "differ from it: priors" in refusal(lambda: model.fit(frame(), Y))


def test_checkpoint_knows_elements_by_what_they_are(tmp_path):
    options = {**SHORT, "checkpoint": tmp_path / "chains"}
    one = MCMCGaussianProcessClassifier(priors={"k2__length_scale[bp]": FAMILIES[1]}, **options)
    theta = one.fit(frame(), Y).trace_.theta
    one.set_params(priors={"k2__length_scale[2]": FAMILIES[1]})
    np.testing.assert_array_equal(one.fit(frame(), Y).trace_.theta, theta)
    one.set_params(priors={"k2__length_scale[1]": FAMILIES[1]})
    assert "these differ from it: priors" in refusal(lambda: one.fit(frame(), Y))


def test_names_of_columns_that_a_pipeline_makes():
    pandas = pytest.importorskip("pandas")
    rows = pandas.DataFrame({"age": X[:, 0], "soil": np.where(Y, "peat", "clay")})
    encode = OneHotEncoder(sparse_output=False)
    before = make_column_transformer((StandardScaler(), ["age"]), (encode, ["soil"]))
    priors = {"k2__length_scale[onehotencoder__soil_peat]": FAMILIES[1]}
    model = make_pipeline(before, MCMCGaussianProcessClassifier(priors=priors, **SHORT))
    model.set_output(transform="pandas").fit(rows, Y)
    assert families(model[-1], "k2__length_scale") == ["lognorm", "lognorm", "gamma"]


def test_columns_of_polars():
    polars = pytest.importorskip("polars")
    rows = polars.DataFrame(dict(zip(["age", "bmi", "bp"], X.T, strict=True)))
    model = fit(MCMCGaussianProcessClassifier, rows, {"k2__length_scale[bp]": FAMILIES[1]})
    assert families(model, "k2__length_scale") == ["lognorm", "lognorm", "gamma"]


def test_trends_of_other_vectors_than_length_scales():
    class Weighted(RBF):
        pass

    kernel = ConstantKernel() * Weighted([1.0, 1.0, 1.0]) + RBF([1.0, 1.0, 1.0])
    priors = {"k2__length_scale[age]": FAMILIES[1], "k1__k2__length_scale[bp]": FAMILIES[2]}
    model = fit(MCMCCoxProcessRegressor, frame(), priors, kernel)
    assert families(model, "k2__length_scale") == ["gamma", "lognorm", "lognorm"]
    assert families(model, "k1__k2__length_scale") == ["lognorm", "lognorm", "halfnorm"]
