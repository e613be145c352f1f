"""The two roles of Algorithm 1, which exchange no more than the algorithm lets them.

    Client  query (private), its model's features of the public anchors  -> Session, Requests
    Server  its images, its own features of the same anchors             -> Replies

A session holds embedded anchors and cells, all public, and is sent once; a request the released
query and its guarantee; a reply the matches. Features, labels, bandwidths and images stay where
they are.
"""

from __future__ import annotations

import copy

import numpy as np
from numpy.typing import ArrayLike

from curvedp._guard import quiet
from curvedp._labels import as_labels
from curvedp._validation import FloatArray, as_count
from curvedp.mail.alignment import Alignment, align
from curvedp.mail.cells import even_sample
from curvedp.mail.landmarks import LANDMARKS
from curvedp.mail.messages import Reply, Request, Session
from curvedp.mail.private_mail import PrivateMail
from curvedp.mail.query import PrivateQuery
from curvedp.mail.retrieval import in_turn
from curvedp.mail.rows import as_rows
from curvedp.privacy import Ledger

#: Sessions that a server keeps; then it forgets the one that was opened first.
_MOST_SESSIONS = 256
#: Entries of places beyond which sums of their squares could overflow.
_LARGEST = 1e100


class Client:
    """Holds private queries and its own model's features of the public anchors.

    Parameters
    ----------
    embedding : PrivateMail
        With the parameters that it has now: cells of a session follow from its guarantee.
    anchors : array-like, shape (n, m)
    anchor_labels : array-like, shape (n,), optional
    method, n_cells, subset_size
        As in `PrivateMail.embed_query`.

    Attributes
    ----------
    session : Session
        For the server, once, before the first request.

    Examples
    --------
    >>> import curvedp as cdp
    >>> anchors, labels = np.eye(3)[[0, 1, 2] * 10], [0, 1, 2] * 10
    >>> mail = cdp.PrivateMail(2, guarantee=cdp.PureDP(epsilon=3.0))
    >>> client = Client(mail, anchors, labels)
    >>> request = client.ask(anchors[0], n_matches=4)
    >>> len(request.named), request.session == client.session.name
    (1, True)
    """

    def __init__(
        self,
        embedding: PrivateMail,
        anchors: ArrayLike,
        anchor_labels: ArrayLike | None = None,
        *,
        method: str = "cell",
        n_cells: int | None = None,
        subset_size: int | None = None,
    ) -> None:
        self._embedding = copy.copy(embedding)
        self._anchors = embedding.anchors(anchors, anchor_labels)
        self._statistic = PrivateQuery(
            anchors=self._anchors, method=method, n_cells=n_cells, subset_size=subset_size
        )
        if embedding.guarantee is None:
            raise TypeError("guarantee is not set: pass PureDP, ApproxDP, ZCDP or GDP")
        self._response = self._statistic.response(embedding.guarantee)
        cells = None if self._response is None else self._response.cells.values
        embedded = self._anchors.landmarks.embedding
        self.session = Session(len(self._anchors.rows), embedded, cells)

    @quiet
    def ask(self, query: ArrayLike, n_matches: int = 8, *, ledger: Ledger | None = None) -> Request:
        """A request about one private query.

        Parameters
        ----------
        query : array-like, shape (m,)
        n_matches : int
            Number of images asked for.
        ledger
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
        own, response = self._statistic, self._response
        found = self._embedding.embed_query(
            query,
            self._anchors,
            method=own.method,
            n_cells=own.n_cells,
            subset_size=own.subset_size,
            ledger=ledger,
        )
        named = None if response is None else response.numbers(found.value)
        place = found.value if response is None else None
        return Request(self.session.name, named, place, found.guarantee, wanted)


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
    >>> client, server = Client(mail, anchors), Server(mail, images, anchors)
    >>> server.open(client.session)
    >>> server.answer(client.ask(anchors[0], n_matches=4)).matches.shape
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
        together = embedding.anchors(np.concatenate([public, images]), labels)
        compared = even_sample(len(public), LANDMARKS)
        places = np.concatenate([compared, len(public) + np.arange(len(images))])
        embedded = together.embed(places)
        self._n_anchors = len(public)
        self._anchors, self._images = embedded[: len(compared)], embedded[len(compared) :]
        self._sessions: dict[str, tuple[Alignment, FloatArray | None]] = {}

    @quiet
    def open(self, session: Session) -> None:
        """Aligns a client's anchors with its own, for all requests of the session.

        Raises
        ------
        ValueError
            If the session's anchors are not the server's.
        """
        own, given = (self._n_anchors, self._anchors.shape), session.anchors.shape
        if (session.n_anchors, given) != own:
            raise ValueError(
                f"the session has {session.n_anchors} anchors, compared by an array of shape "
                f"{given}, the server {own[0]} and {own[1]}: both must embed the same anchors in "
                "as many dimensions"
            )
        most = max(float(np.abs(part).max()) for part in (session.anchors, self._anchors))
        if session.cells is not None:
            most = max(most, float(np.abs(session.cells).max()))
        if most > _LARGEST:
            raise ValueError(f"embedded anchors and cells must lie within {_LARGEST:g}")
        alignment = align(session.anchors, self._anchors)
        cells = None if session.cells is None else alignment(session.cells)
        self._sessions[session.name] = (alignment, cells)
        for name in list(self._sessions)[:-_MOST_SESSIONS]:
            self._sessions.pop(name, None)

    def is_open(self, name: str) -> bool:
        """True if requests of the session with this name are answered."""
        return name in self._sessions

    @quiet
    def answer(self, request: Request) -> Reply:
        """The images nearest to the query; to its cells in turn, if several are named.

        Raises
        ------
        ValueError
            If the session is not open, the request does not fit it, or it asks for more than all
            images.
        """
        as_count(request.n_matches, "n_matches", most=len(self._images))
        found = self._sessions.get(request.session)
        if found is None:
            raise ValueError("the session is not open: send it first, and then the request again")
        return Reply(in_turn(self._places(request, *found), self._images, request.n_matches))

    def _places(
        self, request: Request, alignment: Alignment, cells: FloatArray | None
    ) -> FloatArray:
        """The query's places among the server's own images."""
        named, place = request.named, request.place
        if named is not None:
            if cells is None or not all(0 <= number < len(cells) for number in named):
                raise ValueError("the request names cells that its session does not have")
            if len(set(named)) != len(named):
                raise ValueError("the request names a cell twice")
            return cells[list(named)]
        if place is None or place.shape != self._anchors.shape[1:]:
            raise ValueError("the place of a query must have as many entries as embedded anchors")
        return alignment(place)[None]
