"""A page about a release for whoever has to judge it, after the pyramid of NIST SP 800-226.

Near, Darais, Lefkovitz, Howarth, Guidelines for Evaluating Differential Privacy Guarantees (2025):
what stands higher rests on what stands below.
"""

from __future__ import annotations

from typing import Any

from curvedp._text import rounded_down, rounded_up
from curvedp.privacy.base import Guarantee
from curvedp.privacy.guarantees import NO_GUARANTEE, Unproved

__all__ = ["page"]

#: Epsilons are stated at these deltas.
_DELTAS = (1e-4, 1e-6, 1e-9)
_SHARES = (0.01, 0.05, 0.1)


def page(release: Any) -> str:
    """The page, in Markdown.

    Parameters
    ----------
    release : Release
    """
    told = release.statement
    made = "" if release.provenance is None else f"{_sentence(str(release.provenance))}.\n"
    alarm = f"**{NO_GUARANTEE}**\n" if isinstance(release.guarantee, Unproved) else ""
    sections = [
        ("Privacy parameters", told.cost + "\n\n" + _curve(release.guarantee)),
        ("Unit of privacy", told.protected),
        ("Trust model and what the promise rests on", _assumptions(release)),
        ("Mechanism and its correctness", _mechanism(release)),
        ("Accuracy and bias", told.accuracy),
        ("Side channels", told.against),
        ("For the reader to judge", _judge(release)),
    ]
    body = "\n".join(f"## {name}\n\n{_sentence(text)}\n" for name, text in sections)
    title = f"# The {release.statistic} on {release.manifold}\n"
    return "\n".join(filter(None, (title, alarm, made, body)))


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _curve(guarantee: Guarantee) -> str:
    """Power of tests, and epsilons at several deltas."""
    if isinstance(guarantee, Unproved):
        return "Nothing is proved, so there is no curve."
    finds = "one of two values of a record" if guarantee.neighbours == "replace" else "a record"
    power = [
        f"| false alarms of a test | finds {finds} in at most |",
        "|---|---|",
        *(
            f"| {100 * own:g} % | {rounded_up(100 * guarantee.power(own), 3)} % |"
            for own in _SHARES
        ),
    ]
    known = [own for own in _DELTAS if own >= getattr(guarantee, "delta", 0.0)]
    implied = [
        "| delta | epsilon |",
        "|---|---|",
        *(f"| {own:g} | {rounded_up(guarantee.to_epsilon(own), 4)} |" for own in known),
    ]
    return "\n".join([*power, "", *(implied if known else [])])


def _assumptions(release: Any) -> str:
    if isinstance(release.guarantee, Unproved):
        return f"Nothing is proved, whatever is assumed: {release.guarantee.why}."
    told = release.statement.assuming
    further = "\n".join(f"- {text}" for text in release.explained_assumptions())
    return f"It holds if {told}\n\n{further}".strip()


def _mechanism(release: Any) -> str:
    """Noise, calibration and proof."""
    exact = (
        "Its noise was computed in floating point on a public grid."
        if "idealized-sampling" in release.assumptions
        else "Its noise was drawn in exact arithmetic."
    )
    parts = "".join(f"\n- {part.statistic}: {part.guarantee}" for part in release.parts)
    return (
        f"{release.mechanism}: sensitivity {rounded_up(release.sensitivity)}, noise scale "
        f"{rounded_down(release.scale)}, error of the solver at most "
        f"{rounded_up(release.solver_tolerance, 3)}{_proof(release.guarantee)} {exact}"
        + (f"\n\nStages, which the guarantee covers together:\n{parts}" if parts else "")
    )


def _proof(guarantee: Guarantee) -> str:
    """The end of a sentence on the solver's error, and one on the proof."""
    if isinstance(guarantee, Unproved):
        return ". That it is private is not proved."
    return (
        ", which the noise covers. Its proof stands in the documentation of curvedp, beside tests "
        "that attack it."
    )


def _judge(release: Any) -> str:
    """Questions that no software answers."""
    unit = "person" if release.units_by_name else "record"
    return (
        f"- Is one {unit} what needs protection, or a family, a clinic, a day?\n"
        "- Is the ball, and every other parameter, really no result of a look at the records?\n"
        "- What else was, and will be, released about the same persons, and by whom?\n"
        "- Who else may read the records, and how were they collected?"
    )
