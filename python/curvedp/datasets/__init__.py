"""Real data for the demo, the tests and trying things out, and made-up records with known laws.

What ships with the package is public: `load_diffusion_tensors`, and the small files of
`example_file`. Its records are not people and need no protection, which is why a demo may print a
private release beside the exact answer. The other loaders read public image collections from files
of yours.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curvedp.datasets.images import (
    ImageCollection,
    load_cifar10,
    load_fashion_mnist,
    load_medmnist,
)
from curvedp.datasets.synthetic import (
    riemannian_normal,
    uniform_ball,
    von_mises_fisher,
    wrapped_normal,
)

__all__ = [
    "Dataset",
    "ImageCollection",
    "example_file",
    "load_cifar10",
    "load_diffusion_tensors",
    "load_fashion_mnist",
    "load_medmnist",
    "riemannian_normal",
    "uniform_ball",
    "von_mises_fisher",
    "wrapped_normal",
]


def __dir__() -> list[str]:
    return sorted(__all__)


EXAMPLE_FILES = (
    "coastline.npz",
    "earthquakes.csv",
    "emg_windows.npz",
    "mammals.csv",
    "tensors_by_scan.csv",
)


@dataclass(frozen=True, eq=False)
class Dataset:
    """Records on a manifold with what is known about them.

    Attributes
    ----------
    records : ndarray of shape (n, \\*point_shape)
        One record per row, float64.
    manifold : str
        Specification of the manifold the records lie on, such as ``"spd:3"``.
    units : str
        Unit of the entries of a record.
    description : str
        Meaning of the records and their derivation.
    source : str
        Origin of the raw data.
    licence : str
        Full licence text of the raw data, which covers the records as well.
    covariates : mapping of str to ndarray
        Further facts about each record, n entries each, in the records' order.
    """

    records: NDArray[np.float64]
    manifold: str
    units: str
    description: str
    source: str
    licence: str
    covariates: Mapping[str, NDArray[Any]] = field(default_factory=lambda: MappingProxyType({}))

    def __repr__(self) -> str:
        first_line = self.description.split(". ", maxsplit=1)[0]
        return f"Dataset(n={len(self.records)}, manifold={self.manifold!r}: {first_line})"


def load_diffusion_tensors() -> Dataset:
    """Load 584 diffusion tensors of a block of human brain, real points of SPD(3).

    Returns
    -------
    Dataset
        ``records`` of shape (584, 3, 3) in 1e-3 mm^2/s, each symmetric positive definite with
        eigenvalues between 0.02 and 4; covariates ``fractional_anisotropy`` (584,),
        ``mean_diffusivity`` (584,) in the same unit, and ``voxel`` (584, 3), the index in the
        10 x 10 x 10 block.

    Notes
    -----
    Records are voxels of one person. A release protects one voxel, so the data illustrate the
    geometry and the noise, not a realistic unit of privacy.

    The arrays are fresh copies at every call.

    Examples
    --------
    >>> tensors = load_diffusion_tensors()
    >>> tensors.records.shape, tensors.manifold
    ((584, 3, 3), 'spd:3')
    """
    folder = resources.files(__package__) / "data"
    with np.load(io.BytesIO((folder / "diffusion_tensors.npz").read_bytes())) as stored:
        arrays = {name: stored[name] for name in stored.files}
    rows, columns = np.triu_indices(3)
    upper = arrays.pop("upper_triangle")
    records = np.empty((len(upper), 3, 3))
    records[:, rows, columns] = upper
    records[:, columns, rows] = upper
    return Dataset(
        records=records,
        manifold="spd:3",
        units="1e-3 mm^2/s",
        description=(
            "Diffusion tensors of 584 voxels of one human brain. A 10 x 10 x 10 block measured "
            "with 64 gradient directions; tensors by weighted least squares; voxels kept whose "
            "eigenvalues lie between 0.02 and 4 and whose unweighted signal stands above the "
            "background."
        ),
        source=(
            "dipy (https://github.com/dipy/dipy, commit "
            "2ecd365584cc344c61e3543d8d7d4a498739a51c), dipy/data/files/small_64D"
        ),
        licence=(folder / "LICENSE-dipy").read_text(encoding="utf-8"),
        covariates=MappingProxyType(arrays),
    )


def example_file(name: str) -> Path:
    """Path of a small public file, such as a study would begin with.

    `SOURCE.md` in the same folder says where each comes from and how it was derived, the files
    ``LICENSE-...`` under which terms.

    - ``"tensors_by_scan.csv"``: 1,344 diffusion tensors of three scans, by columns ``scan``,
      ``xx``, ``xy``, ``xz``, ``yy``, ``yz``, ``zz`` in 1e-3 mm^2/s (dipy, BSD).
    - ``"emg_windows.npz"``: covariances of eight muscle signals in 1,160 windows, the members
      ``upper_triangle`` (1160, 36), ``gesture`` and ``session`` (geomstats, MIT).
    - ``"earthquakes.csv"``: epicentres of a week's 1,679 earthquakes, by columns ``lon``, ``lat``
      in degrees, ``depth_km``, ``magnitude`` (USGS, public domain).
    - ``"coastline.npz"``: the Earth's coasts at 1:110 million as 129 lines, by ``hundredths`` of a
      degree of longitude and latitude (5126, 2) and the ``lengths`` of lines (Natural Earth, public
      domain).
    - ``"mammals.csv"``: the tree of 1,181 nouns for mammals, by columns ``word`` and ``parent``
      (WordNet).

    Parameters
    ----------
    name : str
        One of the above.

    Returns
    -------
    pathlib.Path

    Raises
    ------
    ValueError
        For another name.

    Examples
    --------
    >>> import numpy as np
    >>> lon, lat = np.loadtxt(
    ...     example_file("earthquakes.csv"), delimiter=",", skiprows=1, usecols=(0, 1), unpack=True
    ... )
    >>> lon.shape, bool(abs(lat).max() < 90)
    ((1679,), True)
    """
    if name not in EXAMPLE_FILES:
        raise ValueError(f"no example file {name!r}: {', '.join(EXAMPLE_FILES)}")
    return Path(str(resources.files(__package__) / "data" / name))
