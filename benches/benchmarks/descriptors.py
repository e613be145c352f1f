"""Images and time series into symmetric positive definite matrices."""

from __future__ import annotations

import numpy as np

from curvedp import descriptors

from . import workloads


class Images:
    """Covariance descriptors of 500 images."""

    params = (["texture", "region"],)
    param_names = ("features",)

    def setup(self, features: str) -> None:
        """Random pixels: the arithmetic does not depend on them."""
        shape = (28, 28) if features == "texture" else (32, 32, 3)
        generator = np.random.default_rng(0)
        self.images = generator.integers(0, 256, (workloads.size(500), *shape), dtype=np.uint8)

    def time_covariance(self, features: str) -> None:
        """Seconds for all images."""
        descriptors.image_covariance(self.images, features=features, ridge=1e-6)


class TimeSeries:
    """Covariances of 500 signals."""

    params = ([(8, 200), (64, 1000)],)
    param_names = ("channels and samples",)

    def setup(self, shape: tuple[int, int]) -> None:
        """White noise."""
        count = workloads.size(500)
        self.signals = np.random.default_rng(0).standard_normal((count, *shape))

    def time_covariance(self, shape: tuple[int, int]) -> None:
        """Seconds for all signals."""
        descriptors.time_series_covariance(self.signals, ridge=1e-6)
