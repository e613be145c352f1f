"""Rows for descriptors: images and time series into SPD matrices."""

from __future__ import annotations

import numpy as np
from pyriemann.estimation import Covariances

from curvedp.descriptors import image_covariance, time_series_covariance
from harness import Peer, Row
from peers import descriptors as peers
from rows import ROWS

_RIDGE = 1e-6


@ROWS.add("image covariance 28x28 gray, SPD(5)")
def _texture(quick: bool) -> Row:
    n = 500 if quick else 5000
    images = np.random.default_rng(0).integers(0, 256, (n, 28, 28), dtype=np.uint8)
    return Row(
        f"n={n}",
        lambda: image_covariance(images, features="texture", ridge=_RIDGE),
        {
            "NumPy": Peer(lambda: peers.texture(images, _RIDGE), 2),
            "SciPy loop": Peer(lambda: peers.texture_loop(images, _RIDGE), 5),
        },
    )


@ROWS.add("image covariance 32x32 colour, SPD(11)")
def _region(quick: bool) -> Row:
    n = 200 if quick else 2000
    images = np.random.default_rng(0).integers(0, 256, (n, 32, 32, 3), dtype=np.uint8)
    return Row(
        f"n={n}",
        lambda: image_covariance(images, ridge=_RIDGE),
        {
            "NumPy": Peer(lambda: peers.region(images, _RIDGE), 2),
            "SciPy loop": Peer(lambda: peers.region_loop(images, _RIDGE), 5),
        },
    )


def _time_series(channels: int, samples: int):
    def build(quick: bool) -> Row:
        n = 100 if quick else 1000
        signals = np.random.default_rng(0).standard_normal((n, channels, samples))
        # pyRiemann centres by itself; its result has no ridge
        estimator = Covariances(estimator="scm")
        return Row(
            f"n={n}",
            lambda: time_series_covariance(signals, ridge=_RIDGE),
            {
                "NumPy": Peer(lambda: peers.time_series(signals, _RIDGE)),
                "pyriemann": Peer(lambda: estimator.transform(signals), 2, comparable=False),
            },
        )

    return build


for _channels, _samples in ((8, 200), (16, 256), (64, 1000)):
    ROWS.add(f"time series covariance {_channels} x {_samples}")(_time_series(_channels, _samples))
