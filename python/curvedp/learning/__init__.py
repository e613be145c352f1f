"""Private classifiers, clusters and tangent principal components as scikit-learn estimators.

Needs the extra ``sklearn``. Not imported by ``import curvedp``: write ``import curvedp.learning``.
"""

from curvedp.learning.estimator import Estimator
from curvedp.learning.kmeans import PrivateKMeans
from curvedp.learning.logistic import TangentLogisticRegression
from curvedp.learning.mdm import PrivateMDM
from curvedp.learning.pca import TangentPCA

__all__ = [
    "Estimator",
    "PrivateKMeans",
    "PrivateMDM",
    "TangentLogisticRegression",
    "TangentPCA",
]
