"""A page about a release for whoever has to judge it, after the pyramid of NIST SP 800-226.

Near, Darais, Lefkovitz, Howarth, Guidelines for Evaluating Differential Privacy Guarantees (2025):
what stands higher rests on what stands below.
"""

from __future__ import annotations

from curvedp._text import rounded_up
from curvedp.privacy.assumptions import explained
from curvedp.privacy.base import Guarantee
from curvedp.privacy.disclosure import Disclosure
from curvedp.privacy.guarantees import NO_GUARANTEE, Unproved

__all__ = ["page"]

#: Epsilons are stated at these deltas.
_DELTAS = (1e-4, 1e-6, 1e-9)
_SHARES = (0.01, 0.05, 0.1)


def page(told: Disclosure) -> str:
    """The page, in Markdown.

    Parameters
    ----------
    told : Disclosure
    """
    said = told.statement
    made = "" if told.provenance is None else f"{_sentence(str(told.provenance))}.\n"
    alarm = f"**{NO_GUARANTEE}**\n" if isinstance(told.guarantee, Unproved) else ""
    sections = [
        ("Privacy parameters", said.cost + "\n\n" + _curve(told.guarantee)),
        ("Unit of privacy", said.protected),
        ("Trust model and what the promise rests on", _assumptions(told)),
        ("Mechanism and its correctness", _mechanism(told)),
        ("Accuracy and bias", said.accuracy),
        ("Side channels", f"It protects against {said.against}"),
        ("For the reader to judge", _judge(told)),
    ]
    body = "\n".join(f"## {name}\n\n{_sentence(text)}\n" for name, text in sections)
    title = f"# The {told.title}\n"
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


def _assumptions(told: Disclosure) -> str:
    if isinstance(told.guarantee, Unproved):
        return f"Nothing is proved, whatever is assumed: {told.guarantee.why}."
    further = "\n".join(f"- {text}" for text in explained(told.assumptions))
    return f"It holds if {told.statement.assuming}\n\n{further}".strip()


def _mechanism(told: Disclosure) -> str:
    """Noise, calibration and proof."""
    noise = "; ".join(told.noise)
    stages = told.stages
    parts = "".join(f"\n- {text}" for text in stages)
    return f"{noise}{_proof(told.guarantee)} Its noise was {told.drawing}." + (
        f"\n\nStages, which the guarantee covers together:\n{parts}" if stages else ""
    )


def _proof(guarantee: Guarantee) -> str:
    """The end of a sentence on the solver's error, and one on the proof."""
    if isinstance(guarantee, Unproved):
        return ". That it is private is not proved."
    return (
        ": the noise covers sensitivity and error. Its proof stands in the documentation of "
        "curvedp, beside tests that attack it."
    )


def _judge(told: Disclosure) -> str:
    """Questions that no software answers."""
    named = "" if told.provenance is None else told.provenance.unit
    unit = named or ("person" if told.units_by_name else "record")
    return (
        f"- Is one {unit} what needs protection, or a family, a clinic, a day?\n"
        "- Is every parameter, such as a ball, really no result of a look at the records?\n"
        "- What else was, and will be, released about the same persons, and by whom?\n"
        "- Who else may read the records, and how were they collected?"
    )
