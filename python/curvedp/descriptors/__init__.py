"""Images, time series, landmarks, curves turned into points of manifolds, each on its own.

A descriptor is a function of one record and of public parameters. So two neighbouring data sets of
records give neighbouring data sets of descriptors, and every guarantee for the descriptors holds
for the records. Anything estimated from the data set (a mean image, a whitening, a range, a
template) would break this: such a number is a release of its own.

Nothing raises or warns because of a record's value. See ``docs/descriptors.md``.
"""

from curvedp.descriptors.curves import ElasticCurves
from curvedp.descriptors.images import FEATURES, PRESETS, feature_labels, image_covariance
from curvedp.descriptors.landmarks import AlignedLandmarks
from curvedp.descriptors.missing_landmarks import fill_landmarks
from curvedp.descriptors.time_series import time_series_covariance

__all__ = [
    "FEATURES",
    "PRESETS",
    "AlignedLandmarks",
    "ElasticCurves",
    "feature_labels",
    "fill_landmarks",
    "image_covariance",
    "time_series_covariance",
]


def __dir__() -> list[str]:
    return sorted(__all__)
