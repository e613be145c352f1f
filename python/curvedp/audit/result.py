"""Result of an audit, event by event."""

from __future__ import annotations

from dataclasses import dataclass

from curvedp._text import rounded_down, rounded_up
from curvedp.privacy import Guarantee


@dataclass(frozen=True)
class Event:
    """One tested event: the score lies on the telling side of ``threshold``.

    In an audit of low bits the score of an outcome is its learnt log ratio.

    Attributes
    ----------
    direction : str
        ``"a over b"``: scores of at least ``threshold``, more likely at a; ``"b over a"``: scores
        of at most ``threshold``, more likely at b.
    threshold : float
        Beginning (or end) of the event, chosen on draws that are not counted here.
    hits, neighbour_hits : int
        Draws inside the event where it should be likely, and at the neighbour.
    trials, neighbour_trials : int
        Draws counted on each side.
    probability_lower, neighbour_probability_upper : float
        Clopper-Pearson bounds of the two probabilities.
    lower_bound : float
        Lower bound on the audited parameter that this event alone proves.
    description : str
        The event in words, where it is more than a threshold on the score; else empty.
    """

    direction: str
    threshold: float
    hits: int
    neighbour_hits: int
    trials: int
    neighbour_trials: int
    probability_lower: float
    neighbour_probability_upper: float
    lower_bound: float
    description: str = ""


@dataclass(frozen=True)
class AuditResult:
    """Outcome of a privacy audit.

    Attributes
    ----------
    parameter : str
        Name of the bounded parameter of the guarantee: ``"epsilon"``, ``"mu"`` or ``"rho"``.
    lower_bound : float
        With probability at least ``confidence`` the parameter is no smaller than this.
    claimed : PureDP, ApproxDP, ZCDP or GDP
        The guarantee under audit.
    claimed_value : float
        The parameter's claimed value.
    confidence : float
        Joint confidence of all events and both directions.
    events : tuple of Event
        Every event tested: for GDP and zCDP the measured trade-off curve.
    """

    parameter: str
    lower_bound: float
    claimed: Guarantee
    claimed_value: float
    confidence: float
    events: tuple[Event, ...]

    @property
    def passed(self) -> bool:
        """True if the draws are compatible with the claim.

        A correct mechanism passes with probability at least ``confidence``. Passing proves nothing:
        a fault that this pair of data sets or this score does not show stays hidden.
        """
        return self.lower_bound <= self.claimed_value

    @property
    def strongest(self) -> Event:
        """The event that proves the lower bound."""
        return max(self.events, key=lambda event: event.lower_bound)

    @property
    def threshold(self) -> float:
        """Threshold of the strongest event."""
        return self.strongest.threshold

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """Hits, trials, hits at the neighbour, trials at the neighbour of the strongest event."""
        best = self.strongest
        return best.hits, best.trials, best.neighbour_hits, best.neighbour_trials

    def report(self) -> str:
        """A few lines for people: verdict, bound, and the counts behind it."""
        best = self.strongest
        verdict = "compatible with the claim" if self.passed else "CLAIM REFUTED"
        bound, claim = rounded_down(self.lower_bound, 4), rounded_up(self.claimed_value)
        if not self.passed and float(bound) <= float(claim):
            bound, claim = repr(self.lower_bound), repr(self.claimed_value)
        compared = "<=" if self.passed else ">"
        side = ">=" if best.direction == "a over b" else "<="
        event = best.description or f"score {side} {best.threshold:.4g}"
        return "\n".join(
            (
                f"privacy audit of {self.claimed}: {verdict}",
                f"  {self.parameter} >= {bound} {compared} "
                f"{claim} claimed (confidence {rounded_down(self.confidence, 10)})",
                f"  strongest of {len(self.events)} events: {best.direction}, {event}",
                f"  seen {best.hits} times in {best.trials} draws "
                f"(probability at least {rounded_down(best.probability_lower, 4)})",
                f"  at the neighbour {best.neighbour_hits} times in {best.neighbour_trials} draws "
                f"(probability at most {rounded_up(best.neighbour_probability_upper, 4)})",
            )
        )
