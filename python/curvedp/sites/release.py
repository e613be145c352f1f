"""The release of a study over sites: a mean without a ball, and what each party learns."""

from __future__ import annotations

from dataclasses import dataclass, replace

from curvedp._text import rounded_up
from curvedp._validation import FloatArray
from curvedp.privacy.statement import Statement, cost_of
from curvedp.statistics.located_release import LocatedMeanRelease


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SitesMeanRelease(LocatedMeanRelease):
    """A mean of the records of many sites; all fields are public.

    Attributes
    ----------
    sites, dropouts : int
        J and f of the agreement.
    fewest : int
        Fewest answers of a round that was not void.
    rounds_asked, void_rounds : int
    variance, variance_error : float or None
        Mean square of the distances of records from `value`, those above `clip_level` counted as
        it, and the standard deviation of its noise; None if it was not asked for or found.
    centers, sizes : ndarray or None
        Centres of clusters, shape (k, *point_shape), and the noisy numbers of records nearest to
        each before its last step, cut at 0; None if not asked for or found.
    alone : float
        mu against one who sees the answers of a single site.
    masked : bool
        True if nobody saw them.
    transcript : str
        Digest of all plans and totals.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> from curvedp.sites import Agreement, simulate
    >>> study = Agreement("sphere:2", cdp.GDP(2.0, neighbours="add-remove"), ["Aa", "Bo"])
    >>> mean = simulate([np.tile([0.0, 0.0, 1.0], (200, 1))] * 2, study)
    >>> mean.found, mean.sites, mean.void_rounds
    (True, 2, 0)
    """

    sites: int
    dropouts: int
    fewest: int
    rounds_asked: int
    void_rounds: int
    variance: float | None
    variance_error: float | None
    centers: FloatArray | None
    sizes: FloatArray | None
    alone: float
    masked: bool
    transcript: str

    @property
    def statement(self) -> Statement:
        """Five sentences, as of every release; ledgers are the sites' own."""
        counted = "Each site's own ledger adds up what else is released from its records."
        return replace(super().statement, cost=f"{cost_of(self.guarantee)} {counted}")

    def _noise(self) -> list[tuple[str, str]]:
        seen = (
            f"sees the answers of a single site, as the server does: mu = {rounded_up(self.alone)}"
        )
        if self.masked:
            seen = (
                "runs the server as it is written: the same, as masks hide single answers. Against "
                f"one who changes it, and the keys: mu = {rounded_up(self.alone)}"
            )
        void = f", {self.void_rounds} void" if self.void_rounds else ""
        about = []
        if self.variance is not None:
            told = f"{self.variance:.4g}, noise {self.variance_error:.2g}; distances up to "
            about = [("variance", f"{told}{self.clip_level:.4g}, those beyond count as that")]
        if self.sizes is not None:
            sizes = ", ".join(f"{size:.0f}" for size in self.sizes)
            about.append(("clusters", f"{len(self.sizes)} centres; noisy sizes: {sizes}"))
        return [
            *super()._noise(),
            *about,
            (
                "sites",
                f"{self.sites}, of which at least {self.fewest} answered; {self.rounds_asked} "
                f"rounds{void}; transcript {self.transcript[:16]}",
            ),
            (
                "protects",
                f"against all who see the release, up to {self.dropouts} sites that drop out, work "
                f"together or lie among them: the guarantee. Against one who {seen}. A site that "
                "lies spoils the value and nobody's protection",
            ),
        ]
