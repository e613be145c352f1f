"""Everything that curvedp releases: statistic by manifold by mechanism, its proof and its audit.

The one source of the tables in README.md and docs/guarantees.md; the tests of `privacy` run every
cell and fail if a release has no row. ``python tests/guarantee_table.py`` writes the tables, and
the public names as type checkers see them.
"""

from __future__ import annotations

import functools
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import curvedp as cdp
from curvedp.conformal import ball_mesh, density, knn_graph, laplacian
from curvedp.manifolds import as_manifold
from curvedp.manifolds.matrices import SPD_METRICS
from curvedp.manifolds.spaces import SPACES
from manifold_list import COMPACT

ROOT = Path(__file__).resolve().parents[1]

#: Columns, each with the manifolds on which its cells are run.
COLUMNS = {
    "Euclidean": ("euclidean:2",),
    "sphere, rotations, axes": ("sphere:2", "rotations:3", "projective:2"),
    "SPD, HPD": ("spd:2", "hpd:2"),
    "flat SPD, correlations, tori": (
        *("spd:2:log-euclidean", "spd:2:log-cholesky"),
        *("correlation:3", "torus:2"),
    ),
    "hyperbolic": ("hyperboloid:2",),
    "other compact": ("kendall:5", *(case.name for case in COMPACT)),
}
#: What rows of few dimensions say, and where they are run beside: the spaces above have more.
SMALL = "dimension up to 3"
FEW = {"other compact": "grassmann:3:1"}
PURE, GAUSSIAN, BOTH, NONE = "ε", "μ", "ε, μ", "–"
#: A cell that holds of one of its column's spaces.
ON_TORI = "ε on tori"

Run = Callable[..., Any]


@dataclass(frozen=True)
class Row:
    """A statistic by one mechanism.

    Attributes
    ----------
    statistic : str
    call : str
        The public function or method.
    mechanism : str
        As printed on the release, or a word for several.
    spaces : dict
        By column: which guarantee is proved.
    run : callable
        A release from a ball, records and a guarantee; with `groups` if the statistic takes them.
    proofs : tuple of str
        Pages in docs/proofs.
    audits : tuple of str
        Tests, as file::function.
    page : str
        Of the documentation, where there is one.
    """

    statistic: str
    call: str
    mechanism: str
    spaces: dict[str, str]
    run: Run
    proofs: tuple[str, ...]
    audits: tuple[str, ...]
    page: str = ""

    def __str__(self) -> str:
        return f"{self.call}-{self.mechanism}".replace(" ", "_")


def everywhere(guarantee: str, **but: str) -> dict[str, str]:
    """The same in every column except those named (words alone)."""
    cells = dict.fromkeys(COLUMNS, guarantee)
    for name, other in but.items():
        (column,) = (c for c in COLUMNS if re.sub(r"\W+", "_", c).strip("_") == name)
        cells[column] = other
    return cells


def only(column: str, guarantee: str) -> dict[str, str]:
    return dict.fromkeys(COLUMNS, NONE) | {column: guarantee}


def of_groups(statistic: Any) -> Run:
    """A statistic that takes `groups`."""
    return lambda ball, x, claim, groups=None: statistic(x, ball, claim, groups=groups)


def mean_by(mechanism: str) -> Run:
    return of_groups(functools.partial(cdp.frechet_mean, mechanism=mechanism))


def without_ball(noise: str) -> Run:
    """A mean of each record sixteen times, as fewer are refused, by noise of that name."""

    def run(ball: cdp.Ball, x: np.ndarray, claim: Any, groups: Any = None) -> Any:
        if (noise == "Laplace") is not isinstance(claim, cdp.PureDP):
            raise TypeError("has noise of another kind")
        ends = None if groups is None else [16 * end for end in groups]
        return cdp.frechet_mean(np.repeat(x, 16, axis=0), ball.manifold, claim, groups=ends)

    return run


def compared(ball: cdp.Ball, x: np.ndarray, claim: Any) -> Any:
    """The region of the first half, after it was compared with that of the second."""
    a, b = (cdp.confidence_region(half, ball, claim) for half in (x[::2], x[1::2]))
    cdp.compare_means(a, b)
    return a


def halves_tested(ball: cdp.Ball, x: np.ndarray, claim: Any, groups: Any = None) -> Any:
    both = None
    if groups is not None:
        labels = np.repeat(range(len(groups) - 1), np.diff(groups))
        both = labels[::2], labels[1::2]
    return cdp.two_sample_test(x[::2], x[1::2], ball, claim, groups=both)


def samples_tested(ball: cdp.Ball, x: np.ndarray, claim: Any, groups: Any = None) -> Any:
    return cdp.k_sample_test(x, np.arange(len(x)) % 3, ball, claim, groups=groups)


def trend_sought(ball: cdp.Ball, x: np.ndarray, claim: Any, groups: Any = None) -> Any:
    times = np.linspace(0.0, 1.0, len(x))
    return cdp.trend_test(times, x, ball, claim, x_range=(0.0, 1.0), groups=groups)


def explained(ball: cdp.Ball, x: np.ndarray, claim: Any, groups: Any = None) -> Any:
    times = np.linspace(0.0, 1.0, len(x))
    fit = cdp.geodesic_regression(times, x, ball, cdp.GDP(30.0), x_range=(0.0, 1.0))
    return cdp.r_squared(times, x, fit, claim, groups=groups)


def regressed(sampler: str, tau: float | None = 0.3) -> Run:
    def run(ball: cdp.Ball, x: np.ndarray, claim: Any, groups: Any = None) -> Any:
        times = np.linspace(0.0, 1.0, len(x))
        public = {"x_range": (0.0, 1.0), "tau": tau, "v_max": 0.5, "sampler": sampler}
        return cdp.geodesic_regression(times, x, ball, claim, groups=groups, **public)

    return run


@functools.cache
def nodes_of(spec: str, center: bytes, radius: float) -> Any:
    """A small public mesh with its Laplacian, made once for each ball."""
    manifold = cdp.as_manifold(spec)
    point = np.frombuffer(center).reshape(manifold.point_shape)
    mesh = ball_mesh(cdp.Ball(manifold, point, radius), 60)
    return laplacian(knn_graph(mesh, 8))


def nodes(ball: cdp.Ball) -> Any:
    return nodes_of(ball.manifold.spec, ball.center.tobytes(), ball.radius)


def conformal(ball: cdp.Ball, x: np.ndarray, claim: Any, groups: Any = None) -> Any:
    return cdp.conformal_mean(x, ball, claim, mesh=nodes(ball), groups=groups)


def counted(ball: cdp.Ball, x: np.ndarray, claim: Any, groups: Any = None) -> Any:
    return density(x, ball, claim, mesh=nodes(ball), groups=groups)


def middle(ball: cdp.Ball, x: np.ndarray, claim: Any, groups: Any = None) -> Any:
    numbers = x.reshape(len(x), -1)[:, 0]
    return cdp.quantile(numbers, 0.5, low=-9.0, high=9.0, guarantee=claim, groups=groups)


def classified(ball: cdp.Ball, x: np.ndarray, claim: Any, groups: Any = None) -> Any:
    public = {"classes": [0, 1], "n_steps": 5}
    return cdp.tangent_logistic(x, np.arange(len(x)) % 2, ball, claim, groups=groups, **public)


def clustered(ball: cdp.Ball, x: np.ndarray, claim: Any, groups: Any = None) -> Any:
    return cdp.k_means(x, 2, ball, claim, groups=groups)


def directed(ball: cdp.Ball, x: np.ndarray, claim: Any, groups: Any = None) -> Any:
    return cdp.principal_components(x, 1, ball, claim, groups=groups)


def embedded(ball: cdp.Ball, x: np.ndarray, claim: Any) -> Any:
    return cdp.PrivateMail(2, guarantee=claim, ball=ball).fit(x, np.arange(len(x)) % 2).release_


def query(method: str) -> Run:
    def run(ball: cdp.Ball, x: np.ndarray, claim: Any, groups: Any = None) -> Any:
        mail = cdp.PrivateMail(2, guarantee=claim, ball=ball)
        public = mail.anchors(x[1:], np.arange(len(x) - 1) % 2)
        if groups is None:
            return mail.embed_query(x[0], public, method=method).release
        names = [f"query {j}" for j in range(len(groups) - 1)]
        return mail.embed_queries(x[: len(names)], public, method=method, groups=names)

    return run


def queries(ball: cdp.Ball, x: np.ndarray, claim: Any, groups: Any = None) -> Any:
    run = query("subset")
    return (
        run(ball, x, claim, range(3))["query 0"] if groups is None else run(ball, x, claim, groups)
    )


MEAN_PROOFS = ("frechet-mean-sensitivity", "frechet-mean-solver", "shrinkage")


def whole_audit(*kinds: str) -> tuple[str, ...]:
    """The audits of whole releases of some kinds."""
    test = "test_a_statistic_keeps_its_guarantee_and_a_twelfth_of_its_noise_would_be_flagged"
    return tuple(f"statistics/test_statistic_audit.py::{test}[{kind}]" for kind in kinds)


MECHANISM_AUDITS = (
    "mechanisms/test_mechanism_audit.py::test_mechanism_keeps_its_claim",
    "mechanisms/test_mechanism_audit.py::test_whole_release_keeps_its_claim",
    "statistics/test_low_bits_of_means.py::test_low_bits_of_means_keep_the_claim",
    *whole_audit("frechet_mean", "frechet_mean of groups"),
)
NOISE = "Laplace or Gaussian noise"

ROWS = (
    Row(
        "Fréchet mean",
        "frechet_mean",
        "Riemannian Laplace",
        everywhere(BOTH),
        mean_by("riemannian-laplace"),
        (*MEAN_PROOFS, "riemannian-laplace"),
        MECHANISM_AUDITS,
    ),
    Row(
        "",
        "frechet_mean",
        "Riemannian Gaussian",
        everywhere(GAUSSIAN, SPD_HPD=NONE, hyperbolic=NONE),
        mean_by("riemannian-gaussian"),
        (*MEAN_PROOFS, "riemannian-gaussian"),
        MECHANISM_AUDITS,
    ),
    Row(
        "",
        "frechet_mean",
        "exponential-wrapped Gaussian",
        everywhere(GAUSSIAN, sphere_rotations_axes=NONE, other_compact=NONE),
        mean_by("exponential-wrapped-gaussian"),
        (*MEAN_PROOFS, "exponential-wrapped-gaussian"),
        MECHANISM_AUDITS,
    ),
    Row(
        "",
        "frechet_mean",
        "tangent Gaussian",
        everywhere(GAUSSIAN),
        mean_by("tangent-gaussian"),
        (*MEAN_PROOFS, "tangent-gaussian"),
        MECHANISM_AUDITS,
    ),
    Row(
        "",
        "frechet_mean",
        "l2 mechanism",
        everywhere(BOTH),
        mean_by("l2-mechanism"),
        (*MEAN_PROOFS, "l2-mechanism"),
        MECHANISM_AUDITS,
    ),
    Row(
        "mean without a ball",
        "frechet_mean",
        "rounded Gaussian",
        everywhere(GAUSSIAN),
        without_ball("Gaussian"),
        ("sums-of-messages",),
        (
            "sums/test_search_neighbours.py::"
            "test_neighbours_are_told_apart_no_better_than_the_budget_allows",
            "sums/test_search_neighbours.py::test_the_attack_finds_broken_searches",
        ),
        "no-ball",
    ),
    Row(
        "",
        "frechet_mean",
        f"rounded Laplace, {SMALL}",
        everywhere(PURE, SPD_HPD=NONE, flat_SPD_correlations_tori=ON_TORI),
        without_ball("Laplace"),
        ("pure-sums", "sums-of-messages"),
        (
            "sums/test_pure_noise.py::test_no_pair_of_neighbours_loses_more_than_the_budget",
            "sums/test_pure_noise.py::test_the_attack_finds_broken_searches",
        ),
        "no-ball",
    ),
    Row(
        "adaptive mean",
        "adaptive_mean",
        "the mean's, ranks for the radius",
        everywhere(BOTH),
        of_groups(cdp.adaptive_mean),
        ("adaptive-mean", "private-quantile", *MEAN_PROOFS),
        (
            "statistics/test_adaptive_mean.py::test_whole_release_keeps_its_claim",
            *whole_audit("adaptive_mean of groups"),
        ),
        "adaptive-mean",
    ),
    Row(
        "geometric median",
        "geometric_median",
        "noisy steps on clipped logarithms",
        everywhere(BOTH),
        of_groups(cdp.geometric_median),
        ("geometric-median", "private-quantile"),
        whole_audit("geometric_median"),
    ),
    Row(
        "mean by its gradient",
        "kng_mean",
        "K-norm gradient, dimension up to 6",
        everywhere(BOTH),
        of_groups(cdp.kng_mean),
        ("kng-mean",),
        whole_audit("kng_mean"),
    ),
    Row(
        "conformal mean",
        "conformal_mean",
        "conformal Laplace",
        everywhere(BOTH),
        conformal,
        ("conformal-mean", *MEAN_PROOFS),
        (
            *whole_audit("conformal_mean"),
            "conformal/test_conformal_audit.py::test_conformal_noise_keeps_its_claim",
            "conformal/test_conformal_audit.py::test_whole_releases_keep_their_claim",
        ),
        "conformal",
    ),
    Row(
        "density on public nodes",
        "conformal.density",
        "two-sided geometric noise",
        everywhere(BOTH),
        counted,
        ("conformal-mean",),
        (
            "conformal/test_conformal_density.py::test_the_joint_loss_of_a_replaced_record_is_epsilon_exactly",
        ),
        "conformal",
    ),
    Row(
        "Fréchet variance",
        "frechet_variance",
        NOISE,
        everywhere(BOTH),
        of_groups(cdp.frechet_variance),
        ("frechet-variance", "log-moments"),
        whole_audit("frechet_variance", "frechet_variance of groups"),
    ),
    Row(
        "fourth moment of the distance",
        "fourth_moment",
        NOISE,
        everywhere(BOTH),
        of_groups(cdp.fourth_moment),
        ("log-moments",),
        whole_audit("fourth_moment"),
    ),
    Row(
        "covariance of the logarithms",
        "log_covariance",
        NOISE,
        everywhere(BOTH),
        of_groups(cdp.log_covariance),
        ("log-moments",),
        whole_audit("log_covariance"),
    ),
    Row(
        "mean Hessian",
        "mean_hessian",
        NOISE,
        everywhere(BOTH, Euclidean=NONE, flat_SPD_correlations_tori=NONE),
        of_groups(cdp.mean_hessian),
        ("log-moments",),
        whole_audit("mean_hessian"),
    ),
    Row(
        "confidence region of the mean",
        "confidence_region",
        "Gaussian noise",
        everywhere(GAUSSIAN),
        of_groups(cdp.confidence_region),
        ("confidence-region", "log-moments", *MEAN_PROOFS),
        whole_audit("confidence_region"),
        "confidence-regions",
    ),
    Row(
        "interval for the variance",
        "variance_interval",
        "Gaussian noise",
        everywhere(GAUSSIAN),
        of_groups(cdp.variance_interval),
        ("frechet-variance", "log-moments", *MEAN_PROOFS),
        whole_audit("variance_interval"),
        "confidence-regions",
    ),
    Row(
        "comparison of two means",
        "compare_means",
        "from two regions",
        everywhere(GAUSSIAN),
        compared,
        ("confidence-region",),
        whole_audit("compare_means"),
        "tests",
    ),
    Row(
        "test of k means",
        "k_sample_test",
        "Gaussian noise",
        everywhere(GAUSSIAN),
        samples_tested,
        ("k-samples",),
        ("statistics/test_k_samples.py::test_the_released_values_are_audited",),
        "tests",
    ),
    Row(
        "test of two samples",
        "two_sample_test",
        NOISE,
        everywhere(BOTH),
        halves_tested,
        ("permutation-tests",),
        (
            "statistics/test_two_samples.py::"
            "test_exact_probabilities_keep_the_guarantee_and_half_the_noise_does_not",
            "statistics/test_two_samples.py::test_the_released_gap_is_audited",
        ),
        "tests",
    ),
    Row(
        "test of a trend",
        "trend_test",
        NOISE,
        everywhere(BOTH),
        trend_sought,
        ("permutation-tests",),
        (
            "regression/test_trend.py::"
            "test_exact_probabilities_keep_the_guarantee_and_a_tenth_of_the_noise_does_not",
            "regression/test_trend.py::test_the_released_gap_is_audited",
        ),
        "tests",
    ),
    Row(
        "share explained by a geodesic",
        "r_squared",
        NOISE,
        everywhere(BOTH),
        explained,
        ("adaptive-regression",),
        ("regression/test_r_squared.py::test_the_release_is_audited",),
        "geodesic-regression",
    ),
    Row(
        "quantile of numbers",
        "quantile",
        "exponential mechanism on ranks",
        only("Euclidean", BOTH),
        middle,
        ("private-quantile",),
        (
            "statistics/test_quantile.py::test_audit_finds_no_more_than_is_claimed",
            "statistics/test_quantile.py::test_audit_of_whole_releases",
        ),
    ),
    Row(
        "geodesic regression",
        "geodesic_regression",
        "adaptive Gauss-Newton steps",
        everywhere(BOTH),
        regressed("auto", tau=None),
        ("adaptive-regression",),
        whole_audit("geodesic_regression"),
        "geodesic-regression",
    ),
    Row(
        "",
        "geodesic_regression",
        f"K-norm gradient, {SMALL}, given tau",
        everywhere(BOTH),
        regressed("exact"),
        ("geodesic-regression",),
        whole_audit("geodesic_regression drawn exactly"),
    ),
    Row(
        "logistic regression on logarithms",
        "tangent_logistic",
        NOISE,
        everywhere(BOTH),
        classified,
        ("private-logistic",),
        (
            "learning/test_logistic.py::test_a_step_keeps_its_guarantee",
            "learning/test_logistic.py::test_the_fit_keeps_its_guarantee",
        ),
        "learning",
    ),
    Row(
        "k-means",
        "k_means",
        NOISE,
        everywhere(BOTH),
        clustered,
        ("private-k-means",),
        (
            "learning/test_kmeans.py::test_a_round_keeps_its_guarantee",
            "learning/test_kmeans.py::test_the_fit_keeps_its_guarantee",
        ),
        "learning",
    ),
    Row(
        "principal components",
        "principal_components",
        "exponential mechanism",
        everywhere(BOTH),
        directed,
        ("principal-components",),
        (
            "mechanisms/test_directions.py::"
            "test_draws_keep_the_guarantee_and_twice_the_rate_would_be_flagged",
        ),
        "learning",
    ),
    Row(
        "supervised embedding of rows",
        "PrivateMail",
        NOISE,
        only("Euclidean", BOTH),
        embedded,
        ("privatemail",),
        ("mail/test_mail_audit.py::test_the_embedding_keeps_its_guarantee",),
        "privatemail",
    ),
    Row(
        "query among public anchors",
        "PrivateMail.embed_query",
        "randomised response",
        only("Euclidean", BOTH),
        query("cell"),
        ("privatemail",),
        ("mail/test_mail_audit.py::test_the_query_keeps_its_guarantee",),
        "privatemail",
    ),
    Row(
        "",
        "PrivateMail.embed_query",
        "subset response",
        only("Euclidean", BOTH),
        query("subset"),
        ("privatemail",),
        ("mail/test_mail_audit.py::test_a_query_that_names_several_cells_keeps_its_guarantee",),
    ),
    Row(
        "",
        "PrivateMail.embed_query",
        NOISE,
        only("Euclidean", BOTH),
        query("noise"),
        ("privatemail",),
        ("mail/test_mail_audit.py::test_the_query_keeps_its_guarantee",),
    ),
    Row(
        "many queries among public anchors",
        "PrivateMail.embed_queries",
        "as of one query",
        only("Euclidean", BOTH),
        queries,
        ("privatemail",),
        ("mail/test_mail_audit.py::test_a_query_that_names_several_cells_keeps_its_guarantee",),
        "privatemail",
    ),
)


def statistics_table() -> str:
    """The README's table: where any mechanism of a statistic has either guarantee."""
    of_each: dict[str, list[Row]] = {}
    for row in ROWS:
        of_each.setdefault(_statistic(row, "docs/") or list(of_each)[-1], []).append(row)
    rows = [
        [name, _served(of_it, PURE), _served(of_it, GAUSSIAN)] for name, of_it in of_each.items()
    ]
    return _markdown(["statistic", "ε-DP", "μ-GDP"], rows)


def _served(rows: list[Row], kind: str) -> str:
    """The columns in which any of the rows has a guarantee of the kind."""
    rows = [row for row in rows if {kind, BOTH} & set(row.spaces.values())]
    spaces = [name for name in COLUMNS if any(row.spaces[name] in (kind, BOTH) for row in rows)]
    others = [name for name in COLUMNS if name not in spaces]
    small = f"; {SMALL}" if rows and all(SMALL in row.mechanism for row in rows) else ""
    if not others:
        return "all" + small
    named = ", ".join(map(_heading, spaces if len(spaces) < 4 else others))
    if kind == PURE and any(ON_TORI in row.spaces.values() for row in rows):
        named = named.replace(", tori", "")
    return ((named or NONE) if len(spaces) < 4 else f"all but {named}") + small


def short_table() -> str:
    """Every mechanism and column of spaces, without proofs and audits."""
    head = ["statistic", "mechanism", *map(_heading, COLUMNS)]
    rows = [[_statistic(row), row.mechanism, *row.spaces.values()] for row in ROWS]
    return _markdown(head, rows)


def _heading(column: str) -> str:
    """A column's name, or those of its spaces."""
    if column != "other compact":
        return column
    return ", ".join(as_manifold(spec)._title for spec in COLUMNS[column])


def long_table() -> str:
    """Proofs and audits of every row, for docs/guarantees.md."""
    head = ["statistic", "mechanism", "proof", "attacked by"]
    rows, first = [], ROWS[0]
    for row in ROWS:
        first = row if row.statistic else first
        files = _files(row)
        if row is not first:  # what a statistic's mechanisms share stands in its first row
            files = [file for file in files if file not in _files(first)]
        pages = [page for page in row.proofs if row is first or page not in first.proofs]
        proofs = ", ".join(f"[{page}](proofs/{page}.md)" for page in pages)
        rows.append(
            [
                _statistic(row),
                row.mechanism,
                proofs or "as above",
                ", ".join(f"`{file}`" for file in files) or "as above",
            ]
        )
    return _markdown(head, rows)


def _files(row: Row) -> list[str]:
    """The files of tests that attack a row, each once."""
    return list(dict.fromkeys(audit.split("::")[0] for audit in row.audits))


def comparison() -> str:
    """The README's table beside other libraries; kinds and metrics are counted."""
    head = ["", "curvedp", "geomstats", "pyriemann", "OpenDP", "diffprivlib"]
    here = f"{len(SPACES)} kinds and their products, SPD with {len(SPD_METRICS)} metrics"
    rows = [
        ["manifolds", here, "many more", "SPD, HPD, many metrics", NONE, NONE],
        ["private statistics on manifolds", "yes", NONE, NONE, NONE, NONE],
        ["private counts, tables, models", NONE, NONE, NONE, "yes", "yes"],
        ["guarantees", "ε, (ε, δ), zCDP, GDP", NONE, NONE, "ε, (ε, δ), zCDP, Rényi", "ε, (ε, δ)"],
        [
            "neighbours differ by",
            "one record that is replaced or, as you ask, added or removed",
            NONE,
            NONE,
            "one record that is added, removed or, as you ask, replaced",
            "one record, replaced in means, added or removed in histograms",
        ],
        ["budget", "`Ledger`, by object", NONE, NONE, "odometers, filters", "accountant"],
        [
            "exact floating-point samplers",
            "yes, of the values of a public grid",
            NONE,
            NONE,
            "yes",
            "in part",
        ],
    ]
    return _markdown(head, rows)


def spaces() -> str:
    """The README's list of spaces."""
    titles = ", ".join(space._title for space in SPACES)
    text = f"Spaces: {titles}, and products of these, such as rigid motions."
    return textwrap.fill(text, 110, break_long_words=False, break_on_hyphens=False)


def names_of_spaces() -> str:
    """The list of their classes in docs/further-names.rst."""
    names = [*(space.__name__ for space in SPACES), "RigidMotions", "Product", "ProductBall"]
    lines = [f"   ~curvedp.{name}" for name in names]
    return "\n".join([".. autosummary::", "   :nosignatures:", "", *lines])


def _statistic(row: Row, folder: str = "") -> str:
    if not row.statistic:
        return ""
    name = f"[{row.statistic}]({folder}{row.page}.md)" if row.page else row.statistic
    return f"{name} `{row.call}`"


def _markdown(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def _between(text: str, name: str, table: str) -> str:
    start, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    if start not in text:  # of a page in reStructuredText
        start, end = f".. {name}\n", f".. end of {name}"
    before, rest = text.split(start)
    return f"{before}{start}\n{table}\n\n{end}{rest.split(end)[1]}"


#: Page, marker and text of each table.
PLACES: tuple[tuple[Path, str, Callable[[], str]], ...] = (
    (ROOT / "README.md", "spaces", spaces),
    (ROOT / "README.md", "guarantees", statistics_table),
    (ROOT / "README.md", "comparison", comparison),
    (ROOT / "docs" / "guarantees.md", "guarantees", short_table),
    (ROOT / "docs" / "guarantees.md", "proofs and audits", long_table),
    (ROOT / "docs" / "further-names.rst", "list of spaces", names_of_spaces),
)


STUB = ROOT / "python" / "curvedp" / "__init__.pyi"


def names_for_type_checkers() -> str:
    """The public names of curvedp, imported at once: constants, classes, functions."""
    homes = {home: list(names) for home, names in cdp._PUBLIC.items()}
    for home, names in cdp._PUBLIC_OF_EXTRAS.items():
        homes.setdefault(home, []).extend(names)
    modules = sorted([*cdp._SUBMODULES, *cdp._OF_EXTRAS])
    lines = [f"from curvedp import {name} as {name}" for name in modules]
    for home, names in sorted(homes.items()):
        if home == "manifolds":
            lines.append("from curvedp.manifolds import *  # noqa: F403")
            continue
        names.sort(key=lambda name: (not name.isupper(), not name[0].isupper(), name))
        lines += [f"from curvedp.{home} import {name} as {name}" for name in names]
    docstring = (
        "Public names of curvedp for type checkers; `__init__.py` imports them at first use."
    )
    return "\n".join([f'"""{docstring}"""', "", *lines, "", "__version__: str", ""])


def rewritten(page: Path) -> str:
    """A page with its tables as they should be."""
    if page == STUB:
        return names_for_type_checkers()
    text = page.read_text(encoding="utf-8")
    for place, name, table in PLACES:
        if place == page:
            text = _between(text, name, table())
    return text


if __name__ == "__main__":
    for page in {STUB, *(place for place, _, _ in PLACES)}:
        page.write_text(rewritten(page), encoding="utf-8")
