"""Questions from public threads get the answers that their page says."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import curvedp as cdp
from curvedp.privacy import payment

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benches"))
import public_cases  # noqa: E402

sys.path.remove(str(ROOT / "benches"))


@pytest.mark.parametrize("case", public_cases.CASES, ids=lambda case: case.threads)
def test_a_question_has_its_answer(case):
    assert case.run() == case.verdict


def test_the_page_is_what_is_written():
    written = ROOT / "docs" / "measured" / "public-cases.md"
    assert written.read_text(encoding="utf-8") == public_cases.page()


def test_there_are_as_many_as_it_says():
    own = [case.own for case in public_cases.CASES]
    assert own.count(False) >= 22
    assert own.count(True) >= 10
    assert len({case.threads for case in public_cases.CASES}) == len(own)


def found(threads):
    (case,) = [case for case in public_cases.CASES if case.threads == threads]
    return case.run()


def test_a_wrong_reading_is_found(monkeypatch):
    """Control: words that are heard and not followed."""
    read = cdp.Manifold.as_points
    monkeypatch.setattr(cdp.Manifold, "as_points", lambda self, rows, **_: read(self, rows))
    for threads in ("dipy#2673, dipy#2674", "Magic-Leap#4, mne-python#4895", "SparkyFitness#1410"):
        assert found(threads) == public_cases.WRONG


def test_an_error_that_is_printed_too_small_is_found(monkeypatch):
    """Control: a hundredth of the stated error."""
    monkeypatch.setattr(public_cases, "_TIMES", 0.1)
    assert found("pymanopt#63, pymanopt#69") == public_cases.WRONG


def test_a_refusal_without_a_way_on_is_found(monkeypatch):
    """Control: other words."""
    says = public_cases.says
    monkeypatch.setattr(public_cases, "says", lambda call, *_, **more: says(call, "?!", **more))
    assert found("PipelineDP#122") == public_cases.WRONG


def test_the_centre_of_the_ball_is_no_answer(monkeypatch):
    """Control: the centre in the place of what is released."""
    mean, near, balls, seen = cdp.frechet_mean, public_cases.near, [], []

    def of_ball(records, ball, *own, **how):
        balls.append(ball)
        return mean(records, ball, *own, **how)

    def of_centre(release, exact, unit=1.0):
        seen.append(True)
        told = {"manifold": release.manifold, "expected_error": release.expected_error}
        return near(SimpleNamespace(value=balls[-1].center, **told), exact, unit)

    monkeypatch.setattr(cdp, "frechet_mean", of_ball)
    monkeypatch.setattr(public_cases, "near", of_centre)
    compared = []
    for case in public_cases.CASES:
        seen.clear()
        verdict = case.run()
        compared += [(case.threads, verdict)] if seen else []
    assert len(compared) >= 12
    assert [threads for threads, verdict in compared if verdict != public_cases.WRONG] == []


def test_what_is_refused_was_not_paid(monkeypatch):
    pay, says, paid = payment.pay, public_cases.says, []

    def noted(*own, **how):
        paid.append(own)
        return pay(*own, **how)

    def unpaid(call, *words, **more):
        before = len(paid)
        found = says(call, *words, **more)
        assert len(paid) == before
        return found

    for name, module in list(sys.modules.items()):
        if name.startswith("curvedp.") and vars(module).get("pay") is pay:
            monkeypatch.setattr(module, "pay", noted)
    monkeypatch.setattr(public_cases, "says", unpaid)
    for case in public_cases.CASES:
        if case.verdict == public_cases.REFUSED:
            assert case.run() == case.verdict
    assert paid  # control: what these cases have answered is paid for
