"""Images and time series turned into points of manifolds, each record on its own.

A descriptor is a function of one record and of public parameters. So two neighbouring data sets of
images give neighbouring data sets of descriptors, and every guarantee for the descriptors holds for
the images. Anything estimated from the data set (a mean image, a whitening, a range) would break
this: such a number is a release of its own.

Nothing raises or warns because of a record's value. See ``docs/descriptors.md``.
"""

from curvedp.descriptors.images import FEATURES, PRESETS, feature_labels, image_covariance
from curvedp.descriptors.time_series import time_series_covariance

__all__ = [
    "FEATURES",
    "PRESETS",
    "feature_labels",
    "image_covariance",
    "time_series_covariance",
]
