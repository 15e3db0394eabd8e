"""Binary classification."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from .._linalg import Array
from ..likelihoods import BernoulliLogit, BernoulliProbit
from ._base import BaseMCMCGaussianProcess, share_latents

_LINKS = {"logit": BernoulliLogit, "probit": BernoulliProbit}
# Typical variance of the latent function. On the logit scale a standard deviation
# of 2 spreads probabilities over (0.02, 0.98); the prior allows for much more.
_SIGNAL_VARIANCE = 4.0


class MCMCGaussianProcessClassifier(ClassifierMixin, BaseMCMCGaussianProcess):
    """Gaussian process classification, the kernel's hyperparameters integrated out.

    The latent function and the hyperparameters are sampled from their joint posterior
    by Markov chain Monte Carlo [1]_, and predictions average over the draws. Two
    classes; for more, wrap it in `sklearn.multiclass.OneVsRestClassifier`.

    Parameters
    ----------
    kernel : kernel instance, default=None
        Any kernel of `sklearn.gaussian_process.kernels`, or one of your own. None is a
        constant times a squared exponential with a length scale for each column,
        scaled to the data.
    link : {"logit", "probit"}, default="logit"
        From the latent function to the probability.
    mean : {"zero", "constant"}, default="zero"
        Prior mean of the latent function. A constant one is a further hyperparameter,
        named ``"mean"``, with a normal prior of standard deviation 2.
    representation : str or float, default="auto"
        What is held fixed while the hyperparameters move: ``"surr-site"`` (what
        ``"auto"`` means), ``"post-site"``, ``"prior-white"``, ``"fixed"``, or the variance
        of constant surrogate noise.
    hyperparameter_update : "slice" or callable, default="slice"
        Slice sampling, or a Metropolis-Hastings proposal: a callable that takes the
        vector theta and a generator, and returns the proposed vector and
        log q(old; new) - log q(new; old).
    n_latent_updates : int, default=10
        Elliptical slice updates of the latent function in each iteration.
    priors : dict, default=None
        Name of a hyperparameter, as in ``kernel.hyperparameters`` or ``"mean"`` -> frozen
        scipy.stats distribution on the natural scale, or a list of one for each
        element. Hyperparameters left out are log-uniform on bounds that you set, and
        otherwise log-normal, scaled to the data.
    n_chains : int, default=4
        Independent Markov chains.
    n_warmup, n_draws : int, default=250, 500
        Iterations of each chain that are discarded, and draws that are kept.
    thin : int, default=1
        Iterations for each kept draw.
    max_prediction_draws : int, default=200
        Posterior draws, evenly spread, that predictions average over.
    copy_X_train : bool, default=True
        Whether the fitted estimator keeps its own copy of the training inputs.
    n_jobs : int, default=None
        Chains that run at the same time; the draws do not depend on it.
    random_state : int, RandomState instance or None, default=None
        Determines all draws.
    verbose : int, default=0
        joblib's verbosity over chains.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Class labels, sorted.
    posterior_ : dict
        Name of a hyperparameter -> draws on the natural scale, shape
        (n_chains, n_draws), or (n_chains, n_draws, size).
    diagnostics_ : dict
        Name of a quantity -> mean, sd, mcse, ess_bulk, ess_tail, rhat.
    trace_ : Trace
        All draws and costs.
    kernel_ : kernel instance
        The kernel at the posterior median, for reading only.
    X_train_ : array-like of shape (n_latent, n_features)
        Distinct training inputs.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X had names.
    n_iter_ : int
        Iterations of each chain.

    References
    ----------
    .. [1] Murray and Adams (2010), Slice sampling covariance hyperparameters of latent
       Gaussian models, NIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from skgpmcmc import MCMCGaussianProcessClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(40, 1))
    >>> y = np.where(np.sin(2 * X[:, 0]) > 0, "up", "down")
    >>> model = MCMCGaussianProcessClassifier(n_warmup=100, n_draws=200, random_state=0)
    >>> model.fit(X, y).predict([[0.8], [-0.8]])
    array(['up', 'down'], dtype='<U4')
    """

    _parameter_constraints: ClassVar[dict] = {
        **BaseMCMCGaussianProcess._parameter_constraints,
        "link": [StrOptions(set(_LINKS))],
    }

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        link: str = "logit",
        mean: str = "zero",
        representation: str | float = "auto",
        hyperparameter_update: Any = "slice",
        n_latent_updates: int = 10,
        priors: dict | None = None,
        n_chains: int = 4,
        n_warmup: int = 250,
        n_draws: int = 500,
        thin: int = 1,
        max_prediction_draws: int = 200,
        copy_X_train: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.link = link
        self.mean = mean
        self.representation = representation
        self.hyperparameter_update = hyperparameter_update
        self.n_latent_updates = n_latent_updates
        self.priors = priors
        self.n_chains = n_chains
        self.n_warmup = n_warmup
        self.n_draws = n_draws
        self.thin = thin
        self.max_prediction_draws = max_prediction_draws
        self.copy_X_train = copy_X_train
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.two_d_array = self.kernel is None or self.kernel.requires_vector_input
        return tags

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> MCMCGaussianProcessClassifier:
        """Sample the posterior given training data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs; a list of objects if the kernel takes these.
        y : array-like of shape (n_samples,)
            Labels of two classes.

        Returns
        -------
        self : MCMCGaussianProcessClassifier
            Fitted estimator.

        Raises
        ------
        ValueError
            For input that is not finite or of the wrong shape, a number of classes
            other than two, or priors that do not fit the kernel.
        """
        X, y = self._validate_inputs(X, y=y, reset=True, copy=self.copy_X_train)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) != 2:
            raise ValueError(self._n_classes_message())
        vectors = self.kernel is None or self.kernel.requires_vector_input
        self.X_train_, latent_index = share_latents(X, vectors=vectors)
        signs = np.where(codes == 1, 1.0, -1.0)
        likelihood = _LINKS[self.link](signs, latent_index=latent_index)
        self._sample(likelihood, self.X_train_, _SIGNAL_VARIANCE)
        self._success_probability = likelihood.success_probability
        return self

    def _n_classes_message(self) -> str:
        n_classes = len(self.classes_)
        if n_classes == 1:
            return (
                "MCMCGaussianProcessClassifier needs samples of two classes; got 1 class, "
                f"{self.classes_.tolist()[0]!r}. Check y."
            )
        return (
            "Only binary classification is supported. MCMCGaussianProcessClassifier needs two "
            f"classes; got {n_classes}. Wrap it in sklearn.multiclass.OneVsRestClassifier."
        )

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the classes, averaged over the posterior.

        For each draw the latent function at X is normal given the draw; the average of
        the link over it is computed by quadrature, so that predictions are deterministic.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, 2)
            Columns in the order of `classes_`.
        """
        check_is_fitted(self)
        X = self._validate_inputs(X, reset=False)
        draws = self._posterior_draws(self.X_train_)
        positive = np.zeros(len(X))
        for mean, variance in draws.moments(X):
            positive += self._success_probability(mean, variance)
        positive /= len(draws)
        return np.column_stack([1.0 - positive, positive])

    def predict(self, X: Any) -> Array:
        """Return the most probable classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Elements of `classes_`.
        """
        probabilities = self.predict_proba(X)
        return self.classes_[(probabilities[:, 1] > 0.5).astype(int)]
