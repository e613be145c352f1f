"""The agreement of server and sites before a study begins; it never changes afterwards."""

from __future__ import annotations

import functools
import hashlib
import json
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from curvedp._validation import as_count
from curvedp.errors import SiteError
from curvedp.manifolds import Manifold, Product, as_manifold
from curvedp.privacy import GDP, Guarantee
from curvedp.privacy.stored import read
from curvedp.sites.after import SearchAndMore
from curvedp.sites.wire import LONGEST
from curvedp.statistics.call import Call, as_balls
from curvedp.statistics.located_mean import LocatedMean
from curvedp.statistics.search_design import SearchDesign
from curvedp.sums.filter import root
from curvedp.sums.geometry import Geometry, geometry_of
from curvedp.sums.messages import (
    SQUARED,
    Kind,
    Request,
    bound_of,
    space_of,
    start_of,
    weights_of,
)
from curvedp.sums.noise import GaussianNoise, noise_scale
from curvedp.sums.search import Search

#: Deviations of the noise of one site between which shares add up to the whole, and fit 64 bits.
_SCALES = 2.0**10, 2.0**56
_MOST_SITES = 2**16
_LONGEST_NAME = 100
#: With more the last round would be too small a part of the budget to be asked for.
_MOST_SPARE = 0.99
#: Parts of the budget that a variance may have, and clusters; most clusters and cells.
_VARIANCE, _CLUSTERING = (0.01, 0.5), (0.1, 0.8)
_MOST_CLUSTERS, _MOST_CELLS = 20, 200
#: Bytes of what follows from records, and is held at once.
_DERIVED = 2**28
#: Bytes of a message besides keys and numbers, at most; and of a key.
_HEADER, _KEY = 4096, 67


@dataclass(frozen=True)
class Agreement:
    """A study over sites: the same object at the server and at every site.

    Parameters
    ----------
    manifold : Manifold, str or geomstats space
        No product: make one study of each factor, with a share of the guarantee.
    guarantee : GDP, ZCDP or ApproxDP
        Of the whole study, to every unit of every site.
    roster : sequence of str
        Names of the J sites, all different. A person has records at one of them. There are no
        groups: make one study of each public key, with a ledger of its own.
    dropouts : int
        f, the most sites that may drop out of a round, work together or lie: the others carry the
        whole noise, so there is up to sqrt(J/(J - f)) times as much of it.
    statistic : LocatedMean
        Options of the search.
    n : int or None
        Number of records, or of units by name, at all sites together: for guarantees with
        ``neighbours="replace"``, under which it is public, and for these alone.
    records_per_unit : int
        Most records of one unit.
    by_name : bool
        True if every site names the unit of each of its records.
    masks : bool
        True if sites hide their answers from the server by masks that cancel in the total of all J:
        then a round that one site misses is void, and `dropouts` counts those that work together or
        lie.
    spare : float
        The part of what is left that the last round leaves, from 0 to .99, be it the mean's, that
        of the variance or of clusters: with it a last round that too few sites answered is asked
        again. Without it a last round that is void leaves no mean, no variance, or centres as they
        were.
    variance : float
        The part of the budget, of mu^2, 0 or from .01 to .5, for one round after the mean: the
        variance about it, of distances up to the clip level.
    clusters : int
        0, or the number of centres of clusters about the mean, from 2 to 20, which take four more
        rounds and the part `clustering` of mu^2: none where the clip level about the mean reaches
        farther than doubles hold a ball; that part is not spent then.
    clustering : float
        From .1 to .8.
    study : str
        A name that tells the study from others.

    Raises
    ------
    ValueError, TypeError
        For parameters that do not fit each other.
    ExistenceError
        If n is too small for the guarantee: it says which n works (320 for connectomes, SPD(28), at
        mu = .5).

    Examples
    --------
    >>> import curvedp as cdp
    >>> own = Agreement("spd:3", cdp.GDP(1.0, neighbours="add-remove"), ["Aa", "Bo", "Ce"], 1)
    >>> own == Agreement.from_json(own.to_json()), own.shares
    (True, 2)
    """

    manifold: Manifold
    guarantee: Guarantee
    roster: tuple[str, ...]
    dropouts: int = 0
    statistic: LocatedMean = LocatedMean()  # noqa: RUF009
    n: int | None = None
    records_per_unit: int = 1
    by_name: bool = False
    masks: bool = False
    spare: float = 0.0
    variance: float = 0.0
    clusters: int = 0
    clustering: float = 0.5
    study: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "manifold", as_manifold(self.manifold))
        if isinstance(self.manifold, Product):
            raise ValueError(
                "sites serve no products: make one study of each factor, with a share of the "
                "guarantee"
            )
        names = self.roster
        if isinstance(names, str) or not all(isinstance(own, str) for own in names):
            raise TypeError("roster must be the names of the sites, a list of texts")
        object.__setattr__(self, "roster", tuple(names))
        for text in (*self.roster, self.study):
            if not (isinstance(text, str) and text.isprintable() and len(text) <= _LONGEST_NAME):
                raise ValueError(f"names must be plain texts of at most {_LONGEST_NAME} letters")
        if not 1 <= len(set(self.roster)) == len(self.roster) <= _MOST_SITES or "" in self.roster:
            raise ValueError(f"roster must have 1 to {_MOST_SITES} different names")
        as_count(self.dropouts, "dropouts", least=0, most=len(self.roster) - 1)
        if not isinstance(self.statistic, LocatedMean):
            raise TypeError(
                "statistic must be a LocatedMean: sites serve means without a ball; join other "
                "releases of the sites by combine"
            )
        if not (isinstance(self.spare, float) and 0.0 <= self.spare <= _MOST_SPARE):
            raise ValueError(f"spare must be a float from 0 to {_MOST_SPARE}")
        least, most = _VARIANCE
        if not (
            isinstance(self.variance, float)
            and (self.variance == 0.0 or least <= self.variance <= most)
        ):
            raise ValueError(f"variance must be 0.0, or a float from {least} to {most}")
        if self.clusters != 0:
            as_count(self.clusters, "clusters", least=2, most=_MOST_CLUSTERS)
        least, most = _CLUSTERING
        if not (isinstance(self.clustering, float) and least <= self.clustering <= most):
            raise ValueError(f"clustering must be a float from {least} to {most}")
        if self.later > most:
            raise ValueError(f"variance and clustering together must be at most {most}")
        if not (isinstance(self.by_name, bool) and isinstance(self.masks, bool)):
            raise TypeError("by_name and masks must be True or False")
        if self.masks and self.shares < 2:
            raise ValueError("masks hide nothing unless two sites more than dropouts take part")
        if self.by_name and self.records_per_unit != 1:
            raise ValueError("give by_name or records_per_unit, not both")
        if (self.n is None) == (self.guarantee.neighbours == "replace"):
            raise ValueError(
                "give n, the number of records of all sites, with a guarantee for replacing a "
                'record, under which it is public, and never with neighbours="add-remove"'
            )
        if self.n is not None:
            as_count(self.n, "n")
        self._check_length()
        kinds: tuple[Kind, ...] = ("round", "tail")
        for kind in kinds if start_of(self.manifold) is None else (*kinds, "start"):
            for share in (1.0, 0.1):  # most, and about the least, of a round
                self._check_noise(kind, self.geometry, share * self.way.mu)

    @functools.cached_property
    def call(self) -> Call:
        """The same study as a call of one site."""
        return Call(
            statistic=self.statistic,
            balls=as_balls(self.manifold),
            guarantee=self.guarantee,
            records_per_unit=self.records_per_unit,
        )

    @functools.cached_property
    def way(self) -> GDP:
        """The guarantee that noise is calibrated to."""
        design: SearchDesign = self.statistic.design(self.call, self.call.ball, self.n or 0)
        if not isinstance(design.way, GDP):
            raise ValueError("sites serve no PureDP: use GDP, ZCDP or ApproxDP")
        return design.way

    @property
    def replaces(self) -> bool:
        """True where n is public."""
        return self.n is not None

    @property
    def shares(self) -> int:
        """J - f: so many answers carry the whole noise."""
        return len(self.roster) - self.dropouts

    @property
    def needed(self) -> int:
        """The fewest answers of a round that is not void."""
        return len(self.roster) if self.masks else self.shares

    @property
    def alone(self) -> float:
        """mu sqrt(J - f), rounded up: against one who sees all answers of a single site."""
        return root(Fraction(self.way.mu) ** 2 * self.shares, down=False)

    @functools.cached_property
    def geometry(self) -> Geometry:
        """The space as the search sees it."""
        return geometry_of(self.manifold)

    @property
    def later(self) -> float:
        """The part of mu^2 for what is asked for about the mean."""
        return self.variance + (self.clustering if self.clusters else 0.0)

    def search(self) -> Search:
        """The search, which no site's records have a part in."""
        whole = self.way.mu
        mean = root(Fraction(whole) ** 2 * (1 - Fraction(self.later)), down=True)
        options: dict[str, Any] = {
            "changed": self.records_per_unit,
            "own_units": self.statistic.channels == "own",
            "clip": self.statistic.clip,
            "max_rounds": self.statistic.max_rounds,
            "widening": math.sqrt(len(self.roster) / self.shares),
            "spare": self.spare,
        }
        budget = self.geometry, GaussianNoise(mean), self.n
        if self.later:
            options |= {"whole": whole, "variance": self.variance, "clusters": self.clusters}
            return SearchAndMore(*budget, **options)
        return Search(*budget, **options)

    def memory(self, n: int) -> int:
        """Bytes that a site with so many records needs."""
        own = 8 * n * self.manifold.point_size
        return own + _DERIVED if self.later or self.geometry.tells_axes else own

    def check(self, request: Request) -> int:
        """The number of entries of an answer to a request that this study may ask.

        Raises
        ------
        SiteError
            For every other request.
        """
        spec = self.manifold.spec.partition(":")[0]
        is_definite = spec in ("spd", "hpd")
        at_point = request.kind in ("tail", "round")
        known = {"start": start_of(self.manifold) is not None, "scale": is_definite}
        kinds = {
            "records": ("start", "scale", "tail", "round"),
            "diagonals": ("tail", "round") if is_definite else (),
            "squares": ("round",) if self.variance else (),
            "cells": ("round",) if self.clusters else (),
            "axes": ("round",) if self.geometry.tells_axes else (),
        }
        if not (known.get(request.kind, at_point) and request.kind in kinds[request.of]):
            raise SiteError(f"the plan asks for what {self.manifold} or this study does not have")
        size = self.manifold.point_size
        if request.of == "diagonals":
            size = self.manifold.point_shape[0]
        size += request.of == "axes"
        if request.of == "cells" and request.base is not None:
            size += 1
            size *= min(max(len(request.base) // size, 2), _MOST_CELLS)
        if (request.base is None) == at_point or (
            request.base is not None and request.base.shape != (size,)
        ):
            raise SiteError(f"the plan's base point is none of {self.manifold}")
        geometry = space_of(self.geometry, request)
        lengths = [request.radius]
        if request.of == "cells" and request.base is not None:
            lengths = request.base[-(size // (self.manifold.point_size + 1)) :].tolist()
        squared = all(SQUARED[0] <= own <= SQUARED[1] for own in lengths)
        if request.of in ("squares", "cells") and not (squared and max(lengths) == request.radius):
            raise SiteError("the plan's clip level has no square that doubles hold")
        self._check_noise(request.kind, geometry, request.share)
        return len(weights_of(request, geometry))

    def _check_length(self) -> None:
        """Refuses spaces and rosters whose messages would be too long to be read."""
        start, keys = start_of(self.manifold), len(self.roster) if self.masks else 0
        entries = self.geometry.dim + 1 if start is None else len(start.weights)
        cells = 2 * self.clusters  # at least
        plan = _KEY * keys + 8 * (self.manifold.point_size + 1) * max(cells, 1)
        answer = 8 * max(entries, (self.geometry.dim + 1) * max(cells, 1))
        if _HEADER + max(plan, answer) > LONGEST:
            raise ValueError(
                f"messages of this space and roster would be longer than {LONGEST} bytes: use a "
                "smaller space, or fewer sites with masks"
            )

    def _check_noise(self, kind: Kind, geometry: Geometry, mu: float) -> None:
        """Refuses shares of mu with which the noise of a site is no share of the whole."""
        least, most = _SCALES
        bound = bound_of(kind, geometry, self.replaces, self.records_per_unit)
        scale = noise_scale(bound, mu, self.shares)
        if not least <= scale <= most:
            raise SiteError(
                f"the noise of a site would have a deviation of {scale:.3g}, where {least:.3g} to "
                f"{most:.3g} add up to the whole: use a {'smaller' if scale < least else 'larger'} "
                "mu"
            )

    def to_json(self) -> str:
        """JSON text; `from_json` reads it."""
        data = {
            "manifold": self.manifold.spec,
            "guarantee": self.guarantee.to_dict(),
            "roster": list(self.roster),
            "dropouts": self.dropouts,
            "statistic": self.statistic.options(),
            "n": self.n,
            "records_per_unit": self.records_per_unit,
            "by_name": self.by_name,
            "masks": self.masks,
            "spare": self.spare,
            "variance": self.variance,
            "clusters": self.clusters,
            "clustering": self.clustering,
            "study": self.study,
        }
        return json.dumps(data, sort_keys=True)

    @classmethod
    def from_json(cls, text: str | bytes) -> Agreement:
        """Inverse of `to_json`.

        Raises
        ------
        ValueError
            For every other text.
        """

        def build(data: Any) -> Agreement:
            kept = {
                "guarantee": Guarantee.from_dict(data["guarantee"]),
                "statistic": LocatedMean.from_options(data["statistic"]),
            }
            found = cls(**data | kept)
            if json.dumps(data, sort_keys=True) != found.to_json():
                raise ValueError("it is damaged or was edited")
            return found

        return read(text, "agreement", build)

    @functools.cached_property
    def digest(self) -> str:
        """SHA-256 of the text, by which parties know that they agree."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()
