"""Mechanisms: noise calibrated to a guarantee. One file each; proofs under docs/proofs."""

from curvedp.mechanisms.base import ChartGaussian, Mechanism, Way
from curvedp.mechanisms.bounded_range import bounded_range_epsilon, pure_epsilon
from curvedp.mechanisms.calibration import outward_scale
from curvedp.mechanisms.chains import MetropolisChains, metropolis
from curvedp.mechanisms.choice import (
    MECHANISMS,
    choose_mechanism,
    ways_of_one_draw,
    ways_to_meet,
)
from curvedp.mechanisms.exponential_wrapped_gaussian import ExponentialWrappedGaussian
from curvedp.mechanisms.grid_quantile import GridQuantile
from curvedp.mechanisms.l2 import L2Mechanism
from curvedp.mechanisms.rank_exponential import RankExponential
from curvedp.mechanisms.riemannian_gaussian import RiemannianGaussian
from curvedp.mechanisms.riemannian_laplace import RiemannianLaplace
from curvedp.mechanisms.tangent_gaussian import TangentGaussian

__all__ = [
    "MECHANISMS",
    "ChartGaussian",
    "ExponentialWrappedGaussian",
    "GridQuantile",
    "L2Mechanism",
    "Mechanism",
    "MetropolisChains",
    "RankExponential",
    "RiemannianGaussian",
    "RiemannianLaplace",
    "TangentGaussian",
    "Way",
    "bounded_range_epsilon",
    "choose_mechanism",
    "metropolis",
    "outward_scale",
    "pure_epsilon",
    "ways_of_one_draw",
    "ways_to_meet",
]


def __dir__() -> list[str]:
    return sorted(__all__)
