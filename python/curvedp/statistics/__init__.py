"""Private statistics: each returns a Release."""

from curvedp.statistics.frechet_mean import expected_error, frechet_mean, required_n

__all__ = ["expected_error", "frechet_mean", "required_n"]
