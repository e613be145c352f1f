"""PrivateMail: embeddings of private rows, and of one private query among public anchors."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, ClassVar, Self, Unpack, cast

import numpy as np
from numpy.typing import ArrayLike

from curvedp._guard import quiet
from curvedp._hints import hinting
from curvedp._labels import label_codes
from curvedp._validation import FloatArray, as_float_array
from curvedp.domain import Ball
from curvedp.mail.anchors import Anchors
from curvedp.mail.conventions import Conventions
from curvedp.mail.embedding import Embedding
from curvedp.mail.iteration import MEMORY_LIMIT
from curvedp.mail.landmarks import Settings
from curvedp.mail.query import PrivateQuery, QueryRelease
from curvedp.mail.rows import as_rows
from curvedp.manifolds import Euclidean
from curvedp.privacy import Guarantee, Ledger, NoiseSecret, Release
from curvedp.statistics.call import UnitOptions
from curvedp.statistics.grouping import GroupsLike
from curvedp.statistics.release import release_read
from curvedp.statistics.releases import Releases


class PrivateMail(Conventions):
    """Private supervised manifold embedding (Vepakomma, Balla and Raskar, Figure 3, Algorithm 1).

    From a random start Z_0 that does not depend on the data, `private_iterations` times

        Z + (1/2) (alpha D_Y^-1 L_Y - D_X^-1 L_X) Z + noise                     (normalised form)

    with the Laplacians of Gaussian kernels of rows and labels, then `post_iterations` times the
    same with the kernel of the released embedding and without labels, which costs nothing.

    **The noise of `fit_transform` does not fall with the number of rows.** Each row of the result
    belongs to one record, so its noise is at least (D/2) tanh(r^2/sigma^2)/mu per entry, D the
    diameter of the embedding, as under local differential privacy; with a bandwidth well below r a
    record may move every other row, and it grows with the square root of the number. For one
    private query among public anchors use `embed_query`.

    Parameters
    ----------
    n_components : int
        Columns k of the embedding.
    bandwidth : float, optional
        Sigma of the kernel exp(-d^2/2 sigma^2) of the rows; public, in units of their distances. A
        fifth of the ball's radius if not given, at which the embedding without noise separates
        classes of images; a wider kernel needs less noise (docs/privatemail.md).
    alpha : float
        Weight of the label term. Equation 3 subtracts it: alpha > 0 drives equal labels apart and
        alpha < 0 draws them together (docs/privatemail.md).
    guarantee : PureDP, ApproxDP, ZCDP or GDP
        Of the whole embedding, or of one query. There is no default: naming it is the decision. No
        epsilon-DP release names the right one of K equally likely classes of a query with
        probability above e^epsilon/(e^epsilon + K - 1): 0.23 of 10 at 1, 0.94 at 5; for several
        matches see `expected_recall`.
    private_iterations, post_iterations : int
    form : {"normalised", "published"}
        "published" is equation 7, whose sensitivity is exp(2 r^2/sigma^2) alpha D/2 and more.
    label_bandwidth : float, optional
        Sigma of the kernel of one-hot labels; if not given `bandwidth` over the ball's radius, as
        in the paper, where rows have length 1.
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
        Bytes that stored weights of the kernel may take, as many as fit; the others are computed
        anew for each iteration.
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
    #: The statistic of rows and labels that it releases.
    _kind: ClassVar[type[Embedding]] = Embedding

    @hinting
    def __init__(
        self,
        n_components: int = 2,
        *,
        bandwidth: float | None = None,
        alpha: float = 0.5,
        guarantee: Guarantee | None = None,
        private_iterations: int = 10,
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
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        ledger: Ledger | None = None,
        secret: NoiseSecret | None = None,
    ) -> Self:
        """Embeds the rows; parameters as in `fit_transform`."""
        self.fit_transform(X, y, ledger=ledger, secret=secret)
        return self

    @quiet
    def fit_transform(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        ledger: Ledger | None = None,
        secret: NoiseSecret | None = None,
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
        secret : NoiseSecret, optional
            Draws the same noise again for the same rows, labels and parameters; see `frechet_mean`.

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
        statistic, rows = self._statistic(), as_rows(X)
        released = release_read(
            statistic,
            rows,
            self._ball(rows.shape[1]),
            self._guarantee(),
            beside=self._codes(y, len(rows)),
            **self._options({"ledger": ledger, "secret": secret}),
        )
        self.release_ = cast(Release, released)
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
        statistic, points = self._statistic(), as_rows(rows)
        ball = self._ball(points.shape[1])
        of_rows, of_labels = statistic.bandwidths(ball)
        settings = Settings(
            n_components=self.n_components,
            bandwidth=of_rows,
            label_bandwidth=of_labels,
            alpha=self.alpha,
            form=self.form,
            iterations=self.private_iterations + self.post_iterations,
            dtype=self.dtype,
            memory_limit=self.memory_limit,
        )
        return Anchors(points, labels, ball, settings)

    @quiet
    @hinting
    def embed_query(
        self,
        query: ArrayLike,
        anchors: ArrayLike | Anchors,
        anchor_labels: ArrayLike | None = None,
        *,
        method: str = "cell",
        n_cells: int | None = None,
        subset_size: int | None = None,
        **call: Unpack[UnitOptions],
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
        method : {"cell", "subset", "noise"}
            "cell" names the query's public cell by randomised response: pure differential
            privacy, an error that does not grow with the dimension. "subset" names several, for
            those who look at several matches. "noise" is the paper's way: noise on the
            kernel-weighted mean of the embedded anchors. See `expected_recall`.
        n_cells : int, optional
            K, for cells without labels, or as cells of all classes together; chosen from the
            budget and the anchors if not given.
        subset_size : int, optional
            s, cells that "subset" names, below K: as many as matches are looked at, which makes
            `expected_recall` largest. The smaller of 8 and K - 1 if not given.
        units, groups_per_unit, skip_small, ledger, secret, seed, progress, timing
            As in `frechet_mean`; ledger and seed by default those of the estimator.

        Returns
        -------
        QueryRelease
            `value` is the embedded query, shape (n_components,), for "subset" the representatives
            of the named cells, shape (s, n_components), `anchors` the embedded anchors.

        Raises
        ------
        BudgetError
            If the ledger refuses.
        ValueError, TypeError
            For wrong shapes, dtypes and parameters; never for the value of a query.
        """
        row = as_float_array(query, "query")
        if row.ndim > 1 and len(row) != 1:
            raise ValueError(
                f"query must have shape (m,), got {row.shape}: use embed_queries for many, "
                "and ravel() for an image"
            )
        public, statistic = self._asked(anchors, anchor_labels, method, n_cells, subset_size)
        found = self._ask(statistic, row.reshape(1, -1), None, dict(call))
        response = statistic.response(self._guarantee())
        return QueryRelease(cast(Release, found), public, response)

    @quiet
    @hinting
    def embed_queries(
        self,
        queries: ArrayLike,
        anchors: ArrayLike | Anchors,
        anchor_labels: ArrayLike | None = None,
        *,
        groups: GroupsLike = None,
        method: str = "cell",
        n_cells: int | None = None,
        subset_size: int | None = None,
        **call: Unpack[UnitOptions],
    ) -> Releases[Release]:
        """Many private queries, each with the guarantee of its own; a ledger pays for all or none.

        Every row is **another person's**: changing one moves one release, so the whole call costs
        what one query does. If a person may have r of them, say ``groups_per_unit=r``: it costs r
        times as much.

        Parameters
        ----------
        queries : array-like, shape (q, m)
            The private records, projected on the ball; no value raises.
        groups : array-like, shape (q,), optional
            A public name for each query, all different; their numbers 0, 1, ... if not given.
        anchors, anchor_labels, method, n_cells, subset_size
            As in `embed_query`.
        units, groups_per_unit, skip_small, ledger, secret, seed, progress, timing
            As in `frechet_mean`; ledger and seed by default those of the estimator.

        Returns
        -------
        Releases
            `value` has the shape (q, n_components), for "subset" (q, s, n_components).

        Raises
        ------
        BudgetError, ValueError, TypeError
            As in `embed_query`.
        """
        statistic = self._asked(anchors, anchor_labels, method, n_cells, subset_size)[1]
        rows = as_rows(queries)
        names = np.arange(len(rows)) if groups is None else groups
        return cast(Releases[Release], self._ask(statistic, rows, names, dict(call)))

    def _asked(
        self,
        anchors: ArrayLike | Anchors,
        labels: ArrayLike | None,
        method: str,
        n_cells: int | None,
        subset_size: int | None,
    ) -> tuple[Anchors, PrivateQuery]:
        """The anchors of a query and its statistic; parameters are checked."""
        self._statistic()
        public = anchors if isinstance(anchors, Anchors) else self.anchors(anchors, labels)
        return public, PrivateQuery(
            anchors=public, method=method, n_cells=n_cells, subset_size=subset_size
        )

    def _ask(
        self, statistic: PrivateQuery, rows: FloatArray, groups: GroupsLike, call: dict[str, Any]
    ) -> Release | Releases[Release]:
        public = statistic.anchors
        if rows.shape[1] != public.n_features:
            raise ValueError(
                f"query must have {public.n_features} entries as the anchors have, "
                f"got {rows.shape[1]}"
            )
        how, guarantee = self._options({"records_per_unit": 1} | call), self._guarantee()
        return release_read(statistic, rows, public.ball, guarantee, groups=groups, **how)

    def _statistic(self) -> Embedding:
        """The statistic that `fit_transform` releases; its parameters are checked."""
        names = [field.name for field in fields(Embedding)]
        return self._kind(**{name: getattr(self, name) for name in names})

    def _options(self, given: dict[str, Any]) -> dict[str, Any]:
        """Keywords of a call: what is given, otherwise the estimator's own."""
        own = {"records_per_unit": self.records_per_unit, "ledger": self.ledger, "seed": self.seed}
        if given.get("units") is not None:
            del own["records_per_unit"]
        return own | {name: value for name, value in given.items() if value is not None}

    def _guarantee(self) -> Guarantee:
        if self.guarantee is None:
            raise TypeError("guarantee is not set: pass PureDP, ApproxDP, ZCDP or GDP")
        return self.guarantee

    def _ball(self, size: int) -> Ball:
        if self.ball is None:
            return Ball(Euclidean(size), np.zeros(size), 1.0)
        if not isinstance(self.ball, Ball) or self.ball.manifold.spec != f"euclidean:{size}":
            raise ValueError(
                f"ball must be a Ball of euclidean:{size}, as rows have {size} entries"
            )
        return self.ball

    def _codes(self, y: ArrayLike | None, n: int) -> FloatArray | None:
        """The labels of n rows as numbers; None for none, where alpha is 0."""
        if n < 2:
            raise ValueError("an embedding needs at least 2 rows, got n_samples=1")
        if y is None and self.alpha != 0:
            raise ValueError(
                "PrivateMail requires y to be passed, but the target y is None; pass the labels, "
                "or alpha=0"
            )
        return None if y is None else label_codes(y, n).astype(np.float64)
