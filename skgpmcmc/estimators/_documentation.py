"""Parameters and attributes that all estimators document in the same words."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

_BLOCKS = {
    "points": """\
n_inducing : int, array-like of shape (n_points, n_features), "auto" or None, default="auto"
    Inducing points. With m of them, rows depend on each other only through the latent
    function at these points [2]_. Time grows with n m^2 instead of n^3. A number is the
    largest number of points that are chosen among the rows. Short runs of the chains say how
    many are needed, and the choice depends only on the data. An array has the points
    themselves. None is the exact model, and so is a number that is at least the number of
    distinct rows. ``"auto"`` is exact up to 400 distinct rows. With more rows it takes 50,
    100 or 200 points: the smallest number for which `approximation_` is within its limits.
""",
    "chains": """\
n_chains : int, default=4
    Independent Markov chains.
n_warmup, n_draws : int, default=250, 1000
    The largest number of iterations of each chain that are discarded, and the largest number
    of draws that are kept.
min_ess : float or None, default=100.0
    How many effective draws are enough. Sampling ends when every quantity has so many (bulk),
    and none has an R-hat above `max_rhat`. The quantities are every hyperparameter, the mean,
    the latent function at up to 50 training inputs and the complete-data log likelihood. They
    are checked after 50, 100, 150, 200, 250, 300, ... draws of each chain. The check changes
    no draw. The warm-up ends after 100 iterations if the chains are at the same place by
    then. With None, there are always `n_warmup` iterations and `n_draws` draws.
max_rhat : float or None, default=1.05
    See `min_ess`. None means no limit.
max_seconds : float, default=None
    Time after which no warm-up and no round of sampling begins, counted from the first warm-up
    on. The first warm-up and the first round always run, and before them the short runs that
    choose inducing points. The draws then depend on the speed of the machine.
thin : int, default=1
    Number of iterations for each draw that is kept.
max_prediction_draws : int or None, default=None
    How many posterior draws predictions average over. They are evenly spread over chains and
    iterations. None means all draws if this takes little time, as for up to 100 distinct
    training rows and 5,000 draws. In general it means 5e7 / (rows**2 * latent functions)
    draws, but at least 200, and not more than there are. (With inducing points it is their
    number instead of that of the rows.) The number does not depend on the rows that are
    predicted. You can set it after `fit`.
memory_limit : float or None, default=8.0
    Memory in gigabytes. It limits the chains that run at the same time together with all
    draws, and later joint predictions. If the estimate of `fit` or of a prediction is above
    the limit, a ValueError is raised before anything is allocated. None disables the check.
copy_X_train : bool, default=True
    Whether the fitted estimator keeps its own copy of the training inputs.
warm_start : bool, default=False
    Whether `fit` with a larger `n_draws` or `min_ess` continues the chains. All else must be
    as before. If you draw 250 and then continue to 500, you get the draws of a single fit
    with 500, bit for bit. (`random_state` matters for the first fit only.)
checkpoint : str or path-like, default=None
    Directory in which draws and states of the chains are kept while they run. If the process
    dies, `fit` with the same arguments continues from there, and makes the same draws, bit
    for bit. A directory of other data, parameters or versions is refused. A larger `n_draws`
    or `min_ess` continues the chains. Each fit needs a directory of its own, so it cannot be
    used in a search over parameters.
""",
    "random_state": """\
random_state : int, RandomState instance or None, default=None
    Determines all draws.
verbose : int, default=0
    1 shows progress, R-hat and effective draws: a bar if tqdm is installed, and otherwise a
    few lines for each chain. A larger number minus one is joblib's verbosity.
""",
    "fit": """\
n_features_in_ : int
    Number of features seen by `fit`.
feature_names_in_ : ndarray of shape (`n_features_in_`,)
    Their names, where X had names.
n_warmup_, n_draws_, n_iter_ : int
    For each chain: iterations of the warm-up, draws that were kept, and all iterations.
converged_ : bool
    Whether there are `min_ess` effective draws (100 if it is None), and no R-hat is above
    `max_rhat`.
n_inducing_, inducing_points_ : int and ndarray of shape (n_points, n_features), or None
    Inducing points; None if the model is exact.
approximation_ : dict or None
    What the inducing points lose. ``"variance_left"`` is the mean share of the latent
    function's variance at the rows that they do not explain. ``"evidence_variance"`` is the
    variance over draws of the difference between the log evidence with twice as many points
    and with these. If the former is above 0.1 or the latter above 0.7, `fit` warns: more
    points would change predictions or the posterior of the hyperparameters.
representation_ : str or float
    The representation in use. It says what ``"auto"`` has chosen.
hyperparameter_update_ : str or callable
    The update in use: ``"slice"``, ``"hmc"`` or the proposal. It is ``"hmc and slice"`` if
    the trajectories of some chains failed in the warm-up.

See Also
--------
skgpmcmc.compare_models : Rank fitted models by leaving out rows.
skgpmcmc.displays.TraceDisplay : Look at the chains.
skgpmcmc.displays.PredictiveDisplay : Draw predictions.

References
----------
.. [1] Murray and Adams (2010), Slice sampling covariance hyperparameters of latent
   Gaussian models, NIPS.
.. [2] Snelson and Ghahramani (2006), Sparse Gaussian processes using pseudo-inputs, NIPS.
""",
}
# Of methods.
_METHOD_BLOCKS = {
    "mcse": """\
Each draw gives a prediction, and the result is their mean. Its standard error is sd /
sqrt(ESS): the standard deviation of these predictions, divided by the square root of their
effective number. The effective number takes account of the autocorrelation of the chains
(`skgpmcmc.diagnostics.mcse_mean`; Vehtari et al. 2021, and Flegal, Haran and Jones 2008 on
such errors). The error is about the draws that are used. `max_prediction_draws` may make
these fewer than were drawn.
""",
}
_PLACEHOLDER = re.compile(r"^( *)%\((\w+)\)s\n", re.MULTILINE)

Documented = TypeVar("Documented", bound=Callable)


def with_shared_documentation(documented: Documented) -> Documented:
    """Put the shared blocks in the places of a docstring, of a class or a method, that name them.

    A place is a line such as ``%(chains)s``; the block gets its indentation, which Python 3.13
    takes off docstrings.
    """
    if documented.__doc__ is not None:  # None with python -OO
        documented.__doc__ = _PLACEHOLDER.sub(_indented, documented.__doc__)
    return documented


def _indented(place: re.Match[str]) -> str:
    block = (_BLOCKS | _METHOD_BLOCKS)[place[2]]
    return "".join(place[1] + line if line.strip() else line for line in block.splitlines(True))
