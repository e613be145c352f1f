"""The two roles of Algorithm 1, which exchange no more than the algorithm lets them.

    Client  query (private), its model's features of the public anchors  -> Request
    Server  its images, its own features of the same anchors             -> Reply

A request holds the embedded anchors, the released query and its guarantee; a reply the matches.
Features, labels, bandwidths and images stay where they are.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from curvedp._guard import quiet
from curvedp._labels import as_labels
from curvedp._validation import FloatArray, as_count
from curvedp.mail.alignment import align
from curvedp.mail.private_mail import PrivateMail
from curvedp.mail.retrieval import nearest
from curvedp.mail.rows import as_rows
from curvedp.privacy import Guarantee, Ledger
from curvedp.privacy.stored import read

SCHEMA_VERSION = 1


@dataclass(frozen=True, eq=False)
class Request:
    """Message of the client to the server.

    Attributes
    ----------
    anchors : ndarray, shape (n, k)
        Embedded anchors, in the order that both sides know.
    query : ndarray, shape (k,)
        The released query.
    guarantee : Guarantee
        The guarantee for the query.
    n_matches : int
    """

    anchors: FloatArray
    query: FloatArray
    guarantee: Guarantee
    n_matches: int

    def to_json(self) -> str:
        """JSON text; floats survive it exactly."""
        return json.dumps(
            {
                "schema_version": SCHEMA_VERSION,
                "anchors": self.anchors.tolist(),
                "query": self.query.tolist(),
                "guarantee": self.guarantee.to_dict(),
                "n_matches": self.n_matches,
            },
            allow_nan=False,
        )

    @classmethod
    def from_json(cls, text: str | bytes) -> Request:
        """Inverse of `to_json`.

        Raises
        ------
        ValueError
            If the text is no request of this schema.
        """
        return read(text, "request", cls._from_dict)

    @classmethod
    def _from_dict(cls, data: Any) -> Request:
        _check_fields(data, {"anchors", "query", "guarantee", "n_matches"})
        anchors = _numbers(data["anchors"], 2, "anchors")
        query = _numbers(data["query"], 1, "query")
        if query.shape != anchors.shape[1:]:
            raise ValueError("query and anchors have different dimensions")
        if not isinstance(data["guarantee"], dict):
            raise ValueError("guarantee must be an object")
        guarantee = Guarantee.from_dict(data["guarantee"])
        return cls(anchors, query, guarantee, as_count(data["n_matches"], "n_matches"))


@dataclass(frozen=True, eq=False)
class Reply:
    """Answer of the server: places of the matches in its database, the best first.

    Attributes
    ----------
    matches : ndarray of int, shape (n_matches,)
    """

    matches: NDArray[np.int64]

    def to_json(self) -> str:
        """JSON text."""
        return json.dumps({"schema_version": SCHEMA_VERSION, "matches": self.matches.tolist()})

    @classmethod
    def from_json(cls, text: str | bytes) -> Reply:
        """Inverse of `to_json`; raises ValueError if the text is no reply."""
        return read(text, "reply", cls._from_dict)

    @classmethod
    def _from_dict(cls, data: Any) -> Reply:
        _check_fields(data, {"matches"})
        matches = data["matches"]
        if not isinstance(matches, list) or not all(type(place) is int for place in matches):
            raise ValueError("matches must be a list of integers")
        return cls(np.array(matches, dtype=np.int64))


class Client:
    """Holds private queries and its own model's features of the public anchors.

    Parameters
    ----------
    embedding : PrivateMail
    anchors : array-like, shape (n, m)
    anchor_labels : array-like, shape (n,), optional

    Examples
    --------
    >>> import curvedp as cdp
    >>> anchors, labels = np.eye(3)[[0, 1, 2] * 10], [0, 1, 2] * 10
    >>> mail = cdp.PrivateMail(2, guarantee=cdp.PureDP(epsilon=3.0))
    >>> request = Client(mail, anchors, labels).ask(anchors[0], n_matches=4)
    >>> request.query.shape, request.guarantee == cdp.PureDP(epsilon=3.0)
    ((2,), True)
    """

    def __init__(
        self, embedding: PrivateMail, anchors: ArrayLike, anchor_labels: ArrayLike | None = None
    ) -> None:
        self._embedding = embedding
        self._anchors = embedding.anchors(anchors, anchor_labels)

    @quiet
    def ask(
        self,
        query: ArrayLike,
        n_matches: int = 8,
        *,
        method: str = "cell",
        n_cells: int | None = None,
        ledger: Ledger | None = None,
    ) -> Request:
        """A request about one private query.

        Parameters
        ----------
        query : array-like, shape (m,)
        n_matches : int
            Number of images asked for.
        method, n_cells, ledger
            As in `PrivateMail.embed_query`.

        Returns
        -------
        Request

        Raises
        ------
        BudgetError, ValueError, TypeError
            As `PrivateMail.embed_query`.
        """
        wanted = as_count(n_matches, "n_matches")
        found = self._embedding.embed_query(
            query, self._anchors, method=method, n_cells=n_cells, ledger=ledger
        )
        return Request(found.anchors, found.value, found.guarantee, wanted)


class Server:
    """Holds images and its own model's features of the public anchors.

    Embeds anchors and images together, without noise: nothing of the client's is in them.

    Parameters
    ----------
    embedding : PrivateMail
        Its guarantee is not used.
    database : array-like, shape (N, m)
        m may differ from the client's.
    anchors : array-like, shape (n, m)
    database_labels, anchor_labels : array-like, optional
        Both or none.

    Examples
    --------
    >>> import curvedp as cdp
    >>> anchors, images = np.eye(3)[[0, 1, 2] * 10], np.eye(3)[[2, 1, 0, 0, 1, 2]]
    >>> mail = cdp.PrivateMail(2, guarantee=cdp.PureDP(epsilon=3.0))
    >>> request = Client(mail, anchors).ask(anchors[0], n_matches=4)
    >>> Server(mail, images, anchors).answer(request).matches.shape
    (4,)
    """

    def __init__(
        self,
        embedding: PrivateMail,
        database: ArrayLike,
        anchors: ArrayLike,
        database_labels: ArrayLike | None = None,
        anchor_labels: ArrayLike | None = None,
    ) -> None:
        images, public = as_rows(database), as_rows(anchors)
        if images.shape[1] != public.shape[1]:
            raise ValueError("database and anchors must have as many features")
        if (database_labels is None) != (anchor_labels is None):
            raise ValueError("pass labels of both database and anchors, or of neither")
        labels = None
        if database_labels is not None and anchor_labels is not None:
            both = {"anchor_labels": anchor_labels, "database_labels": database_labels}
            own = [as_labels(given, name).astype(object) for name, given in both.items()]
            labels = np.concatenate(own)
        together = embedding.anchors(np.concatenate([public, images]), labels).embedding
        self._anchors, self._images = together[: len(public)], together[len(public) :]

    @quiet
    def answer(self, request: Request) -> Reply:
        """Aligns the client's anchors with its own and returns the nearest images.

        Raises
        ------
        ValueError
            If the request's anchors are not the server's, or it asks for more than all images.
        """
        if request.anchors.shape != self._anchors.shape:
            raise ValueError(
                f"the request has anchors of shape {request.anchors.shape}, the server "
                f"{self._anchors.shape}: both must embed the same anchors in as many dimensions"
            )
        as_count(request.n_matches, "n_matches", most=len(self._images))
        moved = align(request.anchors, self._anchors)(request.query)
        return Reply(nearest(moved[None], self._images, request.n_matches)[0])


def _check_fields(data: Any, names: set[str]) -> None:
    if not isinstance(data, dict) or data.get("schema_version") != SCHEMA_VERSION:
        raise ValueError(f"another schema than {SCHEMA_VERSION}")
    if set(data) != names | {"schema_version"}:
        raise ValueError(f"it must hold {', '.join(sorted(names))} and nothing else")


def _numbers(data: Any, ndim: int, name: str) -> FloatArray:
    try:
        array = np.array(data, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must hold numbers") from None
    if array.ndim != ndim or array.size == 0 or not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must be {ndim}-dimensional and finite")
    return array
