"""The kernels agree with libraries that others wrote, at points where those are accurate.

What to know about the oracles: pyriemann's exp and log work in whitened coordinates unless told
`Cm12=True` and `C12=True`; geomstats' sphere distance loses half its digits near equal and
antipodal points and its Kendall quotient reports the dimension of the pre-shape space, so points
are kept apart and dimensions are not compared.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.spatial.distance

import oracles
from manifold_list import BY_NAME, CASES, Case, of
from reference.accuracy import condition
from reference.hpd import to_complex
from reference.twin import Array

N = 25
KNOWN_TO_GEOMSTATS = [
    case
    for case in CASES
    if not case.name.endswith("log-cholesky")
    and case.name.startswith(
        ("euclidean", "sphere", "hyperboloid", "kendall", "correlation", "spd")
    )
    and "radius" not in case.name
    and "curvature" not in case.name
    and case.name not in ("spd:1", "kendall:50", "spd:11")
]
SPD = of(CASES, "spd")
HPD = [case for case in of(CASES, "hpd") if case.twin.dim > 1]
#: Weights with which geomstats' metric of correlation matrices is the Frobenius norm.
OFF_LOG = {
    2: {"alpha": 0.0, "beta": 0.0, "gamma": 0.5},
    4: {"alpha": 1.0, "beta": 0.0, "gamma": 0.0},
}


def geomstats_metric(case: Case) -> Any:
    kind, size, *rest = case.name.split(":")
    n = int(size)
    if kind == "euclidean":
        return oracles.geomstats("geometry.euclidean").Euclidean(n).metric
    if kind == "sphere":
        return oracles.geomstats("geometry.hypersphere").Hypersphere(n).metric
    if kind == "hyperboloid":
        return oracles.geomstats("geometry.hyperboloid").Hyperboloid(n).metric
    if kind == "correlation":
        module = oracles.geomstats("geometry.full_rank_correlation_matrices")
        space = module.FullRankCorrelationMatrices(n, equip=False)
        space.equip_with_metric(module.OffLogMetric, **OFF_LOG[n])
        return space.metric
    if kind == "kendall":
        space = oracles.geomstats("geometry.pre_shape").PreShapeSpace(n, 2)
        space.equip_with_group_action("rotations")
        space.equip_with_quotient()
        return space.quotient.metric
    module = oracles.geomstats("geometry.spd_matrices")
    space = module.SPDMatrices(n)
    if rest == ["log-euclidean"]:
        space.equip_with_metric(module.SPDLogEuclideanMetric)
    return space.metric


def sample(case: Case) -> tuple[Array, Array, Array, Array]:
    """Base points, tangent vectors of length 0.2 to 1, their ends, other vectors of length 1."""
    twin, rng = case.twin, np.random.default_rng(11)
    bases = twin.random_points(rng, N, 0.5)
    units = np.array([twin.random_unit_vector(rng, base) for base in bases])
    lengths = rng.uniform(0.2, 1.0, N).reshape(N, *[1] * len(twin.point_shape))
    others = np.array([twin.random_unit_vector(rng, base) for base in bases])
    return bases, lengths * units, twin.each("exp", lengths * units, bases), others


def tolerance(case: Case, *points: Array) -> dict[str, float]:
    worst = max(condition(case.twin, point) for batch in points for point in batch)
    return {"rtol": 1e-10, "atol": 1e-13 * worst * max(np.max(np.abs(x)) for x in points)}


@pytest.mark.parametrize("case", KNOWN_TO_GEOMSTATS, ids=repr)
def test_geomstats_agrees(case: Case) -> None:
    metric, manifold = geomstats_metric(case), case.manifold
    bases, vectors, ends, others = sample(case)
    close = tolerance(case, bases, ends)
    np.testing.assert_allclose(manifold.dist(bases, ends), metric.dist(bases, ends), **close)
    np.testing.assert_allclose(manifold.exp(vectors, bases), metric.exp(vectors, bases), **close)
    logs = metric.log(ends, bases)
    np.testing.assert_allclose(manifold.log(ends, bases), logs, **close)
    np.testing.assert_allclose(
        manifold.inner(vectors, others, bases),
        metric.inner_product(vectors, others, bases),
        **close,
    )
    if case.name.startswith("kendall"):
        return  # geomstats integrates this transport numerically
    np.testing.assert_allclose(
        manifold.parallel_transport(others, bases, end_point=ends),
        metric.parallel_transport(others, bases, end_point=ends),
        **close,
    )
    np.testing.assert_allclose(
        manifold.parallel_transport(others, bases, direction=vectors),
        metric.parallel_transport(others, bases, direction=vectors),
        **close,
    )


@pytest.mark.parametrize("case", KNOWN_TO_GEOMSTATS, ids=repr)
def test_geomstats_spaces_are_recognised(case: Case) -> None:
    import curvedp

    kind, size, *rest = case.name.split(":")
    n = int(size)
    space = {
        "euclidean": lambda: oracles.geomstats("geometry.euclidean").Euclidean(n),
        "sphere": lambda: oracles.geomstats("geometry.hypersphere").Hypersphere(n),
        "hyperboloid": lambda: oracles.geomstats("geometry.hyperboloid").Hyperboloid(n),
        "kendall": lambda: oracles.geomstats("geometry.pre_shape").PreShapeSpace(n, 2),
        "spd": lambda: oracles.geomstats("geometry.spd_matrices").SPDMatrices(n),
        "correlation": lambda: oracles.geomstats(
            "geometry.full_rank_correlation_matrices"
        ).FullRankCorrelationMatrices(n),
    }[kind]()
    if rest == ["log-euclidean"]:
        module = oracles.geomstats("geometry.spd_matrices")
        space.equip_with_metric(module.SPDLogEuclideanMetric)
    if kind == "correlation":
        module = oracles.geomstats("geometry.full_rank_correlation_matrices")
        for other in ({}, {"alpha": 1.0, "beta": 0.5, "gamma": 1.0} if n > 3 else {}):
            space.equip_with_metric(module.OffLogMetric, **other)
            with pytest.raises(ValueError, match="OffLogMetric with alpha"):
                curvedp.as_manifold(space)
        space.equip_with_metric(module.OffLogMetric, **OFF_LOG[n])
    assert curvedp.as_manifold(space).spec == case.manifold.spec


@pytest.mark.parametrize("case", SPD, ids=repr)
def test_pyriemann_agrees(case: Case) -> None:
    name = {
        "": "riemann",
        "affine-invariant": "riemann",
        "log-euclidean": "logeuclid",
        "log-cholesky": "logchol",
    }[case.name.partition(":")[2].partition(":")[2]]
    distance, tangent = oracles.pyriemann("distance"), oracles.pyriemann("tangentspace")
    manifold = case.manifold
    bases, vectors, ends, others = sample(case)
    close = tolerance(case, bases, ends)
    np.testing.assert_allclose(
        manifold.dist(bases, ends), distance.distance(bases, ends, metric=name), **close
    )
    np.testing.assert_allclose(
        manifold.pairwise_dist(bases, ends),
        distance.pairwise_distance(bases, ends, metric=name),
        **close,
    )
    whitened = name == "riemann"
    exp_option: dict[str, Any] = {"Cm12": True} if whitened else {}
    log_option: dict[str, Any] = {"C12": True} if whitened else {}
    np.testing.assert_allclose(
        manifold.exp(vectors, bases),
        np.array(
            [
                tangent.exp_map(v, p, metric=name, **exp_option)
                for v, p in zip(vectors, bases, strict=True)
            ]
        ),
        **close,
    )
    np.testing.assert_allclose(
        manifold.log(ends, bases),
        np.array(
            [
                tangent.log_map(q, p, metric=name, **log_option)
                for q, p in zip(ends, bases, strict=True)
            ]
        ),
        **close,
    )
    np.testing.assert_allclose(
        manifold.inner(vectors, others, bases),
        np.array(
            [
                tangent.innerproduct(v, w, p, metric=name)
                for v, w, p in zip(vectors, others, bases, strict=True)
            ]
        ),
        **close,
    )
    np.testing.assert_allclose(
        manifold.parallel_transport(others, bases, end_point=ends),
        np.array(
            [
                tangent.transport(w[None], p, q, metric=name)[0]
                for w, p, q in zip(others, bases, ends, strict=True)
            ]
        ),
        **close,
    )


@pytest.mark.parametrize(
    "case", [case for case in SPD if not case.name.endswith("log-cholesky")], ids=repr
)
def test_scipy_matrix_functions_agree_at_the_identity(case: Case) -> None:
    _, vectors, points, _ = sample(case)
    identity = np.eye(case.twin.point_shape[0])
    for vector, point in zip(vectors, points, strict=True):
        np.testing.assert_allclose(
            case.manifold.exp(vector, identity), scipy.linalg.expm(vector), rtol=1e-11, atol=1e-12
        )
        np.testing.assert_allclose(
            case.manifold.log(point, identity),
            scipy.linalg.logm(point).real,
            rtol=1e-10,
            atol=1e-11,
        )


@pytest.mark.parametrize("m", [2, 3, 5, 11])
def test_scipy_generalised_eigenvalues_agree(m: int) -> None:
    case = BY_NAME[f"spd:{m}"]
    bases, _, ends, _ = sample(case)
    for base, end in zip(bases, ends, strict=True):
        values = scipy.linalg.eigvalsh(end, base)
        assert case.manifold.dist(base, end) == pytest.approx(
            np.linalg.norm(np.log(values)), rel=1e-11
        )


def geomstats_hpd(m: int) -> Any:
    return oracles.geomstats("geometry.hpd_matrices").HPDMatrices(m)


@pytest.mark.parametrize("case", HPD, ids=repr)
def test_geomstats_agrees_on_hermitian_matrices(case: Case) -> None:
    space = geomstats_hpd(case.twin.m)
    metric, manifold = space.metric, case.manifold
    real = sample(case)
    close = tolerance(case, real[0], real[2])
    bases, vectors, ends, others = map(to_complex, real)
    read = manifold.to_complex
    np.testing.assert_allclose(manifold.dist(bases, ends), metric.dist(bases, ends), **close)
    np.testing.assert_allclose(
        read(manifold.exp(vectors, bases)), metric.exp(vectors, bases), **close
    )
    np.testing.assert_allclose(read(manifold.log(ends, bases)), metric.log(ends, bases), **close)
    np.testing.assert_allclose(
        manifold.inner(vectors, others, bases),
        np.real(metric.inner_product(vectors, others, bases)),
        **close,
    )
    np.testing.assert_allclose(
        read(manifold.parallel_transport(others, bases, end_point=ends)),
        metric.parallel_transport(others, bases, end_point=ends),
        **close,
    )


def test_geomstats_hermitian_matrices_are_recognised() -> None:
    import curvedp

    module, space = oracles.geomstats("geometry.hpd_matrices"), geomstats_hpd(3)
    assert curvedp.as_manifold(space).spec == "hpd:3"
    space.equip_with_metric(module.HPDBuresWassersteinMetric)
    with pytest.raises(ValueError, match="HPDBuresWassersteinMetric is not supported"):
        curvedp.as_manifold(space)


@pytest.mark.parametrize("case", HPD, ids=repr)
def test_pyriemann_agrees_on_hermitian_matrices(case: Case) -> None:
    from curvedp import nonprivate

    distance, tangent = oracles.pyriemann("distance"), oracles.pyriemann("tangentspace")
    means, manifold = oracles.pyriemann("mean"), case.manifold
    real = sample(case)
    close = tolerance(case, real[0], real[2])
    bases, vectors, ends, others = map(to_complex, real)
    read = manifold.to_complex
    np.testing.assert_allclose(
        manifold.dist(bases, ends), distance.distance_riemann(bases, ends), **close
    )
    for base, vector, end, other in zip(bases, vectors, ends, others, strict=True):
        np.testing.assert_allclose(
            read(manifold.exp(vector, base)),
            tangent.exp_map_riemann(vector, base, Cm12=True),
            **close,
        )
        np.testing.assert_allclose(
            read(manifold.log(end, base)), tangent.log_map_riemann(end, base, C12=True), **close
        )
        np.testing.assert_allclose(
            manifold.inner(vector, other, base),
            np.real(tangent.innerproduct_riemann(vector, other, base)),
            **close,
        )
    found = read(nonprivate.frechet_mean(ends, manifold).value)
    np.testing.assert_allclose(found, means.mean_riemann(ends, tol=1e-13), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("case", HPD, ids=repr)
def test_real_matrices_among_hermitian_ones_are_those_of_the_affine_metric(case: Case) -> None:
    """Also scipy's generalised eigenvalues, of complex matrices."""
    import curvedp

    real = curvedp.SPD(case.twin.m)
    points = real.random_point(10, rng=0)
    hermitian = points.astype(np.complex128)
    forth = (points[:5], points[5:])
    pairs = (hermitian[:5], hermitian[5:])
    np.testing.assert_allclose(case.manifold.dist(*pairs), real.dist(*forth), rtol=1e-12)
    logs = case.manifold.to_complex(case.manifold.log(*pairs))
    np.testing.assert_allclose(logs.real, real.log(*forth), rtol=1e-10, atol=1e-12)
    assert np.max(np.abs(logs.imag)) == 0.0
    bases, _, ends, _ = map(to_complex, sample(case))
    for base, end in zip(bases, ends, strict=True):
        values = scipy.linalg.eigh(end, base, eigvals_only=True)
        expected = pytest.approx(np.linalg.norm(np.log(values)), rel=1e-11)
        assert case.manifold.dist(base, end) == expected


def test_scipy_distances_agree_in_flat_space() -> None:
    rng = np.random.default_rng(12)
    a, b = rng.standard_normal((20, 3)), rng.standard_normal((30, 3))
    np.testing.assert_allclose(
        BY_NAME["euclidean:3"].manifold.pairwise_dist(a, b),
        scipy.spatial.distance.cdist(a, b),
        rtol=1e-14,
    )


def test_scipy_procrustes_angle_is_the_kendall_distance() -> None:
    """The Procrustes disparity of planar shapes is sin^2 of their distance, reflections aside."""
    case = BY_NAME["kendall:10"]
    bases, _, ends, _ = sample(case)
    for base, end in zip(bases, ends, strict=True):
        _, _, disparity = scipy.spatial.procrustes(base, end)
        mirrored = case.manifold.dist(base, end * [1.0, -1.0])
        angle = min(case.manifold.dist(base, end), mirrored)
        assert np.sin(angle) ** 2 == pytest.approx(disparity, abs=1e-12)


def test_geomstats_spaces_in_intrinsic_coordinates_are_refused() -> None:
    """Colatitude and longitude in radians would be read as degrees."""
    import curvedp

    sphere = oracles.geomstats("geometry.hypersphere").Hypersphere(2)
    sphere.default_coords_type = "intrinsic"
    with pytest.raises(ValueError, match="extrinsic"):
        curvedp.as_manifold(sphere)
