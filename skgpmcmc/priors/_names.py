"""Which scalars the names in `priors` stand for: hyperparameters, and elements of vectors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from .._checks import shown
from .._messages import shortened
from ._spec import HyperparameterSpec

# The largest numbers of names and of elements that a message lists.
_MOST_NAMES, _MOST_ELEMENTS = 12, 6
# Letters of an entry that it shows.
_MOST_SHOWN = 60

# A scalar: the name of its hyperparameter, and its number there.
Place = tuple[str, int]


class Given(NamedTuple):
    """What is given for one scalar.

    Attributes
    ----------
    distribution : object
        As it was given; not checked.
    name : str
        What the user knows the scalar as.
    origin : str
        Where the distribution comes from; see `HyperPrior`.
    """

    distribution: Any
    name: str
    origin: str = "given"


def element_names(name: str, size: int, columns: Sequence[str] | None = None) -> list[str]:
    """Return a name for each element of a hyperparameter, as users read and write it.

    Parameters
    ----------
    name : str
        Of the hyperparameter.
    size : int
        Number of its elements.
    columns : sequence of str, optional
        Names of the columns of X, if they have some.

    Returns
    -------
    names : list of str
        The plain name if there is one element. Otherwise with the column's name in brackets
        where there are as many columns, of different names, and with the number where not.

    Examples
    --------
    >>> element_names("length_scale", 2, ["age", "petal width"])
    ['length_scale[age]', 'length_scale[petal width]']
    >>> element_names("length_scale", 2, ["age", "age"]), element_names("length_scale", 1, ["age"])
    (['length_scale[0]', 'length_scale[1]'], ['length_scale'])
    """
    if size == 1:
        return [name]
    labels = columns if columns is not None and not _why_numbers(size, columns) else range(size)
    return [f"{name}[{label}]" for label in labels]


def _why_numbers(size: int, columns: Sequence[str] | None) -> str:
    """Say why the elements of a vector have numbers and not the names of columns, if so."""
    if columns is None:
        return "X has no names of columns"
    if len(columns) != size:
        return f"not one for each of the {len(columns)} columns"
    return "some columns have the same name" if len(set(columns)) < size else ""


def given_priors(
    priors: Mapping[Any, Any], specs: Sequence[HyperparameterSpec], columns: Sequence[str] | None
) -> dict[Place, Given]:
    """Return what was given for each scalar; an element's entry goes before its vector's.

    Parameters
    ----------
    priors : mapping
        Name of a hyperparameter, or of an element -> distribution, or of a vector a sequence.
    specs : sequence of HyperparameterSpec
        All hyperparameters that are sampled.
    columns : sequence of str or None
        Names of the columns of X.

    Raises
    ------
    ValueError
        For a name that nothing has, or several scalars have; for an element that is given under
        both of its names; and for a sequence of the wrong length.
    """
    elements = _elements(specs, columns)
    vectors = {spec.name: spec for spec in specs}
    unknown = [key for key in priors if key not in vectors and key not in elements]
    if unknown:
        raise ValueError(_unknown(unknown, specs, columns))
    found = {
        (name, i): Given(distribution, element)
        for name, spec in vectors.items()
        if name in priors
        for i, (distribution, element) in enumerate(
            zip(_for_each_element(priors[name], spec), element_names(name, spec.size), strict=True)
        )
    }
    written: dict[Place, str] = {}
    for key in (key for key in priors if key not in vectors):
        place = _only(key, elements[key], columns)
        if place in written:
            raise ValueError(
                f"priors has entries for {shown(written[place])} and {shown(key)}, which are two "
                "names of the same element. Give one of them."
            )
        written[place] = key
        found[place] = Given(priors[key], key)
    return found


def _elements(
    specs: Iterable[HyperparameterSpec], columns: Sequence[str] | None
) -> dict[str, list[Place]]:
    """Return the elements of vectors by all of their names; several may share one."""
    places: dict[str, list[Place]] = {}
    for spec in specs:
        if spec.size == 1:
            continue
        own = columns if columns is not None and len(columns) == spec.size else []
        for labels in (range(spec.size), own):
            for i, label in enumerate(labels):
                others = places.setdefault(f"{spec.name}[{label}]", [])
                if (spec.name, i) not in others:
                    others.append((spec.name, i))
    return places


def _only(key: str, places: list[Place], columns: Sequence[str] | None) -> Place:
    """Return the one element that a name stands for."""
    if len(places) == 1:
        return places[0]
    name = places[0][0]
    label = key[len(name) + 1 : -1]
    numbers = [i for i, column in enumerate(columns or ()) if column == label]
    what = f"the name of column{'s' if len(numbers) > 1 else ''} {' and '.join(map(str, numbers))}"
    if len(numbers) < len(places):
        what += ", and the number of another element"
    raise ValueError(
        f"priors has an entry for {shown(key)}, which is {what}. Give {name!r} a list of one "
        "distribution for each element, or rename the column."
    )


def _for_each_element(entry: Any, spec: HyperparameterSpec) -> Sequence[Any]:
    """Return one distribution for each element of a hyperparameter."""
    if not isinstance(entry, (list, tuple, np.ndarray)) or np.shape(entry) == ():
        return [entry] * spec.size
    if all(isinstance(each, Real) for each in entry):
        raise TypeError(
            f"priors[{spec.name!r}] holds numbers, {shortened(shown(list(entry)), _MOST_SHOWN)}, "
            "and a prior is a distribution. Pass a frozen one of scipy.stats, such as "
            "loguniform(0.1, 10.0) for a range, or a list with one distribution for each element."
        )
    if len(entry) != spec.size:
        raise ValueError(
            f"priors[{spec.name!r}] has {len(entry)} distributions, but the hyperparameter has "
            f"{spec.size} element(s). Give one distribution for all, or one for each."
        )
    return list(entry)


def _unknown(
    unknown: list[Any], specs: Sequence[HyperparameterSpec], columns: Sequence[str] | None
) -> str:
    """Return the error message: unknown names, a guess of what was meant, and the known names."""
    valid = "Here no hyperparameter is sampled: leave priors out."
    if specs:
        names = _some([spec.name for spec in specs], _MOST_NAMES)
        example = next((element_names(s.name, s.size, columns)[0] for s in specs if s.size > 1), "")
        element = f", and of a single element as in {example!r}" if example else ""
        valid = f"Valid names are {names}{element}."
    hint = _hint(str(unknown[0]), {spec.name: spec for spec in specs}, columns)
    names_given = _some(unknown, _MOST_NAMES)
    return f"priors has entries for unknown hyperparameters {names_given}.{hint} {valid}"


def _some(names: list[Any], n_most: int) -> str:
    """Return a list of names, or the first ones and how many more there are."""
    return shown(names[:n_most]) + (f" and {len(names) - n_most} more" if names[n_most:] else "")


def _hint(key: str, specs: Mapping[str, HyperparameterSpec], columns: Sequence[str] | None) -> str:
    """Say what may have been meant by a name that nothing has."""
    elements = _elements(specs.values(), columns)
    meant = max((n for n in (*specs, *elements) if key.endswith(f": {n}")), key=len, default="")
    if meant:
        return f" Priors are the same for every class. Write {meant!r}."
    base, bracket, label = key.partition("[")
    if bracket and base in specs:
        return _hint_of_element(specs[base], label.removesuffix("]"), columns)
    for name in get_close_matches(base, specs, n=1):
        element = f"{name}{bracket}{label}"
        return f" Did you mean {element if element in elements else name!r}?"
    return ""


def _hint_of_element(spec: HyperparameterSpec, label: str, columns: Sequence[str] | None) -> str:
    """Say which elements a hyperparameter has, given a label that is none of them."""
    if spec.size == 1:
        return f" {spec.name!r} is one number. Write {spec.name!r}."
    names = element_names(spec.name, spec.size, columns)
    reason = _why_numbers(spec.size, columns)
    if reason:
        if columns is None and not label.isdigit():
            reason += (
                '; a Pipeline hands them on with set_output(transform="pandas"), RFECV does not'
            )
        return f" {spec.name!r} has {spec.size} elements, {names[0]!r} to {names[-1]!r} ({reason})."
    by_column = dict(zip(columns or (), names, strict=True))
    close = get_close_matches(label, by_column, n=1)
    meant = f" Did you mean {by_column[close[0]]!r}?" if close else ""
    listed = _some(names, _MOST_ELEMENTS)
    return f"{meant} {spec.name!r} has {spec.size} elements, {listed}."
