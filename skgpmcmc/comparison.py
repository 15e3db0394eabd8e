"""Comparison of fitted models by their leave-one-out estimates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from ._checks import shown
from ._linalg import Array
from ._messages import shortened, warn_user
from .diagnostics import LooEstimate
from .diagnostics._left_out import describe_parameters
from .diagnostics._text_table import TextColumn, TextTable

__all__ = ["ComparisonTable", "compare_models"]

# Letters of what is no model that a message shows.
_MOST_SHOWN = 200
_BAD_SHAPES, _NOT_CONVERGED = "*", "!"
# A difference of fewer standard errors says little (Sivula, Magnusson, Matamoros and Vehtari 2020:
# so does any difference below four).
_CLEAR_DIFFERENCE, _N_CLEAR_ERRORS = 4.0, 2.0


class ComparisonTable(TextTable):
    """Models from best to worst: a dictionary that prints as a table.

    Made by `compare_models`. Name of a model -> name of a column -> value, with the columns of
    `arviz.compare`: ``rank`` (0 is the best), ``elpd_loo``, ``p_loo``, ``elpd_diff`` (how much less
    than the best), ``weight`` (of the stacked predictive density), ``se`` of elpd_loo, ``dse`` of
    elpd_diff, and ``warning`` (whether Pareto k is too large at some row, or cannot be judged); and
    ``converged`` (whether the chains of the fit have). `to_frame` makes it a DataFrame. In the
    printed table marks stand for the last two. Lines below it say which models the rows do not tell
    from the best one, and where ``p_loo`` is above the number of rows.
    """

    _remarks: Sequence[str] = ()

    def _records(self) -> Mapping[str, Mapping[str, Any]]:
        return self

    def _text_columns(self) -> list[TextColumn]:
        digits = {"weight": 2, "se": 2, "dse": 2}
        columns = [TextColumn("", list(self))]
        for name in list(next(iter(self.values()), {}))[:-2]:
            values = [row[name] for row in self.values()]
            n_digits = 0 if name == "rank" else digits.get(name, 1)
            columns.append(TextColumn(name, [f"{v:.{n_digits}f}" for v in values], True))
        marks = [
            _NOT_CONVERGED * (not row["converged"]) + _BAD_SHAPES * row["warning"]
            for row in self.values()
        ]
        return [*columns, TextColumn("", marks)]

    def _note(self) -> str:
        notes = []
        if not all(row["converged"] for row in self.values()):
            notes.append(
                f"{_NOT_CONVERGED} The chains of this model have not converged: its place and its "
                "weight may be wrong."
            )
        if any(row["warning"] for row in self.values()):
            notes.append(f"{_BAD_SHAPES} Pareto k too large at some rows: see loo() of this model.")
        notes.extend(self._remarks)
        close = [name for name, row in self.items() if not _is_clear(row)]
        if len(close) > 1:
            notes.append(
                f"These rows do not tell apart: {', '.join(close)} (less than "
                f"{_CLEAR_DIFFERENCE:.0f}, or less than {_N_CLEAR_ERRORS:.0f} dse, below the "
                "best), whatever the weights are."
            )
        return "\n".join(notes)


def _is_clear(row: Mapping[str, Any]) -> bool:
    """Whether a model is clearly below the best one; the best one is not."""
    enough = max(_CLEAR_DIFFERENCE, _N_CLEAR_ERRORS * row["dse"])
    return bool(row["elpd_diff"] >= enough)


def compare_models(models: Mapping[str, Any]) -> ComparisonTable:
    """Rank fitted models by how well they predict rows that are left out, without fitting again.

    They may differ in kernel, priors, likelihood and columns of X, but must have been fitted to the
    same rows of the same y.

    Parameters
    ----------
    models : mapping of str to estimator or LooEstimate
        Name -> a fitted estimator, whose `loo` is called, or what that has returned.

    Returns
    -------
    table : ComparisonTable
        A dictionary, from best to worst, that prints as a table: ``table[name]["elpd_diff"]``;
        ``table.to_frame()`` is a DataFrame.

    Raises
    ------
    ValueError
        For fewer than two models, and for models of different rows, targets, weights or trials.
    TypeError
        For what is no mapping, or holds anything but models.

    Warns
    -----
    UserWarning
        If Pareto k says that the estimate of some row is not reliable, and if the chains of some
        models have not converged.

    See Also
    --------
    skgpmcmc.diagnostics.LooEstimate : The estimate for one model, what `loo` returns.

    Notes
    -----
    ``dse`` is the standard error of the difference of paired rows, mostly far below ``se``.
    ``weight`` maximises the log score of the models' averaged predictive densities [1]_: a model
    that adds nothing to a better one has weight 0.

    References
    ----------
    .. [1] Y. Yao, A. Vehtari, D. Simpson, A. Gelman (2018). Using stacking to average Bayesian
       predictive distributions. Bayesian Analysis 13(3).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, WhiteKernel
    >>> from skgpmcmc import MCMCGaussianProcessRegressor, compare_models
    >>> rng = np.random.default_rng(0)
    >>> X = np.linspace(0.0, 6.0, 30)[:, None]
    >>> y = np.sin(2.0 * X[:, 0]) + 0.2 * rng.standard_normal(30)
    >>> kernels = {"curve": ConstantKernel() * RBF(), "line": DotProduct()}
    >>> models = {
    ...     name: MCMCGaussianProcessRegressor(
    ...         kernel + WhiteKernel(), n_warmup=100, n_draws=100, random_state=0
    ...     ).fit(X, y)
    ...     for name, kernel in kernels.items()
    ... }
    >>> table = compare_models(models)
    >>> list(table), table["line"]["elpd_diff"] > 4.0 * table["line"]["dse"]
    (['curve', 'line'], True)
    """
    if not isinstance(models, Mapping):
        raise TypeError(
            "models must be a dictionary, name -> fitted estimator, such as "
            f'{{"smooth": model, "rough": other}}; got {shown(models)}.'
        )
    if len(models) < 2:
        raise ValueError(f"models must hold at least two, to be compared; got {len(models)}.")
    _check_names(models)
    estimates = {str(name): _estimate(name, model) for name, model in models.items()}
    _check_same_data(estimates)
    _warn_of_chains(estimates)
    names = sorted(estimates, key=lambda name: -estimates[name].elpd_loo)
    weights = stacking_weights(np.column_stack([estimates[name].pointwise for name in names]))
    best = estimates[names[0]]
    rows = {}
    for rank, (name, weight) in enumerate(zip(names, weights.tolist(), strict=True)):
        estimate = estimates[name]
        difference = best.pointwise - estimate.pointwise
        rows[name] = {
            "rank": rank,
            "elpd_loo": estimate.elpd_loo,
            "p_loo": estimate.p_loo,
            "elpd_diff": float(difference.sum()),
            "weight": weight,
            "se": estimate.se,
            "dse": math.sqrt(len(difference)) * float(difference.std()),
            "warning": estimate.warning,
            "converged": estimate.converged,
        }
    table = ComparisonTable(rows)
    table._remarks = _remarks({name: estimates[name] for name in names})
    return table


def _remarks(estimates: Mapping[str, LooEstimate]) -> list[str]:
    """Say which models have more effective parameters than rows."""
    found = {name: describe_parameters(estimate) for name, estimate in estimates.items()}
    which = [name for name, text in found.items() if text]
    return [f"{', '.join(which)}: {found[which[0]]}"] if which else []


def stacking_weights(log_densities: Array) -> Array:
    """Return the weights of the mixture of models with the largest log score.

    Parameters
    ----------
    log_densities : ndarray of shape (n_rows, n_models)
        Of each row under each model.

    Returns
    -------
    weights : ndarray of shape (n_models,)
        At least zero, with the sum one.
    """
    n_models = log_densities.shape[1]
    # One row's scale does not matter.
    densities = np.exp(log_densities - log_densities.max(axis=1, keepdims=True))
    start = np.full(n_models, 1.0 / n_models)

    def loss(weights: Array) -> tuple[float, Array]:
        mixture = np.maximum(densities @ weights, np.finfo(float).tiny)
        return -float(np.log(mixture).mean()), -(densities / mixture[:, np.newaxis]).mean(axis=0)

    found = minimize(
        loss,
        start,
        jac=True,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * n_models,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1.0, "jac": np.ones_like},
        options={"ftol": 1e-10, "maxiter": 500},
    )
    weights = np.clip(found.x, 0.0, 1.0)
    return np.asarray(weights / weights.sum())


def _check_names(models: Mapping[Any, Any]) -> None:
    """Raise a ValueError for names that are the same as text, such as 1 and "1"."""
    names = [str(name) for name in models]
    repeated = [name for name in models if names.count(str(name)) > 1]
    if repeated:
        raise ValueError(
            "models must have different names as text, as the table has them; got "
            f"{', '.join(map(shown, repeated))}. Rename them."
        )


def _warn_of_chains(estimates: Mapping[str, LooEstimate]) -> None:
    """Warn once of models whose chains have not converged."""
    names = [repr(name) for name, estimate in estimates.items() if not estimate.converged]
    if names:
        these = f"model {names[0]} have" if len(names) == 1 else f"models {', '.join(names)} have"
        warn_user(
            f"compare_models: the chains of {these} not converged (converged_ is False), so the "
            "ranks and weights may be wrong. Their summary() says what to do.",
            ConvergenceWarning,
        )


def _estimate(name: Any, model: Any) -> LooEstimate:
    """Return the estimate of a model, or of a fitted estimator.

    Errors and warnings name the model.
    """
    if hasattr(model, "elpd_loo"):
        estimate: LooEstimate = model
        return estimate
    entry = f"models[{name!r}]"
    if isinstance(model, type) or not hasattr(model, "loo"):
        last = " Of a pipeline pass the last step, pipeline[-1]." if hasattr(model, "steps") else ""
        raise TypeError(
            f"{entry} must be a fitted estimator of skgpmcmc, or what its loo() returned; "
            f"got {shortened(shown(model), _MOST_SHOWN)}.{last}"
        )
    try:
        return model._loo(entry)  # type: ignore[no-any-return]
    except ValueError as error:  # not fitted, too few draws, too many rows
        raise type(error)(f"{entry}: {error}") from None


_SAME_ROWS = "Fit all to the same rows of the same y, in the same order."
# What two models must share -> what is said where they do not, and what to do.
_SHARED = {
    "rows": (
        "were fitted to different rows",
        "Rows are told apart by their numbers in the X that was given to fit, and those of "
        f"weight zero are left out. {_SAME_ROWS}",
    ),
    "kind": (
        "have different kinds of y",
        "The density of a real number and the probability of a class or count are not on the "
        "same scale. Compare regressors with regressors, and models of classes or counts with "
        "models of the same classes or counts.",
    ),
    "y": ("were fitted to different y", _SAME_ROWS),
    "trials": ("were fitted to different numbers of trials", _SAME_ROWS),
    "sample_weight": ("were fitted with different sample_weight", _SAME_ROWS),
}


def _check_same_data(estimates: Mapping[str, LooEstimate]) -> None:
    """Raise a ValueError that names two models of different data, and where they differ."""
    (first, reference), *others = estimates.items()
    for name, estimate in others:
        for key, (fault, advice) in _SHARED.items():
            one, two = reference.data.get(key), estimate.data.get(key)
            if not _are_equal(one, two):
                raise ValueError(
                    f"models {first!r} and {name!r} {fault}{_where(key, one, two)}. {advice}"
                )


def _are_equal(one: Any, two: Any) -> bool:
    return one is two or (np.shape(one) == np.shape(two) and bool(np.all(one == two)))


def _where(key: str, one: Any, two: Any) -> str:
    """Say how many rows there are, or in which the first difference is."""
    if np.ndim(one) == 0 or np.ndim(two) == 0:
        return f" ({_kind(one)} and {_kind(two)})"
    if len(one) != len(two):
        return f" ({len(one)} and {len(two)})"
    row = int(np.argmax(np.asarray(one) != np.asarray(two)))
    if key == "rows":
        return f" (in place {row}, row number {one[row]} and row number {two[row]})"
    return f" (in row {row} of these, {one[row]} and {two[row]})"


def _kind(value: Any) -> str:
    if value is None:
        return "none"
    return str(value) if np.ndim(value) == 0 else "one for each row"
