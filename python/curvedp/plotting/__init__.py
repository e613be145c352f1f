"""Pictures of releases; needs the extra ``plot`` (matplotlib), imported only when one is drawn."""

from curvedp.plotting.ellipsoids import (
    DiffusionTensorDisplay,
    direction_colour,
    ellipsoid_surface,
    fractional_anisotropy,
    tensor_ellipsoids,
)
from curvedp.plotting.embeddings import EmbeddingDisplay, RetrievalDisplay

__all__ = [
    "DiffusionTensorDisplay",
    "EmbeddingDisplay",
    "RetrievalDisplay",
    "direction_colour",
    "ellipsoid_surface",
    "fractional_anisotropy",
    "tensor_ellipsoids",
]
