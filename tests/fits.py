"""Fits in tests."""

import warnings

from sklearn.exceptions import ConvergenceWarning


def quiet(estimator, *data, **options):
    """Fit short chains, of which a warning would say that they are short."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return estimator.fit(*data, **options)
