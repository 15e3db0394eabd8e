"""Pictures of fitted estimators, in the manner of scikit-learn's displays.

``SomeDisplay.from_estimator(model, ...)`` computes what a picture shows, and draws it; the
display keeps the numbers and the artists (attributes that end in an underscore), and ``plot``
draws it again. Needs matplotlib, which is imported when something is drawn. For the calibration
of a classifier use scikit-learn's ``CalibrationDisplay.from_estimator``, which takes ours.
"""

from ._components import ComponentsDisplay
from ._hyperparameters import HyperparameterDisplay
from ._intensity import IntensityDisplay
from ._predictive import PredictiveDisplay
from ._relevance import RelevanceDisplay
from ._trace import TraceDisplay

__all__ = [
    "ComponentsDisplay",
    "HyperparameterDisplay",
    "IntensityDisplay",
    "PredictiveDisplay",
    "RelevanceDisplay",
    "TraceDisplay",
]
