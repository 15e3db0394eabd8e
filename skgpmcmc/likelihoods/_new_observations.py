"""What a likelihood says of new observations, with defaults that need nothing but ``pointwise``."""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks import as_floats, check_rows
from .._linalg import slices
from ._checks import are_whole
from ._observations import Observations
from ._site_moments import site_moments
from .predictive._distributions import DISTRIBUTIONS, Distribution
from .predictive._mixtures import log_mean_exp

# Quadratures at a time, whose arrays stay in the processor's cache.
_CHUNK = 64
# What a new observation can be, by the `support`.
_IS_IN_SUPPORT: dict[str, Callable[[NDArray], NDArray]] = {
    "real": np.isfinite,
    "counts": lambda y: are_whole(y, 0.0),
    "labels": lambda y: np.abs(y) == 1.0,
}
# Values of new rows: a number, or one for each row.
PerRow = ArrayLike
# Mean and variance of f at new rows given each draw, both (n_draws, n_rows).
Moments = tuple[NDArray, NDArray]
# Sources of random numbers, and what numpy makes one of.
AnyGenerator = np.random.Generator | np.random.RandomState
Seed = np.random.Generator | int | None


class NewObservations(Observations):
    """Predictive distributions; parameters as in `Likelihood`.

    All methods ``predictive_...`` take the same arguments. Given one posterior draw, the latent
    value at a new row is normal. A new observation has the equal mixture over the draws.

    - ``mean``, ``variance``: arrays of shape (n_draws, n_rows), moments of f given each draw;
    - ``params``: array of shape (n_draws, n_parameters), the values of `parameters` in each draw;
    - keyword arguments: what else belongs to the new rows, by the names in ``per_observation``,
      each a number or an array of shape (n_rows,). What is one number, or None, for all training
      rows may be left out: it is then the same for new rows.
    """

    support: ClassVar[str] = "real"
    parameters: tuple[str, ...]

    @abstractmethod
    def pointwise(self, latent: NDArray, params: Any = ()) -> NDArray:
        """Log probability of each observation; see `Likelihood.pointwise`."""

    def at_new_rows(self, n_rows: int, y: ArrayLike | None = None, **per_row: PerRow) -> Self:
        """Return the likelihood of new observations, each with a latent value of its own.

        Parameters
        ----------
        n_rows : int
            How many there are.
        y : array-like of shape (n_rows,), default=None
            The observations; None where they are not known.
        **per_row
            See `NewObservations`.

        Raises
        ------
        TypeError
            For a name that is not in ``per_observation``.
        ValueError
            If values cannot be, or are missing which differ between the training rows.
        """
        new = self.values_of_new_rows(n_rows, per_row)
        other = self._copy()
        for name in self.per_observation:
            if name in new:
                setattr(other, name, new[name])
            elif np.ndim(getattr(self, name)):
                raise ValueError(
                    f"{name} differs between the training rows of this {type(self).__name__}, so "
                    f"new rows need it too: pass {name}=..., one number or one for each new row."
                )
        other.y = np.full(n_rows, self._unseen()) if y is None else np.array(y, dtype=float)
        other.latent_index = other.sample_weight = None
        other.n_latent = n_rows
        other._index_latents()
        with np.errstate(all="ignore"):  # new rows may have no exposure
            other._refresh()
        return other

    def values_of_new_rows(
        self, n_rows: int, per_row: Mapping[str, PerRow | None]
    ) -> dict[str, NDArray]:
        """Return what belongs to new rows, one value for each row, without what is None.

        Parameters
        ----------
        n_rows : int
            How many there are.
        per_row : mapping of str to float or array-like of shape (n_rows,) or None
            By the names in ``per_observation``.

        Returns
        -------
        dict of str to ndarray of shape (n_rows,)

        Raises
        ------
        TypeError
            For a name that is not in ``per_observation``.
        ValueError
            For values of another shape, or that cannot be.
        """
        unknown = [name for name in per_row if name not in self.per_observation]
        if unknown:
            known = ", ".join(self.per_observation) or "none"
            raise TypeError(
                f"{type(self).__name__} takes no {unknown[0]!r} for new rows; it takes: {known}."
            )
        values = {n: as_floats(n, value) for n, value in per_row.items() if value is not None}
        for name, value in values.items():
            if value.shape not in ((), (1,), (n_rows,)):
                raise ValueError(
                    f"{name} must be one number or a vector of {n_rows} numbers, one for each new "
                    f"row; got an array of shape {value.shape}."
                )
            self._check_new_values(name, value)
        return {n: np.array(np.broadcast_to(value, (n_rows,))) for n, value in values.items()}

    def _check_new_values(self, name: str, values: NDArray) -> None:
        """Raise a ValueError for values of new rows that cannot be."""
        check_rows(values, np.isfinite(values), name, "finite")

    def predictive_log_density(
        self,
        y: ArrayLike,
        mean: NDArray,
        variance: NDArray,
        params: ArrayLike = (),
        **per_row: PerRow,
    ) -> NDArray:
        """Log density, or log probability, of new observations.

        Parameters
        ----------
        y : array-like of shape (n_rows,)
            New observations.
        mean, variance, params, **per_row
            See `NewObservations`.

        Returns
        -------
        ndarray of shape (n_rows,)
            Minus infinity for what is no value of the `support`, and for counts above 2**53.

        Examples
        --------
        >>> import numpy as np
        >>> from skgpmcmc.likelihoods import Poisson
        >>> likelihood = Poisson([2, 0])
        >>> mean, variance = np.zeros((2, 1)), np.array([[0.0], [1.0]])  # two draws, one row
        >>> likelihood.predictive_log_density([2.0], mean, variance, exposure=1.0).round(3)
        array([-1.805])
        """
        values = np.asarray(y, dtype=float)
        is_possible = _IS_IN_SUPPORT[self.support](values)
        values = np.where(is_possible, values, self._unseen())
        values = self.log_density_given_draws(values, mean, variance, params, **per_row)
        return np.where(is_possible, log_mean_exp(values), -np.inf)

    def log_density_given_draws(
        self,
        y: ArrayLike,
        mean: NDArray,
        variance: NDArray,
        params: ArrayLike = (),
        **per_row: PerRow,
    ) -> NDArray:
        """Log density, or log probability, of new observations given each draw.

        The other methods are made of this one. By adaptive quadrature over f, unless a subclass
        knows a formula.

        Parameters
        ----------
        y, mean, variance, params, **per_row
            As for `predictive_log_density`.

        Returns
        -------
        ndarray of shape (n_draws, n_rows)

        Examples
        --------
        >>> import numpy as np
        >>> from skgpmcmc.likelihoods import Gaussian
        >>> likelihood, mean = Gaussian([0.3, 1.0]), np.array([[0.0], [5.0]])
        >>> params = [[1.0], [0.5]]  # the noise level in each draw
        >>> likelihood.log_density_given_draws([0.0], mean, np.ones((2, 1)), params).round(3)
        array([[-1.266],
               [-9.455]])
        """
        new = self.at_new_rows(mean.shape[1], y, **per_row)
        rows = [tuple(row) for row in self._params_of_draws(params, len(mean)).tolist()]
        values = np.empty(mean.shape)
        for some in slices(mean.shape[1], _CHUNK):
            part = new.of_latents(np.arange(mean.shape[1])[some])
            for d, row in enumerate(rows):
                log_site = functools.partial(part.pointwise, params=row)
                moments = site_moments(log_site, mean[d, some], variance[d, some])
                values[d, some] = moments.log_normaliser
        # An observation that is impossible for every f.
        return np.where(np.isnan(values), -np.inf, values)

    def predictive_quantiles(
        self,
        quantiles: ArrayLike,
        mean: NDArray,
        variance: NDArray,
        params: ArrayLike = (),
        **per_row: PerRow,
    ) -> NDArray:
        """Quantiles of new observations.

        Parameters
        ----------
        quantiles : array-like of shape (n_quantiles,)
            Probabilities in [0, 1].
        mean, variance, params, **per_row
            See `NewObservations`.

        Returns
        -------
        ndarray of shape (n_rows, n_quantiles)
            The smallest value with at least this probability up to it. Infinite at 1, and for
            real y at 0.

        Raises
        ------
        ValueError
            If `pointwise` is no density on the `support`; and by the general method for very
            large counts.

        Examples
        --------
        >>> import numpy as np
        >>> from skgpmcmc.likelihoods import Gaussian
        >>> likelihood = Gaussian([0.3, 1.0], noise_variance=3.0)
        >>> mean, variance = np.zeros((2, 1)), np.ones((2, 1))
        >>> likelihood.predictive_quantiles([0.5, 0.975], mean, variance).round(2) + 0.0
        array([[0.  , 3.92]])
        """
        wanted = np.asarray(quantiles, dtype=float).tolist()
        values = [
            [distribution.quantile(q) for q in wanted]
            for distribution in self._distributions(mean, variance, params, per_row)
        ]
        return np.array(values).reshape(mean.shape[1], len(wanted))

    def predictive_exceedance(
        self,
        threshold: ArrayLike,
        mean: NDArray,
        variance: NDArray,
        params: ArrayLike = (),
        **per_row: PerRow,
    ) -> NDArray:
        """Probability that a new observation is strictly above a threshold.

        Parameters
        ----------
        threshold : float or array-like of shape (n_rows,)
            May be infinite.
        mean, variance, params, **per_row
            See `NewObservations`.

        Returns
        -------
        ndarray of shape (n_rows,)

        Examples
        --------
        >>> import numpy as np
        >>> from skgpmcmc.likelihoods import Poisson
        >>> zero = np.zeros((1, 1))
        >>> Poisson([2, 0]).predictive_exceedance(0.0, zero, zero).round(4)  # 1 - exp(-1)
        array([0.6321])
        """
        thresholds = np.broadcast_to(np.asarray(threshold, dtype=float), (mean.shape[1],)).tolist()
        distributions = self._distributions(mean, variance, params, per_row)
        pairs = zip(thresholds, distributions, strict=True)
        return np.array([distribution.exceedance(value) for value, distribution in pairs])

    def predictive_mean(
        self, mean: NDArray, variance: NDArray, params: ArrayLike = (), **per_row: PerRow
    ) -> NDArray:
        """Return the expectation of a new observation; of labels the probability of +1.

        Parameters
        ----------
        mean, variance, params, **per_row
            See `NewObservations`.

        Returns
        -------
        ndarray of shape (n_rows,)

        Examples
        --------
        >>> import numpy as np
        >>> from skgpmcmc.likelihoods import Poisson
        >>> mean, variance = np.zeros((1, 1)), np.ones((1, 1))
        >>> Poisson([2, 0]).predictive_mean(mean, variance, exposure=2.0).round(4)  # 2 exp(1/2)
        array([3.2974])
        """
        distributions = self._distributions(mean, variance, params, per_row)
        return np.array([distribution.mean() for distribution in distributions])

    def predictive_sample(
        self, latent: NDArray, params: ArrayLike, rng: AnyGenerator, **per_row: PerRow
    ) -> NDArray:
        """Draw new observations given latent values.

        Parameters
        ----------
        latent : ndarray of shape (n_rows, n_samples)
            Latent values at the new rows.
        params : array-like of shape (n_samples, n_parameters)
            Parameters of each sample.
        rng : numpy.random.Generator or RandomState
        **per_row
            See `NewObservations`.

        Returns
        -------
        ndarray of shape (n_rows, n_samples)

        Raises
        ------
        MissingCapabilityError
            If the likelihood does not define `sample`.

        Examples
        --------
        >>> import numpy as np
        >>> from skgpmcmc.likelihoods import BernoulliLogit
        >>> likelihood = BernoulliLogit([1, -1])
        >>> latent = np.array([[-50.0, -50.0], [50.0, 50.0]])
        >>> likelihood.predictive_sample(latent, np.empty((2, 0)), np.random.default_rng(0))
        array([[-1., -1.],
               [ 1.,  1.]])
        """
        new = self.at_new_rows(len(latent), **per_row)
        if isinstance(rng, np.random.RandomState):
            rng = np.random.default_rng(rng.randint(2**31))
        rows = self._params_of_draws(params, latent.shape[1]).tolist()
        columns = zip(latent.T, rows, strict=True)
        return np.column_stack([new.sample(f, tuple(p), rng) for f, p in columns])

    @abstractmethod
    def sample(self, latent: NDArray, params: Any = (), rng: Any = None) -> NDArray:
        """Draw one observation per row; see `Likelihood.sample`."""

    def default_prior(self, name: str) -> Any:
        """Prior of one of the likelihood's own parameters where the user sets none.

        Parameters
        ----------
        name : str
            One of `parameters`.

        Returns
        -------
        frozen scipy.stats distribution or None
            On the natural scale. None: that depends on the data, or on their unit.

        Examples
        --------
        >>> from skgpmcmc.likelihoods import NegativeBinomial
        >>> float(NegativeBinomial([2, 0]).default_prior("dispersion").mean())
        1.0
        """
        return None

    def _unseen(self) -> float:
        """Return a possible observation, in place of one that is not known."""
        return 0.0 if self.support == "counts" else float(self.y[0])

    def _params_of_draws(self, params: ArrayLike, n_draws: int) -> NDArray:
        """Return parameters as an array of shape (n_draws, n_parameters)."""
        values = np.asarray(params, dtype=float)
        shape = n_draws, len(self.parameters)
        if values.size == 0 and not self.parameters:
            return np.empty(shape)
        if values.shape != shape:
            names = ", ".join(self.parameters) or "none"
            raise ValueError(
                f"params must have the shape {shape}, a row for each draw and a column for each of "
                f"the parameters of {type(self).__name__} ({names}); got {values.shape}."
            )
        return values

    def _distributions(
        self, mean: NDArray, variance: NDArray, params: ArrayLike, per_row: Mapping[str, PerRow]
    ) -> Iterator[Distribution]:
        """Yield the distribution of a new observation at each row."""
        values = self.values_of_new_rows(mean.shape[1], per_row)

        def at(row: int) -> Callable[[NDArray], NDArray]:
            one = {name: value[row] for name, value in values.items()}

            def log_density(y: NDArray) -> NDArray:
                mean_of_row, variance_of_row = (
                    np.repeat(m[:, [row]], len(y), axis=1) for m in (mean, variance)
                )
                return self.log_density_given_draws(y, mean_of_row, variance_of_row, params, **one)

            return log_density

        for row in range(mean.shape[1]):
            yield DISTRIBUTIONS[self.support](at(row), self.y)
