"""How much of the variance of the latent function each part, and each column, explains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .._checks import as_random_state
from .._linalg import Array
from .._prediction._dense import PosteriorDraws
from .._prediction._parts import sample_parts
from ..diagnostics._text_table import TextColumn, TextTable
from ..likelihoods._checks import check_quantiles
from ._components import ComponentPredictions
from ._monte_carlo import random_rows

# Rows of X and draws of the parts that shares are estimated from, at most: the covariance of all
# parts at all rows is factored for each draw.
_MOST_ROWS, _N_SAMPLES = 200, 200
# For each column a table of so many of its values, and as many rows of the other columns; and
# the draws that it is made for, at most.
_TABLE_SIZE, _MOST_DRAWS = 32, 100


class ShareTable(TextTable):
    """Shares of a variance: a dictionary that prints as a table.

    Name of a part or a column -> name of a share -> number. `to_frame` makes a DataFrame.

    Parameters
    ----------
    rows : mapping of str to mapping of str to float
    note : str
        What is said below the table.
    """

    def __init__(self, rows: Mapping[str, Mapping[str, float]], note: str = "") -> None:
        super().__init__({name: dict(row) for name, row in rows.items()})
        self._remark = note

    def _records(self) -> Mapping[str, Mapping[str, float]]:
        return self

    def _note(self) -> str:
        return self._remark

    def _text_columns(self) -> list[TextColumn]:
        columns = list(next(iter(self.values()), {}))
        texts = {name: [f"{row[name]:.2f}" for row in self.values()] for name in columns}
        numbers = [TextColumn(name, each, True) for name, each in texts.items()]
        return [TextColumn("", list(self)), *numbers]


class VarianceShares(ComponentPredictions):
    """Shares of variance, common to all estimators; not for direct use."""

    def component_shares(
        self,
        X: Any,
        quantiles: Any = (0.05, 0.95),
        labels: Sequence[str] | None = None,
        random_state: Any = None,
    ) -> ShareTable:
        """Return how much of the latent function's variance over rows each of its parts explains.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows over which functions vary, such as the training rows. Of more than 200, as many
            are taken at random.
        quantiles : array-like of shape (n_quantiles,), default=(0.05, 0.95)
            Probabilities in [0, 1], a column for each.
        labels : list of str, default=None
            What the parts are called; see `predict_components`.
        random_state : int, RandomState instance or None, default=None
            Determines the 200 draws of the parts that the shares are computed for, and the rows.

        Returns
        -------
        table : ShareTable
            A dictionary that prints as a table. Name of a part -> ``share``, its posterior mean,
            quantiles of the share (named as in ``"5%"``), and ``alone``, the posterior mean of the
            part's own variance in units of that of the latent function. With several latent
            functions the names begin with that of the function, such as the class.

        Raises
        ------
        ValueError
            For a single row, and labels that `predict_components` refuses.

        Notes
        -----
        Each draw of the parts has functions f_1, f_2, ... with the sum f, whose variances and
        covariances over the rows are those of finite numbers. The share of part j is
        cov(f_j, f) / var(f) [1]_: its own variance, and half of each covariance with another part
        and its double. Shares of each draw add up to one; that of a part which runs against the
        others may be negative. Variances ``alone`` add up to one if the parts do not vary together
        over the rows.

        References
        ----------
        .. [1] G. Li, H. Rabitz et al. (2010). Global sensitivity analysis for systems with
           independent and/or correlated inputs. Journal of Physical Chemistry A 114(19).

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.gaussian_process.kernels import RBF, ExpSineSquared, WhiteKernel
        >>> from skgpmcmc import MCMCGaussianProcessRegressor
        >>> t = np.arange(0.0, 6.0, 0.125)
        >>> y = 0.5 * t + np.sin(2.0 * np.pi * t)
        >>> season = ExpSineSquared(periodicity=1.0, periodicity_bounds="fixed")
        >>> kernel = 4.0 * RBF(5.0) + season + WhiteKernel(0.1)
        >>> model = MCMCGaussianProcessRegressor(kernel, n_warmup=50, n_draws=50, random_state=0)
        >>> model = model.fit(t[:, None], y)
        >>> shares = model.component_shares(t[:, None], labels=["trend", "season"], random_state=0)
        >>> {name: round(row["share"], 1) for name, row in shares.items()}
        {'trend': 0.6, 'season': 0.4}
        """
        quantiles = check_quantiles(quantiles)
        X, rng = self._several_rows(X), as_random_state(random_state)
        X = random_rows(X, _MOST_ROWS, rng)
        drawn = sample_parts(self._parts(labels), X, _N_SAMPLES, rng, self.memory_limit)
        rows, joint = {}, []
        for prefix, parts in zip(self._prefixes(), drawn, strict=True):
            names = [name for name, part in parts.items() if np.ptp(part, axis=0).any()]
            deviations = np.array([parts[name] - parts[name].mean(axis=0) for name in names])
            total = deviations.sum(axis=0)
            variance = (total**2).mean(axis=0)
            shares = _divided((deviations * total).mean(axis=1), variance)
            alone = _divided((deviations**2).mean(axis=1), variance)
            joint.append(1.0 - alone.sum(axis=0).mean())
            for name, share, own in zip(names, shares, alone, strict=True):
                row = _summary("share", share, quantiles) | {"alone": float(own.mean())}
                rows[prefix + name] = row
        percent = " and ".join(f"{100.0 * value:.0f} %" for value in joint)
        return ShareTable(rows, f"Covariances between parts: {percent} of the variance.")

    def column_shares(
        self, X: Any, quantiles: Any = (0.05, 0.95), random_state: Any = None
    ) -> ShareTable:
        """Return how much of the latent function's variance each column of X explains.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows that the values of the columns are taken from, such as the training rows.
        quantiles : array-like of shape (n_quantiles,), default=(0.05, 0.95)
            Probabilities in [0, 1], two columns for each.
        random_state : int, RandomState instance or None, default=None
            Determines which rows are combined, if there are more than 32.

        Returns
        -------
        table : ShareTable
            A dictionary that prints as a table. Name of a column of X -> ``first_order``, the share
            of the variance that the column explains alone, and ``total``, the share that would
            vanish if the column were held, each with its quantiles (``"first_order 5%"``): the
            posterior means and quantiles over draws of the latent function's mean. With several
            latent functions the names begin with that of the function, such as the class.

        Raises
        ------
        ValueError
            If the kernel does not take rows of numbers, and for a single row.

        Notes
        -----
        Sobol's first-order and total indices [1]_ of the posterior mean of the latent function
        given each draw (up to 100, evenly spread). To tell a column from the others its values are
        combined with the rest of other rows (up to 32 values with up to 32 rows, all pairs): the
        column is made independent of the rest, whose own dependences stay. The variance of the
        resulting table is that between values (first order), between rows, and of interactions,
        which belong to the total. Estimates are those of the analysis of variance with random
        effects, which has no bias from the finite table; they may be slightly negative. Total
        shares of all columns add up to more than one where columns interact; first-order ones to
        less. Where columns depend on each other much, combinations leave the data, and the shares
        say what the model makes of those.

        References
        ----------
        .. [1] A. Saltelli et al. (2010). Variance based sensitivity analysis of model output.
           Computer Physics Communications 181(2).

        Examples
        --------
        >>> import numpy as np
        >>> from skgpmcmc import MCMCGaussianProcessRegressor
        >>> X = np.random.default_rng(0).random((40, 3))
        >>> y = 4.0 * X[:, 0] + np.sin(6.0 * X[:, 1])
        >>> model = MCMCGaussianProcessRegressor(n_warmup=50, n_draws=50, random_state=0)
        >>> shares = model.fit(X, y).column_shares(X, random_state=0)
        >>> list(shares), shares["x2"]["total"] < 0.05
        (['x0', 'x1', 'x2'], True)
        """
        quantiles = check_quantiles(quantiles)
        X = self._several_rows(X)
        if not self._takes_vectors():
            raise ValueError(
                "column_shares needs a kernel that takes rows of numbers; the inputs here are "
                "objects without columns."
            )
        rng = as_random_state(random_state)
        names = getattr(self, "feature_names_in_", [f"x{i}" for i in range(X.shape[1])])
        rows = {}
        for prefix, draws in zip(self._prefixes(), self._posterior_draws(), strict=True):
            some = draws.spread(_MOST_DRAWS)
            for name, shares in zip(names, _sobol(some, X, rng), strict=True):
                first, total = (
                    _summary(kind, values, quantiles, f"{kind} ")
                    for kind, values in zip(("first_order", "total"), shares, strict=True)
                )
                rows[f"{prefix}{name}"] = first | total
        return ShareTable(rows)

    def _several_rows(self, X: Any) -> Any:
        """Check rows that functions are to vary over."""
        X = self._validate_new(X)
        if len(X) < 2:
            raise ValueError("X must have two rows or more, for functions to vary over; got one.")
        return X

    def _prefixes(self) -> list[str]:
        """Return what the names of a latent function begin with."""
        labels = self._function_labels()
        return [""] if labels is None else [f"{label}: " for label in labels]


def _sobol(
    draws: PosteriorDraws, X: Array, rng: np.random.RandomState
) -> Iterator[tuple[Array, Array]]:
    """Yield the first-order and total shares of each column, given each draw."""
    size = min(_TABLE_SIZE, len(X))
    for column in range(X.shape[1]):
        values, others = (X[rng.permutation(len(X))[:size]] for _ in range(2))
        rows = np.tile(others, (size, 1))
        rows[:, column] = np.repeat(values[:, column], size)
        parts = [mean for _, mean in draws.mean_chunks(rows)]
        yield _two_way_shares(np.concatenate(parts, axis=1).reshape(len(draws), size, size))


def _two_way_shares(tables: Array) -> tuple[Array, Array]:
    """Return shares of the variance of tables: between their rows, and with interactions.

    Parameters
    ----------
    tables : ndarray of shape (n_tables, n, n)

    Returns
    -------
    first, total : ndarray of shape (n_tables,)
        By expected mean squares (Searle, Casella and McCulloch 1992, section 4.3).
    """
    n = tables.shape[1]
    grand = tables.mean(axis=(1, 2), keepdims=True)
    of_rows = tables.mean(axis=2, keepdims=True) - grand
    of_columns = tables.mean(axis=1, keepdims=True) - grand
    rest = tables - grand - of_rows - of_columns
    n_free = max(n - 1, 1)
    interaction = (rest**2).sum(axis=(1, 2)) / n_free**2
    rows, columns = (
        (effect**2).sum(axis=(1, 2)) / n_free - interaction / n for effect in (of_rows, of_columns)
    )
    whole = rows + columns + interaction
    return _divided(rows, whole), _divided(rows + interaction, whole)


def _divided(parts: Array, whole: Array) -> Array:
    """Return shares; zero of nothing is zero."""
    return np.divide(parts, whole, out=np.zeros_like(parts), where=whole > 0.0)


def _summary(name: str, values: Array, quantiles: Array, prefix: str = "") -> dict[str, float]:
    """Return the mean of a share over draws, and its quantiles."""
    found = np.quantile(values, quantiles).tolist()
    labels = [f"{prefix}{100.0 * q:.10g}%" for q in quantiles]
    return {name: float(values.mean()), **dict(zip(labels, found, strict=True))}
