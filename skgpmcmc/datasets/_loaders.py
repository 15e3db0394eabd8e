"""The public loaders."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np
from sklearn.utils import Bunch

from ._base import make_result, read_csv

_DAYS_PER_BIN = 365
_N_COAL_MINING_BINS = 112
_N_REDWOOD_CELLS_PER_SIDE = 25
_DAYS_PER_YEAR = 365.25


@overload
def load_ionosphere(*, return_X_y: Literal[False] = False, as_frame: bool = False) -> Bunch: ...
@overload
def load_ionosphere(*, return_X_y: Literal[True], as_frame: bool = False) -> tuple[Any, Any]: ...
def load_ionosphere(*, return_X_y: bool = False, as_frame: bool = False) -> Bunch | tuple[Any, Any]:
    """Load the ionosphere radar returns (binary classification).

    351 radar returns with 34 numeric features; 225 are good and 126 bad. The
    first 200 rows (101 good) are the conventional training set, the other 151
    the test set. The second column, ``x01``, is constant.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=False
        Return pandas objects: `data` a DataFrame, `target` a Series. Needs
        pandas.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the attributes

        data : ndarray of shape (351, 34) or DataFrame
            The features, unscaled.
        target : ndarray of shape (351,) or Series
            1 for a good return, 0 for a bad one.
        feature_names : list of str
            ``x00`` to ``x33``.
        target_names : list of str
            ``["bad", "good"]``: `target` is an index into it.
        frame : DataFrame or None
            `data` and `target` side by side, with ``as_frame=True`` only.
        DESCR : str
            The description and the source of the data.
        filename : str
            The path of the CSV file.
    (data, target) : tuple
        With ``return_X_y=True``.

    Raises
    ------
    ImportError
        With ``as_frame=True`` where pandas is not installed.

    References
    ----------
    .. [1] Sigillito, V. G., Wing, S. P., Hutton, L. V. and Baker, K. B. (1989).
       Classification of radar returns from the ionosphere using neural networks.
       Johns Hopkins APL Technical Digest 10, 262-266.

    Examples
    --------
    >>> from skgpmcmc.datasets import load_ionosphere
    >>> ionosphere = load_ionosphere()
    >>> ionosphere.data.shape
    (351, 34)
    >>> ionosphere.target_names[ionosphere.target[0]]
    'good'
    """
    header, cells = read_csv("ionosphere")
    return make_result(
        "ionosphere",
        data=cells[:, :-1].astype(np.float64),
        target=(cells[:, -1] == "good").astype(np.int64),
        feature_names=header[:-1],
        target_column=header[-1],
        as_frame=as_frame,
        return_X_y=return_X_y,
        target_names=["bad", "good"],
    )


@overload
def load_coal_mining(*, return_X_y: Literal[False] = False, as_frame: bool = False) -> Bunch: ...
@overload
def load_coal_mining(*, return_X_y: Literal[True], as_frame: bool = False) -> tuple[Any, Any]: ...
def load_coal_mining(
    *, return_X_y: bool = False, as_frame: bool = False
) -> Bunch | tuple[Any, Any]:
    """Load the British coal-mining explosions, 1851 to 1962 (point process in time).

    191 explosions that killed ten people or more, as single dates and as
    counts in the 112 bins of 365 days that start at the first event.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=False
        Return pandas objects: `data` a DataFrame, `target` a Series. `events`
        and `dates` stay arrays. Needs pandas.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the attributes

        data : ndarray of shape (112, 1) or DataFrame
            The bins' centres in units of 365 days: 0.5, 1.5, ..., 111.5.
        target : ndarray of shape (112,) or Series
            The number of events in each bin. Bins are closed on the left:
            an event on an inner edge counts in the bin that starts there.
        events : ndarray of shape (191,)
            The events in days since the first one, ascending, with ties.
        dates : ndarray of shape (191,), dtype datetime64[D]
            The same events as calendar dates.
        feature_names : list of str
            ``["time"]``.
        frame : DataFrame or None
            `data` and `target` side by side, with ``as_frame=True`` only; the
            target's column is ``n_events``.
        DESCR : str
            The description and the source of the data.
        filename : str
            The path of the CSV file.
    (data, target) : tuple
        With ``return_X_y=True``.

    Raises
    ------
    ImportError
        With ``as_frame=True`` where pandas is not installed.

    References
    ----------
    .. [1] Jarrett, R. G. (1979). A note on the intervals between coal-mining
       disasters. Biometrika 66, 191-193.

    Examples
    --------
    >>> from skgpmcmc.datasets import load_coal_mining
    >>> coal_mining = load_coal_mining()
    >>> coal_mining.events.shape, int(coal_mining.target.sum())
    ((191,), 191)
    >>> str(coal_mining.dates[0])
    '1851-03-15'
    """
    _, cells = read_csv("coal_mining")
    events = cells[:, 1].astype(np.float64)
    edges = _DAYS_PER_BIN * np.arange(_N_COAL_MINING_BINS + 1)
    counts, _ = np.histogram(events, bins=edges)
    return make_result(
        "coal_mining",
        data=np.arange(_N_COAL_MINING_BINS, dtype=np.float64)[:, np.newaxis] + 0.5,
        target=counts.astype(np.int64),
        feature_names=["time"],
        target_column="n_events",
        as_frame=as_frame,
        return_X_y=return_X_y,
        events=events,
        dates=cells[:, 0].astype("datetime64[D]"),
    )


@overload
def load_redwoods(*, return_X_y: Literal[False] = False, as_frame: bool = False) -> Bunch: ...
@overload
def load_redwoods(*, return_X_y: Literal[True], as_frame: bool = False) -> tuple[Any, Any]: ...
def load_redwoods(*, return_X_y: bool = False, as_frame: bool = False) -> Bunch | tuple[Any, Any]:
    """Load the California redwoods (point process in the plane).

    The locations of 195 seedlings and saplings in a region scaled to the unit
    square, as points and as counts in a grid of 25 by 25 square cells.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=False
        Return pandas objects: `data` a DataFrame, `target` a Series. `points`
        stays an array. Needs pandas.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the attributes

        data : ndarray of shape (625, 2) or DataFrame
            The cells' centres, in units of the square's side. The second
            coordinate varies fastest: ``target.reshape(25, 25)[i, j]`` is the
            count of the i-th cell along ``x`` and the j-th along ``y``.
        target : ndarray of shape (625,) or Series
            The number of trees in each cell. Cells are closed at their lower
            edges; the square's outer edge belongs to the last cell.
        points : ndarray of shape (195, 2)
            The trees' coordinates, in the same units.
        feature_names : list of str
            ``["x", "y"]``.
        frame : DataFrame or None
            `data` and `target` side by side, with ``as_frame=True`` only; the
            target's column is ``n_trees``.
        DESCR : str
            The description and the source of the data.
        filename : str
            The path of the CSV file.
    (data, target) : tuple
        With ``return_X_y=True``.

    Raises
    ------
    ImportError
        With ``as_frame=True`` where pandas is not installed.

    References
    ----------
    .. [1] Ripley, B. D. (1977). Modelling spatial patterns (with discussion).
       Journal of the Royal Statistical Society, Series B 39, 172-212.
    .. [2] Strauss, D. J. (1975). A model for clustering. Biometrika 62, 467-475.

    Examples
    --------
    >>> from skgpmcmc.datasets import load_redwoods
    >>> redwoods = load_redwoods()
    >>> redwoods.points.shape, int(redwoods.target.sum())
    ((195, 2), 195)
    """
    header, cells = read_csv("redwoods")
    points = cells.astype(np.float64)
    edges = np.linspace(0.0, 1.0, _N_REDWOOD_CELLS_PER_SIDE + 1)
    counts, _, _ = np.histogram2d(points[:, 0], points[:, 1], bins=[edges, edges])
    centres = (edges[:-1] + edges[1:]) / 2
    grid = np.meshgrid(centres, centres, indexing="ij")
    return make_result(
        "redwoods",
        data=np.stack(grid, axis=-1).reshape(-1, 2),
        target=counts.astype(np.int64).ravel(),
        feature_names=header,
        target_column="n_trees",
        as_frame=as_frame,
        return_X_y=return_X_y,
        points=points,
    )


@overload
def load_van_drivers(*, return_X_y: Literal[False] = False, as_frame: bool = False) -> Bunch: ...
@overload
def load_van_drivers(*, return_X_y: Literal[True], as_frame: bool = False) -> tuple[Any, Any]: ...
def load_van_drivers(
    *, return_X_y: bool = False, as_frame: bool = False
) -> Bunch | tuple[Any, Any]:
    """Load the drivers of vans killed in Great Britain, 1969 to 1984 (counts in months).

    Deaths of drivers of light goods vehicles in each of 192 months. There is a trend and a season.
    Seat belts were compulsory from 31 January 1983 on.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=False
        Return pandas objects: `data` a DataFrame, `target` a Series. `exposure` and `edges` stay
        arrays. Needs pandas.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the attributes

        data : ndarray of shape (192, 1) or DataFrame
            The middle of each month, in years of 365.25 days since 1969 began.
        target : ndarray of shape (192,) or Series
            The number of drivers killed in each month.
        exposure : ndarray of shape (192,)
            The length of each month, in the same years.
        edges : ndarray of shape (193,), dtype datetime64[D]
            The first day of each month, and of the month after the last one.
        feature_names : list of str
            ``["time"]``.
        frame : DataFrame or None
            `data` and `target` side by side, with ``as_frame=True`` only; the
            target's column is ``n_killed``.
        DESCR : str
            The description and the source of the data.
        filename : str
            The path of the CSV file.
    (data, target) : tuple
        With ``return_X_y=True``.

    Raises
    ------
    ImportError
        With ``as_frame=True`` where pandas is not installed.

    References
    ----------
    .. [1] Harvey, A. C. and Durbin, J. (1986). The effects of seat belt legislation on British road
       casualties: a case study in structural time series modelling. Journal of the Royal
       Statistical Society, Series A 149, 187-227.

    Examples
    --------
    >>> from skgpmcmc.datasets import load_van_drivers
    >>> vans = load_van_drivers()
    >>> vans.target[:4], str(vans.edges[0])
    (array([12,  6, 12,  8]), '1969-01-01')
    """
    _, cells = read_csv("van_drivers")
    months = cells[:, 0].astype("datetime64[M]")
    edges = np.append(months, months[-1] + 1).astype("datetime64[D]")
    years = (edges - edges[0]).astype(np.float64) / _DAYS_PER_YEAR
    return make_result(
        "van_drivers",
        data=(0.5 * (years[1:] + years[:-1]))[:, np.newaxis],
        target=cells[:, 1].astype(np.int64),
        feature_names=["time"],
        target_column="n_killed",
        as_frame=as_frame,
        return_X_y=return_X_y,
        exposure=np.diff(years),
        edges=edges,
    )
