"""Official file formats are read exactly, damaged files are refused, and no pickle is loaded."""

from __future__ import annotations

import gzip
import hashlib
import io
import pickle
import struct
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from curvedp.datasets import images as loaders
from curvedp.datasets import load_cifar10, load_fashion_mnist, load_medmnist
from curvedp.descriptors import image_covariance

FASHION = ("t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz")


def some_bytes(*shape: int) -> Any:
    return np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)


def some_labels(n: int) -> Any:
    return np.random.default_rng(1).integers(0, 10, n, dtype=np.uint8)


def idx(array: Any) -> bytes:
    header = struct.pack(">BBBB", 0, 0, 8, array.ndim) + struct.pack(
        f">{array.ndim}I", *array.shape
    )
    return header + array.tobytes()


def write_fashion(folder: Path, images: Any, labels: Any) -> None:
    for name, array in zip(FASHION, (images, labels), strict=True):
        (folder / name).write_bytes(gzip.compress(idx(array), mtime=0))


def cifar_batch(images: Any, labels: Any) -> bytes:
    planes = images.transpose(0, 3, 1, 2).reshape(len(images), -1)
    return np.concatenate([labels[:, None], planes], axis=1).tobytes()


def publish(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    """Make a file's checksum the published one."""
    checksum = hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()
    monkeypatch.setitem(loaders._PUBLISHED, path.name, checksum)


def test_fashion_mnist_files_are_read_as_written(tmp_path: Path) -> None:
    images, labels = some_bytes(7, 28, 28), some_labels(7)
    write_fashion(tmp_path, images, labels)
    collection = load_fashion_mnist(tmp_path, split="test", verify=False)
    assert np.array_equal(collection.images, images)
    assert np.array_equal(collection.labels, labels)
    assert collection.classes[9] == "Ankle boot"
    assert not collection.verified
    assert set(collection.checksums) == set(FASHION)
    assert "not verified" in repr(collection)
    assert image_covariance(collection.images).shape == (7, 9, 9)


def test_published_checksums_are_demanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_fashion(tmp_path, some_bytes(2, 28, 28), some_labels(2))
    with pytest.raises(ValueError, match=r"MD5.*bef4ecab320f06d8554ea6380940ec79.*zalando"):
        load_fashion_mnist(tmp_path, split="test")
    for name in FASHION:
        publish(monkeypatch, tmp_path / name)
    assert load_fashion_mnist(tmp_path, split="test").verified
    (tmp_path / FASHION[1]).write_bytes(gzip.compress(idx(some_labels(2)[::-1]), mtime=0))
    with pytest.raises(ValueError, match="verify=False"):
        load_fashion_mnist(tmp_path, split="test")


def test_published_checksums_have_the_form_of_md5_and_are_distinct() -> None:
    sums = list(loaders._PUBLISHED.values())
    assert len(set(sums)) == len(sums)
    assert all(len(bytes.fromhex(checksum)) == 16 for checksum in sums)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not gzip",
        gzip.compress(b"", mtime=0),
        gzip.compress(b"\0\0\x08\x01" + b"\0" * 100, mtime=0),
        gzip.compress(b"\0\0\x0d\x03" + struct.pack(">3I", 1, 28, 28) + b"\0" * 784, mtime=0),
        gzip.compress(b"\0\0\x08\x03" + struct.pack(">3I", 2, 28, 28) + b"\0" * 784, mtime=0),
        gzip.compress(b"\0\0\x08\x03" + struct.pack(">3I", *[2**32 - 1] * 3), mtime=0),
        gzip.compress(idx(some_bytes(1, 28, 28)), mtime=0)[:-9],
    ],
)
def test_damaged_idx_files_are_refused(tmp_path: Path, content: bytes) -> None:
    write_fashion(tmp_path, some_bytes(1, 28, 28), some_labels(1))
    (tmp_path / FASHION[0]).write_bytes(content)
    with pytest.raises(ValueError, match="idx file"):
        load_fashion_mnist(tmp_path, split="test", verify=False)


def test_images_and_labels_must_be_as_many(tmp_path: Path) -> None:
    write_fashion(tmp_path, some_bytes(3, 28, 28), some_labels(2))
    with pytest.raises(ValueError, match="3 images but 2 labels"):
        load_fashion_mnist(tmp_path, split="test", verify=False)


def test_cifar_is_read_from_folder_and_archive_alike(tmp_path: Path) -> None:
    images, labels = some_bytes(10, 32, 32, 3), some_labels(10)
    folder = tmp_path / "cifar-10-batches-bin"
    folder.mkdir()
    for i in range(5):
        part = slice(2 * i, 2 * i + 2)
        (folder / f"data_batch_{i + 1}.bin").write_bytes(cifar_batch(images[part], labels[part]))
    (folder / "test_batch.bin").write_bytes(cifar_batch(images[:1], labels[:1]))
    archive = tmp_path / "cifar-10-binary.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(folder, arcname="cifar-10-batches-bin")
    for path in (folder, archive):
        collection = load_cifar10(path, verify=False)
        assert np.array_equal(collection.images, images)
        assert np.array_equal(collection.labels, labels)
        assert collection.images.flags.c_contiguous
        assert not collection.verified
        assert len(load_cifar10(path, split="test", verify=False).images) == 1
    with pytest.raises(ValueError, match=r"MD5.*kriz"):
        load_cifar10(archive)
    (folder / "test_batch.bin").write_bytes(b"\0" * 3072)
    with pytest.raises(ValueError, match="whole number of records"):
        load_cifar10(folder, split="test")


@pytest.mark.parametrize(
    "content", [b"", b"\x1f\x8b damaged", gzip.compress(b"no archive" * 99, mtime=0)]
)
def test_damaged_archives_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "cifar.tar.gz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="CIFAR-10"):
        load_cifar10(path)


def test_medmnist_files_are_read_as_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "breastmnist.npz"
    images, labels = some_bytes(4, 28, 28), some_labels(4)
    np.savez(path, val_images=images, val_labels=labels[:, None])
    publish(monkeypatch, path)
    collection = load_medmnist(path, split="val")
    assert np.array_equal(collection.images, images)
    assert np.array_equal(collection.labels, labels)
    assert collection.verified
    with pytest.raises(ValueError, match="no MedMNIST file"):
        load_medmnist(path, split="train")


class Loud:
    def __reduce__(self) -> Any:
        return (pytest.fail, ("a pickle was loaded",))


@pytest.mark.parametrize("kind", ["pickle", "object array", "text", "empty", "volumes"])
def test_files_that_are_no_medmnist_are_refused_unread(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "organamnist.npz"
    objects = io.BytesIO()
    np.savez(objects, train_images=np.array([Loud()], dtype=object), train_labels=some_labels(1))
    volumes = io.BytesIO()
    np.savez(volumes, train_images=some_bytes(2, 3, 3, 3, 3), train_labels=some_labels(2))
    contents = {
        "pickle": pickle.dumps(Loud()),
        "object array": objects.getvalue(),
        "text": b"images",
        "empty": b"",
        "volumes": volumes.getvalue(),
    }
    path.write_bytes(contents[kind])
    with pytest.raises(ValueError, match=r"organamnist\.npz (is no|does not)"):
        load_medmnist(path)


@pytest.mark.parametrize("load", [load_fashion_mnist, load_cifar10, load_medmnist])
def test_missing_files_are_named_with_their_source(tmp_path: Path, load: Any) -> None:
    with pytest.raises(FileNotFoundError, match=r"does not exist: get it from https://"):
        load(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="split must be one of"):
        load(tmp_path, split="all")


def test_real_photographs_survive_the_official_format(tmp_path: Path, data_dir: Path) -> None:
    stored = np.load(data_dir / "fashion_mnist" / "fashion_mnist_5000.npz")
    write_fashion(tmp_path, stored["images"], stored["label"].astype(np.uint8))
    collection = load_fashion_mnist(tmp_path, split="test", verify=False)
    assert np.array_equal(collection.images, stored["images"])
    assert np.array_equal(np.bincount(collection.labels), np.full(10, 500))
