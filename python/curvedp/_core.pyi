from collections.abc import Callable, Sequence
from typing import final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "PIECE",
    "AdaptiveRule",
    "Chains",
    "Descent",
    "ExcessDiameter",
    "Frame",
    "GaussianKernel",
    "Graph",
    "GroupDesign",
    "GroupKeys",
    "Groups",
    "HelmholtzSolver",
    "HessianTrace",
    "IsotropicLaw",
    "KNormMean",
    "KNormRegression",
    "Laplacian",
    "Manifold",
    "Noise",
    "Plan",
    "RankExponential",
    "Stream",
    "bump_counts",
    "bump_density",
    "conformal_chains",
    "diameter",
    "flat_grid_step",
    "hash_names",
    "image_covariance",
    "label_sums",
    "nearest",
    "num_threads",
    "published_footpoint",
    "published_shooting",
    "set_alone",
    "set_num_threads",
    "summation_error",
    "time_series_covariance",
    "vecd",
]

_Array = NDArray[np.float64]
_Mask = NDArray[np.bool_]
_Index = NDArray[np.int64]

PIECE: int

def set_num_threads(threads: int) -> None: ...
def num_threads() -> int: ...
def set_alone(alone: bool) -> None: ...
def summation_error(n: int) -> float: ...
def vecd(matrix: _Array, stretch: float, out: _Array) -> None: ...
def image_covariance(
    images: NDArray[np.uint8] | _Array,
    features: list[str],
    gray_weights: _Array,
    value_range: tuple[float, float],
    ridge: float,
    out: _Array,
) -> None: ...
def time_series_covariance(
    signals: _Array, shrinkage: float, ridge: float, out: _Array
) -> None: ...
def label_sums(
    codes: _Index,
    classes: int,
    weight: float,
    z: _Array,
    out: _Array,
    degrees: _Array,
) -> None: ...
def diameter(rows: _Array) -> float: ...
def flat_grid_step(scale: float, largest: float, steps_per_scale: float) -> float: ...
def hash_names(bytes: NDArray[np.uint8], name_offsets: _Index, out: NDArray[np.uint64]) -> None: ...
def nearest(
    manifold: Manifold, points: _Array, queries: _Array | None, k: int
) -> tuple[_Index, _Array]: ...
def bump_counts(
    manifold: Manifold,
    points: _Array,
    volumes: _Array,
    records: _Array,
    reach: float,
    units: int,
) -> _Array: ...
def bump_density(manifold: Manifold, points: _Array, reach: float) -> _Array: ...
def conformal_chains(
    manifold: Manifold,
    points: _Array,
    sigma: _Array,
    center: _Array,
    starts: _Array,
    stream: Stream,
    *,
    rate: float,
    volume: bool,
    path_lengths: _Array | None,
    line_steps: int,
    burn_in: int,
    draws: int,
    thinning: int,
    step: float,
    acceptance: float | None,
) -> tuple[_Array, _Array, _Array, _Array, _Array]: ...

@final
class Manifold:
    def __new__(cls, kind: str, size: int, parameter: float) -> Manifold: ...
    @property
    def point_size(self) -> int: ...
    @property
    def dim(self) -> int: ...
    @property
    def curvature_bounds(self) -> tuple[float, float]: ...
    @property
    def injectivity_radius(self) -> float: ...
    def belongs(self, points: _Array, tolerance: float, out: _Mask) -> None: ...
    def project(self, points: _Array, found: _Mask) -> None: ...
    def snap(self, points: _Array, tolerance: float, valid: _Mask) -> None: ...
    def to_tangent(self, vector: _Array, base: _Array, out: _Array) -> None: ...
    def exp(self, tangent: _Array, base: _Array, out: _Array) -> None: ...
    def log(self, point: _Array, base: _Array, out: _Array) -> None: ...
    def coords(self, tangent: _Array, base: _Array, out: _Array) -> None: ...
    def from_coords(self, coords: _Array, base: _Array, out: _Array) -> None: ...
    def exp_coords(self, coords: _Array, base: _Array, out: _Array) -> None: ...
    def log_coords(self, point: _Array, base: _Array, out: _Array) -> None: ...
    def dist(self, a: _Array, b: _Array, out: _Array) -> None: ...
    def pairwise_dist(self, a: _Array, b: _Array | None, out: _Array) -> None: ...
    def parallel_transport(
        self, tangent: _Array, base: _Array, end: _Array, out: _Array
    ) -> None: ...
    def inner(self, a: _Array, b: _Array, base: _Array, out: _Array) -> None: ...
    def mean(
        self,
        points: _Array,
        weights: _Array | None,
        start: _Array,
        tolerance: float,
        max_evaluations: int,
    ) -> tuple[_Array, float, float, float, int, bool]: ...
    def dist_moments(
        self, points: _Array, base: _Array, max_dist: float
    ) -> tuple[float, float]: ...
    def log_moments(
        self, points: _Array, base: _Array, max_dist: float, hessian: bool
    ) -> tuple[_Array, _Array, _Array | None]: ...
    def carries(self, center: _Array) -> bool: ...
    def hessian_error(self, n: int) -> float: ...
    def exp_differential(self, coords: _Array, base: _Array) -> _Array: ...
    def regression_energy(
        self,
        points: _Array,
        times: _Array,
        footpoint: _Array,
        velocity: _Array,
        max_residual: float,
    ) -> tuple[float, _Array, _Array]: ...
    def regression_fit(
        self,
        points: _Array,
        times: _Array,
        footpoint: _Array,
        velocity: _Array,
        tolerance: float,
        max_evaluations: int,
        max_speed: float,
    ) -> tuple[_Array, _Array, float, float, int, bool]: ...

@final
class Plan:
    @property
    def tolerance(self) -> float: ...
    @property
    def gradient_target(self) -> float: ...
    @property
    def safe_step(self) -> float: ...
    @property
    def max_evaluations(self) -> int: ...

@final
class Descent:
    def __new__(cls, frame: Frame, plan: Plan) -> Descent: ...
    def wanted(self) -> _Array | None: ...
    @property
    def point(self) -> _Array: ...
    def advance(self, sums: _Array, n: int) -> None: ...

@final
class Frame:
    def __new__(cls, manifold: Manifold, center: _Array, radius: float) -> Frame: ...
    @property
    def manifold(self) -> Manifold: ...
    @property
    def origin(self) -> _Array: ...
    def project(self, records: _Array, out: _Array) -> None: ...
    def enter(self, records: _Array, out: _Array) -> None: ...
    def leave(self, points: _Array, out: _Array) -> None: ...
    def reach(self, point: _Array) -> float: ...
    def chart_growth(self, point: _Array) -> float: ...
    def contains(self, records: _Array) -> list[bool]: ...
    def grid_step(
        self, in_chart: bool, scale: float, steps_per_scale: float, clip_radius: float
    ) -> float | None: ...
    def least_scale(self, in_chart: bool, clip_radius: float) -> float: ...
    def round_to_grid(self, points: _Array, step: float, clip_radius: float) -> None: ...
    def plan(self, n: int, tolerance: float) -> Plan | None: ...
    def piece_sums(self, points: _Array, base: _Array, out: _Array) -> None: ...
    def mean(self, points: _Array, plan: Plan) -> _Array: ...

_ChainPlan = tuple[int, int, int, float, float | None]

@final
class Chains:
    def draws(self) -> _Array: ...
    @property
    def width(self) -> int: ...
    @property
    def acceptance(self) -> list[float]: ...
    @property
    def scale(self) -> list[float]: ...
    def diagnose(self) -> list[tuple[float, float]]: ...

@final
class KNormRegression:
    def __new__(
        cls,
        frame: Frame,
        max_residual: float,
        scale: float,
        max_speed: float,
        slope_weight: float | None,
    ) -> KNormRegression: ...
    def sample_exact(
        self, points: _Array, times: _Array, count: int, stream: Stream
    ) -> tuple[_Array, int]: ...
    def run_chains(
        self, points: _Array, times: _Array, starts: _Array, plan: _ChainPlan, stream: Stream
    ) -> Chains: ...

@final
class KNormMean:
    def __new__(cls, frame: Frame, max_residual: float, scale: float) -> KNormMean: ...
    def sample_exact(self, points: _Array, count: int, stream: Stream) -> tuple[_Array, int]: ...
    def run_chains(
        self, points: _Array, starts: _Array, plan: _ChainPlan, stream: Stream
    ) -> Chains: ...

def published_footpoint(
    manifold: Manifold,
    points: _Array,
    times: _Array,
    footpoint: _Array,
    velocity: _Array,
    scale: float,
    plan: _ChainPlan,
    stream: Stream,
) -> Chains: ...
def published_shooting(
    manifold: Manifold,
    points: _Array,
    times: _Array,
    footpoint: _Array,
    velocity: _Array,
    scale: float,
    plan: _ChainPlan,
    stream: Stream,
) -> Chains: ...

@final
class GaussianKernel:
    def __new__(
        cls, rows: _Array, bandwidth: float, floor: float, memory_limit: int, single: bool
    ) -> GaussianKernel: ...
    @property
    def is_kept(self) -> bool: ...
    def product(self, z: _Array, out: _Array) -> None: ...

@final
class Stream:
    @staticmethod
    def from_os() -> Stream: ...
    @staticmethod
    def from_key(key: bytes, stream_id: int) -> Stream: ...
    @staticmethod
    def of_groups(key: bytes, number: int) -> Stream: ...
    def uniform(self, out: _Array) -> None: ...
    def exponential(self, out: _Array) -> None: ...
    def discrete_laplace(self, rate: float, out: _Array) -> None: ...

@final
class RankExponential:
    def __new__(
        cls, level: float, low: float, high: float, log_uniform: bool, scale: float
    ) -> RankExponential: ...
    def sample(self, values: _Array, stream: Stream, out: _Array) -> None: ...

@final
class Noise:
    def __new__(
        cls, space: str, size: int, parameter: float, profile: str, scale: float
    ) -> Noise: ...
    @property
    def dim(self) -> int: ...
    @property
    def expected_dist(self) -> float: ...
    def release(
        self,
        frame: Frame,
        in_chart: bool,
        true_value: _Array,
        stream: Stream,
        grid: tuple[float, float],
        out: _Array,
    ) -> None: ...
    def expected_dist_within(self, limit: float) -> float: ...
    @property
    def root_mean_square_dist(self) -> float: ...
    @property
    def acceptance(self) -> float: ...
    def sample_coords(self, stream: Stream, out: _Array) -> None: ...
    def sample(self, manifold: Manifold, center: _Array, stream: Stream, out: _Array) -> None: ...

@final
class IsotropicLaw:
    def __new__(
        cls, space: str, size: int, parameter: float, profile: str, scale: float
    ) -> IsotropicLaw: ...
    @property
    def first_step(self) -> float: ...
    @property
    def farthest(self) -> float: ...
    def run_chains(self, starts: int | _Array, plan: _ChainPlan, stream: Stream) -> Chains: ...

@final
class GroupDesign:
    def __new__(cls, plan: Plan, noise: Noise, step: float, clip_radius: float) -> GroupDesign: ...

@final
class AdaptiveRule:
    def __new__(
        cls,
        chart: bool,
        space: tuple[str, int, float],
        stretched: bool,
        tolerance_share: float,
        clip_radius: float,
        steps_per_scale: float,
        pure: bool,
        records_per_unit: float,
        smallest_shrinkage: float,
        inflation: float,
    ) -> AdaptiveRule: ...

@final
class GroupKeys:
    @staticmethod
    def fresh() -> GroupKeys: ...
    @staticmethod
    def numbered(key: bytes) -> GroupKeys: ...
    @staticmethod
    def derived(secret: bytes, context: bytes) -> GroupKeys: ...

@final
class HessianTrace:
    def __new__(
        cls, dim: int, curvatures: Sequence[tuple[float, float]], quadratic: float
    ) -> HessianTrace: ...
    def at(self, dist: float) -> float: ...
    def without_noise(self, noisy: float, spread: float, max_dist: float) -> float: ...

@final
class ExcessDiameter:
    @staticmethod
    def constant(curvature: float, factor: float) -> ExcessDiameter: ...
    @staticmethod
    def complex(across: float) -> ExcessDiameter: ...
    def within(self, dist: float) -> float: ...

@final
class Groups:
    def __new__(
        cls,
        frames: Sequence[Frame],
        row_offsets: _Index,
        designs: Sequence[GroupDesign],
        choice: NDArray[np.int32],
        ids: tuple[NDArray[np.uint8], _Index] | None,
    ) -> Groups: ...
    def means(
        self,
        records: _Array,
        chart: bool,
        keys: GroupKeys,
        progress: Callable[[int], object] | None,
        out: _Array,
    ) -> None: ...
    def variances(
        self,
        records: _Array,
        chart: bool,
        designs: Sequence[tuple[float, float]],
        budget: tuple[bool, float],
        max_dist: float,
        steps_per_scale: float,
        hessian: HessianTrace,
        keys: GroupKeys,
        progress: Callable[[int], object] | None,
        out: _Array,
    ) -> None: ...
    def regions(
        self,
        records: _Array,
        chart: bool,
        moved: Sequence[float],
        shares: tuple[float, float | None],
        max_dist: float,
        steps_per_scale: float,
        diameter: ExcessDiameter | None,
        keys: GroupKeys,
        progress: Callable[[int], object] | None,
        out: _Array,
    ) -> None: ...
    def adaptive_means(
        self,
        records: _Array,
        rule: AdaptiveRule,
        schedules: Sequence[Sequence[tuple[float, float, float]]],
        keys: GroupKeys,
        progress: Callable[[int], object] | None,
        out: _Array,
    ) -> None: ...

@final
class Graph:
    @staticmethod
    def knn(manifold: Manifold, points: _Array, k: int) -> Graph: ...
    def mean_square_length(self) -> float: ...
    def lengths(self) -> tuple[_Index, _Index, _Array]: ...
    def laplacian(
        self,
        dim: int,
        bandwidth: float,
        volumes: _Array | None,
        normalization: str,
        scaled: bool,
    ) -> Laplacian: ...
    def shortest_paths(self, start: _Array, factors: _Array | None) -> _Array: ...

@final
class Laplacian:
    def stiffness(self) -> tuple[_Index, _Index, _Array]: ...
    def mass(self) -> _Array: ...
    def spectral_bound(self) -> float: ...
    def chebyshev(self, coefficients: _Array, bound: float, f: _Array) -> _Array: ...

@final
class HelmholtzSolver:
    def __new__(
        cls, laplacian: Laplacian, upsilon: float, method: str, count: int
    ) -> HelmholtzSolver: ...
    @property
    def method(self) -> str: ...
    def solve(
        self, rhs: _Array, tolerance: float
    ) -> tuple[_Array, int, float, float, float, bool]: ...
