"""Pictures of releases; needs the extra ``plot`` (matplotlib), imported only when one is drawn.

Those of densities and embeddings are in `curvedp.conformal.display` and `curvedp.mail.display`.
"""

from curvedp.plotting.balls import BallDisplay
from curvedp.plotting.directions import DirectionDisplay
from curvedp.plotting.ellipsoids import (
    DiffusionTensorDisplay,
    direction_colour,
    ellipsoid_surface,
    fractional_anisotropy,
    tensor_ellipsoids,
)
from curvedp.plotting.geodesics import GeodesicDisplay
from curvedp.plotting.groups import ReleasesDisplay
from curvedp.plotting.intervals import VarianceIntervalDisplay
from curvedp.plotting.regions import RegionDisplay
from curvedp.plotting.releases import ReleaseDisplay

__all__ = [
    "BallDisplay",
    "DiffusionTensorDisplay",
    "DirectionDisplay",
    "GeodesicDisplay",
    "RegionDisplay",
    "ReleaseDisplay",
    "ReleasesDisplay",
    "VarianceIntervalDisplay",
    "direction_colour",
    "ellipsoid_surface",
    "fractional_anisotropy",
    "tensor_ellipsoids",
]


def __dir__() -> list[str]:
    return sorted(__all__)
