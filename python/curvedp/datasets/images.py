"""Public image collections read from the official files: idx (Fashion-MNIST), binary records
(CIFAR-10), npz (MedMNIST). Nothing is downloaded, and no pickle is ever loaded."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import tarfile
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from curvedp._validation import as_choice

Bytes = NDArray[np.uint8]

_FASHION_SOURCE = "https://github.com/zalandoresearch/fashion-mnist"
_CIFAR_SOURCE = "https://www.cs.toronto.edu/~kriz/cifar.html (binary version)"
_MEDMNIST_SOURCE = "https://medmnist.com"

#: MD5 sums as the publishers state them. MedMNIST's are those of 28 x 28 pixels that its versions
#: 2.1 and 3.0 agree on.
_PUBLISHED = {
    "train-images-idx3-ubyte.gz": "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
    "train-labels-idx1-ubyte.gz": "25c81989df183df01b3e8a0aad5dffbe",
    "t10k-images-idx3-ubyte.gz": "bef4ecab320f06d8554ea6380940ec79",
    "t10k-labels-idx1-ubyte.gz": "bb300cfdad3c16e7a12a480ee83cd310",
    "cifar-10-binary.tar.gz": "c32a1d4ab5d03f1284b67883e8d87530",
    "bloodmnist.npz": "7053d0359d879ad8a5505303e11de1dc",
    "breastmnist.npz": "750601b1f35ba3300ea97c75c52ff8f6",
    "chestmnist.npz": "02c8a6516a18b556561a56cbdd36c4a8",
    "dermamnist.npz": "0744692d530f8e62ec473284d019b0c7",
    "octmnist.npz": "c68d92d5b585d8d81f7112f81e2d0842",
    "pathmnist.npz": "a8b06965200029087d5bd730944a56c1",
    "pneumoniamnist.npz": "28209eda62fecd6e6a2d98b1501bb15f",
    "retinamnist.npz": "bd4c0672f1bba3e3a89f0e4e876791e4",
    "tissuemnist.npz": "ebe78ee8b05294063de985d821c1c34b",
}

_FASHION_CLASSES = (
    "T-shirt/top",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
)
_CIFAR_CLASSES = (
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
)


@dataclass(frozen=True, eq=False)
class ImageCollection:
    """Images and their labels.

    Attributes
    ----------
    images : ndarray of uint8, shape (n, height, width) or (n, height, width, 3)
    labels : ndarray of uint8, shape (n,), or (n, k) where an image has k labels
    classes : tuple of str
        Name of each label; empty if the file does not tell.
    source : str
        Origin of the files.
    checksums : mapping of str to str
        MD5 sum of every file read, by file name. It tells one version of a file from another; it is
        no protection against forgery.
    verified : bool
        True if all of them are published sums; False if none is known for a file.
    """

    images: Bytes
    labels: Bytes
    classes: tuple[str, ...]
    source: str
    checksums: Mapping[str, str]
    verified: bool

    def __repr__(self) -> str:
        state = "verified" if self.verified else "not verified"
        return f"ImageCollection(images={self.images.shape}, {state}, from {self.source})"


def load_fashion_mnist(
    folder: str | os.PathLike[str], *, split: str = "train", verify: bool = True
) -> ImageCollection:
    """Read Fashion-MNIST: 28 x 28 gray images of clothing in ten classes.

    Parameters
    ----------
    folder : path
        Holds ``train-images-idx3-ubyte.gz`` and ``train-labels-idx1-ubyte.gz``, or the ``t10k-``
        files for the test split.
    split : {"train", "test"}
        60,000 or 10,000 images.
    verify : bool
        True to refuse files whose MD5 sum is not the published one.

    Returns
    -------
    ImageCollection

    Raises
    ------
    FileNotFoundError
        If a file is missing; the message names the official source.
    ValueError
        If a file is damaged or not the published one.
    """
    prefix = {"train": "train", "test": "t10k"}[as_choice(split, ("train", "test"), "split")]
    files = _Files(_FASHION_SOURCE, verify)
    images = _idx(files.read(Path(folder) / f"{prefix}-images-idx3-ubyte.gz"), 3, _FASHION_SOURCE)
    labels = _idx(files.read(Path(folder) / f"{prefix}-labels-idx1-ubyte.gz"), 1, _FASHION_SOURCE)
    return files.collection(images, labels, _FASHION_CLASSES)


def load_cifar10(
    path: str | os.PathLike[str], *, split: str = "train", verify: bool = True
) -> ImageCollection:
    """Read CIFAR-10, binary version: 32 x 32 colour photographs in ten classes.

    Parameters
    ----------
    path : path
        ``cifar-10-binary.tar.gz``, or the folder ``cifar-10-batches-bin`` unpacked from it (for
        whose files no sums are published).
    split : {"train", "test"}
        50,000 or 10,000 images.
    verify : bool
        True to refuse an archive whose MD5 sum is not the published one.

    Returns
    -------
    ImageCollection

    Raises
    ------
    FileNotFoundError
        If a file is missing; the message names the official source.
    ValueError
        If a file is damaged or not the published one.
    """
    as_choice(split, ("train", "test"), "split")
    train = [f"data_batch_{i}.bin" for i in range(1, 6)]
    names = train if split == "train" else ["test_batch.bin"]
    files = _Files(_CIFAR_SOURCE, verify)
    place = Path(path)
    if place.is_dir():
        batches = [files.read(place / name) for name in names]
    else:
        batches = _members(files.read(place), [f"cifar-10-batches-bin/{name}" for name in names])
    size = 1 + 3 * 32 * 32
    if any(len(batch) == 0 or len(batch) % size for batch in batches):
        raise ValueError(f"a batch is not a whole number of records: fetch it from {_CIFAR_SOURCE}")
    records = np.frombuffer(b"".join(batches), dtype=np.uint8).reshape(-1, size)
    planes = records[:, 1:].reshape(-1, 3, 32, 32)
    images = np.ascontiguousarray(np.moveaxis(planes, 1, 3))
    return files.collection(images, records[:, 0].copy(), _CIFAR_CLASSES)


def load_medmnist(
    path: str | os.PathLike[str], *, split: str = "train", verify: bool = True
) -> ImageCollection:
    """Read a two-dimensional MedMNIST collection such as PneumoniaMNIST or OCTMNIST.

    Parameters
    ----------
    path : path
        The npz file under its official name.
    split : {"train", "val", "test"}
    verify : bool
        True to refuse a file whose MD5 sum is not the published one. No sum is known here for the
        Organ collections, whose sums changed between versions, and for sizes beyond 28 x 28: they
        are read, but not `verified`.

    Returns
    -------
    ImageCollection
        Without names of classes, which the file does not hold.

    Raises
    ------
    FileNotFoundError
        If the file is missing; the message names the official source.
    ValueError
        If the file is damaged or not the published one.
    """
    as_choice(split, ("train", "val", "test"), "split")
    files = _Files(_MEDMNIST_SOURCE, verify)
    content = io.BytesIO(files.read(Path(path)))
    try:
        with np.load(content, allow_pickle=False) as stored:
            images, labels = stored[f"{split}_images"], stored[f"{split}_labels"]
    except (KeyError, ValueError, OSError, EOFError, TypeError, AttributeError, zipfile.BadZipFile):
        raise ValueError(
            f"{Path(path).name} is no MedMNIST file: fetch it from {_MEDMNIST_SOURCE}"
        ) from None
    if images.dtype != np.uint8 or images.ndim not in (3, 4) or len(images) != len(labels):
        raise ValueError(f"{Path(path).name} does not hold two-dimensional images of bytes")
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    return files.collection(images, labels.astype(np.uint8), ())


class _Files:
    """Reads files, and remembers their checksums."""

    def __init__(self, source: str, verify: bool) -> None:
        self.source = source
        self.verify = verify
        self.checksums: dict[str, str] = {}

    def read(self, path: Path) -> bytes:
        try:
            content = path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            raise FileNotFoundError(f"{path} does not exist: get it from {self.source}") from None
        checksum = hashlib.md5(content, usedforsecurity=False).hexdigest()
        published = _PUBLISHED.get(path.name)
        if self.verify and published not in (None, checksum):
            raise ValueError(
                f"{path.name} has the MD5 sum {checksum}, published is {published}: fetch it again "
                f"from {self.source}, or pass verify=False"
            )
        self.checksums[path.name] = checksum
        return content

    def collection(self, images: Bytes, labels: Bytes, classes: tuple[str, ...]) -> ImageCollection:
        if len(images) != len(labels):
            raise ValueError(f"{len(images)} images but {len(labels)} labels: from {self.source}?")
        return ImageCollection(
            images=images,
            labels=labels,
            classes=classes,
            source=self.source,
            checksums=MappingProxyType(dict(self.checksums)),
            verified=all(_PUBLISHED.get(name) == own for name, own in self.checksums.items()),
        )


def _idx(packed: bytes, axes: int, source: str) -> Bytes:
    """The idx format: two zero bytes, 8 for unsigned bytes, the number of axes, their lengths as
    32-bit big-endian integers, the entries."""
    try:
        content = gzip.decompress(packed)
    except (OSError, EOFError, zlib.error):
        content = b""
    header = 4 + 4 * axes
    if len(content) < header or content[:4] != bytes((0, 0, 8, axes)):
        raise ValueError(f"not a gzipped idx file of {axes} axes of bytes: fetch it from {source}")
    shape = tuple(int(length) for length in np.frombuffer(content[4:header], dtype=">u4"))
    entries = np.frombuffer(content, dtype=np.uint8, offset=header)
    if entries.size != int(np.prod(shape, dtype=object)):
        raise ValueError(f"an idx file does not have the size it states: fetch it from {source}")
    return entries.reshape(shape).copy()


def _members(archive: bytes, names: list[str]) -> list[bytes]:
    """Files of a gzipped tar archive, read without unpacking it."""
    try:
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as tar:
            members = [tar.extractfile(name) for name in names]
            return [b"" if member is None else member.read() for member in members]
    except (tarfile.TarError, KeyError, OSError, EOFError, zlib.error):
        raise ValueError(f"not the CIFAR-10 archive: fetch it from {_CIFAR_SOURCE}") from None
