"""Noise that sites add in shares (docs/proofs/sums-of-messages.md, 11): exact laws, no draws.

Probabilities are intervals of whole numbers of 2^-BITS, so that what is claimed holds for the laws
themselves. Deviations are far below what is used, so that an error of the theorem would show.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import cache

import mpmath
import numpy as np
import pytest

BITS = 160
UNIT = 1 << BITS
SLOT = 2 * BITS + 64
#: c = e^ε are multiples of 2^-FINE, ε/μ from -3 to 6.
FINE = 40
STEPS = np.linspace(-3, 6, 19)
#: (sites, those that may drop out)
ROSTERS = [(1, 0), (5, 1), (20, 4), (5, 0), (20, 0)]

mpmath.mp.dps = 70


def number(value):
    """A fraction as a float of many digits."""
    return mpmath.mpf(value.numerator) / value.denominator


@cache
def rounded_normal(variance):
    """Lower and upper bounds of the law of rint(N(0, variance)) within 12 deviations."""
    scale = mpmath.sqrt(2 * number(variance))
    largest = math.ceil(12 * math.sqrt(variance)) + 1
    above = [mpmath.erfc((k - 0.5) / scale) / 2 for k in range(largest + 2)]
    half = [int(mpmath.floor((a - b) * UNIT)) - 1 for a, b in itertools.pairwise(above)]
    lower = [max(p, 0) for p in (*half[:0:-1], *half)]
    return lower, [p + 3 for p in lower]


def convolved(p, q, *, up):
    """The law of a sum, rounded to one side: the product of two long integers."""
    packed = [sum(value << SLOT * i for i, value in enumerate(own)) for own in (p, q)]
    product, mask = packed[0] * packed[1], (1 << SLOT) - 1
    entries = [product >> SLOT * i & mask for i in range(len(p) + len(q) - 1)]
    return [-(-entry >> BITS) if up else entry >> BITS for entry in entries]


@cache
def law_of_sum(variance, sites):
    """Lower and upper bounds of the law of a sum of so many shares."""
    if sites == 0:
        return [UNIT], [UNIT]
    lower, upper = law_of_sum(variance, sites - 1)
    one = rounded_normal(variance)
    return convolved(lower, one[0], up=False), convolved(upper, one[1], up=True)


def factors(mu):
    """c as whole numbers of 2^-FINE."""
    return [round(math.exp(step * mu) * 2**FINE) for step in STEPS.tolist()]


def profile(law, move, mu):
    """Bounds of the largest P(Y + move in A) - c P(Y in A), A any set, for every c.

    The law is symmetric, so this is that of Y against Y + move, too.
    """
    lower, upper = law
    assert lower == lower[::-1]
    lost, padding = UNIT - sum(lower), [0] * move
    found = []
    for c in factors(mu):
        low, high = (
            sum(
                max((a << FINE) - c * b, 0)
                for a, b in zip([*padding, *moved], [*still, *padding], strict=True)
            )
            for moved, still in ((lower, upper), (upper, lower))
        )
        # what is farther out may lie where it counts, or where it is subtracted
        ends = low - c * lost, high + (lost << FINE)
        found.append(tuple(Fraction(end, UNIT << FINE) for end in ends))
    return found


def claimed(mu):
    """The same of N(mu, 1) against N(0, 1)."""
    whole = [mpmath.mpf(c) / 2**FINE for c in factors(mu)]
    logs = [mpmath.log(c) / mu for c in whole]
    return [
        mpmath.ncdf(mu / 2 - log) - c * mpmath.ncdf(-mu / 2 - log)
        for c, log in zip(whole, logs, strict=True)
    ]


def quotients(variance, sites, move, mu):
    """Bounds of δ(ε) of a sum of shares over that of the claim, for every ε."""
    pairs = zip(profile(law_of_sum(variance, sites), move, mu), claimed(mu), strict=True)
    return [(number(low) / told, number(high) / told) for (low, high), told in pairs]


@pytest.mark.parametrize("move", [4, 16, 1, 8])
@pytest.mark.parametrize("total", [8, 16])
@pytest.mark.parametrize(("sites", "missing"), ROSTERS)
def test_shares_of_those_that_answer_are_as_private_as_one_noise(sites, missing, total, move):
    enough = sites - missing
    found = quotients(Fraction(total**2, enough), enough, move, move / total)
    assert max(high for _, high in found) < 1 + 1e-15
    assert max(high - low for low, high in found) < 1e-12  # the bounds say it of the laws


@pytest.mark.parametrize("move", [4, 16])
@pytest.mark.parametrize(("sites", "missing"), ROSTERS)
def test_one_share_too_few_is_found(sites, missing, move):
    enough = sites - missing
    found = quotients(Fraction(8**2, enough), enough - 1, move, move / 8)
    assert max(low for low, _ in found) > 1.01


def test_shares_that_are_mostly_rounded_away_are_found():
    """Deviations of a fifth: where the theorem's error is no longer small, it is one."""
    variance = Fraction(1, 25)
    found = quotients(variance, 20, 4, 4 / math.sqrt(20 * variance))
    assert max(low for low, _ in found) > 1.5


@pytest.mark.parametrize(("sites", "scale"), [(2, 0.7), (5, 0.8), (20, 1.0), (20, 8 / 20**0.5)])
def test_the_law_of_a_sum_of_shares_is_that_of_one_normal_and_uniforms(sites, scale):
    """To the bound of the page; the law of the right side by its density, on a fine grid."""
    lower, _ = law_of_sum(Fraction(scale) ** 2, sites)
    # characteristic function on the line: normal times sinc^J, inverted at every integer
    xi = np.linspace(-8, 8, 400_001)
    transform = np.exp(-2 * (math.pi * xi) ** 2 * scale**2 * sites) * np.sinc(xi) ** sites
    off = 0.0
    for k in range(8):
        density = np.trapezoid(transform * np.cos(2 * math.pi * k * xi), xi)
        off = max(off, abs(lower[len(lower) // 2 + k] / UNIT - density))
    assert off <= (3 * sites + 3) * math.exp(-((math.pi * scale) ** 2) / 2) + 1e-12
    if scale < 0.75:
        assert off > 1e-9  # the difference is real where shares are this small
