"""Private queries among public anchors, as a statistic of one record.

    query -> its public cell -> K-ary randomised response -> the cell's embedded representative
    query -> its public cell -> subset response -> representatives of several cells
    query -> kernel-weighted mean of the embedded anchors -> Gaussian (or Laplace) noise

Proofs: docs/proofs/privatemail.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from curvedp import _core, sensitivity
from curvedp._stages import tell_stage
from curvedp._validation import FloatArray, as_choice, as_count
from curvedp.domain import Ball
from curvedp.errors import ExistenceError
from curvedp.mail.anchors import Anchors
from curvedp.mail.cells import Cells, choose_n_cells, randomised_response, sufficient
from curvedp.mail.iteration import rounding_error
from curvedp.mail.noise import EmbeddingNoise
from curvedp.mail.subset import naming_probability, subset_response
from curvedp.mechanisms import outward_scale, ways_to_meet
from curvedp.mechanisms.calibration import check_guarantee
from curvedp.privacy import Guarantee, Release
from curvedp.privacy.disclosed import Disclosed
from curvedp.privacy.disclosure import Disclosure
from curvedp.privacy.statement import Statement
from curvedp.statistics.call import Call
from curvedp.statistics.group import EachGroup, Group

METHODS = ("cell", "subset", "noise")

#: Cells that a subset response names by default: the 8 of recall@8.
SUBSET_SIZE = 8


@dataclass(frozen=True, eq=False, repr=False)
class QueryRelease(Disclosed):
    """A private query among embedded public anchors.

    Attributes
    ----------
    release : Release
        The release about the query, with its guarantee.
    public : Anchors
    response : Response or None
        The law of the named cells; None for the method "noise".
    """

    release: Release
    public: Anchors
    response: Response | None

    @property
    def value(self) -> FloatArray:
        """The embedded query, shape (k,), or the named cells' representatives, shape (s, k)."""
        return self.release.value

    @property
    def anchors(self) -> FloatArray:
        """The embedded anchors, shape (n, k): public."""
        return self.public.embedding

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee for the query: its neighbours are all other queries."""
        return self.release.guarantee

    @property
    def statement(self) -> Statement:
        """See `Release.statement`."""
        return self.release.statement

    def _disclosure(self) -> Disclosure:
        return self._facts_of(self.release)

    def __repr__(self) -> str:
        return f"<QueryRelease of {self.release!r}, among {len(self.anchors)} anchors>"

    def report(self) -> str:
        """Plain text: the promise, on what, at what cost; how often its cell is among the named."""
        text = self.release.report()
        if self.response is None:
            return text
        response = self.response
        named = f"{response.size} of {response.cells.count} cells"
        own = f"the query's own with probability {response.probability:.3g}"
        return f"{text}\nnamed: {named}, {own}\n"


@dataclass(frozen=True, eq=False)
class Response:
    """A response about public cells.

    Attributes
    ----------
    cells : Cells
    size : int
        Number of cells that are named.
    epsilon : float
        Of the pure differential privacy that the query gets.
    method : {"cell", "subset"}
    """

    cells: Cells
    size: int
    epsilon: float
    method: str

    @property
    def probability(self) -> float:
        """Probability with which the query's own cell is named."""
        return naming_probability(self.epsilon, self.cells.count, self.size)

    @property
    def mechanism(self) -> str:
        """Its name on a release."""
        if self.method == "cell":
            return f"{self.cells.count}-ary randomised response"
        return f"subset response of {self.size} of {self.cells.count} cells"

    def numbers(self, value: FloatArray) -> tuple[int, ...]:
        """The cells of a released value."""
        named = value.reshape(-1, 1, value.shape[-1]) == self.cells.values
        return tuple(np.argmax(named.all(axis=2), axis=1).tolist())

    def draw(self, row: FloatArray, stream: _core.Stream) -> FloatArray:
        """Representatives of the cells named for a row on the ball, relative to its centre."""
        cell, count = int(self.cells.find(row)[0]), self.cells.count
        if self.method == "cell":
            named: Any = randomised_response(cell, count, self.epsilon, stream)
        else:
            named = subset_response(cell, count, self.size, self.epsilon, stream)
        found: FloatArray = self.cells.values[named]
        return found


@dataclass(frozen=True)
class PlaceDesign:
    """Noise on a place among anchors of which none is more than `largest` long."""

    noise: EmbeddingNoise
    largest: float
    mechanism: str


@dataclass(frozen=True, kw_only=True)
class PrivateQuery(EachGroup[Release]):
    """A private query among public anchors as a value: each group is one query.

    Many queries are released by one call, each a group of its own; `PrivateMail.embed_queries` does
    it with the parameters of an estimator.

    Parameters
    ----------
    anchors : Anchors
        What `PrivateMail.anchors` made of public rows. The ball of a call must be theirs.
    method, n_cells, subset_size
        As in `PrivateMail.embed_query`.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> from curvedp.mail import PrivateQuery
    >>> rows, labels = np.eye(3)[[0, 1, 2] * 10], [0, 1, 2] * 10
    >>> mail = cdp.PrivateMail(2, guarantee=cdp.PureDP(5.0))
    >>> statistic = PrivateQuery(anchors=mail.anchors(rows, labels))
    >>> queries, who = rows[:4], ["ann", "bob", "cid", "dan"]
    >>> ball, secret = statistic.anchors.ball, cdp.NoiseSecret(bytes(32))
    >>> found = cdp.release(statistic, queries, ball, cdp.PureDP(5.0), groups=who, secret=secret)
    >>> found.value.shape, found["bob"].n
    ((4, 2), 1)
    """

    title: ClassVar[str] = "query among public anchors"
    memory: ClassVar[float] = 8.0
    counted: ClassVar[bool] = False
    why_unserved: ClassVar[str] = (
        "a query is one record, and that it was asked is seen; its neighbours are all other "
        "queries: leave out neighbours"
    )

    anchors: Anchors
    method: str = "cell"
    n_cells: int | None = None
    subset_size: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.anchors, Anchors):
            raise TypeError(
                f"anchors must be what PrivateMail.anchors returns, got "
                f"{type(self.anchors).__name__}"
            )
        as_choice(self.method, METHODS, "method")
        if self.n_cells is not None:
            as_count(self.n_cells, "n_cells", least=2, most=len(self.anchors.rows))
        if self.subset_size is not None:
            if self.method != "subset":
                raise ValueError('subset_size is for method="subset": leave it out')
            as_count(self.subset_size, "subset_size")

    def options(self) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in ("method", "n_cells", "subset_size")}
        return {"anchors": self.anchors.digest} | own

    @classmethod
    def from_options(cls, options: dict[str, Any]) -> PrivateQuery:
        raise ValueError(
            "stored parameters do not hold the anchors of a query: release queries from arrays and "
            "tables in memory"
        )

    def check(self, call: Call) -> None:
        own = self.anchors.ball
        for ball in call.balls:
            same = ball.manifold == own.manifold and ball.radius == own.radius
            if not same or not np.array_equal(ball.center, own.center):
                raise ValueError("queries are projected on the anchors' own ball: give it")
        if call.records_per_unit != 1:
            raise ValueError(
                "each query is one record in a group of its own: for a person with several queries "
                "give their number as groups_per_unit"
            )

    def design(self, call: Call, ball: Ball, n: int) -> Response | PlaceDesign:
        if n != 1:
            raise ExistenceError(f"a query is one record, got {n}: give each a group of its own")
        return self.response(call.guarantee) or self._place_design(call)

    def response(self, guarantee: Guarantee) -> Response | None:
        """The law of the named cells; None for the method "noise"."""
        check_guarantee(guarantee, self.served, self.why_unserved)
        if self.method == "noise":
            return None
        anchors, epsilon = self.anchors, sufficient(guarantee)
        named = 1 if self.method == "cell" else self.subset_size or SUBSET_SIZE
        count = self.n_cells or choose_n_cells(epsilon, len(anchors.rows), anchors.codes, named)
        cells = anchors.cells(as_count(count, "n_cells", least=2, most=len(anchors.rows)))
        if cells.count < 2:
            raise ValueError("all anchors are the same row: there is one cell, and nothing to ask")
        if self.subset_size is not None:
            as_count(named, "subset_size", most=cells.count - 1)
        return Response(cells, min(named, cells.count - 1), epsilon, self.method)

    def _place_design(self, call: Call) -> PlaceDesign:
        anchors, embedding = self.anchors, self.anchors.landmarks.embedding
        largest = float(np.linalg.norm(embedding, axis=1).max())
        noise = EmbeddingNoise.calibrate(
            ways_to_meet(call.guarantee)[0],
            (1, anchors.n_components),
            sensitivity=sensitivity.mail_query(
                bandwidth=anchors.bandwidth,
                diameter=max(_core.diameter(embedding), 1e-300),
                radius=anchors.ball.radius,
            ),
            rounding=rounding_error(len(embedding), largest, 0.0),
        )
        return PlaceDesign(noise, largest, noise.kind.name)

    def mechanism_of(self, design: Response | PlaceDesign) -> str:
        return design.mechanism

    def is_exact(self, call: Call) -> bool:
        return True

    def value_shape(self, call: Call) -> tuple[int, ...]:
        if self.method != "subset":
            return (self.anchors.n_components,)
        response = self.response(call.guarantee)
        assert response is not None
        return (response.size, self.anchors.n_components)

    def memory_of_group(self, call: Call, n: int) -> float:
        return 64.0 * len(self.anchors.rows)

    def release_group(self, group: Group) -> Release:
        design: Response | PlaceDesign = group.design
        tell_stage("project")
        row = group.enter()
        if isinstance(design, Response):
            return group.release(
                value=design.draw(row, group.stream(0)),
                statistic=f"query among public anchors by its {design.method}",
                sensitivity=1.0,
                solver_tolerance=0.0,
                scale=outward_scale(1.0, design.epsilon),
                expected_error=None,
            )
        tell_stage("noise")
        exact = self.anchors.place(row)
        return group.release(
            value=design.noise.add(exact, design.largest, group.stream(0))[0],
            statistic="query among public anchors by its place",
            **design.noise.told(),
        )
