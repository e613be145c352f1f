"""Private means, regressions, classifiers, clusters and components as scikit-learn estimators.

Needs the extra ``sklearn``. Not imported by ``import curvedp``: write ``import curvedp.learning``.
"""

from typing import TYPE_CHECKING, NoReturn

from curvedp._hints import no_such_name
from curvedp.learning.estimator import Estimator
from curvedp.learning.frechet_mean import FrechetMean
from curvedp.learning.geodesic_regression import GeodesicRegression
from curvedp.learning.kmeans import PrivateKMeans
from curvedp.learning.logistic import TangentLogisticRegression
from curvedp.learning.mdm import PrivateMDM
from curvedp.learning.pca import TangentPCA

__all__ = [
    "Estimator",
    "FrechetMean",
    "GeodesicRegression",
    "PrivateKMeans",
    "PrivateMDM",
    "TangentLogisticRegression",
    "TangentPCA",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        raise no_such_name(name, own=__name__)
