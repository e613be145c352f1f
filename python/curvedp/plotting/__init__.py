"""Pictures of releases; needs the extra ``plot`` (matplotlib), imported only when one is drawn."""

from curvedp.plotting.balls import BallDisplay
from curvedp.plotting.conformal import MeshFieldDisplay
from curvedp.plotting.ellipsoids import (
    DiffusionTensorDisplay,
    direction_colour,
    ellipsoid_surface,
    fractional_anisotropy,
    tensor_ellipsoids,
)
from curvedp.plotting.embeddings import EmbeddingDisplay, RetrievalDisplay
from curvedp.plotting.geodesics import GeodesicDisplay
from curvedp.plotting.groups import ReleasesDisplay
from curvedp.plotting.intervals import VarianceIntervalDisplay
from curvedp.plotting.regions import RegionDisplay
from curvedp.plotting.releases import ReleaseDisplay

__all__ = [
    "BallDisplay",
    "DiffusionTensorDisplay",
    "EmbeddingDisplay",
    "GeodesicDisplay",
    "MeshFieldDisplay",
    "RegionDisplay",
    "ReleaseDisplay",
    "ReleasesDisplay",
    "RetrievalDisplay",
    "VarianceIntervalDisplay",
    "direction_colour",
    "ellipsoid_surface",
    "fractional_anisotropy",
    "tensor_ellipsoids",
]
