"""What is shown of a guarantee says no more privacy than there is; what remains, no more budget."""

from __future__ import annotations

import json
import logging
import math
import random
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import curvedp as cdp
from curvedp._text import rounded_down, rounded_up
from curvedp.audit import AuditResult, Event
from curvedp.errors import BudgetError, ExistenceError
from curvedp.plotting.figures import budget_text
from curvedp.privacy import Guarantee

#: Numbers that are rounded to fewer digits the wrong way by rounding to the nearest.
ODD = (1.0000004, 0.99999951, 1.00000049, 0.5000004, 3.0000000000000004, 2.71828182845)
EVEN = (0.1, 1.0, 0.3, 0.123456, 1e-6, 2.5)
LETTERS = {"ε": "epsilon", "δ": "delta", "ρ": "rho", "μ": "mu"}
NUMBER = r"([0-9.]+(?:[eE][+-]?[0-9]+)?)"
NAMED = re.compile(rf"\b(epsilon|delta|rho|mu|ε|δ|ρ|μ) ?= ?{NUMBER}")
BALL = cdp.Ball("euclidean:2", center=[0.0, 0.0], radius=1.0)
RECORDS = np.random.default_rng(0).uniform(-0.3, 0.3, (400, 2))


def guarantees():
    """All kinds, with numbers of many digits and of few."""
    for number in (*ODD, *EVEN):
        small = min(number * 1e-6, 0.5)
        yield from (cdp.PureDP(number), cdp.GDP(number), cdp.ZCDP(number))
        yield cdp.ApproxDP(number, small)


def numbers_in(text):
    """The named privacy numbers of a text."""
    return [(LETTERS.get(name, name), float(number)) for name, number in NAMED.findall(text)]


def claims_too_much(text, guarantee):
    """The numbers of a text that are below those of the guarantee."""
    own = guarantee._amounts()
    found = numbers_in(text)
    assert {name for name, _ in found} >= set(own), text
    return [(name, number) for name, number in found if number < own.get(name, -1.0)]


def to_nearest(guarantee):
    """A guarantee as it would look with six digits rounded to the nearest."""
    inside = ", ".join(f"{name}={value:.6g}" for name, value in guarantee._amounts().items())
    return f"{type(guarantee).__name__}({inside})"


# ------------------------------------------------------------------ numbers


POSITIVE = st.floats(min_value=5e-324, allow_infinity=False, allow_nan=False)


@given(POSITIVE, st.integers(1, 12))
def test_a_number_is_rounded_to_its_side_by_less_than_a_digit(number, digits):
    for rounded, side in ((rounded_up, 1), (rounded_down, -1)):
        text = rounded(number, digits)
        read = Fraction(text)
        assert side * (float(text) - number) >= 0
        assert float(text) == number or side * (read - Fraction(number)) > 0
        assert abs(read - Fraction(number)) <= max(
            Fraction(number) * Fraction(10, 10**digits), Fraction(5e-324)
        )
        mantissa = re.sub(r"[eE].*", "", text).replace(".", "").strip("0")
        assert len(mantissa) <= digits


@given(st.integers(1, 999_999), st.integers(-300, 300))
def test_a_number_of_six_digits_is_shown_as_it_was_written(digits, power):
    number = float(f"{digits}e{power}")
    assert rounded_up(number) == rounded_down(number) == f"{number:.6g}"


def test_known_numbers():
    shown = {0.1: "0.1", 1.0: "1", 1.0000004: "1.00001", 1e-6: "1e-06", 123456789.0: "1.23457e+08"}
    for number, text in shown.items():
        assert rounded_up(number) == text
    assert rounded_up(0.0) == rounded_down(0.0) == "0"
    assert rounded_up(math.inf) == rounded_down(math.inf) == "inf"
    assert rounded_down(0.99999996) == "0.999999"
    assert str(cdp.PureDP(1.0000004)) == "PureDP(epsilon=1.00001)"
    assert str(cdp.GDP(0.99999951)) == "GDP(mu=1)"
    assert str(cdp.ApproxDP(1.00000049, 1e-6)) == "ApproxDP(epsilon=1.00001, delta=1e-06)"
    assert str(cdp.ZCDP(0.5000004)) == "ZCDP(rho=0.500001)"


# ------------------------------------------------------------------ guarantees


def random_guarantees(count):
    """Of all kinds and both relations, every third a composition."""
    numbers = random.Random(7)
    for number in range(count // 4):
        size = math.exp(numbers.uniform(-20.0, 8.0))
        of = {"neighbours": ("replace", "add-remove")[number % 2]}
        own = [kind(size, **of) for kind in (cdp.PureDP, cdp.GDP, cdp.ZCDP)]
        own.append(cdp.ApproxDP(size, numbers.random() ** 8 * 0.5 / 3 + 1e-300, **of))
        times = 1 + numbers.randrange(2) if number % 3 == 0 else 1
        yield from (cdp.compose(*[each] * times) for each in own)


@pytest.mark.parametrize("count", [10_000, 100_000])
def test_none_of_many_random_guarantees_prints_below_itself(count):
    wrong = 0
    for guarantee in random_guarantees(count):
        inside = NAMED.findall(str(guarantee))
        for (_, text), exact in zip(inside, guarantee._amounts().values(), strict=True):
            wrong += float(text) < exact
    assert wrong == 0


def test_half_of_them_would_if_rounded_to_the_nearest():
    """Control."""
    found = [claims_too_much(to_nearest(own), own) for own in random_guarantees(4000)]
    assert sum(map(bool, found)) > 1500


@pytest.mark.parametrize("guarantee", list(guarantees()), ids=repr)
def test_texts_of_a_guarantee_claim_no_less_than_it_is(guarantee):
    unproved = cdp.Unproved(claimed=guarantee, why="a reason")
    texts = [str(guarantee), guarantee._brief, budget_text(guarantee)]
    texts += [str(unproved), unproved._brief, unproved._claim, unproved._repr_html_()]
    for text in texts:
        assert not claims_too_much(text, guarantee), text
    shown = guarantee._repr_html_()
    assert all(f">{value!r}<" in shown for value in guarantee._amounts().values())
    (promised, *rest) = re.findall(NUMBER, re.sub(r"alpha > 1$", "", guarantee._promise))
    own = list(guarantee._amounts().values())
    if isinstance(guarantee, cdp.PureDP):
        assert Fraction(promised) >= Fraction(math.exp(own[0]))
    else:
        assert all(float(text) >= value for text, value in zip([promised, *rest], own, strict=True))


@pytest.mark.parametrize("guarantee", list(guarantees()), ids=repr)
def test_a_repr_that_is_evaluated_is_the_guarantee(guarantee):
    inside = re.search(r"<(.*?);", repr(guarantee)).group(1)
    assert eval(inside, {name: getattr(cdp, name) for name in cdp.__all__}) == guarantee
    assert Guarantee.from_dict(json.loads(json.dumps(guarantee.to_dict()))) == guarantee


# ------------------------------------------------------------------ releases


def shown_forms(item):
    """All texts of an object that shows its guarantee."""
    forms = [item._repr_html_()]
    if hasattr(item, "report"):
        forms.append(item.report())
    return [*forms, repr(item)] if numbers_in(repr(item)) else forms


@pytest.mark.parametrize(
    "guarantee",
    [
        cdp.PureDP(1.0000004),
        cdp.GDP(1.00000049),
        cdp.ZCDP(0.5000004),
        cdp.ApproxDP(1.2000003, 3e-7),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::curvedp.errors.NoiseWarning")
def test_texts_of_releases_claim_no_less_than_they_give(guarantee):
    mean, halves = cdp.frechet_mean(RECORDS, BALL, guarantee), (RECORDS[:200], RECORDS[200:])
    groups = cdp.frechet_mean(RECORDS, BALL, guarantee, groups=[0, 200, 400])
    items = [mean, groups, groups[0], cdp.two_sample_test(*halves, BALL, guarantee)]
    items += [cdp.quantile(RECORDS[:, 0], 0.5, low=-1.0, high=1.0, guarantee=guarantee)]
    items += [cdp.plan("frechet_mean", BALL, guarantee, n=400)]
    if isinstance(guarantee, cdp.GDP):
        items += [cdp.confidence_region(RECORDS, BALL, guarantee)]
        items += [cdp.variance_interval(RECORDS, BALL, guarantee)]
    for item in items:
        for text in shown_forms(item):
            given = re.sub(r"met by.*?implies it", "", text, flags=re.DOTALL)
            given = re.sub(r"<details>.*</details>", "", given, flags=re.DOTALL)
            given = re.split("computed from|\n\nRelease of", given)[0]
            assert not claims_too_much(given, guarantee), given
    met = mean.calibrated_to
    if met != guarantee:
        (told,) = re.findall(r"noise for (.*?), which", " ".join(mean.report().split()))
        assert not claims_too_much(told, met)
    stored = json.loads(mean.to_json())
    assert Guarantee.from_dict(stored["guarantee"]) == guarantee


@pytest.mark.parametrize("guarantee", [cdp.PureDP(0.7), cdp.GDP(1.3)], ids=str)
def test_the_numbers_of_a_report_give_no_less_than_the_budget(guarantee):
    """(sensitivity + 2 tolerance) / scale, worked out from what is shown."""
    for n in (37, 101, 400):
        report = cdp.frechet_mean(RECORDS[:n], BALL, guarantee, coverage=False).report()
        lines = " ".join(report.split())
        sensitivity, tolerance = re.search(
            rf"sensitivity: {NUMBER}: the most that one record changes before noise; the solver "
            rf"adds at most {NUMBER}, counted twice",
            lines,
        ).groups()
        scale = re.search(rf"noise scale: +{NUMBER}", lines).group(1)
        moved = Fraction(sensitivity) + 2 * Fraction(tolerance)
        assert moved / Fraction(scale) >= Fraction(*guarantee._amounts().values())


def audit_result(lower, claimed):
    event = Event("a over b", 0.12345678, 90, 100, 10, 100, 0.8123456, 0.1876543, lower)
    return AuditResult("mu", lower, cdp.GDP(claimed), claimed, 0.99, (event,))


def test_an_audit_says_no_more_than_it_proves():
    for lower, claimed in ((0.123456789, 1.0000004), (1.23456789, 1.0), (1.0000009, 1.0000008)):
        text = audit_result(lower, claimed).report()
        (low, sign, high) = re.search(rf">= {NUMBER} (<=|>) {NUMBER} claimed", text).groups()
        assert float(low) <= lower
        assert float(high) >= claimed
        assert (float(low) > float(high)) == (sign == ">") == (lower > claimed)
        assert float(re.search(rf"at least {NUMBER}", text).group(1)) <= 0.8123456
        assert float(re.search(rf"at most {NUMBER}", text).group(1)) >= 0.1876543


# ------------------------------------------------------------------ budgets


@pytest.mark.parametrize("kind", [cdp.PureDP, cdp.GDP, cdp.ZCDP], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("seed", range(10))
def test_a_ledger_shows_no_less_spent_and_no_more_left(kind, seed):
    numbers = random.Random(seed)
    budget = kind(numbers.uniform(1.0, 5.0))
    with cdp.Ledger(budget) as ledger:
        for _ in range(4):
            ledger.spend(kind(numbers.uniform(0.01, 0.2)), "note")
        spent, left = ledger.spent, ledger.remaining
        with pytest.raises(BudgetError) as refused:
            ledger.spend(budget)
        html = re.sub("<[^>]*>", " ", ledger._repr_html_())
        for text in (ledger.report(), html, str(refused.value)):
            (told_spent,) = numbers_in(re.search(r"spent:? +(\w+\(.*?\))", text).group(1))
            (told_left,) = numbers_in(re.search(r"remaining:? +(\w+\(.*?\))", text).group(1))
            assert told_spent[1] >= getattr(spent, told_spent[0])
            assert told_left[1] <= getattr(left, told_left[0])
        ledger.spend(kind(told_left[1]), "all that is said to be left")


def test_a_ledger_of_two_numbers_shows_both_to_their_sides():
    with cdp.Ledger(cdp.ApproxDP(2.0000003, 1.0000003e-6)) as ledger:
        ledger.spend(cdp.ApproxDP(1.0000004, 3.0000004e-7))
        lines = dict(line.split(":", 1) for line in ledger.report().splitlines()[:3])
        spent, left = ledger.spent, ledger.remaining
        for name, number in numbers_in(lines["spent"]):
            assert number >= getattr(spent, name)
        for name, number in numbers_in(lines["remaining"]):
            assert number <= getattr(left, name)


@pytest.mark.filterwarnings("ignore::curvedp.errors.NoiseWarning")
@pytest.mark.parametrize("spec", ["hyperboloid:2", "spd:3", "hyperboloid:5"])
@pytest.mark.parametrize("epsilon", [1e-3, 0.0123456, 0.03])
def test_the_smallest_epsilon_of_an_error_works(spec, epsilon):
    ball = cdp.Ball(spec, center=cdp.as_manifold(spec).origin, radius=1.0)
    records = np.stack([ball.center] * 7)
    with pytest.raises(ExistenceError) as refused:
        cdp.frechet_mean(records, ball, cdp.PureDP(epsilon))
    text = re.search(rf"epsilon of at least {NUMBER}", str(refused.value)).group(1)
    assert float(text) >= refused.value.smallest_epsilon
    assert cdp.frechet_mean(records, ball, cdp.PureDP(float(text))).n == 7


# ------------------------------------------------------------------ batches and the command line


def test_texts_of_a_batch_claim_no_less_than_it_gives(tmp_path, caplog):
    guarantee, budget = cdp.GDP(1.00000049), cdp.GDP(2.0)
    cases = pytest.importorskip("batch_cases")
    source = cases.write(tmp_path / "in.parquet", cases.table(60))
    with cdp.Ledger(budget) as ledger, caplog.at_level(logging.INFO, logger="curvedp.batch"):
        asked = {"guarantee": guarantee, "ledger": ledger, "out": tmp_path / "out.parquet"}
        found = cases.release(source, **asked)
    assert not claims_too_much(found._repr_html_().split("ledger")[0], guarantee)
    assert not claims_too_much(caplog.records[0].getMessage(), guarantee)
    assert Guarantee.from_dict(found.manifest["guarantee_of_all"]) == guarantee
    stored = json.loads((tmp_path / "out.parquet.manifest.json").read_text())
    assert Guarantee.from_dict(stored["guarantee_of_each_group"]) == guarantee


def test_the_command_line_claims_no_less_than_it_gives_and_offers_no_more_than_is_left(tmp_path):
    command = pytest.importorskip("command_line")
    asked = ["plan", *command.SPD_OPTIONS, "--mu", "1.0000004", "--n", "300"]
    assert not claims_too_much(command.run(*asked).output, cdp.GDP(1.0000004))
    told = json.loads(command.run(*asked, "--json").output)
    assert Guarantee.from_dict(told["guarantee"]) == cdp.GDP(1.0000004)

    data = command.save(tmp_path, "tensors.npy", command.make_tensors())
    place = tmp_path / "ledger"
    out, budget = tmp_path / "out.json", ("--mu", "1.0000004")
    book = ("--ledger", place, "--ledger-budget", "mu=2.0000003")
    result = command.mean(data, out, *book, budget=budget)
    assert result.exit_code == 0, result.output
    lines = dict(
        line.split(":", 1) for line in command.run("ledger", place).output.splitlines()[:3]
    )
    with cdp.Ledger.open(place) as ledger:
        ((_, spent),) = numbers_in(lines["spent"])
        ((_, left),) = numbers_in(lines["remaining"])
        assert spent >= ledger.spent.mu
        assert left <= ledger.remaining.mu
    assert not claims_too_much(command.run("show", out).output, cdp.GDP(1.0000004))
