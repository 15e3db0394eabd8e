"""Leave-one-out estimates of a fitted estimator, without fitting again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._linalg import Array
from .._messages import warn_user
from .._prediction._dense import evenly_spaced_draws
from ..diagnostics import LooEstimate
from ..diagnostics._left_out import LeftOutDensities, reweighted
from ..likelihoods.predictive._mixtures import log_mean_exp
from ._latent_predictions import LatentPredictions
from ._left_out_rows import left_out_rows, log_likelihoods_of_rows

_ADVICE = (
    "These rows change the posterior of the hyperparameters much: more draws (min_ess) may help; "
    "to be sure, fit without them. Where the model does not fit such rows, another likelihood may."
)


class LeaveOneOut(LatentPredictions):
    """The method `loo`, common to all estimators; not for direct use."""

    def loo(self) -> LooEstimate:
        """Return the leave-one-out estimate of the log predictive density, from this one fit.

        Each row is predicted from all others, as if the model had been fitted without it. The draws
        get weights, so that they represent the posterior without the row. This is Pareto-smoothed
        importance sampling [1]_ of the hyperparameters, with the latent function integrated out as
        far as possible [2]_. To compare models see `skgpmcmc.compare_models`.

        Returns
        -------
        estimate : LooEstimate
            It has ``elpd_loo``, its standard error ``se``, ``p_loo``, and for each row
            ``pointwise``, ``pareto_k`` and ``mcse``. It prints as a small table.

        Raises
        ------
        ValueError
            If `max_prediction_draws` is 1.
        MissingCapabilityError
            If the number of rows times the number of latent values is above four million (2000
            distinct rows without inducing points).

        Warns
        -----
        UserWarning
            If Pareto k says that the estimate for some row is not reliable.

        Notes
        -----
        The estimate averages over the same draws as predictions (`max_prediction_draws`).

        *What is computed.* For Gaussian noise it is the density of a row given each draw of the
        hyperparameters and the other rows, in closed form. For other likelihoods f is integrated
        out along a line through each draw. With inducing points, rows are taken as independent
        given the function at the points. A row of `sample_weight` w is left out with all its
        copies, and its log density counts w times. If rows have equal X and one of them is left
        out, the others stay.

        *Several classes.* For one-vs-rest, each of the independent models gives a probability
        without the row. These are normalised over the classes as in `predict_proba`, and Pareto k
        is the largest one of the models. For softmax they are those of the joint model.

        References
        ----------
        .. [1] A. Vehtari, D. Simpson, A. Gelman, Y. Yao, J. Gabry (2024). Pareto smoothed
           importance sampling. Journal of Machine Learning Research 25(72).
        .. [2] A. Vehtari, T. Mononen, V. Tolvanen, T. Sivula, O. Winther (2016). Bayesian
           leave-one-out cross-validation approximations for Gaussian latent variable models.
           Journal of Machine Learning Research 17(103).

        Examples
        --------
        >>> from skgpmcmc import MCMCCoxProcessRegressor
        >>> from skgpmcmc.datasets import load_coal_mining
        >>> X, y = load_coal_mining(return_X_y=True)
        >>> model = MCMCCoxProcessRegressor(n_warmup=50, n_draws=50, random_state=0)
        >>> estimate = model.fit(X[::4], y[::4]).loo()
        >>> bool(-55.0 < estimate.elpd_loo < -35.0), estimate.pointwise.shape
        (True, (28,))
        """
        check_is_fitted(self)
        trace, n_draws = self._traces[0][0], self._n_prediction_draws()
        which = evenly_spaced_draws(trace, n_draws)
        if len(which) < 2:
            raise ValueError(
                "loo needs two draws at least, and max_prediction_draws=1 leaves one. Raise it, "
                "or set it to None."
            )
        parts = [
            reweighted(*left_out, which // trace.n_draws)
            for left_out in left_out_rows(self, n_draws)
        ]
        in_sample = [log_mean_exp(each) for each in self._log_densities_in_sample()]
        left_out = self._of_all_groups(parts)
        copies = self._observed.copies
        nothing = np.zeros(len(left_out.log_density))
        within = self._of_all_groups([LeftOutDensities(p, nothing, nothing) for p in in_sample])
        estimate = LooEstimate(
            pointwise=copies * left_out.log_density,
            mcse=copies * left_out.mcse,
            pareto_k=left_out.shape,
            in_sample=float((copies * within.log_density).sum()),
            n_samples=len(which),
            data=self._observed.identity(),
        )
        if estimate.warning:
            warn_user(f"loo: {estimate.describe_shapes()} {_ADVICE}", UserWarning)
        return estimate

    def _of_all_groups(self, parts: list[LeftOutDensities]) -> LeftOutDensities:
        """Return the densities of rows, given those of each group of latent functions."""
        return parts[0]

    def _log_densities_in_sample(self) -> list[Array]:
        """Return log densities of single copies given all draws, (n_draws, n_rows), by group."""
        return [
            values.reshape(-1, values.shape[-1]) / self._observed.copies
            for values in log_likelihoods_of_rows(self)
        ]


def shares_of_classes(parts: Sequence[LeftOutDensities], codes: Array) -> LeftOutDensities:
    """Return the log probability of each row's class, normalised over independent models.

    Parameters
    ----------
    parts : sequence of LeftOutDensities
        Of the row's label in the model of each class against the others.
    codes : ndarray of int of shape (n_rows,)
        The number of each row's class.
    """
    is_class = np.arange(len(parts))[:, np.newaxis] == codes
    log_label = np.array([part.log_density for part in parts])
    mcse = np.exp(log_label) * np.array([part.mcse for part in parts])
    probability = np.where(is_class, np.exp(log_label), -np.expm1(np.minimum(log_label, 0.0)))
    total = probability.sum(axis=0)
    share = (probability * is_class).sum(axis=0) / total
    # Derivatives of log(p / total) along the class's own probability and those of the others.
    with np.errstate(divide="ignore", invalid="ignore"):
        along = np.where(is_class, (1.0 - share) / (share * total), 1.0 / total)
        log_share = np.log(share)
    return LeftOutDensities(
        log_share,
        np.sqrt(((along * mcse) ** 2).sum(axis=0)),
        np.max([part.shape for part in parts], axis=0),
    )
