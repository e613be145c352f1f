"""The secret from which a batch derives its noise, in a file that its owner alone can read.

With a secret s the noise of a group comes from the key

    HMAC-SHA256(s, parameters | group id | centre | radius | scale | records of the group)

so that a batch which was interrupted goes on with the same noise, while changed records never meet
old noise and no two groups share any. Whoever holds the secret can draw the noise again and
subtract it: it must never be published, and the records are only as safe as its file.

One secret serves one batch of releases. Used again for a later version of the data, it would draw
the same noise for groups that did not change and other noise for those that did: comparing the two
outputs tells exactly which groups changed, and no budget covers that.
"""

from __future__ import annotations

import hmac
import os
import stat
import tempfile
from contextlib import suppress
from os import urandom
from typing import NoReturn, Self

from curvedp import _core
from curvedp.errors import SecretError

__all__ = ["NoiseSecret"]

_HEAD = b"curvedp noise secret, never publish: "
_BYTES = 32


class NoiseSecret:
    """A 256-bit secret in a file with mode 0600; never printed, pickled or copied.

    Make one with `create`, read it again with `load`.

    Parameters
    ----------
    secret : bytes
        32 of them.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "noise-secret")
    >>> secret = NoiseSecret.create(path)
    >>> secret
    <NoiseSecret>
    >>> oct(os.stat(path).st_mode & 0o777)
    '0o600'
    """

    __slots__ = ("_secret",)

    def __init__(self, secret: bytes) -> None:
        if not isinstance(secret, bytes) or len(secret) != _BYTES:
            raise SecretError(f"a noise secret has {_BYTES} bytes: make one with create")
        self._secret = secret

    @classmethod
    def create(cls, path: str | os.PathLike[str]) -> Self:
        """A fresh secret from the operating system, stored at `path` whole or not at all.

        Raises
        ------
        SecretError
            If the file exists already or cannot be written.
        """
        target = os.path.abspath(os.fspath(path))
        secret = urandom(_BYTES)
        try:
            handle, draft = tempfile.mkstemp(dir=os.path.dirname(target), prefix=".secret.")
            try:
                with os.fdopen(handle, "wb") as file:  # mkstemp gives mode 0600
                    file.write(_HEAD + secret.hex().encode() + b"\n")
                    file.flush()
                    os.fsync(file.fileno())
                os.link(draft, target)
            finally:
                os.unlink(draft)
        except FileExistsError:
            raise SecretError(f"{target} exists: a secret is never overwritten") from None
        except OSError as error:
            raise SecretError(f"{target}: cannot be written ({error.strerror})") from None
        return cls(secret)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The secret stored at `path`.

        Raises
        ------
        SecretError
            If it cannot be read, is no secret, or others than its owner may read or write it.
        """
        source = os.path.abspath(os.fspath(path))
        try:
            with open(source, "rb") as file:
                found = os.fstat(file.fileno())
                text = file.read(1024)
        except OSError as error:
            raise SecretError(f"{source}: cannot be read ({error.strerror})") from None
        if os.name == "posix":
            if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
                raise SecretError(f"{source} must be a file of the user who runs this")
            if found.st_mode & 0o077:
                raise SecretError(f"{source} is open to others: run chmod 600, and use a new one")
        with suppress(ValueError):
            if text.startswith(_HEAD):
                return cls(bytes.fromhex(text[len(_HEAD) :].decode().strip()))
        raise SecretError(f"{source} holds no noise secret")

    def _digest(self, owner: str) -> str:
        """A checksum by which the same secret is known again, and from which it cannot be found."""
        return hmac.digest(self._secret, f"digest for {owner}".encode(), "sha256").hex()

    def _keys(self, context: bytes) -> _core.GroupKeys:
        """Keys of groups whose common parameters are `context`."""
        return _core.GroupKeys.derived(self._secret, context)

    def __repr__(self) -> str:
        return "<NoiseSecret>"

    def __reduce__(self) -> NoReturn:
        raise SecretError("a noise secret is not copied or sent: give the path of its file")
