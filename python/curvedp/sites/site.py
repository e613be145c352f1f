"""A site: it checks a plan, pays, writes the round down, and answers with its noisy sum."""

from __future__ import annotations

import hashlib
import os
import threading

import numpy as np
from numpy.typing import ArrayLike

import curvedp
from curvedp import _core
from curvedp._validation import as_count
from curvedp.errors import SiteError
from curvedp.privacy import GDP, Ledger
from curvedp.privacy.payment import charged, pay, settle
from curvedp.privacy.store import LedgerEntry
from curvedp.sites.agreement import Agreement
from curvedp.sites.book import Book, Run
from curvedp.sites.wire import Answer, Plan
from curvedp.statistics.grouping import Grouping, GroupsLike
from curvedp.sums.noise import GaussianNoise
from curvedp.sums.records import RecordSums


class SiteMean:
    """One site of a study: its records stay here, and noisy sums of messages leave.

    Parameters
    ----------
    records : array-like, shape (n, *point_shape)
        No value raises: a record that is no point of the manifold is left out.
    agreement : Agreement
    name : str
        The site's own, of the roster.
    ledger : Ledger, optional
        Of these records. The whole guarantee is set aside before the first answer of a run;
        `finish` gives back what was not spent.
    state : path, optional
        File in which rounds are noted before they are answered, so that no restart answers one
        twice. Without it the site serves one process.
    units : array-like, shape (n,), optional
        Label of the person to whom each record belongs, if the agreement says ``by_name``.
    seed : int, optional
        For tests: noise from a seed, with which the release promises nothing.

    Raises
    ------
    ValueError, TypeError
        For wrong shapes, dtypes and parameters; never for the value of a record.

    Notes
    -----
    The time that an answer takes is not protected, as elsewhere.

    Examples
    --------
    >>> import numpy as np, curvedp as cdp
    >>> from curvedp.sites import Agreement, ServerMean
    >>> whole = cdp.GDP(1.0, neighbours="add-remove")
    >>> study = Agreement("sphere:2", whole, ["Aa"])
    >>> ledger = cdp.Ledger(whole)
    >>> site = SiteMean(np.tile([0.0, 0.0, 1.0], (300, 1)), study, "Aa", ledger=ledger)
    >>> answer = site.answer(ServerMean(study).plan())
    >>> len(answer) < 300, len(ledger.entries)
    (True, 1)
    """

    def __init__(
        self,
        records: ArrayLike,
        agreement: Agreement,
        name: str,
        *,
        ledger: Ledger | None = None,
        state: str | os.PathLike[str] | None = None,
        units: GroupsLike = None,
        seed: int | None = None,
    ) -> None:
        if name not in agreement.roster:
            raise ValueError("name must be one of the agreement's roster")
        if (units is not None) != agreement.by_name:
            raise ValueError("give units where the agreement says by_name, and only there")
        if seed is not None:
            as_count(seed, "seed", least=0, most=2**63 - 1)
        self.agreement, self.name = agreement, name
        self._ledger, self._seed = ledger, seed
        data = agreement.manifold.read_records(records, least=0)
        agreement.call.ask_for_memory(data.nbytes, 0, by_unit=units is not None)
        grouping, ends = Grouping.of(None, len(data)), None
        if units is not None:
            arrange = grouping.by_unit if agreement.replaces else grouping.by_protected_unit
            grouping, ends = arrange(units, 1)
        self._sums = RecordSums(agreement.manifold, grouping.arranged(data), ends)
        self._book = Book(state)
        self._mask = _core.MaskKey() if agreement.masks else None
        #: Keys of the sites in each run, and those that are known to give masks.
        self._keys: dict[str, tuple[str, ...]] = {}
        self._masking: set[tuple[str, ...]] = set()
        self._lock = threading.Lock()

    @property
    def key(self) -> bytes:
        """The public key of this site, which the server gives to all, if the study has masks."""
        if self._mask is None:
            raise ValueError("the agreement is without masks: there are no keys")
        return self._mask.public

    def answer(self, plan: bytes) -> bytes:
        """The answer to a plan, which leaves once: everything is checked, then paid, then noted.

        Parameters
        ----------
        plan : bytes
            As `ServerMean.plan` makes it.

        Returns
        -------
        bytes
            For `ServerMean.feed`.

        Raises
        ------
        SiteError
            For a plan that the agreement does not allow, a round that was answered before, and more
            than the guarantee: nothing is computed, paid or noted then.
        BudgetError
            If the ledger refuses.
        """
        asked = Plan.from_bytes(plan)
        with self._lock:
            size = self._check(asked)
            known = self._book.run(asked.run)
            self._check_run(asked, known)
            begun = known or self._begun(asked)
            with charged(self._ledger, "the ledger keeps it for the later rounds of this run"):
                last = (asked.round, asked.digest, asked.request.share)
                self._book.note(asked.run, known, begun, last)
                self._keys[asked.run] = asked.keys
                noisy = self._sums.share_of_noisy(
                    asked.request,
                    self._stream(asked.round),
                    replaces=self.agreement.replaces,
                    moved=self.agreement.records_per_unit,
                    shares=self.agreement.shares,
                )
                entries = noisy.view(np.uint64)
                if self._mask is not None:
                    peers, context = self._peers(asked.keys), bytes.fromhex(asked.digest)
                    entries = entries + self._mask.mask(peers, context, size)
                assert entries.shape == (size,)
                return Answer(
                    run=asked.run,
                    round=asked.round,
                    site=self.name,
                    plan=asked.digest,
                    seeded=self._seed is not None,
                    entries=entries,
                ).to_bytes()

    def finish(self) -> list[LedgerEntry]:
        """Ends every run of the study, and gives the ledger back what they did not spend.

        Nothing is given back for a run that another ledger paid for.

        Returns
        -------
        list of LedgerEntry
            Those that stand in the place of what was set aside.
        """
        found = []
        with self._lock:
            for run in self._book.runs(self.agreement.digest, self.name):
                own = self._book.end(run)
                if own is None or own.entry is None or self._ledger is None:
                    continue
                if not own.is_paid_by(self._ledger):
                    continue
                way = self.agreement.way
                spent = GDP(own.budget(way.mu).spent, neighbours=way.neighbours)
                entry = settle(self._ledger, own.entry, spent)
                found += [] if entry is None else [entry]
        return found

    def _check(self, plan: Plan) -> int:
        """The size of the answer to a plan of this agreement; raises for other plans."""
        own = self.agreement
        expected = {
            "version": curvedp.__version__,
            "space": own.manifold.spec,
            "sites": len(own.roster),
            "dropouts": own.dropouts,
            "agreement": own.digest,
        }
        for name, value in expected.items():
            if getattr(plan, name) != value:
                raise SiteError(
                    f"the plan has another {name} than this site agreed on: give server and sites "
                    "the same agreement and version of curvedp"
                )
        size = own.check(plan.request)
        self._check_keys(plan.keys, self._keys.get(plan.run, plan.keys))
        noise = GaussianNoise(own.way.mu)
        if plan.bound != self._sums.bound(plan.request, noise, own.replaces, own.records_per_unit):
            raise SiteError("the plan has another bound on messages than this site agreed on")
        if (plan.round == 0) != (plan.previous == plan.total == ""):
            raise SiteError("the plan says of no plan or total before it")
        return size

    def _check_keys(self, keys: tuple[str, ...], before: tuple[str, ...]) -> None:
        """Refuses keys that are not of all sites, and others than in an earlier plan of the run."""
        count = len(self.agreement.roster) if self._mask is not None else 0
        if len(keys) != count or len(set(keys)) != count:
            raise SiteError("the plan has not one key of each site, as masks need, or has needless")
        if self._mask is None:
            return
        if keys[self._place] != self._mask.public.hex():
            raise SiteError(
                "the plan has another key of this site: one that was started anew cannot go on "
                "with masks, so begin a new run"
            )
        if keys != before:
            raise SiteError("the plan has other keys than an earlier one")
        if keys in self._masking:
            return
        try:  # with a context of its own: the plan's serves once
            self._mask.mask(self._peers(keys), "".join(keys).encode(), 1)
        except ValueError as error:
            raise SiteError(f"the plan has keys that give no mask: {error}") from None
        self._masking.add(keys)

    @property
    def _place(self) -> int:
        return self.agreement.roster.index(self.name)

    def _peers(self, keys: tuple[str, ...]) -> list[tuple[bytes, bool]]:
        """Keys of the other sites, and True where this one adds."""
        own = self._place
        return [(bytes.fromhex(key), own < at) for at, key in enumerate(keys) if at != own]

    def _check_run(self, plan: Plan, known: Run | None) -> None:
        """Refuses rounds that were answered, another past, and more than the guarantee."""
        mu = self.agreement.way.mu
        if known is None:
            known = Run(plan.agreement, self.name, None, "", False, ())
        if (known.agreement, known.site) != (plan.agreement, self.name):
            raise SiteError("the state file has this run under another agreement or name")
        if known.rounds and self._ledger is not None and not known.is_paid_by(self._ledger):
            raise SiteError("this run was begun with another ledger, or none: give the site that")
        if known.is_over:
            raise SiteError("this run is over: a new one is paid anew")
        if known.rounds:
            last, digest, _ = known.rounds[-1]
            if plan.round <= last:
                raise SiteError("this round was answered, or is older than one that was")
            if plan.round == last + 1 and plan.previous != digest:
                raise SiteError("the plan before was another one than this site answered")
        if plan.request.share > known.budget(mu).rest:
            raise SiteError("the plan asks for more than is left of the agreement's guarantee")

    def _begun(self, plan: Plan) -> Run:
        """A run that was just paid for."""
        promised = self.agreement.call.promise(self.agreement.guarantee, self._seed)
        label = f"{self.agreement.statistic.title} of {plan.sites} sites"
        entry = pay(self._ledger, promised, label)
        number = None if entry is None else entry.number
        paid = "" if entry is None else entry.time.isoformat()
        return Run(plan.agreement, self.name, number, paid, False, ())

    def _stream(self, number: int) -> _core.Stream:
        """Randomness of one round."""
        if self._seed is None:
            return _core.Stream.from_os()
        key = hashlib.sha256(f"{self._seed} {self.name}".encode()).digest()
        return _core.Stream.from_key(key, number)
