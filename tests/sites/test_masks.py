"""Pairwise masks: totals are seen, parts of them are not."""

from __future__ import annotations

import copy
import hashlib
import pickle

import numpy as np
import pytest
from scipy import stats

from chance import FAILURE
from curvedp import _core
from reference import masks as twin

# masks cancel whatever the keys are, and keys come from nowhere else
pytestmark = pytest.mark.true_entropy

SECRET = hashlib.sha256(b"a peer").digest()


def masks_of(count, length, context=b"round"):
    """Masks of each site of a roster: it subtracts what it shares with those before it."""
    keys = [_core.MaskKey() for _ in range(count)]
    return np.array(
        [
            key.mask(
                [(other.public, i < j) for j, other in enumerate(keys) if i != j], context, length
            )
            for i, key in enumerate(keys)
        ]
    )


def byte_test(words):
    """p-value of a chi-square test that the bytes are uniform."""
    return stats.chisquare(np.bincount(words.view(np.uint8).ravel(), minlength=256)).pvalue


@pytest.mark.parametrize("count", [2, 5, 20])
def test_masks_cancel_over_all_sites_and_over_no_others(count):
    masks = masks_of(count, 137)
    assert masks.dtype == np.uint64
    assert masks.shape == (count, 137)
    assert not masks.sum(axis=0).any()
    for missing in range(count):
        # 137 words that are uniform are never all 0, nor half of them small
        rest = np.delete(masks, missing, axis=0).sum(axis=0)
        assert np.sum(rest < 2**32) < 3


@pytest.mark.parametrize("count", [2, 5, 20])
def test_what_some_sites_send_is_uniform(count):
    masks = masks_of(count, 20_000)
    for some in (masks[:1], masks[:-1], masks[::2]):
        assert byte_test(some.sum(axis=0)) > FAILURE


def test_control_words_of_32_bits_are_not_uniform():
    words = masks_of(2, 20_000)[0] & np.uint64(2**32 - 1)
    assert byte_test(words) < FAILURE


def test_totals_of_masked_sums_are_those_of_the_sums():
    sums = np.random.default_rng(3).integers(-(2**62), 2**62, size=(5, 80)).view(np.uint64)
    masked = sums + masks_of(5, 80)
    assert np.array_equal(masked.sum(axis=0), sums.sum(axis=0))
    assert not np.any(masked == sums)


@pytest.mark.parametrize("length", [0, 1, 8, 129, 1000])
@pytest.mark.parametrize("adds", [True, False])
def test_masks_are_those_of_the_twin(length, adds):
    key, other = _core.MaskKey(), _core.MaskKey()
    peers = [(twin.public_key(SECRET), adds), (other.public, True)]
    both = key.mask(peers, b"plan", length)
    own = twin.mask(SECRET, [(key.public, adds)], b"plan", length)
    assert np.array_equal(both - other.mask([(key.public, True)], b"plan", length), own)


def test_the_twin_is_that_of_the_standards():
    k = u = bytes([9, *[0] * 31])  # RFC 7748, section 5.2
    for _ in range(1000):
        k, u = twin.x25519(k, u), k
    assert k.hex() == "684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51"
    okm = twin.hkdf(
        bytes(range(13)), bytes([11] * 22), bytes(range(0xF0, 0xFA)), 42
    )  # RFC 5869, A.1
    assert okm.hex() == (
        "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"
    )
    nonce = bytes.fromhex("000000090000004a00000000")  # RFC 8439, section 2.3.2
    assert twin.chacha20(bytes(range(32)), nonce, 1, 64).hex() == (
        "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
        "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e"
    )


def test_keys_are_fresh_and_are_neither_copied_nor_shown():
    key = _core.MaskKey()
    assert isinstance(key.public, bytes)
    assert len(key.public) == 32
    assert key.public != _core.MaskKey().public
    assert "object at" in repr(key)  # and no more
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="pickle"):
            attempt(key)


def test_a_key_of_a_kept_secret_is_the_same_pair_again() -> None:
    assert _core.MaskKey(SECRET).public == twin.public_key(SECRET)
    peers = [(_core.MaskKey().public, True)]
    first, again = (_core.MaskKey(SECRET).mask(peers, b"plan", 9) for _ in range(2))
    assert np.array_equal(first, again)  # who keeps a secret keeps account of contexts, too
    for wrong in (b"", SECRET[:31], SECRET + b"0"):
        with pytest.raises(ValueError, match="32 bytes"):
            _core.MaskKey(wrong)


def test_a_context_serves_once_and_each_has_a_stream_of_its_own():
    key, other = _core.MaskKey(), _core.MaskKey()
    peers = [(other.public, True)]
    first = key.mask(peers, b"round 1", 50)
    assert not np.any(first == key.mask(peers, b"round 2", 50))
    with pytest.raises(ValueError, match="a context serves once"):
        key.mask(peers, b"round 1", 50)


def test_masks_that_hide_nothing_are_refused():
    key, other = _core.MaskKey(), _core.MaskKey().public
    order_8 = bytes.fromhex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800")
    cases = [
        ([], "needs a peer"),
        ([(other, True), (key.public, True)], "peer 1 is this key's own"),
        ([(other, True), (other, False)], "peer 1 is that of an earlier peer"),
        ([(bytes(32), True)], "peer 0 is of low order"),
        ([(other, False), (order_8, True)], "peer 1 is of low order"),
        ([(other[:31], True)], "peer 0 has 31 bytes, not 32"),
    ]
    for peers, message in cases:
        with pytest.raises(ValueError, match=message):
            key.mask(peers, b"", 4)
    with pytest.raises(ValueError, match=r"length must be at most 2\^32"):
        key.mask([(other, True)], b"", 2**33)
