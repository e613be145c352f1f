"""Expected error of the l2 mechanism over that of the better of Laplace and Gaussian noise.

``python l2_gain.py`` prints the table of docs/proofs/l2-mechanism.md.
"""

from __future__ import annotations

from curvedp.mechanisms import ways_to_meet
from curvedp.mechanisms.calibration import budget_of, unit_error
from curvedp.privacy import ApproxDP

DIMENSIONS = (1, 2, 3, 6, 10, 21, 36, 100, 1000)
EPSILONS, DELTAS = (0.1, 1.0, 3.0), (1e-6, 1e-3)


def ratio(asked: ApproxDP, dim: int) -> float:
    """The l2 mechanism's expected length over the least of the others'."""
    others = [unit_error(way, dim) / budget_of(way) for way in ways_to_meet(asked)]
    return unit_error(asked, dim) / budget_of(asked, dim) / min(others)


def main() -> None:
    print("| ε, δ | " + " | ".join(f"d = {dim}" for dim in DIMENSIONS) + " |")
    print("| --- " * (1 + len(DIMENSIONS)) + "|")
    for epsilon in EPSILONS:
        for delta in DELTAS:
            row = [f"{ratio(ApproxDP(epsilon, delta), dim):.3f}" for dim in DIMENSIONS]
            print(f"| {epsilon:g}, {delta:g} | " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
