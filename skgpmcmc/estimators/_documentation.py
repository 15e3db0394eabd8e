"""Parameters and attributes that all estimators document in the same words."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

_BLOCKS = {
    "points": """\
n_inducing : int, array-like of shape (n_points, n_features), "auto" or None, default="auto"
    Inducing points. With m of them, rows depend on each other only through the latent function
    at these points [2]_, and time grows with n m^2 in place of n^3. A number is the most that
    are chosen among the rows, where short runs of the chains say that they are needed; the
    choice depends on the data alone. An array has the points themselves. None is the exact
    model, and so is a number of at least that of the distinct rows. ``"auto"`` is exact up to
    400 distinct rows, and takes 50, 100 or 200 points beyond: as few as `approximation_` is
    satisfied with.
""",
    "chains": """\
n_chains : int, default=4
    Independent Markov chains.
n_warmup, n_draws : int, default=250, 1000
    The most iterations of each chain that are discarded, and the most draws that are kept.
min_ess : float or None, default=100.0
    Effective draws that are enough: sampling ends when every hyperparameter, the mean, the
    latent function at up to 50 training inputs and the complete-data log likelihood have so
    many (bulk), and none has an R-hat above `max_rhat`. This is looked at after 50, 100, 150,
    200, 250, 300, ... draws of each chain, and changes no draw. The warm-up ends after 100
    iterations where the chains are at the same place by then. None: all `n_warmup` iterations
    and all `n_draws` draws.
max_rhat : float or None, default=1.05
    See `min_ess`; None is no limit.
max_seconds : float, default=None
    Time after which neither another warm-up nor a further round of sampling is begun; the
    first of both are always run. The draws then depend on the speed of the machine.
thin : int, default=1
    Iterations for each kept draw.
max_prediction_draws : int or None, default=None
    Posterior draws, evenly spread over chains and iterations, that predictions average over.
    None: all of them where that takes little time, as it does up to 100 distinct training rows
    and 5,000 draws; in general 5e7 / (rows**2 * latent functions) draws, at least 200, and
    never more than there are. The number does not depend on the rows that are predicted. It may
    be set after `fit`.
memory_limit : float or None, default=8.0
    Gigabytes that the chains that run at the same time, and all draws, may take, and joint
    predictions later. If the estimate of `fit` or of a prediction exceeds it, a ValueError is
    raised before anything is allocated. None disables the check.
copy_X_train : bool, default=True
    Whether the fitted estimator keeps its own copy of the training inputs.
warm_start : bool, default=False
    Whether `fit` with a larger `n_draws` or `min_ess`, and all else as before, continues the
    chains: 250 draws and then 500 are the draws of 500 in one go, bit for bit
    (`random_state` matters for the first fit only).
checkpoint : str or path-like, default=None
    Directory in which draws and states of the chains are kept while they run. If the
    process dies, `fit` with the same arguments goes on from there, to the same draws, bit
    for bit; a directory of other data, parameters or versions is refused. A larger `n_draws`
    or `min_ess` continues the chains. One directory for each fit: not in a search over parameters.
""",
    "random_state": """\
random_state : int, RandomState instance or None, default=None
    Determines all draws.
verbose : int, default=0
    1 shows progress, R-hat and effective draws: a bar if tqdm is installed, a few lines for
    each chain otherwise. More is joblib's verbosity, plus one.
""",
    "fit": """\
n_features_in_ : int
    Number of features seen by `fit`.
feature_names_in_ : ndarray of shape (`n_features_in_`,)
    Their names, where X had names.
n_warmup_, n_draws_, n_iter_ : int
    Iterations of the warm-up of each chain, draws that were kept, and iterations in all.
converged_ : bool
    Whether the draws have `min_ess` effective ones (100 if it is None) and no R-hat above
    `max_rhat`.
n_inducing_, inducing_points_ : int and ndarray of shape (n_points, n_features), or None
    Inducing points; None if the model is exact.
approximation_ : dict or None
    What the inducing points lose: ``"variance_left"``, the mean share of the latent function's
    variance that they leave at the rows, and ``"evidence_variance"``, the variance over draws
    of the difference between the log evidence with twice as many points and with these. If
    the one is above 0.1 or the other above 0.7, `fit` warns: more points would change
    predictions or the posterior of the hyperparameters.
representation_ : str or float
    The one in use; what ``"auto"`` stood for.
hyperparameter_update_ : str or callable
    ``"slice"``, ``"hmc"`` or the proposal: the one in use; ``"hmc and slice"`` if the
    trajectories of some chains failed in the warm-up.

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
A prediction is a mean over draws, of what is predicted given each draw. Its standard error is
sd / sqrt(ESS): the standard deviation of these over the square root of their effective number,
which takes the autocorrelation of the chains into account (`skgpmcmc.diagnostics.mcse_mean`;
Vehtari et al. 2021, and Flegal, Haran and Jones 2008 on such errors). It is that of the draws
that are used, which `max_prediction_draws` may make fewer than were drawn.
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
