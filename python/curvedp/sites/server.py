"""The server: it makes plans, adds answers, and sees no record."""

from __future__ import annotations

import hashlib
import json
import math
import os
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

import curvedp
from curvedp._guard import warn_of_paid
from curvedp.errors import CoverageWarning, NoiseWarning, SiteError
from curvedp.privacy.guarantees import Unproved
from curvedp.privacy.provenance import Provenance
from curvedp.sites.agreement import Agreement
from curvedp.sites.history import Heard, History
from curvedp.sites.release import SitesMeanRelease
from curvedp.sites.wire import MOST_ROUNDS, Answer, Plan
from curvedp.statistics.located_release import told
from curvedp.sums.messages import Request, bound_of, space_of
from curvedp.sums.steps import Steps


class ServerMean:
    """The server of a study: `plan` goes to all sites, `feed` takes their answers.

    Parameters
    ----------
    agreement : Agreement
    keys : mapping of str to bytes, optional
        `SiteMean.key` of every site, by name: for agreements with masks, and for these alone.
    run : str, optional
        Id of this run, 32 hexadecimal digits; random by default.
    state : path, optional
        File in which the totals are noted before the next plan leaves: a server that is made anew
        with it goes on where the last one was, with its keys and run. One file is one run.

    Attributes
    ----------
    left_out : tuple of str
        Why answers of the last round were not counted.
    release : SitesMeanRelease or None
        None until the study is over.

    Raises
    ------
    ValueError
        For keys that do not fit the agreement.
    SiteError
        For a state file of another study, or one that was changed.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> from curvedp.sites import Agreement, SiteMean
    >>> study = Agreement("sphere:2", cdp.GDP(2.0, neighbours="add-remove"), ["Aa", "Bo"])
    >>> north = np.tile([0.0, 0.0, 1.0], (200, 1))
    >>> sites = [SiteMean(north, study, name) for name in study.roster]
    >>> server = ServerMean(study)
    >>> step = server.plan()
    >>> while isinstance(step, bytes):
    ...     step = server.feed([site.answer(step) for site in sites])
    >>> step.found
    True
    """

    def __init__(
        self,
        agreement: Agreement,
        *,
        keys: Mapping[str, bytes] | None = None,
        run: str | None = None,
        state: str | os.PathLike[str] | None = None,
    ) -> None:
        self.agreement = agreement
        self.left_out: tuple[str, ...] = ()
        self.release: SitesMeanRelease | None = None
        self._history = History(state)
        begun = self._history.run(agreement.digest, curvedp.__version__)
        self._run = (run or secrets.token_hex(16)) if begun is None else begun[0]
        if begun is None or keys is not None:
            if set(keys or ()) != (set(agreement.roster) if agreement.masks else set()):
                raise ValueError("give the key of every site with masks, and no keys without")
            self._keys = tuple(keys[name].hex() for name in agreement.roster) if keys else ()
        else:
            self._keys = begun[1]
        if begun is not None and ((run or begun[0]), self._keys) != begun:
            raise SiteError("the state file has a run with another id or other keys")
        self._steps = Steps(agreement.search())
        self._round = self._void = 0
        self._fewest = len(agreement.roster)
        self._is_seeded = False
        assert self._steps.request is not None
        self._plan = self._planned(self._steps.request, "", "")
        Plan.from_bytes(self._plan.to_bytes())
        if begun is None:
            self._history.begun(agreement.digest, curvedp.__version__, self._run, self._keys)
        for heard in self._history.rounds():
            size = self._size if heard.total is None else len(heard.total)
            if self.release is not None or (heard.plan, size) != (self._plan.digest, self._size):
                raise SiteError(
                    "the state file does not lead to its own plans: it was changed, or written on "
                    "another machine; begin a new run in another file"
                )
            self._go_on(heard)

    @staticmethod
    def is_begun(agreement: Agreement, state: str | os.PathLike[str] | None) -> bool:
        """True if a state file has a run: then no keys are needed.

        Parameters
        ----------
        agreement : Agreement
        state : path or None

        Returns
        -------
        bool

        Raises
        ------
        SiteError
            If the run is of another agreement.
        """
        return History(state).run(agreement.digest, curvedp.__version__) is not None

    def plan(self) -> bytes:
        """The plan of the round that waits for answers.

        Raises
        ------
        SiteError
            If the study is over.
        """
        if self.release is not None:
            raise SiteError("the study is over: a new run is a new ServerMean, and is paid anew")
        return self._plan.to_bytes()

    def feed(self, answers: Iterable[bytes]) -> bytes | SitesMeanRelease:
        """The next plan, or the release, after the answers to the last plan.

        J - f to J answers count, with masks J. With fewer the round is void: it has cost its share,
        and is asked again under a new id.

        Parameters
        ----------
        answers : iterable of bytes
            In any order. One that is damaged, of another round, of a site that is none or of
            which there are two that differ is left out, as if it had not come.

        Returns
        -------
        bytes or SitesMeanRelease

        Raises
        ------
        SiteError
            If the study is over, or another process goes on with it.
        """
        self.plan()
        counted = self._counted(answers)
        names = tuple(sorted(counted))
        total: NDArray[np.uint64] | None = None
        if len(names) >= self.agreement.needed:
            total = np.zeros(self._size, dtype=np.uint64)
            for name in names:
                total += counted[name].entries
        seeded = any(own.seeded for own in counted.values())
        heard = Heard(self._plan.digest, total, names, seeded)
        self._history.note(self._round, heard)
        self._go_on(heard)
        if self.release is None:
            return self._plan.to_bytes()
        if self.release.doubt:
            warn_of_paid(self.release.doubt, CoverageWarning)
        if self.release.hidden:
            warn_of_paid(self.release.hidden, NoiseWarning)
        return self.release

    def _go_on(self, heard: Heard) -> None:
        """The next plan, or the release: of nothing else than what was heard."""
        total, told_of = heard.total, _digest(heard.total, heard.names)
        if total is None:
            self._void += 1
        else:
            self._fewest = min(self._fewest, len(heard.names))
            self._is_seeded |= heard.seeded
        self._round += 1
        missing = 1.0 - len(heard.names) / len(self.agreement.roster)
        self._steps.answer(None if total is None else total.view(np.int64), missing)
        if self._steps.found is not None:
            digests = f"{heard.plan} {told_of}".encode()
            self.release = self._released(hashlib.sha256(digests).hexdigest())
            return
        if self._round == MOST_ROUNDS:
            raise SiteError(f"no end after {MOST_ROUNDS} rounds: too many were void")
        assert self._steps.request is not None
        self._plan = self._planned(self._steps.request, heard.plan, told_of)

    def _planned(self, request: Request, previous: str, total: str) -> Plan:
        own = self.agreement
        self._size = own.check(request)
        geometry = space_of(own.geometry, request)
        return Plan(
            version=curvedp.__version__,
            agreement=own.digest,
            space=own.manifold.spec,
            sites=len(own.roster),
            dropouts=own.dropouts,
            run=self._run,
            round=self._round,
            previous=previous,
            total=total,
            request=request,
            bound=bound_of(request.kind, geometry, own.replaces, own.records_per_unit),
            keys=self._keys,
        )

    def _counted(self, answers: Iterable[bytes]) -> dict[str, Answer]:
        """One answer of each site that gave one to this plan; notes the others."""
        found: dict[str, Answer] = {}
        written: dict[str, bytes] = {}
        twice: set[str] = set()
        left_out = []
        digest = self._plan.digest
        for message in answers:
            try:
                own = Answer.from_bytes(message)
            except (SiteError, TypeError) as error:
                left_out.append(str(error))
                continue
            if (own.run, own.round, own.plan) != (self._run, self._round, digest):
                left_out.append("an answer to another plan")
            elif own.site not in self.agreement.roster:
                left_out.append("an answer of a site that is not on the roster")
            elif own.entries.shape != (self._size,):
                left_out.append(f"an answer of {own.site} with another number of entries")
            elif written.setdefault(own.site, message) != message:
                twice.add(own.site)
            else:
                found[own.site] = own
        left_out += [f"answers of {site} that differ" for site in sorted(twice)]
        self.left_out = tuple(left_out)
        return {site: own for site, own in found.items() if site not in twice}

    def _released(self, transcript: str) -> SitesMeanRelease:
        own, found = self.agreement, self._steps.found
        assert found is not None
        assumptions = {"shares-of-noise"} | ({"seeded"} if self._is_seeded else set())
        if own.by_name:
            assumptions.add("units-by-name")
        guarantee = own.call.promise(own.guarantee, 0 if self._is_seeded else None)
        centers = found.centers
        if centers is not None:
            centers = centers.reshape(-1, *own.manifold.point_shape)
        return SitesMeanRelease(
            **told(own.manifold, [found], own.way, own.n),
            statistic=own.statistic.title,
            guarantee=guarantee,
            calibrated_to=None if isinstance(guarantee, Unproved) else own.way,
            mechanism="rounded Gaussian, a share at each site",
            manifold=own.manifold.spec,
            ball_center=own.manifold.origin,
            records_per_unit=own.records_per_unit,
            assumptions=frozenset(assumptions),
            provenance=replace(Provenance.now(), data=own.study),
            sites=len(own.roster),
            dropouts=own.dropouts,
            fewest=self._fewest,
            rounds_asked=self._round,
            void_rounds=self._void,
            variance=None if math.isnan(found.variance) else found.variance,
            variance_error=None if math.isnan(found.variance) else found.variance_error,
            centers=centers,
            sizes=found.sizes,
            alone=own.alone,
            masked=own.masks,
            transcript=transcript,
        )


def _digest(total: NDArray[np.uint64] | None, names: tuple[str, ...]) -> str:
    """SHA-256 of a total and of the names of the sites that it is of."""
    entries = b"" if total is None else total.astype("<u8").tobytes()
    return hashlib.sha256(json.dumps([total is None, names]).encode() + entries).hexdigest()
