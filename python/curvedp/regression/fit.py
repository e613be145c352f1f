"""The result of `nonprivate.geodesic_regression`, geodesic regression without privacy."""

from __future__ import annotations

from dataclasses import dataclass

from curvedp._text import one_line
from curvedp.regression.geodesic import Geodesic


@dataclass(frozen=True, eq=False, kw_only=True)
class GeodesicFit(Geodesic):
    """The geodesic of least squares, with what is known of its accuracy.

    Attributes
    ----------
    loss : float
        (1/2n) sum_i rho(prediction_i, y_i)^2.
    r_squared : float
        Share of the Fréchet variance of the y_i that the geodesic explains.
    gradient_norm : float
        Length of the gradient of the loss in footpoint and velocity together.
    n_iter : int
        Evaluations of the gradient.
    converged : bool
        True if the gradient reached the tolerance.
    """

    loss: float
    r_squared: float
    gradient_norm: float
    n_iter: int
    converged: bool

    __repr__ = one_line
