"""How fast the latent function rises or falls along a column."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from .._checks import shown
from .._covariance import Summand, check_differentiable, summands_of
from .._prediction._averages import latent_exceedance, latent_summary
from ..likelihoods._checks import check_quantiles
from ._components import ComponentPredictions
from ._latent_predictions import joined


class DerivativePredictions(ComponentPredictions):
    """The derivative of the latent function, common to all estimators; not for direct use."""

    def predict_derivative(
        self,
        X: Any,
        column: int | str = 0,
        quantiles: Any = (0.05, 0.95),
        component: str | None = None,
        labels: Sequence[str] | None = None,
    ) -> Bunch:
        """Return the posterior of the derivative of the latent function along a column of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        column : int or str, default=0
            Along which column, by its number, or by its name where X had names in `fit`.
        quantiles : array-like of shape (n_quantiles,), default=(0.05, 0.95)
            Probabilities in [0, 1].
        component : str, default=None
            A part of the latent function, such as the trend, by its name in `predict_components`;
            by default the whole function.
        labels : list of str, default=None
            What the summands of the kernel are called; see `predict_components`.

        Returns
        -------
        derivative : Bunch
            With ``mean``, ``std`` and ``prob_positive``, the posterior probability that the
            function rises there, of shape (n_samples,), and ``quantiles`` of shape
            (n_samples, n_quantiles); with several latent functions these are another axis, the
            second one. In units of `predict_latent` for each unit of the column: for counts 0.01
            is a rate that grows by one percent for each unit.

        Raises
        ------
        ValueError
            For kernels whose functions have no derivative (white noise, Matern with nu of 1 or
            less), those whose derivative is not known here, such as kernels of your own, and an
            unknown column or component.

        Notes
        -----
        Given a draw the derivative is Gaussian, as the function is: derivatives of the kernel take
        the place of its covariances [1]_. Available are sums and products of RBF, Matern with nu
        above 1, RationalQuadratic, ExpSineSquared (of a single column), DotProduct and
        ConstantKernel, and powers of these. Probabilities are those of each row alone.

        References
        ----------
        .. [1] C. E. Rasmussen, C. K. I. Williams (2006). Gaussian Processes for Machine Learning,
           section 9.4.

        Examples
        --------
        >>> from skgpmcmc import MCMCCoxProcessRegressor
        >>> from skgpmcmc.datasets import load_coal_mining
        >>> X, y = load_coal_mining(return_X_y=True)
        >>> model = MCMCCoxProcessRegressor(n_warmup=50, n_draws=50, random_state=0).fit(X, y)
        >>> slope = model.predict_derivative([[40.0]])  # about 1891
        >>> bool(slope.mean[0] < 0.0), bool(slope.prob_positive[0] < 0.1)
        (True, True)
        """
        quantiles = check_quantiles(quantiles)
        X = self._validate_new(X)
        summand = self._summand(component, labels)
        if not self._takes_vectors():
            raise ValueError("predict_derivative needs inputs that are rows of numbers.")
        number = self._column_number(column, X.shape[1])
        check_differentiable(summand.kernel, X.shape[1])
        slopes = [draws.derivative(summand, number) for draws in self._posterior_draws()]
        each = [latent_summary(slope, X, quantiles) for slope in slopes]
        means, variances, values = zip(*each, strict=True)
        none, unit = np.zeros(len(X)), self._observed.scale
        return Bunch(
            mean=unit * joined(means),
            std=unit * np.sqrt(joined(variances)),
            quantiles=unit * (np.stack(values, axis=1) if len(values) > 1 else values[0]),
            prob_positive=joined([latent_exceedance(slope, X, none) for slope in slopes]),
        )

    def _summand(self, component: Any, labels: Sequence[str] | None) -> Summand:
        """Return the kernel of a part, or all of it."""
        summands, names = summands_of(self._latent_kernel), self._names_of_parts(labels)
        if component is None:
            return Summand.sum_of("", summands)
        known = {name: part.summands for name, part in names.items() if part.summands}
        if not isinstance(component, str) or component not in known:
            raise ValueError(
                f"component must be one of {list(known)}, or None for the whole function; got "
                f"{shown(component)}."
            )
        return Summand.sum_of(component, [summands[i] for i in known[component]])

    def _column_number(self, column: Any, n_columns: int) -> int:
        """Return the number of a column, given itself or a name."""
        names = list(getattr(self, "feature_names_in_", []))
        if isinstance(column, str) and names.count(column) == 1:
            return names.index(column)
        is_number = isinstance(column, Integral) and not isinstance(column, bool)
        if is_number and -n_columns <= column < n_columns:
            return int(column) % n_columns
        named = f", or one of the names {names}" if names else ""
        raise ValueError(
            f"column must be a number from 0 to {n_columns - 1}{named}; got {shown(column)}."
        )
