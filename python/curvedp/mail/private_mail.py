"""PrivateMail: embeddings of private rows, and of one private query among public anchors."""

from __future__ import annotations

import math
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from curvedp import _core, sensitivity
from curvedp._guard import quiet
from curvedp._labels import label_codes
from curvedp._stages import tell_stage
from curvedp._validation import (
    FloatArray,
    as_choice,
    as_count,
    as_float_array,
    as_positive,
)
from curvedp.domain import BOUNDARY_SLACK, Ball
from curvedp.estimators.conventions import Conventions
from curvedp.laplacian_bounds import FORMS, as_bandwidth
from curvedp.mail.anchors import Anchors, QueryRelease
from curvedp.mail.iteration import DTYPES, MEMORY_LIMIT, Laplacians, rounding_error
from curvedp.mail.noise import noisy_embedding
from curvedp.mail.rows import as_rows
from curvedp.manifolds import Euclidean
from curvedp.privacy import GDP, Guarantee, Ledger, PureDP, Release
from curvedp.statistics.entry import Entry

#: Bytes of the kernel's tiles that a thread works on.
_UNDER_WAY = 5e6


class PrivateMail(Conventions):
    """Private supervised manifold embedding (Vepakomma, Balla and Raskar, Figure 3, Algorithm 1).

    From a random start Z_0 that does not depend on the data, `private_iterations` times

        Z + (1/2) (alpha D_Y^-1 L_Y - D_X^-1 L_X) Z + noise                     (normalised form)

    with the Laplacians of Gaussian kernels of rows and labels, then `post_iterations` times the
    same with the kernel of the released embedding and without labels, which costs nothing.

    **The noise of `fit_transform` does not fall with the number of rows.** Each row of the result
    belongs to one record, so its noise is at least (D/2) tanh(r^2/sigma^2)/mu per entry, D the
    diameter of the embedding, as under local differential privacy. For one private query among
    public anchors use `embed_query`.

    Parameters
    ----------
    n_components : int
        Columns k of the embedding.
    bandwidth : float
        Sigma of the kernel exp(-d^2/2 sigma^2) of the rows; public, in units of their distances.
    alpha : float
        Weight of the label term. Equation 3 subtracts it: alpha > 0 drives equal labels apart and
        alpha < 0 draws them together (docs/privatemail.md).
    guarantee : PureDP, ApproxDP, ZCDP or GDP
        Of the whole embedding, or of one query. There is no default: naming it is the decision. No
        epsilon-DP release names the right one of K equally likely classes of a query with
        probability above e^epsilon/(e^epsilon + K - 1): 0.23 of 10 at 1, 0.94 at 5.
    private_iterations, post_iterations : int
    form : {"normalised", "published"}
        "published" is equation 7, whose sensitivity is exp(2 r^2/sigma^2) alpha D/2 and more.
    label_bandwidth : float, optional
        Sigma of the kernel of one-hot labels; `bandwidth` if not given, as in the paper.
    post_bandwidth : float, optional
        Sigma of the kernel of the released embedding; by default `bandwidth`, scaled to it.
    ball : Ball, optional
        Public Euclidean ball on which rows are projected; the unit ball if not given.
    max_norm : float, optional
        Released rows are shortened to this norm; 2 sqrt(k) `start_scale` if not given.
    start_scale : float
        Standard deviation of the entries of the random start.
    dtype : {"float64", "float32"}
        Precision of the kernel.
    memory_limit : int
        Bytes that the kernel may take; beyond it is computed anew for each iteration.
    records_per_unit : int
        Number of records that one unit (a person) contributes at most.
    ledger : Ledger, optional
        Budget that every fit and every query spends from, before any noise is drawn; clones made
        by scikit-learn spend from the same one. Methods take another as an argument.
    seed : int, optional
        For tests and examples only: releases are then `Unproved`.

    Attributes
    ----------
    embedding_ : ndarray, shape (n, n_components)
    release_ : Release
        Its `parts` are the noisy embeddings of the private iterations.
    n_features_in_ : int

    Notes
    -----
    Follows scikit-learn's conventions without needing scikit-learn. Labels may be numbers, strings
    or objects; only their equality counts, and it is as private as the rows.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> rng = np.random.default_rng(0)
    >>> labels = np.repeat([0, 1], 50)
    >>> rows = 0.1 * rng.standard_normal((100, 3)) + np.eye(3)[labels]
    >>> mail = PrivateMail(n_components=2, guarantee=cdp.GDP(mu=1.0))
    >>> mail.fit_transform(rows, labels).shape
    (100, 2)
    >>> mail.embed_query(rows[0], anchors=rows[1:], anchor_labels=labels[1:]).value.shape
    (2,)
    """

    _needs_target = True
    _transforms = True

    def __init__(
        self,
        n_components: int = 2,
        *,
        bandwidth: float = 1.0,
        alpha: float = 0.5,
        guarantee: Guarantee | None = None,
        private_iterations: int = 2,
        post_iterations: int = 2,
        form: str = "normalised",
        label_bandwidth: float | None = None,
        post_bandwidth: float | None = None,
        ball: Ball | None = None,
        max_norm: float | None = None,
        start_scale: float = 1.0,
        dtype: str = "float64",
        memory_limit: int = MEMORY_LIMIT,
        records_per_unit: int = 1,
        ledger: Ledger | None = None,
        seed: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.bandwidth = bandwidth
        self.alpha = alpha
        self.guarantee = guarantee
        self.private_iterations = private_iterations
        self.post_iterations = post_iterations
        self.form = form
        self.label_bandwidth = label_bandwidth
        self.post_bandwidth = post_bandwidth
        self.ball = ball
        self.max_norm = max_norm
        self.start_scale = start_scale
        self.dtype = dtype
        self.memory_limit = memory_limit
        self.records_per_unit = records_per_unit
        self.ledger = ledger
        self.seed = seed

    @quiet
    def fit(
        self, X: ArrayLike, y: ArrayLike | None = None, *, ledger: Ledger | None = None
    ) -> Self:
        """Embeds the rows; parameters as in `fit_transform`."""
        self.fit_transform(X, y, ledger=ledger)
        return self

    @quiet
    def fit_transform(
        self, X: ArrayLike, y: ArrayLike | None = None, *, ledger: Ledger | None = None
    ) -> FloatArray:
        """The private embedding of the rows.

        Parameters
        ----------
        X : array-like, shape (n, m)
            n >= 2 rows, projected on the ball; no value raises.
        y : array-like, shape (n,)
            Their labels; not needed if alpha is 0.
        ledger : Ledger, optional
            Budget to spend from in place of the estimator's, before any noise is drawn.

        Returns
        -------
        ndarray, shape (n, n_components)

        Raises
        ------
        BudgetError
            If the ledger refuses.
        ValueError, TypeError
            For wrong shapes, dtypes and parameters; never for a value in X or y.
        """
        self._check_parameters()
        rows = as_rows(X)
        entry = self._entry(rows, self._ball(rows.shape[1]), ledger)
        labels = self._labels(y, entry.n)
        shares = entry.shares([1.0] * self.private_iterations)
        unit = self._sensitivity(entry)
        entry.spend("PrivateMail embedding", self._memory(entry.n))

        tell_stage("kernel")
        operators = self._operators(entry.enter(), labels, entry.ball)
        z = self._shorten(self._start(entry.n, entry.stream(0)))
        parts: list[Release] = []
        for stage, share in enumerate(shares, start=1):
            parts.append(self._private_step(entry, operators, z, share, unit, stage))
            z = self._shorten(parts[-1].value)
        del operators
        if self.post_iterations:
            tell_stage("post-processing")
        z = self._post_process(z, entry.ball)
        last = parts[-1]
        self.release_ = entry.release(
            entry.promise(entry.guarantee),
            value=z,
            mechanism=last.mechanism,
            statistic="supervised embedding",
            sensitivity=last.sensitivity,
            solver_tolerance=last.solver_tolerance,
            scale=last.scale,
            expected_error=None,
            parts=tuple(parts),
        )
        self.embedding_ = np.array(self.release_.value)
        self.n_features_in_ = rows.shape[1]
        names = getattr(X, "columns", None)
        if names is not None and all(isinstance(name, str) for name in names):
            self.feature_names_in_ = np.array(list(names), dtype=object)
        return self.embedding_

    @quiet
    def anchors(self, rows: ArrayLike, labels: ArrayLike | None = None) -> Anchors:
        """Public anchors embedded without noise, for many queries.

        Parameters
        ----------
        rows : array-like, shape (n, m)
        labels : array-like, shape (n,), optional
            Public as well. Without labels alpha counts as 0.
        """
        self._check_parameters()
        points = as_rows(rows)
        return Anchors(
            points,
            labels,
            ball=self._ball(points.shape[1]),
            n_components=self.n_components,
            bandwidth=self.bandwidth,
            label_bandwidth=self.label_bandwidth,
            alpha=self.alpha,
            form=self.form,
            iterations=self.private_iterations + self.post_iterations,
            dtype=self.dtype,
            memory_limit=self.memory_limit,
        )

    @quiet
    def embed_query(
        self,
        query: ArrayLike,
        anchors: ArrayLike | Anchors,
        anchor_labels: ArrayLike | None = None,
        *,
        method: str = "cell",
        n_cells: int | None = None,
        ledger: Ledger | None = None,
    ) -> QueryRelease:
        """One private query among public anchors. Works unfitted.

        Parameters
        ----------
        query : array-like, shape (m,)
            The private record, projected on the ball; no value raises.
        anchors : array-like, shape (n, m), or Anchors
            Public rows, or what `anchors` made of them.
        anchor_labels : array-like, shape (n,), optional
            Public labels.
        method : {"cell", "noise"}
            "cell" releases the query's public cell by randomised response: pure differential
            privacy, an error that does not grow with the dimension. "noise" is the paper's way:
            noise on the kernel-weighted mean of the embedded anchors.
        n_cells : int, optional
            For "cell" without labels, or as cells of all classes together; chosen from the budget
            and the anchors if not given.
        ledger : Ledger, optional

        Returns
        -------
        QueryRelease
            `value` is the embedded query, shape (n_components,), `anchors` the embedded anchors.

        Raises
        ------
        BudgetError
            If the ledger refuses.
        ValueError, TypeError
            For wrong shapes, dtypes and parameters; never for the value of the query.
        """
        self._check_parameters()
        as_choice(method, ("cell", "noise"), "method")
        public = anchors if isinstance(anchors, Anchors) else self.anchors(anchors, anchor_labels)
        row = as_float_array(query, "query").reshape(1, -1)
        if row.shape[1] != public.n_features:
            raise ValueError(
                f"query must have {public.n_features} entries as the anchors have, "
                f"got {row.shape[1]}"
            )
        entry = self._entry(row, public.ball, ledger)
        if method == "noise":
            return public.release_noise(entry)
        return public.release_cell(entry, n_cells)

    def _check_parameters(self) -> None:
        as_count(self.n_components, "n_components")
        as_bandwidth(self.bandwidth, "bandwidth")
        as_count(self.private_iterations, "private_iterations")
        as_count(self.post_iterations, "post_iterations", least=0)
        as_choice(self.form, FORMS, "form")
        as_choice(self.dtype, DTYPES, "dtype")
        as_count(self.memory_limit, "memory_limit", least=0)
        as_positive(self.start_scale, "start_scale")
        if isinstance(self.alpha, str) or not math.isfinite(self.alpha):
            raise ValueError(f"alpha must be a finite number, got {self.alpha!r}")
        for name in ("label_bandwidth", "post_bandwidth"):
            if getattr(self, name) is not None:
                as_bandwidth(getattr(self, name), name)
        if self.max_norm is not None:
            as_positive(self.max_norm, "max_norm")

    def _ball(self, size: int) -> Ball:
        if self.ball is None:
            return Ball(Euclidean(size), np.zeros(size), 1.0)
        if not isinstance(self.ball, Ball) or self.ball.manifold.spec != f"euclidean:{size}":
            raise ValueError(
                f"ball must be a Ball of euclidean:{size}, as rows have {size} entries"
            )
        return self.ball

    def _entry(self, rows: FloatArray, ball: Ball, ledger: Ledger | None) -> Entry:
        if self.guarantee is None:
            raise TypeError("guarantee is not set: pass PureDP, ApproxDP, ZCDP or GDP")
        return Entry.check(
            rows,
            ball,
            self.guarantee,
            records_per_unit=self.records_per_unit,
            ledger=self.ledger if ledger is None else ledger,
            seed=self.seed,
        )

    def _labels(self, y: ArrayLike | None, n: int) -> NDArray[np.int64] | None:
        """The labels of n rows as codes; None for none, where alpha is 0."""
        if n < 2:
            raise ValueError("an embedding needs at least 2 rows, got n_samples=1")
        if y is None and self.alpha != 0:
            raise ValueError(
                "PrivateMail requires y to be passed, but the target y is None; pass the labels, "
                "or alpha=0"
            )
        return None if y is None else label_codes(y, n)

    def _operators(
        self, rows: FloatArray, labels: NDArray[np.int64] | None, ball: Ball
    ) -> Laplacians:
        """The Laplacians of rows that lie in the ball."""
        return Laplacians(
            rows,
            self.bandwidth,
            labels=labels,
            label_bandwidth=self.label_bandwidth,
            radius=ball.radius * (1 + BOUNDARY_SLACK),
            dtype=self.dtype,
            memory_limit=self.memory_limit,
        )

    def _memory(self, n: int) -> float:
        """Bytes that the kernel, tiles under way and embeddings take."""
        tiles = _core.size_of_tiles(n, self.dtype == "float32")
        kept = tiles if tiles <= self.memory_limit else 0
        return kept + _core.num_threads() * _UNDER_WAY + 64.0 * n * (self.n_components + 1)

    def _start(self, n: int, stream: _core.Stream) -> FloatArray:
        """The random start, drawn without looking at the data."""
        noise = _core.Noise("flat", self.n_components, 0.0, "gaussian", self.start_scale)
        start = np.empty((n, self.n_components))
        noise.sample_coords(stream, start)
        return start

    def _largest_norm(self) -> float:
        if self.max_norm is not None:
            return self.max_norm
        return 2 * math.sqrt(self.n_components) * self.start_scale

    def _shorten(self, z: FloatArray) -> FloatArray:
        norm = np.linalg.norm(z, axis=1, keepdims=True)
        limit = self._largest_norm()
        shortened: FloatArray = z * (limit / np.maximum(norm, limit))
        return shortened

    def _sensitivity(self, entry: Entry) -> float:
        """Sensitivity of one iteration, for an embedding of diameter 1."""
        # of computed weights: error of half a squared distance, over sigma^2, and own rounding
        unit = 2.0**-24 if self.dtype == "float32" else 2.0**-53
        spread = (entry.ball.radius / self.bandwidth) ** 2
        return sensitivity.mail_iteration(
            entry.n,
            bandwidth=self.bandwidth,
            alpha=self.alpha,
            label_bandwidth=self.label_bandwidth,
            radius=entry.ball.radius,
            form=self.form,
            records_per_unit=self.records_per_unit,
            weight_error=(4 * (entry.ball.manifold.dim + 8) * spread + 8) * unit,
        )

    def _private_step(
        self,
        entry: Entry,
        operators: Laplacians,
        z: FloatArray,
        share: PureDP | GDP,
        unit_sensitivity: float,
        stage: int,
    ) -> Release:
        tell_stage(f"private iteration {stage}")
        limit = self._largest_norm()
        # at least a little: rows may have been shortened to one point
        diameter = max(_core.diameter(z), 1e-6 * limit)
        return noisy_embedding(
            entry,
            operators.step(z, self.alpha, self.form),
            share,
            sensitivity=unit_sensitivity * diameter,
            rounding=self._rounding(entry.n, entry.ball),
            largest=limit,
            stage=stage,
        )

    def _rounding(self, n: int, ball: Ball) -> float:
        """Bound on the Frobenius norm of an iteration's rounding error."""
        label_share = 1.0
        if self.form == "published":
            label_share = math.exp(min(2 * (ball.radius / self.bandwidth) ** 2, 700.0))
        return rounding_error(n, self._largest_norm(), self.alpha, label_share)

    def _post_process(self, z: FloatArray, ball: Ball) -> FloatArray:
        if self.post_iterations == 0:
            return z
        bandwidth = self.post_bandwidth
        if bandwidth is None:
            # rows on the sphere of the ball are sqrt(2) r apart in root mean square
            spread = math.sqrt(2 * float(np.mean(np.sum((z - z.mean(axis=0)) ** 2, axis=1))))
            relative = self.bandwidth / (math.sqrt(2) * ball.radius)
            bandwidth = relative * max(spread, 1e-6 * self._largest_norm())
        operators = Laplacians(z, bandwidth, dtype=self.dtype, memory_limit=self.memory_limit)
        for _ in range(self.post_iterations):
            z = operators.step(z)
        return z
