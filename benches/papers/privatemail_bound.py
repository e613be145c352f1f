"""Vepakomma, Balla and Raskar: the printed bound, its budgets, the claim of convergence (4.1.2).

    python benches/papers/privatemail_bound.py

Prints Markdown. Made-up or bundled data; seconds.
"""

from __future__ import annotations

import math

import numpy as np
from privatemail import digits
from scipy.spatial.distance import pdist

from curvedp import sensitivity as proved
from curvedp.mail.reference import dense_laplacians, objective
from curvedp.published import laplacian
from curvedp.published.composition import strong_epsilon

BETAS = (0.966, 0.5, 0.05, 1e-6)

#: Name, n, k, bandwidth, alpha.
SETTINGS = (
    ("authors' notebook, cars", 1001, 2, 6.0, 0.6),
    ("authors' notebook, birds", 1001, 2, 5.0, 0.5),
    ("bandwidth 1", 1000, 16, 1.0, 0.5),
    ("`PrivateMail`'s default bandwidth", 1000, 16, 0.2, 0.5),
)


def published(n: int, k: int, bandwidth: float, alpha: float, beta: float) -> str:
    """The printed bound in units of sigma_q, or why there is none."""
    try:
        phi = laplacian.constants(n, alpha, bandwidth)
    except ValueError:
        return "no constants"
    largest = laplacian.largest_log_beta(n, k, phi)
    if math.log(beta) > largest:
        return "not real"
    return f"{laplacian.global_bound(n, k, phi, math.log(beta), 1.0):.3g}"


def largest_beta(n: int, k: int, bandwidth: float, alpha: float) -> str:
    """The largest beta at which the printed bound is a real number."""
    try:
        phi = laplacian.constants(n, alpha, bandwidth)
    except ValueError:
        return "-"
    largest = laplacian.largest_log_beta(n, k, phi)
    return f"{math.exp(largest):.4f}" if largest > -10 else f"e^{largest:.4g}"


def bounds() -> None:
    """The printed bound against beta, beside the proved one at the start that is drawn."""
    print("\n### The published bound against β\n")
    print(
        "Change of one iteration when a record is replaced, in units of σ_q, the deviation of the "
        "random start. Proved: for a start that was drawn, its diameter in parentheses.\n"
    )
    heads = " | ".join(f"β = {beta:g}" for beta in BETAS)
    print(f"| | n, k, σ, α | largest β | {heads} | proved, equation 7 | proved, normalised |")
    print("|---|---|---|" + "---|" * (len(BETAS) + 2))
    ratios = []
    for name, n, k, bandwidth, alpha in SETTINGS:
        drawn = pdist(np.random.default_rng(0).standard_normal((n, k))).max()
        sizes = {
            form: proved.mail_iteration(
                n, diameter=drawn, form=form, bandwidth=bandwidth, alpha=alpha
            )
            for form in ("published", "normalised")
        }
        cells = [published(n, k, bandwidth, alpha, beta) for beta in BETAS]
        cells += [f"{sizes['published']:.3g} ({drawn:.1f})", f"{sizes['normalised']:.3g}"]
        settings = f"{n}, {k}, {bandwidth:g}, {alpha:g}"
        largest = largest_beta(n, k, bandwidth, alpha)
        print(f"| {name} | {settings} | {largest} | {' | '.join(cells)} |")
        if bandwidth > 1:
            ratios.append(
                f"{name}: "
                + ", ".join(f"{float(cell) / sizes['published']:.3g}" for cell in cells[1:4])
            )
    print("\nPublished over proved, equation 7, at β = 0.5, 0.05, 10⁻⁶: " + "; ".join(ratios) + ".")


def budgets() -> None:
    """The budgets on the axes of figure 4."""
    print("\n### The budgets of figure 4\n")
    print(
        "ε√(2k ln(1/δ')) + kε(e^ε − 1)/(e^ε + 1) of k = 2 iterations. On the axes: .023, .311, "
        "1.056, 5.827, 10.527, for δ = 0.99.\n"
    )
    print("| ε of one iteration | log₁₀ for ln, δ' = .99 | δ' = .99 | δ' = 10⁻⁶ | plain: 2ε |")
    print("|---|---|---|---|---|")
    for epsilon in (0.1, 0.5, 1.0, 3.0, 5.0):
        found = [
            f"{strong_epsilon(epsilon, 2, slack):.3f}"
            for slack in (math.exp(math.log10(0.99)), 0.99, 1e-6)
        ]
        print(f"| {epsilon:g} | {' | '.join(found)} | {2 * epsilon:g} |")


def convergence(count: int = 300, steps: int = 40) -> None:
    """Objective (3) and the embedding's size along equation 7, from one random start."""
    rows, labels = (part[:count] for part in digits()[:2])
    start = np.random.default_rng(0).standard_normal((count, 4))
    print(f"\n### Convergence of equation 7, {count} digits, {steps} steps, k = 4\n")
    print(
        "Eigenvalues other than that of constant columns, whose 1 every bandwidth has; the size is "
        "the Frobenius norm of the centred embedding.\n"
    )
    heads = "largest eigenvalue of I + ½D⁻¹(αL_Y − L_X) | objective, first and last"
    print(f"| bandwidth | α | {heads} | it rises in | size, first and last |")
    print("|---|---|---|---|---|---|")
    for bandwidth in (0.3, 1.0, 6.0):
        for alpha in (0.5, 0.6, 2.0):
            l_x, l_y = dense_laplacians(rows, labels, bandwidth)
            matrix = np.eye(count) + 0.5 / np.diag(l_x)[:, None] * (alpha * l_y - l_x)
            z, values, sizes = start, [], []
            for _ in range(steps + 1):
                values.append(objective(z, l_x, l_y, alpha))
                sizes.append(np.linalg.norm(z - z.mean(axis=0)))
                z = matrix @ z
            rises = int(np.sum(np.diff(values) > 1e-9 * np.abs(values[:-1])))
            # constant columns stay what they are: the matrix on the others
            basis = np.linalg.qr(np.hstack([np.ones((count, 1)), np.eye(count)[:, 1:]]))[0][:, 1:]
            others = np.abs(np.linalg.eigvals(basis.T @ matrix @ basis)).max()
            print(
                f"| {bandwidth:g} | {alpha:g} | {others:.3f} | {values[0]:.3g}, {values[-1]:.3g} | "
                f"{rises} of {steps} | {sizes[0]:.3g}, {sizes[-1]:.3g} |"
            )


def main() -> None:
    """Print all tables."""
    bounds()
    budgets()
    convergence()


if __name__ == "__main__":
    main()
