"""Expected errors of releases, before any record is seen.

Everything here is a function of public values: of the ball, the number of records, the guarantee
and parameters. An error that also depends on the records, such as on their places in the ball, is
given as a range, or from a guess that the caller makes.
"""

from curvedp.planning.plan import Plan
from curvedp.planning.planner import plan

__all__ = ["Plan", "plan"]


def __dir__() -> list[str]:
    return sorted(__all__)
