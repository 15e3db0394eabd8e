"""Pictures of fitted estimators, in the manner of scikit-learn's displays.

``SomeDisplay.from_estimator(model, ...)`` computes what a picture shows, and draws it. The display
keeps the numbers and the artists (attributes that end in an underscore). ``plot`` draws it again.
Displays need matplotlib, which is imported when something is drawn. For the calibration of a
classifier use scikit-learn's ``CalibrationDisplay.from_estimator``, which takes the classifiers of
this package.
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
