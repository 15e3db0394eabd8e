"""Convergence diagnostics and effective sample sizes on plain arrays of draws.

Every function takes the ``draws`` of one scalar quantity, with the shape (n_chains, n_draws). A
one-dimensional array is a single chain. ``summarize`` takes many quantities by name. There are two
families of functions:

- ``rhat``, ``ess_bulk``, ``ess_tail``, ``ess_mean`` and ``mcse_mean`` follow Vehtari, Gelman,
  Simpson, Carpenter and Buerkner (2021), "Rank-normalization, folding, and localization: an
  improved R-hat for assessing convergence of MCMC", Bayesian Analysis 16(2), and agree with the R
  package posterior. Each chain is first split into halves. If the number of draws is odd, the
  middle draw is left out.
- ``ess_spectral`` is the ``effectiveSize`` of the R package coda, the figure reported in the
  experiments of Murray and Adams (2010).

No function warns. The result is NaN where it is not defined:

- fewer than 4 draws a chain, or any NaN or infinity among the draws;
- all draws equal (``ess_spectral`` is 0 instead, as in coda): a quantity that never moved is
  either a constant or a stuck sampler, and the draws cannot tell which. Treat NaN as "not shown
  to have converged", so test ``not (rhat(draws) < 1.01)`` rather than ``rhat(draws) > 1.01``;
- effective sample sizes from split chains, and ``mcse_mean``, with fewer than 6 draws a chain.

"All equal" means exactly equal. (posterior and coda use an absolute tolerance.) So no diagnostic
depends on the unit of the quantity, except for rounding.
"""

from ._left_out import LooEstimate
from ._spectral import ess_spectral
from ._summary import SummaryTable, summarize
from ._vehtari import ess_bulk, ess_mean, ess_tail, mcse_mean, rhat

__all__ = [
    "LooEstimate",
    "SummaryTable",
    "ess_bulk",
    "ess_mean",
    "ess_spectral",
    "ess_tail",
    "mcse_mean",
    "rhat",
    "summarize",
]
