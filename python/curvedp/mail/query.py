"""Private queries among public anchors, as a statistic of one record.

    query -> its public cell -> k-ary randomised response -> the cell's embedded representative
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
from curvedp.mechanisms import outward_scale, ways_to_meet
from curvedp.privacy import Guarantee, Release
from curvedp.privacy.statement import Statement
from curvedp.statistics.call import Call
from curvedp.statistics.group import EachGroup, Group

METHODS = ("cell", "noise")


@dataclass(frozen=True, eq=False)
class QueryRelease:
    """A private query among embedded public anchors.

    Attributes
    ----------
    release : Release
        The release about the query, with its guarantee.
    anchors : ndarray, shape (n, k)
        The embedded anchors: public.
    """

    release: Release
    anchors: FloatArray

    @property
    def value(self) -> FloatArray:
        """The embedded query, shape (k,)."""
        return self.release.value

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee for the query: its neighbours are all other queries."""
        return self.release.guarantee

    @property
    def statement(self) -> Statement:
        """See `Release.statement`."""
        return self.release.statement

    def report(self) -> str:
        """Plain text: the promise, on what, at what cost."""
        return self.release.report()


@dataclass(frozen=True)
class CellDesign:
    """Randomised response over public cells."""

    cells: Cells
    epsilon: float
    mechanism: str


@dataclass(frozen=True)
class PlaceDesign:
    """Noise on a place among anchors of which none is more than `largest` long."""

    noise: EmbeddingNoise
    largest: float
    mechanism: str


@dataclass(frozen=True, kw_only=True)
class PrivateQuery(EachGroup[Release]):
    """A private query among public anchors as a value: each group is one query.

    Many queries are released by one call, each a group of its own; `PrivateMail.embed_query` does
    it with the parameters of an estimator.

    Parameters
    ----------
    anchors : Anchors
        What `PrivateMail.anchors` made of public rows. The ball of a call must be theirs.
    method, n_cells
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

    anchors: Anchors
    method: str = "cell"
    n_cells: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.anchors, Anchors):
            raise TypeError(
                f"anchors must be what PrivateMail.anchors returns, got "
                f"{type(self.anchors).__name__}"
            )
        as_choice(self.method, METHODS, "method")
        if self.n_cells is not None:
            as_count(self.n_cells, "n_cells", least=2, most=len(self.anchors.rows))

    def options(self) -> dict[str, Any]:
        return {"anchors": self.anchors.digest, "method": self.method, "n_cells": self.n_cells}

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

    def design(self, call: Call, ball: Ball, n: int) -> CellDesign | PlaceDesign:
        if n != 1:
            raise ExistenceError(f"a query is one record, got {n}: give each a group of its own")
        if self.method == "noise":
            return self._place_design(call)
        anchors, epsilon = self.anchors, sufficient(call.guarantee)
        count = self.n_cells or choose_n_cells(epsilon, len(anchors.rows), anchors.codes)
        cells = anchors.cells(as_count(count, "n_cells", least=2, most=len(anchors.rows)))
        return CellDesign(cells, epsilon, f"{cells.count}-ary randomised response")

    def _place_design(self, call: Call) -> PlaceDesign:
        anchors = self.anchors
        largest = float(np.linalg.norm(anchors.embedding, axis=1).max())
        noise = EmbeddingNoise.calibrate(
            ways_to_meet(call.guarantee)[0],
            (1, anchors.embedding.shape[1]),
            sensitivity=sensitivity.mail_query(
                bandwidth=anchors.bandwidth,
                diameter=max(_core.diameter(anchors.embedding), 1e-300),
                radius=anchors.ball.radius,
            ),
            rounding=rounding_error(len(anchors.rows), largest, 0.0),
        )
        return PlaceDesign(noise, largest, noise.kind.name)

    def mechanism_of(self, design: CellDesign | PlaceDesign) -> str:
        return design.mechanism

    def is_exact(self, call: Call) -> bool:
        return True

    def value_shape(self, call: Call) -> tuple[int, ...]:
        return (self.anchors.embedding.shape[1],)

    def memory_of_group(self, call: Call, n: int) -> float:
        return 64.0 * len(self.anchors.rows)

    def release_group(self, group: Group) -> Release:
        design: CellDesign | PlaceDesign = group.design
        tell_stage("project")
        row = group.enter()
        if isinstance(design, CellDesign):
            return self._in_cell(group, design, row)
        tell_stage("noise")
        exact = self.anchors.place(row)
        return group.release(
            value=design.noise.add(exact, design.largest, group.stream(0))[0],
            statistic="place of a query among anchors",
            **design.noise.told(),
        )

    def _in_cell(self, group: Group, design: CellDesign, row: FloatArray) -> Release:
        """The representative of the query's cell after randomised response."""
        cells, epsilon = design.cells, design.epsilon
        cell = int(cells.find(row)[0])
        released = randomised_response(cell, cells.count, epsilon, group.stream(0))
        return group.release(
            value=cells.values[released],
            statistic="cell of a query among anchors",
            sensitivity=1.0,
            solver_tolerance=0.0,
            scale=outward_scale(1.0, epsilon),
            expected_error=None,
        )
