"""The priors of a fit, as a table that people can read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from ..diagnostics._text_table import TextColumn, TextTable, exponent, rounded
from ..priors import HyperPrior, element_names

_QUANTILES = {"5%": 0.05, "median": 0.5, "95%": 0.95}
# A number has that many digits, and its last one is that small a part of the range, at least.
_N_DIGITS, _N_DIGITS_OF_RANGE = 3, 2
# That part of a range on both sides of zero is rounding.
_ROUNDING = 1e-9
# Less of its mass beyond the bounds is not worth a word.
_LITTLE_MASS = 1e-3


class PriorTable(TextTable):
    """Priors by name: a dictionary of tuples of distributions that prints as a table.

    It says what was in use, and cannot be changed. ``dict(table)`` and ``table | {...}`` are
    dictionaries that you can change. ``table[name]`` is a tuple with the frozen scipy.stats
    distribution of each element, as it was given. The text and `to_frame` have a row for each
    element, with the names of `summary`. A row has the family, the median and the 5 and 95 %
    quantiles of the prior in use, which is cut to the bounds that the kernel sets. It also has the
    origin: ``"given"``, ``"from bounds"`` (log-uniform between them) or ``"default"``.

    Raises
    ------
    TypeError
        For every change.

    Examples
    --------
    >>> from scipy import stats
    >>> table = PriorTable.of({"k2__length_scale": [HyperPrior(stats.lognorm(1.0, scale=20.0))]})
    >>> table
                      family   median  90 % range   origin
    k2__length_scale  lognorm    20.0  3.86 to 104  given
    >>> float(table["k2__length_scale"][0].median())
    20.0
    """

    _rows: dict[str, dict[str, Any]]

    @classmethod
    def of(
        cls, priors: Mapping[str, Sequence[HyperPrior]], columns: Sequence[str] | None = None
    ) -> PriorTable:
        """Describe priors.

        Parameters
        ----------
        priors : mapping of str to sequence of HyperPrior
            Name of a hyperparameter -> the prior of each element.
        columns : sequence of str, optional
            Names of the columns of X, if they have some.
        """
        distributions = {
            name: tuple(prior.distribution for prior in group) for name, group in priors.items()
        }
        rows = {
            element: _describe(prior)
            for name, group in priors.items()
            for element, prior in zip(element_names(name, len(group), columns), group, strict=True)
        }
        return cls._restore(distributions, rows)

    @classmethod
    def _restore(
        cls, distributions: Mapping[str, Sequence[Any]], rows: dict[str, dict[str, Any]]
    ) -> PriorTable:
        table = cls(distributions)
        table._rows = rows
        return table

    def __reduce__(self) -> tuple[Any, ...]:
        """Say how copies are made: by default a dictionary's items are set one by one."""
        return type(self)._restore, (dict(self), self._rows)

    def _refuse_change(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise a TypeError: the rows would go on to say what was in use."""
        raise TypeError(
            "priors_ says which priors fit has used, and cannot be changed. For other priors pass "
            "the estimator priors=model.priors_ | {name: prior}; dict(model.priors_) is a "
            "dictionary of your own."
        )

    __setitem__ = __delitem__ = __ior__ = _refuse_change  # type: ignore[assignment]
    clear = pop = popitem = setdefault = update = _refuse_change  # type: ignore[assignment]

    def _records(self) -> Mapping[str, Mapping[str, Any]]:
        return self._rows

    def _text_columns(self) -> list[TextColumn]:
        rows = self._rows.values()
        texts = [_texts(row["5%"], row["median"], row["95%"]) for row in rows]
        width = max(len(low) for low, _, _ in texts)
        return [
            TextColumn("", list(self._rows)),
            TextColumn("family", [row["family"] for row in rows]),
            TextColumn("median", [median for _, median, _ in texts], is_number=True),
            TextColumn("90 % range", [f"{low.rjust(width)} to {high}" for low, _, high in texts]),
            TextColumn("origin", [row["origin"] for row in rows]),
        ]

    def _note(self) -> str:
        return "" if self else "no hyperparameter is sampled"


def _describe(prior: HyperPrior) -> dict[str, Any]:
    values = {n: float(prior.natural(prior.quantile(q))) for n, q in _QUANTILES.items()}
    cut = ", cut to bounds" if prior.mass < 1.0 - _LITTLE_MASS else ""
    return {
        "family": prior.distribution.dist.name,
        **{name: values[name] for name in ("median", "5%", "95%")},
        "origin": f"{prior.origin}{cut}",
    }


def _texts(low: float, median: float, high: float) -> list[str]:
    """Return the quantiles of a prior with as many digits as tell them apart."""
    both_signs, width = low < 0.0 < high, high - low
    values = [0.0 if both_signs and abs(x) < _ROUNDING * width else x for x in (low, median, high)]
    finest = exponent(width) - _N_DIGITS_OF_RANGE
    return [rounded(x, min(_first_digit(x) - _N_DIGITS, finest) + 1) if x else "0" for x in values]


def _first_digit(value: float) -> int:
    """Return the power of ten of the first digit that is shown."""
    return exponent(float(f"{value:.{_N_DIGITS - 1}e}"))
