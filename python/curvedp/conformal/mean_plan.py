"""Everything about a conformal mean that is fixed before a record is seen."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from curvedp import _core
from curvedp._validation import FloatArray
from curvedp.conformal.density_plan import DensityPlan
from curvedp.conformal.factor import ConformalFactor
from curvedp.conformal.graph import Laplacian, as_node_values
from curvedp.conformal.mechanism import (
    ConformalLaplace,
    check_widest,
    conformal_scale,
    laplace,
    laplace_error,
    log_lengths,
)
from curvedp.conformal.mesh import Mesh
from curvedp.conformal.nodes import Nodes, mesh_of
from curvedp.domain import Ball
from curvedp.mechanisms.grid import grid_step
from curvedp.privacy import GDP, PureDP


@dataclass(frozen=True)
class ConformalPlan:
    """The plan of a conformal mean.

    Attributes
    ----------
    ball : Ball
    shares : tuple
        Guarantees of the density, if one is released, and of the point.
    way : PureDP or GDP
        The whole that they compose to.
    mesh : Mesh
        On whose nodes the factor stands.
    density : DensityPlan or None
    operator : Laplacian or None
        Of the equation for the factor; None, like `density`, for a factor that is given.
    sigma : ndarray or None
        log √phi, where it is given.
    sensitivity : float
        Of the mean.
    solver : Plan
        Of the mean.
    contrast : float
        Largest quotient of √phi at two places.
    n : int
    """

    ball: Ball
    shares: tuple[PureDP | GDP, ...]
    way: PureDP | GDP
    mesh: Mesh
    density: DensityPlan | None
    operator: Laplacian | None
    sigma: FloatArray | None
    sensitivity: float
    solver: _core.Plan
    contrast: float
    n: int

    @property
    def total(self) -> float:
        """Largest distance between computed means of neighbours."""
        return self.sensitivity + 2 * self.solver.tolerance

    @cached_property
    def least(self) -> float:
        """The least √phi/max √phi that the released factor can have."""
        if self.sigma is None:
            return 1 / self.contrast
        return math.exp(float(log_lengths(self.sigma, self.contrast).min()))

    @cached_property
    def scale(self) -> float:
        """Of the noise where phi is largest, at most."""
        return conformal_scale(self.ball, self.total, self.shares[-1], self.least)

    def check(self) -> None:
        """Refuses what cannot be drawn, whatever the factor will be: before anything is spent.

        Raises
        ------
        ExistenceError
        """
        way = self.shares[-1]
        check_widest(self.ball, self.scale / self.least * (1 + 1e-12), self.n, self.way)
        grid_step(self.ball, conformal_scale(self.ball, self.total, way, 1.0), way)

    @cached_property
    def errors(self) -> tuple[float, float]:
        """The least and the largest expected error, over all factors and places of the mean."""
        finest = conformal_scale(self.ball, self.total, self.shares[-1], 1.0)
        least = laplace_error(self.ball, finest, 0.0)
        return least, laplace_error(self.ball, self.scale / self.least, self.ball.radius)

    @cached_property
    def expected_error(self) -> float:
        """That of a mean half-way to the edge, where √phi is midway between its bounds."""
        scale = self.scale / math.sqrt(self.least)
        return laplace_error(self.ball, scale, 0.5 * self.ball.radius)

    @cached_property
    def noise_share(self) -> float:
        """Mean length of the longest noise over the ball's radius."""
        return laplace(self.ball, self.scale / self.least).expected_dist / self.ball.radius

    def mechanism(self, sigma: FloatArray) -> ConformalLaplace:
        """The mechanism that draws the point, given the factor."""
        return ConformalLaplace(
            self.mesh,
            sigma,
            ball=self.ball,
            sensitivity=self.total,
            guarantee=self.shares[-1],
            contrast=self.contrast,
        )


def given_factor(
    phi: ConformalFactor | ArrayLike, mesh: Nodes | None, cells: Nodes | None
) -> tuple[Nodes, FloatArray]:
    """The nodes of a given factor, and its values, checked."""
    if cells is not None:
        raise ValueError("cells are those of a density, which is not released beside phi")
    if isinstance(phi, ConformalFactor):
        if mesh is not None and mesh_of(mesh) is not phi.laplacian.graph.mesh:
            raise ValueError("phi stands on nodes of its own: leave mesh out")
        return phi.laplacian, phi.phi
    if mesh is None:
        raise ValueError("phi needs the public nodes at which it was taken: give mesh")
    values = as_node_values(phi, mesh_of(mesh), "phi", one=True)
    if not (np.isfinite(values).all() and (values > 0).all()):
        raise ValueError("phi must be positive and finite")
    return mesh, values
