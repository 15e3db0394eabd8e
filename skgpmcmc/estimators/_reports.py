"""Reports of a fit: names of its quantities, summary, exports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._checks import shown
from .._linalg import Array
from .._prediction._low_rank import LowRankPosteriorDraws
from ..diagnostics import SummaryTable
from ..diagnostics._summary import limits_of, with_quantiles
from ..likelihoods._checks import check_quantiles
from ..priors import element_names as names_of
from ..trace import OTHER_QUANTITIES, Trace
from ._left_out_rows import can_leave_out, functions_at_points, integrates_out, left_out_rows
from ._training_rows import Observed


def element_names(
    posterior: Mapping[str, Array], feature_names: Sequence[str] | None = None
) -> list[str]:
    """Return a name for each scalar of the hyperparameters of one latent function.

    Parameters
    ----------
    posterior : mapping of str to ndarray
        Name of a hyperparameter -> draws of shape (n_chains, n_draws), or (n_chains, n_draws,
        size), as `Trace.posterior` returns them. (The `posterior_` of an estimator with several
        latent functions has one more axis: see `quantity_names`.)
    feature_names : sequence of str, optional
        Names of the columns of X, if they have some.

    Returns
    -------
    names : list of str
        In the order of `diagnostics_`. The elements of a vector have the feature's name in
        brackets where there are as many as features, of different names, and otherwise their
        number.

    Examples
    --------
    >>> import numpy as np
    >>> posterior = {"k1__constant_value": np.ones((4, 9)), "k2__length_scale": np.ones((4, 9, 2))}
    >>> element_names(posterior, ["age", "petal width"])
    ['k1__constant_value', 'k2__length_scale[age]', 'k2__length_scale[petal width]']
    >>> element_names(posterior)
    ['k1__constant_value', 'k2__length_scale[0]', 'k2__length_scale[1]']
    """
    return [
        element
        for name, draws in posterior.items()
        for element in names_of(name, 1 if draws.ndim == 2 else draws.shape[2], feature_names)
    ]


def quantity_names(estimator: Any, feature_names: Sequence[str] | None = None) -> list[str]:
    """Return a readable name for each key of a fitted estimator's `diagnostics_`, in its order.

    Parameters
    ----------
    estimator : fitted estimator
        With one latent function or several: their names begin with its label, such as the class.
    feature_names : sequence of str, optional
        Names of the columns; by default those that `fit` has seen, if X had names.

    Returns
    -------
    names : list of str
        Of length ``len(estimator.diagnostics_)``; the last ones of each latent function are
        ``"latent[worst]"`` and ``"complete_data_log_likelihood"``.
    """
    features = feature_names
    if features is None:
        features = getattr(estimator, "feature_names_in_", None)
    traces = estimator.trace_
    labels = function_labels(estimator)
    if labels is None:
        return _names_of(traces, features)
    return [
        f"{label}: {name}"
        for label, trace in zip(labels, traces, strict=True)
        for name in _names_of(trace, features)
    ]


def function_labels(estimator: Any) -> list[str] | None:
    """Return what the latent functions of a fitted estimator are called, if there are several."""
    labels = estimator._function_labels()
    return None if labels is None else [str(label) for label in labels]


def _names_of(trace: Any, features: Sequence[str] | None) -> list[str]:
    return [*element_names(trace.posterior(), features), *OTHER_QUANTITIES]


_LOG_LIKELIHOODS = ("auto", "leave-one-out", "conditional")

# Name of a variable -> its dimensions and values, as xarray takes them.
Variables = dict[str, tuple[list[str], Any]]


class Reports:
    """Methods of a fitted estimator that hand over its posterior."""

    def _note_on_predictions(self) -> str:
        """Return what is said of predictions below the summary."""
        return ""

    def summary(self, quantiles: Any = (0.05, 0.5, 0.95)) -> SummaryTable:
        """Return a table of the posterior: a row for each scalar that was sampled.

        Parameters
        ----------
        quantiles : float or array-like of shape (n_quantiles,), default=(0.05, 0.5, 0.95)
            Probabilities in [0, 1]. The table has a column for each.

        Returns
        -------
        table : SummaryTable
            A mapping: name of a quantity -> mean, sd, quantiles (named as in ``"5%"``), mcse,
            ess_bulk, ess_tail, rhat. It prints as a table, in notebooks too, and has a method
            `to_frame`. The quantities are the hyperparameters, ``"latent[worst]"`` and the
            complete-data log likelihood. ``"latent[worst]"`` is the latent function at one of up to
            50 evenly spread training rows: the row where the chains agree least. The quantities are
            those of ``diagnostics_``. But if the columns of X have names, elements of vectors have
            these names, as in ``"k2__length_scale[petal width]"``. The line below the table is the
            largest Monte Carlo error of predictions at up to 50 evenly spread training rows
            (`prediction_mcse`). It is left out for the exact model of more than 500 distinct rows,
            because it would take long (several latent functions: sooner, 3 of them from 289 rows).

        Raises
        ------
        ValueError
            If a quantile is outside [0, 1].

        Examples
        --------
        >>> from skgpmcmc import MCMCCoxProcessRegressor
        >>> from skgpmcmc.datasets import load_coal_mining
        >>> X, y = load_coal_mining(return_X_y=True)
        >>> model = MCMCCoxProcessRegressor(n_warmup=50, n_draws=50, random_state=0).fit(X, y)
        >>> table = model.summary(quantiles=[0.1, 0.9])
        >>> list(table)  # doctest: +NORMALIZE_WHITESPACE
        ['k1__constant_value', 'k2__length_scale', 'mean', 'latent[worst]',
         'complete_data_log_likelihood']
        >>> print(*table["k2__length_scale"])
        mean sd 10% 90% mcse ess_bulk ess_tail rhat
        """
        check_is_fitted(self)
        return summary_table(self, check_quantiles(quantiles))

    def to_arviz(self, log_likelihood: str = "auto") -> Any:
        """Return the posterior in the data structure of ArviZ.

        Parameters
        ----------
        log_likelihood : {"auto", "leave-one-out", "conditional"}, default="auto"
            What the group ``log_likelihood`` has. ``"leave-one-out"`` is what `arviz.loo` and
            `arviz.compare` need: the log density of each row given the other rows and the draw,
            with the latent function integrated out as far as possible (see `loo`). As with usual
            log likelihoods, the inverse densities are importance weights. But their sum is not the
            log likelihood of all rows. ``"conditional"`` is the log density of each row given the
            latent function itself. Its value at a row was drawn with this row among the data, and
            so `arviz.loo` mostly warns. ``"auto"`` is ``"leave-one-out"`` where it is available,
            that is for up to four million pairs of rows and latent values, and otherwise
            ``"conditional"``.

        Returns
        -------
        data : arviz.InferenceData, or xarray.DataTree from ArviZ 1.0 on
            It has these groups:

            - ``posterior``: the hyperparameters, with their names in ``posterior_``. Vectors have
              the dimension ``feature``. ``latent`` is the latent function at the rows of
              ``X_train_``, with the dimension ``point`` (for a regressor in the units of y). With
              inducing points it is the latent function at these points;
            - ``log_likelihood``: ``y``, the log likelihood of each row with all its copies (a row
              of weight w is w copies of it); see `log_likelihood`. With inducing points both kinds
              are given the function at these points, but for Gaussian noise it is integrated out;
            - ``sample_stats``: ``lp``, the complete-data log likelihood. It is the sum of the
              conditional log likelihoods and of the log density of ``latent``;
            - ``observed_data``: ``y``, as given to `fit`;
            - ``constant_data``: ``X``, ``X_train`` and ``point_of_row`` (the point of each row). If
              `fit` was given them, also ``sample_weight``, ``trials``, ``exposure``,
              ``noise_variance``.

            Several latent functions have the dimension ``class``. One-vs-rest has independent
            models of each class against the others. Then the log likelihoods and ``lp`` have this
            dimension too. Rows are in the order given to `fit`, and the coordinate ``row`` has
            their numbers. Rows of weight zero are left out.

        Raises
        ------
        ImportError
            If ArviZ is not installed.
        ValueError
            If `log_likelihood` has another value.
        MissingCapabilityError
            If you ask for ``"leave-one-out"``, and it is not available.

        Notes
        -----
        With 100 rows, leave-one-out log densities take a few milliseconds for each latent function
        and draw. The time grows with the square of the number of rows: two minutes for 150 rows,
        three classes and 4000 draws. `n_jobs` threads share the work. ``"conditional"`` log
        densities take almost no time.

        Examples
        --------
        >>> from skgpmcmc import MCMCCoxProcessRegressor
        >>> from skgpmcmc.datasets import load_coal_mining
        >>> X, y = load_coal_mining(return_X_y=True)
        >>> model = MCMCCoxProcessRegressor(n_warmup=50, n_draws=50, random_state=0).fit(X, y)
        >>> data = model.to_arviz()
        >>> dict(data["posterior"]["latent"].sizes)
        {'chain': 4, 'draw': 50, 'point': 112}
        """
        check_is_fitted(self)
        try:
            import arviz
        except ImportError as error:
            raise ImportError(
                'to_arviz() needs ArviZ. Install it with `pip install "skgpmcmc[arviz]"`.'
            ) from error
        import xarray  # what ArviZ consists of

        if log_likelihood not in _LOG_LIKELIHOODS:
            raise ValueError(
                f"log_likelihood must be one of {', '.join(map(repr, _LOG_LIKELIHOODS))}; got "
                f"{shown(log_likelihood)}."
            )
        coordinates = _coordinates(self)
        groups = _groups(self, log_likelihood)
        datasets = {name: _dataset(group, coordinates) for name, group in groups.items()}
        if int(arviz.__version__.split(".")[0]) < 1:
            return arviz.InferenceData(**datasets)
        return xarray.DataTree.from_dict(datasets)


def summary_table(estimator: Any, quantiles: Array) -> SummaryTable:
    """Return the diagnostics of a fitted estimator, with quantiles, readable names and a remark."""
    rows = dict(zip(quantity_names(estimator), estimator.diagnostics_.values(), strict=True))
    traces = [trace for group in estimator._traces for trace in group]
    draws = {
        f"{number}: {name}": values
        for number, trace in enumerate(traces)
        for name, values in trace.quantities().items()
    }
    remark, limits = estimator._note_on_predictions(), limits_of(estimator.diagnostics_)
    return with_quantiles(rows, draws, quantiles, remark, limits)


def _groups(estimator: Any, kind: str) -> dict[str, Variables]:
    """Return the variables of each group; the kind is that of log likelihoods."""
    observed: Observed = estimator._observed
    by_row: dict[str, Any] = dict(observed.per_row)
    if estimator._structure.keeps_latents:
        log_likelihoods = observed.log_likelihoods(estimator._traces)
        pairs = zip(estimator._traces, log_likelihoods, strict=True)
        densities = [_log_density(traces, values) for traces, values in pairs]
        by_row = {"point_of_row": observed.places(), **by_row}
        leaves_out = kind == "leave-one-out" or (kind == "auto" and can_leave_out(estimator))
    else:  # given the function at the points, other rows say nothing of a row
        functions = functions_at_points(estimator)
        log_likelihoods = observed.log_densities(estimator._traces, functions, estimator.X_train_)
        densities = [
            values.sum(axis=2) + _log_priors(draws).reshape(values.shape[:2])
            for draws, values in zip(functions, log_likelihoods, strict=True)
        ]
        leaves_out = kind != "conditional" and integrates_out(estimator)
    if leaves_out:
        sizes = log_likelihoods[0].shape
        parts = left_out_rows(estimator, sizes[0] * sizes[1], log_likelihoods)
        log_likelihoods = [part.all_copies.reshape(sizes) for part in parts]
    return {
        "posterior": _posterior(estimator, observed),
        "log_likelihood": {"y": _each_function(estimator, log_likelihoods, "row")},
        "sample_stats": {"lp": _each_function(estimator, densities)},
        # Lists of labels are arrays of a type that files can hold.
        "observed_data": {"y": (["row"], np.asarray(observed.y.tolist()))},
        "constant_data": _inputs(estimator, observed)
        | {name: (["row"], values) for name, values in by_row.items() if values is not None},
    }


def _coordinates(estimator: Any) -> dict[str, Any]:
    """Return the names along those dimensions that have some."""
    coordinates: dict[str, Any] = {"row": estimator._observed.numbers}
    if hasattr(estimator, "feature_names_in_"):
        coordinates["feature"] = estimator.feature_names_in_.tolist()
    if estimator._function_labels() is not None:
        coordinates[estimator._function_dimension] = estimator._function_labels()
    return coordinates


def _log_density(traces: list[Trace], log_likelihood: Array) -> Array:
    """Return log L(f) + log N(f; m, K) of each draw, of coupled latent functions together."""
    prior = [trace.complete_data_log_likelihood - trace.log_likelihood for trace in traces]
    return log_likelihood.sum(axis=2) + np.sum(prior, axis=0)


def _log_priors(functions: Sequence[LowRankPosteriorDraws]) -> Array:
    """Return log N(u; m, K) of each draw, of coupled latent functions together."""
    return np.array([sum(one.log_prior(d) for one in functions) for d in range(len(functions[0]))])


def _posterior(estimator: Any, observed: Observed) -> Variables:
    """Return hyperparameters, and the latent function at `X_train_`."""
    traces = [trace for group in estimator._traces for trace in group]
    latents = [observed.location + observed.scale * trace.latent for trace in traces]
    variables = {}
    for name, draws in traces[0].posterior().items():
        is_vector = draws.ndim == 3
        of_features = is_vector and draws.shape[2] == _n_features(estimator)
        inner = ["feature" if of_features else f"{name}_element"] if is_vector else []
        values = [trace.posterior()[name] for trace in traces]
        variables[name] = _each_function(estimator, values, *inner)
    return variables | {"latent": _each_function(estimator, latents, "point")}


def _each_function(estimator: Any, values: list[Array], *inner: str) -> tuple[list[str], Array]:
    """Return dimensions and draws, with an axis for latent functions if there are several."""
    if len(values) == 1:
        return ["chain", "draw", *inner], values[0]
    dimension = estimator._function_dimension
    return ["chain", "draw", dimension, *inner], np.stack(values, axis=2)


def _n_features(estimator: Any) -> int | None:
    """Return the number of columns of X; None where it has none."""
    return getattr(estimator, "n_features_in_", None)


def _inputs(estimator: Any, observed: Observed) -> Variables:
    """Return the inputs where they are vectors of numbers."""
    points = estimator.X_train_
    if np.ndim(points) != 2 or not np.issubdtype(np.asarray(points).dtype, np.number):
        return {}
    return {
        "X": (["row", "feature"], points[observed.places()]),
        "X_train": (["point", "feature"], estimator._structure.kept_inputs(points)),
    }


def _dataset(variables: Variables, coordinates: Mapping[str, Any]) -> Any:
    """Return an xarray Dataset; dimensions without coordinates are numbered."""
    import xarray

    sizes = {
        dimension: size
        for dimensions, values in variables.values()
        for dimension, size in zip(dimensions, np.shape(values), strict=True)
    }
    used = {name: coordinates.get(name, np.arange(size)) for name, size in sizes.items()}
    return xarray.Dataset(variables, used, {"inference_library": "skgpmcmc"})
