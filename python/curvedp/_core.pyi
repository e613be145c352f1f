from collections.abc import Callable, Sequence
from typing import final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "BOUNDARY_SLACK",
    "PIECE",
    "SMALLEST_SHRINKAGE",
    "STEPS_PER_SCALE",
    "TOLERANCE_SHARE",
    "Chains",
    "Descent",
    "ExcessDiameter",
    "Frame",
    "GaussianKernel",
    "Graph",
    "GroupDesign",
    "GroupKeys",
    "GroupStatistic",
    "Groups",
    "HelmholtzSolver",
    "HessianTrace",
    "KNormMean",
    "KNormRegression",
    "Laplacian",
    "LogMoment",
    "Manifold",
    "Noise",
    "Plan",
    "RankExponential",
    "Stream",
    "bump_counts",
    "bump_density",
    "choose",
    "clipped_mean",
    "conformal_chains",
    "diameter",
    "flat_grid_step",
    "hash_names",
    "image_covariance",
    "inflation",
    "isotropic_chains",
    "label_sums",
    "largest_laplace_scale",
    "nearest",
    "num_threads",
    "outward_scale",
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
#: A share of the budget: whether it is epsilon, and epsilon or mu.
_Share = tuple[bool, float]

BOUNDARY_SLACK: float
PIECE: int
SMALLEST_SHRINKAGE: float
STEPS_PER_SCALE: float
TOLERANCE_SHARE: float

def set_num_threads(threads: int) -> None: ...
def num_threads() -> int: ...
def set_alone(alone: bool) -> None: ...
def outward_scale(sensitivity: float, budget: float) -> float: ...
def choose(
    log_weights: _Array, lengths: _Array, scale: float, stream: Stream, out: _Array
) -> None: ...
def largest_laplace_scale(kind: str, size: int, parameter: float) -> float: ...
def clipped_mean(rows: _Array, max_length: float) -> _Array: ...
def summation_error(n: int) -> float: ...
def inflation(dim: int) -> float: ...
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
    plan: _ChainPlan,
    stream: Stream,
    *,
    rate: float,
    volume: bool,
    path_lengths: _Array | None,
    line_steps: int,
) -> Chains: ...
def isotropic_chains(
    manifold: Manifold,
    space: tuple[str, int, float],
    profile: str,
    scale: float,
    count: int,
    plan: tuple[int, int, int, float | None, float | None],
    stream: Stream,
) -> Chains: ...

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
    @property
    def planes(self) -> list[tuple[float, float]] | None: ...
    @property
    def eigenspaces(self) -> int: ...
    @property
    def hessian_trace(self) -> HessianTrace: ...
    @property
    def hessian_diameter(self) -> ExcessDiameter | None: ...
    @property
    def noise_space(self) -> tuple[str, int, float]: ...
    @property
    def is_quotient(self) -> bool: ...
    @property
    def clip_limit(self) -> float: ...
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
    def gradient_rounding(self, radius: float, n: int) -> float: ...
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
    def regression_contributions(
        self,
        points: _Array,
        times: _Array,
        ends: _Index,
        footpoint: _Array,
        velocities: _Array,
        whitening: _Array,
    ) -> _Array: ...
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
    def keep(self, points: _Array, out: _Array) -> None: ...
    def place(self, released: _Array, mean_square: float, chart: bool) -> list[float]: ...
    @property
    def dist_error(self) -> float: ...
    def restricted_bounds(
        self, plan: Plan, n: int, replaced: float, within: float
    ) -> tuple[float, float]: ...
    def contains(self, records: _Array) -> list[bool]: ...
    def sensitivity(self, n: float, moved: float) -> float: ...
    @property
    def log_diameter(self) -> float: ...
    @property
    def lipschitz(self) -> float: ...
    @property
    def clip_radius(self) -> float: ...
    def grid_step(self, scale: float) -> float | None: ...
    def least_scale(self) -> float: ...
    def round_to_grid(self, points: _Array, step: float) -> None: ...
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
        self, points: _Array, times: _Array, count: int, stream: Stream, step: float
    ) -> tuple[_Array, int]: ...
    def run_chains(
        self, points: _Array, times: _Array, starts: _Array, plan: _ChainPlan, stream: Stream
    ) -> Chains: ...

@final
class KNormMean:
    def __new__(cls, frame: Frame, max_residual: float, scale: float) -> KNormMean: ...
    def sample_exact(
        self, points: _Array, count: int, stream: Stream, step: float
    ) -> tuple[_Array, int]: ...
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
    def add_on_grid(self, stream: Stream, step: float, vectors: _Array) -> None: ...
    def sample_coords(self, stream: Stream, out: _Array) -> None: ...
    def sample(self, manifold: Manifold, center: _Array, stream: Stream, out: _Array) -> None: ...

@final
class GroupDesign:
    def __new__(
        cls, replaced: float, mean: tuple[Plan, Noise, bool, float, float, float] | None
    ) -> GroupDesign: ...

@final
class GroupKeys:
    @staticmethod
    def fresh() -> GroupKeys: ...
    def first(self) -> Stream: ...
    @staticmethod
    def numbered(key: bytes) -> GroupKeys: ...
    @staticmethod
    def derived(secret: bytes, context: bytes) -> GroupKeys: ...

@final
class HessianTrace:
    def at(self, dist: float) -> float: ...

@final
class ExcessDiameter:
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
    def stream(
        self, records: _Array, keys: GroupKeys, group: int, stages: int, stage: int
    ) -> Stream: ...
    def release(
        self,
        records: _Array,
        statistic: GroupStatistic,
        keys: GroupKeys,
        progress: Callable[[int], object] | None,
    ) -> dict[str, _Array]: ...

@final
class GroupStatistic:
    @staticmethod
    def mean() -> GroupStatistic: ...
    @staticmethod
    def moments(
        points: _Array | None,
        moments: Sequence[LogMoment],
        budgets: Sequence[Sequence[_Share]],
        max_dist: float,
    ) -> GroupStatistic: ...
    @staticmethod
    def variance(
        designs: Sequence[tuple[Plan, _Share, float, tuple[_Share, float] | None]],
    ) -> GroupStatistic: ...
    @staticmethod
    def adaptive_mean(
        manifold: Manifold,
        schedules: Sequence[Sequence[tuple[float, float, _Share]]],
        laws: Sequence[tuple[bool, bool]],
        *,
        records_per_unit: float,
    ) -> GroupStatistic: ...

@final
class LogMoment:
    @staticmethod
    def fourth() -> LogMoment: ...
    @staticmethod
    def distances(c: float) -> LogMoment: ...
    @staticmethod
    def covariance() -> LogMoment: ...
    @staticmethod
    def hessian() -> LogMoment: ...
    def size(self, dim: int) -> int: ...
    def bounds(
        self, manifold: Manifold, n: int, replaced: float, max_dist: float
    ) -> tuple[float, float, float]: ...

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
