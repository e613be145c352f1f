"""Releases as estimators, with the signatures of scikit-learn and geomstats.

`FrechetMean` stands here, `curvedp.GeodesicRegression` and `curvedp.PrivateMail` beside what they
release. None of them needs scikit-learn.
"""

from curvedp.estimators.conventions import Conventions
from curvedp.estimators.frechet_mean import FrechetMean

__all__ = ["Conventions", "FrechetMean"]
