"""The private supervised embedding of rows, as a statistic.

    rows, labels -> kernel Laplacians -> Z <- one iteration of Z + noise, again and again
                 -> iterations by the released embedding alone (post-processing) -> Release

Proof: docs/proofs/privatemail.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from curvedp import _core, sensitivity
from curvedp._labels import label_codes
from curvedp._stages import tell_stage
from curvedp._validation import FloatArray, as_choice, as_count, as_positive
from curvedp.domain import BOUNDARY_SLACK, Ball
from curvedp.errors import ExistenceError
from curvedp.mail.iteration import DTYPES, MEMORY_LIMIT, Laplacians, rounding_error, weight_error
from curvedp.mail.noise import kind_of, noisy_embedding
from curvedp.mechanisms import ways_to_meet
from curvedp.privacy import GDP, PureDP, Release
from curvedp.sensitivity.laplacian_bounds import FORMS, as_bandwidth
from curvedp.statistics.call import Call
from curvedp.statistics.group import EachGroup, Group
from curvedp.statistics.grouping import Offsets

#: Bandwidth in radii of the ball, by default: unrelated rows on its sphere, sqrt(2) r
#: apart, then weigh exp(-25) and rows r/2 apart exp(-3).
BANDWIDTH_SHARE = 0.2

#: Bytes of the kernel's tiles that a thread works on.
_UNDER_WAY = 5e6


@dataclass(frozen=True)
class EmbeddingDesign:
    """Everything that is fixed before a row is seen.

    Attributes
    ----------
    shares : tuple of PureDP or GDP
        Guarantees of the private iterations.
    sensitivity : float
        Of one iteration, for an embedding of diameter 1.
    """

    shares: tuple[PureDP | GDP, ...]
    sensitivity: float


@dataclass(frozen=True, kw_only=True)
class Embedding(EachGroup[Release]):
    """The supervised embedding of rows with labels beside them, as a value.

    `PrivateMail` releases it with the conventions of scikit-learn; `curvedp.release` of tables of
    rows, with labels of any kind, which are as private as the rows.

    Parameters
    ----------
    n_components, bandwidth, alpha, private_iterations, post_iterations, form, label_bandwidth,
    post_bandwidth, max_norm, start_scale, dtype, memory_limit
        As in `PrivateMail`.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> from curvedp.mail import Embedding
    >>> rows, kind = np.eye(3)[[0, 1, 2] * 20], ["cat", "dog", "cow"] * 20
    >>> ball = cdp.Ball("euclidean:3", np.zeros(3), 1.0)
    >>> cdp.release(Embedding(), rows, ball, cdp.GDP(1.0), labels=kind).value.shape
    (60, 2)
    """

    title: ClassVar[str] = "supervised embedding"
    beside: ClassVar[Literal["labels"]] = "labels"
    memory: ClassVar[float] = 8.0
    why_unserved: ClassVar[str] = (
        "an embedding has a row for each record, so its shape shows how many the collection has; "
        "noise hides what one of them is: leave out neighbours"
    )
    counted: ClassVar[bool] = False

    n_components: int = 2
    bandwidth: float | None = None
    alpha: float = 0.5
    private_iterations: int = 10
    post_iterations: int = 2
    form: str = "normalised"
    label_bandwidth: float | None = None
    post_bandwidth: float | None = None
    max_norm: float | None = None
    start_scale: float = 1.0
    dtype: str = "float64"
    memory_limit: int = MEMORY_LIMIT

    def __post_init__(self) -> None:
        as_count(self.n_components, "n_components")
        as_count(self.private_iterations, "private_iterations")
        as_count(self.post_iterations, "post_iterations", least=0)
        as_choice(self.form, FORMS, "form")
        as_choice(self.dtype, DTYPES, "dtype")
        as_count(self.memory_limit, "memory_limit", least=0)
        as_positive(self.start_scale, "start_scale")
        if isinstance(self.alpha, str) or not math.isfinite(self.alpha):
            raise ValueError(f"alpha must be a finite number, got {self.alpha!r}")
        for name in ("bandwidth", "label_bandwidth", "post_bandwidth"):
            if getattr(self, name) is not None:
                as_bandwidth(getattr(self, name), name)
        if self.max_norm is not None:
            as_positive(self.max_norm, "max_norm")

    def check(self, call: Call) -> None:
        if not call.manifold.is_flat or call.manifold.point_shape != (call.manifold.dim,):
            raise ValueError(f"rows lie in a Euclidean space, got {call.manifold.spec}")

    def read_beside(self, given: Any, n: int) -> FloatArray:
        """Numbers of the labels: only their equality counts."""
        return label_codes(given, n).astype(np.float64)

    def slow_beside(self, beside: FloatArray) -> FloatArray:
        return np.arange(len(beside), dtype=np.float64) % 2

    def parts(self, beside: FloatArray | None, offsets: Offsets) -> Offsets:
        if len(offsets) > 2:
            raise TypeError(
                "an embedding has as many rows as its data set, which no column of releases has: "
                "release each group by a call of its own"
            )
        return super().parts(beside, offsets)

    @property
    def streams(self) -> int:
        return 1 + self.private_iterations

    def design(self, call: Call, ball: Ball, n: int) -> EmbeddingDesign:
        if n < 2:
            raise ExistenceError(
                f"an embedding needs at least 2 rows, got n_samples={n}", smallest_n=2
            )
        of_rows, of_labels = self.bandwidths(ball)
        delta = sensitivity.mail_iteration(
            n,
            bandwidth=of_rows,
            alpha=self.alpha,
            label_bandwidth=of_labels,
            radius=ball.radius,
            form=self.form,
            records_per_unit=call.records_per_unit,
            weight_error=weight_error(ball.manifold.dim, (ball.radius / of_rows) ** 2, self.dtype),
        )
        shares = ways_to_meet(call.guarantee)[0].split([1.0] * self.private_iterations)
        return EmbeddingDesign(shares, delta)

    def mechanism_of(self, design: EmbeddingDesign) -> str:
        return kind_of(design.shares[-1]).name

    def is_exact(self, call: Call) -> bool:
        return True

    def value_shape(self, call: Call) -> tuple[int, ...]:
        return (0,)  # a release has as many rows as its data set

    def memory_of_group(self, call: Call, n: int) -> float:
        """Bytes that the kernel, tiles under way and embeddings take."""
        tiles = _core.size_of_tiles(n, self.dtype == "float32")
        kept = min(tiles, self.memory_limit)
        return kept + _core.num_threads() * _UNDER_WAY + 64.0 * n * (self.n_components + 1)

    def release_group(self, group: Group) -> Release:
        design: EmbeddingDesign = group.design
        tell_stage("project")
        rows = group.enter()
        codes = None if group.paid.beside is None else group.beside.astype(np.int64)
        tell_stage("kernel")
        operators = self.operators(rows, codes, group.ball)
        z = self.shorten(self.start(group.n, group.stream(0)))
        parts: list[Release] = []
        for stage, share in enumerate(design.shares, start=1):
            tell_stage(f"private iteration {stage}")
            # at least a little: rows may have been shortened to one point
            diameter = max(_core.diameter(z), 1e-6 * self.largest_norm)
            released = noisy_embedding(
                group,
                operators.step(z, self.alpha, self.form),
                share,
                sensitivity=design.sensitivity * diameter,
                rounding=self.rounding(group.n, group.ball),
                largest=self.largest_norm,
                stage=stage,
            )
            parts.append(released)
            z = self.shorten(released.value)
        del operators
        last = parts[-1]
        return group.release(
            value=self.post_process(z, group.ball),
            statistic=self.title,
            sensitivity=last.sensitivity,
            solver_tolerance=last.solver_tolerance,
            scale=last.scale,
            expected_error=None,
            parts=tuple(parts),
        )

    def bandwidths(self, ball: Ball) -> tuple[float, float]:
        """Bandwidths of the kernels of rows and of labels, by default from the ball's radius.

        Parameters
        ----------
        ball : Ball
        """
        of_rows = BANDWIDTH_SHARE * ball.radius if self.bandwidth is None else self.bandwidth
        if self.label_bandwidth is not None:
            return of_rows, self.label_bandwidth
        return of_rows, of_rows / ball.radius

    def operators(
        self, rows: FloatArray, codes: NDArray[np.int64] | None, ball: Ball
    ) -> Laplacians:
        """The Laplacians of rows that lie in the ball.

        Parameters
        ----------
        rows : ndarray, shape (n, m)
            Relative to the ball's centre.
        codes : ndarray of int, shape (n,), or None
            Numbers of the labels.
        ball : Ball
        """
        of_rows, of_labels = self.bandwidths(ball)
        return Laplacians(
            rows,
            of_rows,
            labels=codes,
            label_bandwidth=of_labels,
            radius=ball.radius * (1 + BOUNDARY_SLACK),
            dtype=self.dtype,
            memory_limit=self.memory_limit,
        )

    def start(self, n: int, stream: _core.Stream) -> FloatArray:
        """The random start, drawn without looking at the data: shape (n, n_components).

        Parameters
        ----------
        n : int
        stream : Stream
        """
        start = np.empty((n, self.n_components))
        stream.noise("gaussian", self.start_scale, start.reshape(-1))
        return start

    @property
    def largest_norm(self) -> float:
        """Rows of released embeddings are shortened to it."""
        if self.max_norm is not None:
            return self.max_norm
        return 2 * math.sqrt(self.n_components) * self.start_scale

    def shorten(self, z: FloatArray) -> FloatArray:
        """An embedding with rows of at most `largest_norm`."""
        norm = np.linalg.norm(z, axis=1, keepdims=True)
        limit = self.largest_norm
        shortened: FloatArray = z * (limit / np.maximum(norm, limit))
        return shortened

    def rounding(self, n: int, ball: Ball) -> float:
        """Bound on the Frobenius norm of an iteration's rounding error.

        Parameters
        ----------
        n : int
        ball : Ball
        """
        label_share = 1.0
        if self.form == "published":
            spread = (ball.radius / self.bandwidths(ball)[0]) ** 2
            label_share = math.exp(min(2 * spread, 700.0))
        return rounding_error(n, self.largest_norm, self.alpha, label_share)

    def post_process(self, z: FloatArray, ball: Ball) -> FloatArray:
        """The embedding after iterations by its own kernel.

        Parameters
        ----------
        z : ndarray, shape (n, n_components)
            Released, with short rows.
        ball : Ball
        """
        if self.post_iterations == 0:
            return z
        tell_stage("post-processing")
        bandwidth = self.post_bandwidth
        if bandwidth is None:
            # rows on the sphere of the ball are sqrt(2) r apart in root mean square
            spread = math.sqrt(2 * float(np.mean(np.sum((z - z.mean(axis=0)) ** 2, axis=1))))
            relative = self.bandwidths(ball)[0] / (math.sqrt(2) * ball.radius)
            bandwidth = relative * max(spread, 1e-6 * self.largest_norm)
        operators = Laplacians(z, bandwidth, dtype=self.dtype, memory_limit=self.memory_limit)
        for _ in range(self.post_iterations):
            z = operators.step(z)
        return z
