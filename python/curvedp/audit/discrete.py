"""Events of statistics with few values, chosen on some draws and counted on others.

The draws of each data set fall into three parts: a quarter learns how much each code speaks for a
or for b, a quarter chooses where in that order the event ends, one half counts. Every event that is
counted enters the Bonferroni correction.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy
from numpy.typing import NDArray

from curvedp.audit.bounds import FloatArray, Parameter, clopper_pearson, event_error
from curvedp.audit.low_bit_statistics import Statistic
from curvedp.audit.result import Event

_LEARN, _CHOOSE, _COUNT = range(3)
_SHOWN_CODES = 6

#: Learnt log ratios within so many standard errors of 0 do not enter the sum over all statistics.
_NOISE_LEVEL = 2.0

#: Number of events among which 1 - confidence is divided while they are chosen: their true number
#: is not known yet.
_CHOOSING_EVENTS = 1000


def part_of_draws(count: int) -> NDArray[np.int64]:
    """The part to which each of `count` draws belongs, in the order in which they were drawn."""
    parts = np.full(count, _COUNT)
    parts[: count // 2] = _CHOOSE
    parts[: count // 4] = _LEARN
    return parts


@dataclass
class _Chosen:
    """One event before its bounds are known."""

    direction: str
    description: str
    threshold: float
    hits: int
    neighbour_hits: int


@dataclass
class Search:
    """Looks at one statistic after the other and keeps the counts of the chosen events.

    Parameters
    ----------
    count : int
        Draws at each data set, those at a first.
    parameter : Parameter
        Of the claim under audit.
    confidence : float
        Joint, of all events.
    """

    count: int
    parameter: Parameter
    confidence: float
    _chosen: list[_Chosen] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        parts = part_of_draws(self.count)
        self._part = np.concatenate((parts, parts + 3))
        self._sizes = np.bincount(parts, minlength=3)
        self._total = np.zeros(2 * self.count)
        error = event_error(self.confidence, _CHOOSING_EVENTS)
        self._z = float(scipy.stats.norm.isf(error))

    @property
    def learn(self) -> NDArray[np.bool_]:
        """Draws that may decide which codes there are."""
        return np.asarray(self._part % 3 == _LEARN)

    def look_at(self, statistic: Statistic) -> None:
        """Choose and count the events of one statistic, one in each direction."""
        counts = self._counts(statistic.codes)
        learnt_a, learnt_b = counts[_LEARN] + 0.5, counts[3 + _LEARN] + 0.5
        ratio = np.log(learnt_a / learnt_b)
        noise = _NOISE_LEVEL * np.sqrt(1 / learnt_a + 1 / learnt_b)
        clear = np.sign(ratio) * np.maximum(np.abs(ratio) - noise, 0.0)
        self._total += clear[statistic.codes]
        # codes that were not seen while learning belong to no event
        seen = np.flatnonzero(counts[_LEARN] + counts[3 + _LEARN])
        order = seen[np.argsort(-ratio[seen], kind="stable")]
        self._choose(statistic, ratio, order, counts)

    def look_at_all_together(self) -> None:
        """Choose and count the events of the sum of what all statistics have learnt."""
        choosing = self._total[self._part % 3 == _CHOOSE]
        levels = np.linspace(0.0, 1.0, 257)[1:-1]
        edges = np.unique(np.quantile(choosing, levels, method="inverted_cdf"))
        codes = np.searchsorted(edges, self._total, side="right")
        lower = np.concatenate(([-np.inf], edges))
        whole = Statistic("sum of the learnt log ratios of all statistics", codes)
        order = np.arange(lower.size)[::-1]
        counts = self._counts(codes, lower.size)
        self._choose(whole, lower, order, counts, as_score=True)

    def events(self) -> tuple[Event, ...]:
        """Every chosen event, with bounds that hold together."""
        error = event_error(self.confidence, max(1, (len(self._chosen) + 1) // 2))
        trials = int(self._sizes[_COUNT])
        p, _ = clopper_pearson([event.hits for event in self._chosen], trials, error)
        _, q = clopper_pearson([event.neighbour_hits for event in self._chosen], trials, error)
        bounds = self.parameter.lower_bound(p, q)
        return tuple(
            Event(
                direction=event.direction,
                threshold=event.threshold,
                hits=event.hits,
                neighbour_hits=event.neighbour_hits,
                trials=trials,
                neighbour_trials=trials,
                probability_lower=float(p[i]),
                neighbour_probability_upper=float(q[i]),
                lower_bound=float(bounds[i]),
                description=event.description,
            )
            for i, event in enumerate(self._chosen)
        )

    def _counts(self, codes: NDArray[np.int64], least: int = 0) -> NDArray[np.int64]:
        """Counts of each code in each part at a and at b: 6 rows of `least` entries or more."""
        size = max(int(codes.max()) + 1, least)
        counted = np.bincount(self._part * size + codes, minlength=6 * size)
        return counted.reshape(6, size)

    def _choose(
        self,
        statistic: Statistic,
        score: FloatArray,
        order: NDArray[np.int64],
        counts: NDArray[np.int64],
        as_score: bool = False,
    ) -> None:
        """One event for each end of `order`: the codes up to where most is proved."""
        for direction, codes, likely, other in (
            ("a over b", order, 0, 3),
            ("b over a", order[::-1], 3, 0),
        ):
            last = self._best_end(counts[likely + _CHOOSE][codes], counts[other + _CHOOSE][codes])
            event = codes[: last + 1]
            threshold = float(score[event[-1]])
            words = _in_words(statistic, event)
            if as_score and direction == "a over b":
                words = f">= {threshold:.4g}"
            elif as_score:
                threshold = float(np.append(score, np.inf)[event[-1] + 1])
                words = f"< {threshold:.4g}"
            self._chosen.append(
                _Chosen(
                    direction=direction,
                    description=f"{statistic.name} {words}",
                    threshold=threshold,
                    hits=int(counts[likely + _COUNT][event].sum()),
                    neighbour_hits=int(counts[other + _COUNT][event].sum()),
                )
            )

    def _best_end(self, likely: NDArray[np.int64], other: NDArray[np.int64]) -> int:
        """Index of the code up to which a growing set of codes proves most; if no set proves
        anything, of that up to which it separates best."""
        trials = float(self._sizes[_CHOOSE])
        p, q = np.cumsum(likely) / trials, np.cumsum(other) / trials
        lower, _ = _wilson(p, trials, self._z)
        _, upper = _wilson(q, trials, self._z)
        proved = self.parameter.lower_bound(np.minimum(lower, 1.0), np.maximum(upper, 1e-300))
        return int(np.argmax(proved + 1e-6 * (p - q)))


def _wilson(share: FloatArray, trials: float, z: float) -> tuple[FloatArray, FloatArray]:
    """Wilson's approximate bounds of a probability: quick, and good enough for choosing."""
    centre = share + z**2 / (2 * trials)
    spread = z * np.sqrt(share * (1 - share) / trials + (z / (2 * trials)) ** 2)
    scale = 1 + z**2 / trials
    return np.maximum((centre - spread) / scale, 0.0), (centre + spread) / scale


def _in_words(statistic: Statistic, codes: NDArray[np.int64]) -> str:
    shown = ", ".join(statistic.label(code) for code in sorted(codes[:_SHOWN_CODES].tolist()))
    more = codes.size - _SHOWN_CODES
    return f"in {{{shown}}}" if more <= 0 else f"in {{{shown} and {more} more}}"
