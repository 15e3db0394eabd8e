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
from ..diagnostics._pareto import FEWEST_DRAWS
from ..likelihoods.predictive._mixtures import log_mean_exp
from ._convergence import more_draws
from ._latent_predictions import LatentPredictions
from ._left_out_rows import left_out_rows, log_likelihoods_of_rows

_ADVICE = (
    " These rows change the posterior of the hyperparameters much. To be sure, fit without them. "
    "Where the model does not fit such rows, another likelihood may."
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
        For Gaussian noise it takes about as long as a prediction at all rows. For other likelihoods
        it takes a few milliseconds for each latent function and each draw of 100 rows, and the time
        grows with the square of the rows: seconds to minutes. `n_jobs` threads share the work.

        The estimate averages over the same draws as predictions (`max_prediction_draws`).

        *What is computed.* For Gaussian noise it is the density of a row given each draw of the
        hyperparameters and the other rows, in closed form. For other likelihoods f is integrated
        out along a line through each draw. With inducing points and another likelihood, rows are
        taken as independent given the function at the points. A row of `sample_weight` w is left
        out with all its copies, and its log density counts w times. If rows have equal X and one of
        them is left out, the others stay.

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
        return self._loo("loo")

    def _loo(self, caller: str) -> LooEstimate:
        """Return what `loo` does; its warning begins with the name of the caller."""
        check_is_fitted(self)
        estimate = self._estimate()
        if estimate.warning:
            text = f"{caller}: {estimate.describe_shapes()} "
            text += f"More draws may help: {self._more_draws(estimate.n_samples)}."
            warn_user(text + _ADVICE * (estimate.n_samples >= FEWEST_DRAWS), UserWarning)
        return estimate

    def _more_draws(self, n_used: int) -> str:
        """Say what is to be changed for more draws than these."""
        trace = self._traces[0][0]
        if n_used < trace.n_chains * trace.n_draws:
            return f"raise max_prediction_draws (now {n_used} draws)"
        return more_draws(self)

    def _estimate(self) -> LooEstimate:
        """Return the estimate, without a warning."""
        trace, n_draws = self._traces[0][0], self._n_prediction_draws()
        which = evenly_spaced_draws(trace, n_draws)
        if len(which) < 2:
            raise ValueError(
                "loo needs two draws at least, and max_prediction_draws=1 leaves one. Raise it, "
                "or set it to None."
            )
        in_all, copies = log_likelihoods_of_rows(self), self._observed.copies
        parts = [
            reweighted(*left_out, which // trace.n_draws)
            for left_out in left_out_rows(self, n_draws, in_all)
        ]
        left_out = self._of_all_groups(parts)
        in_sample = [log_mean_exp(v.reshape(-1, v.shape[-1]) / copies) for v in in_all]
        nothing = np.zeros(len(left_out.log_density))
        within = self._of_all_groups([LeftOutDensities(p, nothing, nothing) for p in in_sample])
        return LooEstimate(
            pointwise=copies * left_out.log_density,
            mcse=copies * left_out.mcse,
            pareto_k=left_out.shape,
            in_sample=float((copies * within.log_density).sum()),
            n_samples=len(which),
            data=self._observed.identity(),
            converged=getattr(self, "converged_", True),  # the first version did not keep it
        )

    def _of_all_groups(self, parts: list[LeftOutDensities]) -> LeftOutDensities:
        """Return the densities of rows, given those of each group of latent functions."""
        return parts[0]


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
