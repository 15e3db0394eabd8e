"""Parameters and attributes that all estimators document in the same words."""

from __future__ import annotations

import re
from typing import TypeVar

_BLOCKS = {
    "chains": """\
n_chains : int, default=4
    Independent Markov chains.
n_warmup, n_draws : int, default=250, 1000
    Iterations of each chain that are discarded, and draws that are kept.
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
    Whether `fit` with a larger `n_draws`, and all else as before, continues the chains:
    250 draws and then 500 are the draws of 500 in one go, bit for bit (`random_state`
    matters for the first fit only).
checkpoint : str or path-like, default=None
    Directory in which draws and states of the chains are kept while they run. If the
    process dies, `fit` with the same arguments goes on from there, to the same draws, bit
    for bit; a directory of other data, parameters or versions is refused. A larger `n_draws`
    continues the chains. One directory for each fit: not in a search over parameters.
""",
    "random_state": """\
random_state : int, RandomState instance or None, default=None
    Determines all draws.
verbose : int, default=0
    1 shows progress: a bar if tqdm is installed, a few lines for each chain otherwise.
    More is joblib's verbosity, plus one.
""",
    "fit": """\
n_features_in_ : int
    Number of features seen by `fit`.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Their names, where X had names.
n_iter_ : int
    Iterations of each chain.
representation_ : str or float
    The one in use; what ``"auto"`` stood for.
hyperparameter_update_ : str or callable
    ``"slice"``, ``"hmc"`` or the proposal: the one in use; ``"hmc and slice"`` if the
    trajectories of some chains failed in the warm-up.

References
----------
.. [1] Murray and Adams (2010), Slice sampling covariance hyperparameters of latent
   Gaussian models, NIPS.
""",
}
_PLACEHOLDER = re.compile(r"^( *)%\((\w+)\)s\n", re.MULTILINE)

Class = TypeVar("Class", bound=type)


def with_shared_documentation(cls: Class) -> Class:
    """Put the shared blocks in the places of a class' docstring that name them.

    A place is a line such as ``%(chains)s``; the block gets its indentation, which Python 3.13
    takes off docstrings.
    """
    if cls.__doc__ is not None:  # None with python -OO
        cls.__doc__ = _PLACEHOLDER.sub(_indented, cls.__doc__)
    return cls


def _indented(place: re.Match[str]) -> str:
    block = _BLOCKS[place[2]]
    return "".join(place[1] + line if line.strip() else line for line in block.splitlines(True))
