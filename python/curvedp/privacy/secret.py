"""The secret from which a batch derives its noise, in a file that its owner alone can read.

With a secret s the noise of a group comes from the key

    HMAC-SHA256(s, parameters | group id | centre | radius | scale | records of the group)

so that a batch which was interrupted goes on with the same noise, while changed records never meet
old noise and no two groups share any. Whoever holds the secret can draw the noise again and
subtract it: it must never be published, and the records are only as safe as its file.

One secret serves one data set. Used again for a later version of the data, it would draw the same
noise for groups that did not change and other noise for those that did: comparing the two outputs
tells exactly which groups changed, and no budget covers that. So a secret is bound to the data that
it serves first, before they are paid for: its file holds a second line with

    HMAC-SHA256(secret, "digest for data <fingerprint of the data>")

and other data are refused. That depends on whether the data changed, and is shown to the owner
of the secret, who has the data.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from os import urandom
from typing import IO, Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from curvedp import _core
from curvedp.errors import SecretError

__all__ = ["NoiseSecret", "fingerprint_of"]

_HEAD = b"curvedp noise secret, never publish: "
_BYTES = 32
#: The line of a file that says which data its secret serves.
_SERVES = b"serves "
_SERVED = re.compile(_SERVES + rb"([0-9a-f]{64})\n")


class NoiseSecret:
    """A 256-bit secret in a file with mode 0600; never printed, pickled or copied.

    Make one with `create`, read it again with `load`. It serves the data that it is first used for
    and no others, which its file remembers; one made from bytes remembers it as long as it lives.

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

    __slots__ = ("_path", "_secret", "_served")

    def __init__(self, secret: bytes) -> None:
        if not isinstance(secret, bytes) or len(secret) != _BYTES:
            raise SecretError(f"a noise secret has {_BYTES} bytes: make one with create")
        self._secret = secret
        self._path: str | None = None
        #: The mark of the data that it serves, if it has no file.
        self._served: dict[None, str] = {}

    @classmethod
    def create(cls, path: str | os.PathLike[str]) -> Self:
        """A fresh secret from the operating system, stored at `path` whole or not at all.

        Raises
        ------
        SecretError
            If the file exists already or cannot be written.
        """
        target = os.path.abspath(os.fsdecode(path))
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
        return cls._of_file(target, secret)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The secret stored at `path`.

        Raises
        ------
        SecretError
            If it cannot be read, is no secret, or others than its owner may read or write it.
        """
        source = os.path.abspath(os.fsdecode(path))
        with _opened(source, "rb") as file:
            secret, _ = _content(file, source)
        return cls._of_file(source, secret)

    @classmethod
    def _of_file(cls, path: str, secret: bytes) -> Self:
        found = cls(secret)
        found._path = path
        return found

    def _bind(self, fingerprint: str, *, keep: bool = True) -> None:
        """Refuses data other than those that the secret serves; the first ones are remembered.

        Parameters
        ----------
        fingerprint : str
            What tells the data from others.
        keep : bool
            False to look only.

        Raises
        ------
        SecretError
        """
        mark = self._digest(f"data {fingerprint}")
        if self._path is not None:
            served = self._served_by_file(self._path, None)
            if served is None and keep:  # else a file that may only be read is enough
                served = self._served_by_file(self._path, mark)
        else:  # one step that no other thread interrupts
            served = self._served.setdefault(None, mark) if keep else self._served.get(None)
        if served not in (None, mark):
            name = "the secret" if self._path is None else f"the secret {self._path}"
            raise SecretError(
                f"{name} has served other data, or these in another form (a table, a file that was "
                "written again): the same noise on what did not change would publish exactly what "
                "did. Nothing was released or spent: use a new secret for these data"
            )

    def _served_by_file(self, path: str, mark: str | None) -> str | None:
        """The mark of the data that a file's secret serves, given one if it had none."""
        with _opened(path, "rb" if mark is None else "r+b") as file:
            _lock(file, alone=mark is not None)
            secret, served = _content(file, path)
            if secret != self._secret:
                raise SecretError(f"{path} holds another secret than it did")
            if served is None and mark is not None:
                served = mark
                file.seek(len(_HEAD) + 2 * _BYTES)
                file.truncate()  # a line that was cut off: nothing was drawn after it
                file.write(b"\n" + _SERVES + mark.encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
            return served

    def _digest(self, owner: str) -> str:
        """A checksum by which the same secret is known again, and from which it cannot be found."""
        return hmac.digest(self._secret, f"digest for {owner}".encode(), "sha256").hex()

    def pad(self, owner: str) -> bytes:
        """32 bytes for one owner, which nobody tells from random ones without the secret.

        Parameters
        ----------
        owner : str
            Name of what the bytes hide: of one thing alone.
        """
        return hmac.digest(self._secret, f"pad of {owner}".encode(), "sha256")

    def _keys(self, context: bytes) -> _core.GroupKeys:
        """Keys of groups whose common parameters are `context`."""
        return _core.GroupKeys.derived(self._secret, context)

    def __repr__(self) -> str:
        return "<NoiseSecret>"

    def __sklearn_clone__(self) -> Self:
        """This secret itself: clones of an estimator draw from the same one."""
        return self

    def __reduce__(self) -> NoReturn:
        raise SecretError("a noise secret is not copied or sent: give the path of its file")


@contextmanager
def _opened(path: str, mode: str) -> Iterator[IO[bytes]]:
    """A file that its owner alone can read."""
    try:
        with open(path, mode) as file:
            found = os.fstat(file.fileno())
            if os.name == "posix":
                if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
                    raise SecretError(f"{path} must be a file of the user who runs this")
                if found.st_mode & 0o077:
                    raise SecretError(f"{path} is open to others: run chmod 600, and use a new one")
            yield file
    except OSError as error:
        how = "read" if mode == "rb" else "written, to say which data it serves"
        raise SecretError(f"{path}: cannot be {how} ({error.strerror})") from None


def _content(file: IO[bytes], path: str) -> tuple[bytes, str | None]:
    """The secret in a file, and the mark of the data that it serves."""
    text, end = file.read(1024), len(_HEAD) + 2 * _BYTES
    if not text.startswith(_HEAD):
        raise SecretError(f"{path} holds no noise secret")
    rest = text[end:].removeprefix(b"\n")
    whole = _SERVED.fullmatch(rest)
    is_cut_off = b"\n" not in rest and rest[: len(_SERVES)] == _SERVES[: len(rest)]
    if whole is None and not is_cut_off:
        raise SecretError(f"{path} is damaged after its secret: use a new one")
    served = None if whole is None else whole[1].decode()
    with suppress(ValueError):
        return bytes.fromhex(text[len(_HEAD) : end].decode().strip()), served
    raise SecretError(f"{path} holds no noise secret")


def _lock(file: IO[bytes], *, alone: bool) -> None:
    """Keeps others from a file until it is closed, or from writing to it, where there are locks."""
    with suppress(ImportError):
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)


def fingerprint_of(arrays: Iterable[NDArray[Any]]) -> str:
    """Fingerprint of data in memory, however they are cut into arrays."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
