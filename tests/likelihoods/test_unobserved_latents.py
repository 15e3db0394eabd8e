"""Latent values without observations: the same as with a row of weight zero each."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from refusals import check_message
from rounding import ELEMENTWISE

from skgpmcmc.likelihoods import (
    BernoulliLogit,
    BernoulliProbit,
    Binomial,
    Gaussian,
    Likelihood,
    NegativeBinomial,
    Poisson,
    StudentT,
)
from skgpmcmc.likelihoods._softmax import SoftmaxClass

# Latent values 0, 2 and 7 (the last) have no observation; 4 has two that differ, 6 two that do
# not. There are as many observations as latent values.
INDEX = np.array([3, 6, 1, 4, 5, 4, 6, 3])
N_LATENT = 8
EMPTY = [0, 2, 7]
WEIGHT = np.array([1.0, 2.0, 1.0, 0.0, 1.0, 3.0, 2.0, 1.0])
EXPOSURE = np.array([0.1, 2.0, 1.0, 5.0, 30.0, 5.0, 2.0, 1.0])
COUNTS = np.array([0.0, 3.0, 1.0, 2.0, 40.0, 7.0, 3.0, 0.0])
LABELS = np.array([1.0, -1.0, -1.0, 1.0, 1.0, -1.0, -1.0, 1.0])
REALS = np.array([0.3, -1.0, 2.5, 0.0, 0.7, 1.1, -1.0, 4.0])


class OnlyPointwise(Likelihood):
    """The generic defaults."""

    def pointwise(self, latent, params=()):
        return np.log(0.375) - 2.5 * np.log1p((self.y - latent) ** 2 / 4.0)


def _spread(values, rows):
    return values[np.minimum(rows, len(values) - 1)]


# Name -> maker of a likelihood of the given rows; a row beyond the data repeats the last one.
MAKERS: dict[str, Callable] = {
    "poisson": lambda rows, **o: Poisson(_spread(COUNTS, rows), _spread(EXPOSURE, rows), **o),
    "negative-binomial": lambda rows, **o: NegativeBinomial(
        _spread(COUNTS, rows), _spread(EXPOSURE, rows), 0.5, **o
    ),
    "binomial": lambda rows, **o: Binomial(_spread(COUNTS, rows), _spread(COUNTS, rows) + 2.0, **o),
    "logit": lambda rows, **o: BernoulliLogit(_spread(LABELS, rows), **o),
    "probit": lambda rows, **o: BernoulliProbit(_spread(LABELS, rows), **o),
    "softmax": lambda rows, **o: SoftmaxClass(_spread(LABELS, rows), 3, **o),
    "gaussian": lambda rows, **o: Gaussian(_spread(REALS, rows), _spread(EXPOSURE, rows), **o),
    "student-t": lambda rows, **o: StudentT(_spread(REALS, rows), 0.5, **o),
    "generic": lambda rows, **o: OnlyPointwise(_spread(REALS, rows), **o),
}
# Their augmentation or their Taylor sites do not exist.
NOT_AUGMENTED = {"poisson", "gaussian", "generic"}
NO_TAYLOR = {"logit", "probit", "softmax"}


def _pair(name: str, weighted: bool) -> tuple[Likelihood, Likelihood]:
    """Return a likelihood with latent values left out, and with rows of weight zero for them."""
    weight = WEIGHT if weighted else np.ones(len(INDEX))
    rows = np.arange(len(INDEX) + len(EMPTY))
    with_gaps = MAKERS[name](
        rows[: len(INDEX)],
        latent_index=INDEX,
        sample_weight=weight if weighted else None,
        n_latent=N_LATENT,
    )
    without = MAKERS[name](
        rows,
        latent_index=np.append(INDEX, EMPTY),
        sample_weight=np.append(weight, np.zeros(len(EMPTY))),
    )
    return with_gaps, without


@pytest.fixture(params=[(name, weighted) for name in MAKERS for weighted in (False, True)], ids=str)
def pair(request):
    return _pair(*request.param)


LATENT = np.random.default_rng(0).normal(size=N_LATENT)
MEAN = np.linspace(-1.0, 1.0, N_LATENT)
VARIANCE = np.linspace(0.5, 3.0, N_LATENT)


def test_values_are_those_of_rows_of_weight_zero(pair):
    with_gaps, without = pair
    assert with_gaps.n_latent == N_LATENT
    assert with_gaps.log_likelihood(LATENT) == pytest.approx(without.log_likelihood(LATENT))
    each = with_gaps.per_latent(np.stack([LATENT, MEAN]))
    np.testing.assert_allclose(each, without.per_latent(np.stack([LATENT, MEAN])), rtol=ELEMENTWISE)
    for own, other in zip(with_gaps.derivatives(LATENT), without.derivatives(LATENT), strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-9, atol=ELEMENTWISE)
        assert (own[EMPTY] == 0.0).all()


@pytest.mark.parametrize("fit", ["fit_sites", "moment_sites", "laplace_sites"])
def test_sites_are_flat_where_there_are_no_data(pair, fit):
    with_gaps, without = pair
    own = getattr(with_gaps, fit)(MEAN, VARIANCE)
    other = getattr(without, fit)(MEAN, VARIANCE)
    for value, expected in zip(own, other, strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-7, atol=1e-9)
        assert (value[EMPTY] == 0.0).all()
        assert (value[INDEX[INDEX != 4]] != 0.0).all()


@pytest.mark.parametrize("name", sorted(set(MAKERS) - NO_TAYLOR))
def test_taylor_sites_are_flat_where_there_are_no_data(name):
    with_gaps, without = _pair(name, False)
    for value, expected in zip(with_gaps.taylor_sites(), without.taylor_sites(), strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-6, atol=1e-9)
        assert (value[EMPTY] == 0.0).all()


def test_distinct_latents_have_the_same_sites(pair):
    with_gaps, _ = pair
    small, inverse = with_gaps.distinct()
    assert inverse.shape == (N_LATENT,)
    assert len(set(inverse[EMPTY])) == 1
    assert inverse[0] not in np.delete(inverse, EMPTY)
    expected = with_gaps.fit_sites(0.3, 1.7)
    for value, own in zip(small.fit_sites(0.3, 1.7), expected, strict=True):
        np.testing.assert_allclose(value[inverse], own, rtol=1e-9, atol=ELEMENTWISE)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", sorted(set(MAKERS) - NOT_AUGMENTED))
def test_auxiliary_variables_leave_them_flat(name, weighted):
    own, other = (
        likelihood.augment(LATENT, (), np.random.default_rng(1)).gaussian_sites()
        for likelihood in _pair(name, weighted)
    )
    for value, expected in zip(own, other, strict=True):
        np.testing.assert_allclose(value, expected, rtol=ELEMENTWISE)
        assert (value[EMPTY] == 0.0).all()


@pytest.mark.parametrize("latent", range(N_LATENT))
def test_nan_is_never_a_finite_number(pair, latent):
    values = LATENT.copy()
    values[latent] = np.nan
    assert not np.isfinite(pair[0].log_likelihood(values))


def test_other_targets_and_draws(pair):
    with_gaps, _ = pair
    again = with_gaps.with_targets(np.ones(len(INDEX))).with_targets(with_gaps.y)
    assert again.log_likelihood(LATENT) == with_gaps.log_likelihood(LATENT)
    if not isinstance(with_gaps, OnlyPointwise):
        assert with_gaps.sample(LATENT, (), 0).shape == (len(INDEX),)


def test_student_t_has_no_mixture_where_rows_share_a_latent_of_as_many():
    """Eight observations of eight latent values, yet not one each."""
    with_gaps, _ = _pair("student-t", False)
    generic = Likelihood.moment_sites(with_gaps, MEAN, VARIANCE)
    for value, expected in zip(with_gaps.moment_sites(MEAN, VARIANCE), generic, strict=True):
        np.testing.assert_allclose(value, expected, rtol=ELEMENTWISE)


def test_what_is_refused():
    y = [1, 0, 2]
    check_message(
        lambda: Poisson(y, latent_index=[0, 1, 2], n_latent=2),
        ["latent_index", "n_latent=2", "row 2 holds 2"],
    )
    check_message(lambda: Poisson(y, n_latent=5), ["n_latent=5", "3 elements", "latent_index"])
    check_message(lambda: Poisson(y, latent_index=[0, 2, 2]), ["1 is missing", "n_latent"])
    assert Poisson(y, n_latent=3).n_latent == 3


@pytest.mark.parametrize("wrong", [0, -1, 2.5, True])
def test_numbers_of_latents_that_are_none(wrong):
    check_message(
        lambda: Poisson([1, 0], latent_index=[0, 0], n_latent=wrong), ["n_latent", repr(wrong)]
    )
