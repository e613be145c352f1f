"""Twin of a site's masks: X25519, HKDF-SHA256 and ChaCha20 as their RFCs write them.

RFC 7748 (section 5), RFC 5869, RFC 8439 (section 2). Not in constant time: for tests alone.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_PRIME = 2**255 - 19
_SALT = b"curvedp pairwise masks 1"
_QUARTERS = (
    *((i, i + 4, i + 8, i + 12) for i in range(4)),
    *((i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4) for i in range(4)),
)


def x25519(secret: bytes, point: bytes) -> bytes:
    """The multiple of a point, by Montgomery's ladder."""
    k = int.from_bytes(secret, "little") & ((1 << 254) - 8) | 1 << 254
    u = int.from_bytes(point, "little") & ((1 << 255) - 1)
    x2, z2, x3, z3 = 1, 0, u, 1
    for bit in range(254, -1, -1):
        swap = k >> bit & 1
        if swap:
            x2, z2, x3, z3 = x3, z3, x2, z2
        a, b, c, d = x2 + z2, x2 - z2, x3 + z3, x3 - z3
        aa, bb, da, cb = a * a, b * b, d * a, c * b
        x3, z3 = (da + cb) ** 2 % _PRIME, u * (da - cb) ** 2 % _PRIME
        x2, z2 = aa * bb % _PRIME, (aa - bb) * (aa + 121665 * (aa - bb)) % _PRIME
        if swap:
            x2, z2, x3, z3 = x3, z3, x2, z2
    return (x2 * pow(z2, _PRIME - 2, _PRIME) % _PRIME).to_bytes(32, "little")


def public_key(secret: bytes) -> bytes:
    """The multiple of the base point."""
    return x25519(secret, bytes([9, *[0] * 31]))


def hkdf(salt: bytes, secret: bytes, info: bytes, size: int) -> bytes:
    """Key material by HKDF-SHA256."""
    extracted = hmac.digest(salt, secret, "sha256")
    found, block = b"", b""
    for i in range(1, -(-size // hashlib.sha256().digest_size) + 1):
        block = hmac.digest(extracted, block + info + bytes([i]), "sha256")
        found += block
    return found[:size]


def chacha20(key: bytes, nonce: bytes, counter: int, size: int) -> bytes:
    """Bytes of the stream from a block on."""
    return b"".join(_block(key, nonce, counter + i) for i in range(-(-size // 64)))[:size]


def _block(key: bytes, nonce: bytes, counter: int) -> bytes:
    words = b"expand 32-byte k" + key + counter.to_bytes(4, "little") + nonce
    first = struct.unpack("<16I", words)
    state = list(first)
    for _ in range(10):
        for a, b, c, d in _QUARTERS:
            for to, by, turned, places in (
                (a, b, d, 16),
                (c, d, b, 12),
                (a, b, d, 8),
                (c, d, b, 7),
            ):
                state[to] = (state[to] + state[by]) % 2**32
                mixed = state[turned] ^ state[to]
                state[turned] = (mixed << places) % 2**32 | mixed >> (32 - places)
    return struct.pack("<16I", *((a + b) % 2**32 for a, b in zip(first, state, strict=True)))


def mask(
    secret: bytes, peers: Sequence[tuple[bytes, bool]], context: bytes, length: int
) -> NDArray[np.uint64]:
    """The sum of the words shared with each peer, added or subtracted modulo 2^64."""
    total = np.zeros(length, dtype=np.uint64)
    for public, adds in peers:
        low, high = sorted((public_key(secret), public))
        info = low + high + length.to_bytes(8, "little") + context
        key = hkdf(_SALT, x25519(secret, public), info, 32)
        words = np.frombuffer(chacha20(key, bytes(12), 0, 8 * length), dtype="<u8")
        total = total + words if adds else total - words
    return total
