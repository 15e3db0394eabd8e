"""What each summand of the kernel says: predictions of the parts of the latent function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from .._checks import as_random_state, shown
from .._covariance import summands_of
from .._linalg import Array
from .._prediction._averages import latent_summary
from .._prediction._parts import PartOfSum, Parts, sample_parts
from ..diagnostics._text_table import TextColumn, TextTable
from ..likelihoods._checks import check_quantiles
from ._latent_predictions import joined
from ._leave_one_out import LeaveOneOut

# The part of a kernel that is no sum, and of the mean offset.
_WHOLE, _OFFSET = "latent", "mean"


class Components(TextTable):
    """The parts of a latent function: a dictionary that prints as a table.

    Made by `predict_components`. Name of a part -> a `sklearn.utils.Bunch` with ``mean``, ``std``
    and ``quantiles``. The printed table has a line for each part: the lowest and the highest of
    its posterior means, and the average of its standard deviations. `to_frame` makes a DataFrame
    of all numbers.

    Parameters
    ----------
    parts : mapping of str to Bunch
    quantiles : ndarray of shape (n_quantiles,)
        Their probabilities.
    functions : list of str, optional
        Names of several latent functions.
    """

    def __init__(
        self, parts: Mapping[str, Bunch], quantiles: Array, functions: Sequence[str] | None
    ) -> None:
        super().__init__(parts)
        self._quantiles, self._functions = quantiles, functions

    def to_frame(self) -> Any:
        """Return the numbers as a pandas DataFrame.

        Returns
        -------
        frame : pandas.DataFrame of shape (n_samples, n_columns)
            Its columns have several levels: part, statistic (``"mean"``, ``"std"``, ``"5%"``),
            and the latent function if there are several.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        try:
            import pandas
        except ImportError as error:
            raise ImportError(
                "to_frame() needs pandas. Install it, for example with `pip install pandas`."
            ) from error
        columns: dict[tuple[str, ...], Array] = {}
        for name, part in self.items():
            for statistic, values in self._statistics(part).items():
                if self._functions is None:
                    columns[name, statistic] = values
                    continue
                for label, column in zip(self._functions, values.T, strict=True):
                    columns[name, statistic, label] = column
        return pandas.DataFrame(columns)

    def _statistics(self, part: Bunch) -> dict[str, Array]:
        labels = [f"{100.0 * q:.10g}%" for q in self._quantiles]
        quantiles = np.moveaxis(part.quantiles, -1, 0)
        return {"mean": part.mean, "std": part.std, **dict(zip(labels, quantiles, strict=True))}

    def _text_columns(self) -> list[TextColumn]:
        parts = self.values()
        numbers = {
            "lowest mean": [part.mean.min() for part in parts],
            "highest mean": [part.mean.max() for part in parts],
            "average std": [part.std.mean() for part in parts],
        }
        texts = {name: [f"{value:.3g}" for value in each] for name, each in numbers.items()}
        columns = [TextColumn(name, each, True) for name, each in texts.items()]
        return [TextColumn("", list(self)), *columns]


class ComponentPredictions(LeaveOneOut):
    """Predictions of parts of the latent function, common to all estimators; not for direct use."""

    def predict_components(
        self,
        X: Any,
        quantiles: Any = (0.05, 0.95),
        labels: Sequence[str] | None = None,
        centre_on: Any = None,
    ) -> Components:
        """Return the posterior of each part of the latent function: each summand of the kernel.

        Where the kernel is a sum, such as trend + season, the latent function is a sum of
        independent Gaussian processes. Given the data they are known together, and each of them is
        known less well.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        quantiles : array-like of shape (n_quantiles,), default=(0.05, 0.95)
            Probabilities in [0, 1].
        labels : list of str, default=None
            What the summands are to be called, in the order of the kernel; those with the same
            label are added up, and those called ``"mean"`` with the mean offset. By default they
            have the names by which the kernel knows them, such as ``"k1"`` and ``"k2"``, or
            ``"k1__k2"`` in a sum of sums; a kernel that is no sum is ``"latent"``.
        centre_on : array-like of shape (n_rows, n_features), default=None
            Rows over which each part is to average to zero, such as the training rows. The averages
            belong to the part ``"mean"`` then. The data do not say which of several parts a
            constant belongs to: without this, standard deviations are mostly those of constants.

        Returns
        -------
        components : Components
            A dictionary that prints as a table, and has a method `to_frame`. Name of a part -> a
            Bunch with ``mean`` and ``std``, of shape (n_samples,), and ``quantiles``, of shape
            (n_samples, n_quantiles), in the units of `predict_latent`. With several latent
            functions they have these as another axis, the second one. If there is a mean offset
            (`mean`, `normalize_y`), it is the last part, ``"mean"``. The means add up to
            `predict_latent(X)`; standard deviations and quantiles do not, because the parts depend
            on each other.

        Raises
        ------
        ValueError
            For quantiles outside [0, 1], another number of labels than of summands, and the label
            ``"mean"`` together with `centre_on`.

        Notes
        -----
        Given a draw of the hyperparameters and of what is known of f, a part with the kernel k_j
        has the mean k_j(x, X) C^-1 (f - m), and the covariance of k_j less what f explains [1]_.
        Averages are over the draws, by the laws of total expectation and variance; quantiles are
        those of the mixture. With inducing points, f is known at these, and rows of the data are
        predicted as new inputs, as by `predict_latent`. Products of sums are not multiplied out.
        White noise in the kernel is a part with mean zero, but for that of the regressor, which is
        no part of the latent function.

        References
        ----------
        .. [1] D. Duvenaud (2014). Automatic model construction with Gaussian processes. PhD thesis,
           University of Cambridge, section 2.4.5.

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
        >>> parts = model.predict_components(t[:, None], labels=["trend", "season"])
        >>> list(parts), parts["trend"].quantiles.shape
        (['trend', 'season'], (48, 2))
        >>> bool(np.allclose(sum(part.mean for part in parts.values()), model.predict(t[:, None])))
        True
        """
        quantiles = check_quantiles(quantiles)
        X = self._validate_new(X)
        functions = self._parts(labels, centre_on)
        unit = self._observed.scale
        found = {}
        for name in functions[0].predictable():
            each = [latent_summary(one.predictable()[name], X, quantiles) for one in functions]
            means, variances, values = zip(*each, strict=True)
            location = self._observed.location if name == _OFFSET else 0.0
            ends = np.stack(values, axis=1) if len(values) > 1 else values[0]
            found[name] = Bunch(
                mean=location + unit * joined(means),
                std=unit * np.sqrt(joined(variances)),
                quantiles=location + unit * ends,
            )
        return Components(found, quantiles, self._function_labels())

    def sample_components(
        self,
        X: Any,
        n_samples: int = 1,
        random_state: Any = None,
        labels: Sequence[str] | None = None,
    ) -> dict[str, Array]:
        """Draw the parts of the latent function from their posterior, jointly over parts and rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Inputs.
        n_samples : int, default=1
            Number of draws.
        random_state : int, RandomState instance or None, default=None
            Determines the draws.
        labels : list of str, default=None
            See `predict_components`.

        Returns
        -------
        samples : dict of str to ndarray of shape (n_rows, n_samples)
            Draws of each part, in the units of `predict_latent`; with several latent functions
            of shape (n_rows, n_samples, n_functions). Their sum over the parts is a draw of the
            latent function.

        Raises
        ------
        ValueError
            If that needs more memory than `memory_limit`: all parts at all rows together have a
            covariance.

        Examples
        --------
        >>> from sklearn.gaussian_process.kernels import RBF
        >>> from skgpmcmc import MCMCCoxProcessRegressor
        >>> from skgpmcmc.datasets import load_coal_mining
        >>> X, y = load_coal_mining(return_X_y=True)
        >>> kernel = 1.0 * RBF(40.0) + 0.1 * RBF(3.0)
        >>> model = MCMCCoxProcessRegressor(kernel, n_warmup=50, n_draws=50, random_state=0)
        >>> samples = model.fit(X, y).sample_components(X[:3], n_samples=5, random_state=0)
        >>> {name: values.shape for name, values in samples.items()}
        {'k1': (3, 5), 'k2': (3, 5), 'mean': (3, 5)}
        """
        X = self._validate_new(X)
        rng = as_random_state(random_state)
        drawn = sample_parts(self._parts(labels), X, n_samples, rng, self.memory_limit)
        samples = {}
        for name in self._names_of_parts(labels):
            location = self._observed.location if name == _OFFSET else 0.0
            samples[name] = location + self._observed.scale * joined([one[name] for one in drawn])
        return samples

    def _parts(self, labels: Sequence[str] | None, centre_on: Any = None) -> list[Parts]:
        """Return the parts of each latent function."""
        names, kernel = self._names_of_parts(labels), self._latent_kernel
        functions = self._posterior_draws()
        if centre_on is None:
            return [Parts.of(draws, kernel, names) for draws in functions]
        rows = self._validate_inputs(centre_on, reset=False)
        if names.setdefault(_OFFSET, PartOfSum([], True)).summands:
            raise ValueError(
                f"labels must not have {_OFFSET!r} together with centre_on: this part is the "
                f"average of the latent function then. Call the summand something else; got "
                f"{shown(labels)}."
            )
        return [Parts.centred(draws, kernel, names, rows) for draws in functions]

    def _names_of_parts(self, labels: Any) -> dict[str, PartOfSum]:
        """Return the names of the parts, and what each is made of."""
        paths = [self._name_in_kernel(one.name) for one in summands_of(self._latent_kernel)]
        names = [path or _WHOLE for path in paths] if labels is None else labels
        _check_labels(names, paths)
        parts = {name: PartOfSum([], name == _OFFSET) for name in names}
        for number, name in enumerate(names):
            parts[name].summands.append(number)
        has_offset = "mean" in self._traces[0][0].posterior() or self._observed.location != 0.0
        if has_offset:
            parts.setdefault(_OFFSET, PartOfSum([], True))
        return parts

    def _name_in_kernel(self, path: str) -> str:
        """Return what a path in the latent function's kernel is called in the user's kernel."""
        return path


def _check_labels(labels: Any, paths: Sequence[str]) -> None:
    is_list = hasattr(labels, "__len__") and not isinstance(labels, str | Mapping)
    if not (is_list and len(labels) == len(paths) and all(isinstance(n, str) for n in labels)):
        what = f"{len(paths)} summands, {', '.join(paths)}" if len(paths) > 1 else "one summand"
        raise ValueError(
            "labels must be a list of names, one for each summand of the kernel, which has "
            f"{what}; got {shown(labels)}."
        )
