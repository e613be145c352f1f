"""How far missing landmarks move a mean shape: specimens as centres, and filled by the template.

CURVEDP_DATA=... python missing_landmarks.py
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

import curvedp as cdp

RADII = {"rats": 0.3, "passiflora": 0.7}
SHARES = (0.02, 0.05, 0.1, 0.2)


def main() -> None:
    print("| landmarks | missing | specimens that lack some | as centres | filled | noise, μ = 1 |")
    print("|---|---|---|---|---|---|")
    for name, radius in RADII.items():
        with np.load(Path(os.environ["CURVEDP_DATA"]) / "landmarks" / f"{name}.npz") as file:
            template, *records = file["landmarks"].astype(float)
        whole = np.array(records)
        n, k, _ = whole.shape
        space, rng = cdp.KendallPlanar(k), np.random.default_rng(0)
        ball = cdp.Ball(space, template, radius)
        noise = cdp.expected_error(ball, n=n, guarantee=cdp.GDP(1.0))
        exact = cdp.nonprivate.frechet_mean(ball.project(whole), space).value
        for share in SHARES:
            holes = whole.copy()
            holes[rng.random((n, k)) < share] = np.nan
            lacking = ~np.isfinite(holes).all(axis=(1, 2))
            filled = cdp.descriptors.fill_landmarks(holes, template)
            as_centres = np.where(lacking[:, None, None], template, holes)
            off = [
                space.dist(cdp.nonprivate.frechet_mean(ball.project(own), space).value, exact)
                for own in (as_centres, filled)
            ]
            print(
                f"| {n} {name}, {k} × 2 | {share:.0%} | {lacking.mean():.0%} | {off[0]:.3f} "
                f"| {off[1]:.4f} | {noise:.4f} |"
            )


if __name__ == "__main__":
    main()
