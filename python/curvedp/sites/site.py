"""A site: it checks a plan, pays, writes the round down, and answers with its noisy sum."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Mapping
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

import curvedp
from curvedp import _core
from curvedp._validation import as_count, as_positive
from curvedp.errors import SiteError
from curvedp.privacy import GDP, Ledger
from curvedp.privacy.payment import charged, pay, settle
from curvedp.privacy.steps import Noted, Step
from curvedp.privacy.store import LedgerEntry
from curvedp.sites.agreement import Agreement
from curvedp.sites.book import Book, Run, budget_of
from curvedp.sites.wire import RUN, Answer, Plan
from curvedp.statistics.grouping import Grouping, GroupsLike
from curvedp.sums.noise import GaussianNoise
from curvedp.sums.records import RecordSums

#: mu that is charged for a run of which nothing was answered.
_LEAST = 1e-9


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
        Of these records. The whole guarantee is set aside before the first answer of a run, and
        each round is noted before it is answered; `finish` gives back what was not spent. With a
        file an older copy of the state is known as one.
    state : path, optional
        File in which rounds are noted before they are answered, so that no restart answers one
        twice, and in which the secret of masks lies until `finish`. Without it the site serves one
        process.
    units : array-like, shape (n,), optional
        Label of the person to whom each record belongs, if the agreement says ``by_name``.
    groups : None
        Sites serve no groups: make one study of each public key, see docs/consortium.md.
    keys : mapping of str to bytes, optional
        Keys of other sites as they sent them by a channel that is not the server's: a plan with
        another key of theirs is refused. Without it the server is believed.
    clear : float, optional
        The largest mu against one who sees this site's answers without masks, of all runs of the
        agreement together: a round that would pass it is refused. A run may take `agreement.alone`.
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
        groups: None = None,
        keys: Mapping[str, bytes] | None = None,
        clear: float | None = None,
        seed: int | None = None,
    ) -> None:
        if name not in agreement.roster:
            raise ValueError("name must be one of the agreement's roster")
        if agreement.masks and clear is not None:
            raise ValueError("clear is of answers without masks, and the agreement has masks")
        if clear is not None:
            as_positive(clear, "clear")
        told = {own: key.hex() for own, key in (keys or {}).items()}
        if told and not (agreement.masks and set(told) <= set(agreement.roster)):
            raise ValueError("keys are those of sites of the roster, with masks alone")
        if groups is not None:
            raise ValueError(
                "sites serve no groups: make one study of each public key, Agreement(study=key), "
                "of that group's records and with a ledger of its own at each site"
            )
        if (units is not None) != agreement.by_name:
            raise ValueError("give units where the agreement says by_name, and only there")
        if seed is not None:
            as_count(seed, "seed", least=0, most=2**63 - 1)
        self.agreement, self.name = agreement, name
        self._ledger, self._seed, self._told, self._clear = ledger, seed, told, clear
        data = agreement.manifold.read_records(records, least=0)
        wanted = agreement.memory(len(data))
        agreement.call.ask_for_memory(wanted, 0, by_unit=units is not None)
        grouping, ends = Grouping.of(None, len(data)), None
        if units is not None:
            arrange = grouping.by_unit if agreement.replaces else grouping.by_protected_unit
            grouping, ends = arrange(units, 1)
        self._sums = RecordSums(agreement.manifold, grouping.arranged(data), ends)
        self._book = Book(state)
        #: The pair of the secret that the book had last, and keys known to give masks with it.
        self._pair: tuple[bytes, _core.MaskKey] | None = None
        self._masking: set[tuple[str, ...]] = set()
        self._lock = threading.Lock()

    @property
    def key(self) -> bytes:
        """The public key of this site, which the server gives to all, if the study has masks.

        It stays the same until `finish`, after restarts too if the site has a state file.
        """
        if not self.agreement.masks:
            raise ValueError("the agreement is without masks: there are no keys")
        with self._lock:
            return self._mask_key().public

    def _mask_key(self) -> _core.MaskKey:
        """The pair of the state file's secret, which notes what it served before it is used."""
        secret = self._book.secret(self.agreement.digest, self.name)
        if self._pair is None or self._pair[0] != secret:
            self._pair = secret, _core.MaskKey(secret)
            self._masking.clear()
        return self._pair[1]

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
            mask = self._checked_mask(asked.keys, known)
            begun = known or self._begun(asked)
            with charged(self._ledger, "the ledger keeps it for the later rounds of this run"):
                last = Step(asked.round, asked.digest, asked.request.share)
                self._note(asked.run, begun.rounds, last_is_new=False)  # if one was killed
                self._book.note(asked.run, known, begun, last, self._most)
                self._note(asked.run, (*begun.rounds, last), last_is_new=True)
                noisy = self._sums.share_of_noisy(
                    asked.request,
                    self._stream(asked.round),
                    replaces=self.agreement.replaces,
                    changed=self.agreement.records_per_unit,
                    shares=self.agreement.shares,
                )
                entries = noisy.view(np.uint64)
                if mask is not None:  # the context has run and round, which were just noted
                    peers, context = self._peers(asked.keys), bytes.fromhex(asked.digest)
                    entries = entries + mask.mask(peers, context, size)
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

        The secret of this site's masks is removed: the next run has another key. Nothing is given
        back for a run that another ledger paid for, nor for a round that the state file alone has.

        Returns
        -------
        list of LedgerEntry
            Those that stand in the place of what was set aside.
        """
        found = []
        with self._lock:
            self._book.forget(self.agreement.digest, self.name)
            for run in self._book.runs(self.agreement.digest, self.name):
                self._book.end(run)
            for run, own in self._noted().items():
                if self._ledger is None or own.is_over:
                    continue
                way, known = self.agreement.way, self._book.run(run)
                rounds = {*own.steps, *(known.rounds if known else ())}  # of older copies of either
                spent = max(budget_of(way.mu, rounds).spent, _LEAST)
                entry = settle(
                    self._ledger, own.entry, GDP(spent, neighbours=way.neighbours), len(own.steps)
                )
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
        noise = GaussianNoise(own.way.mu)
        if plan.bound != self._sums.bound(plan.request, noise, own.replaces, own.records_per_unit):
            raise SiteError("the plan has another bound on messages than this site agreed on")
        if (plan.round == 0) != (plan.previous == plan.total == ""):
            raise SiteError("the plan says of no plan or total before it")
        return size

    def _checked_mask(self, keys: tuple[str, ...], known: Run | None) -> _core.MaskKey | None:
        """The pair for masks; raises for keys that are not of all sites, or not as before."""
        roster = self.agreement.roster if self.agreement.masks else ()
        if len(keys) != len(roster) or len(set(keys)) != len(roster):
            raise SiteError("the plan has not one key of each site, as masks need, or has needless")
        if not roster:
            return None
        mask = self._mask_key()
        if keys[self._place] != mask.public.hex():
            raise SiteError(
                "the plan has another key of this site, which keeps one in its state file until a "
                "study is finished: begin a new run"
            )
        for name, key in zip(roster, keys, strict=True):
            if self._told.get(name, key) != key:
                raise SiteError(f"the plan has another key of {name} than this site was given")
        if known is not None and known.keys != _digest(keys):
            raise SiteError("the plan has other keys than an earlier one")
        if keys not in self._masking:
            try:  # with a context of its own: the plan's serves once
                mask.mask(self._peers(keys), "".join(keys).encode(), 1)
            except ValueError as error:
                raise SiteError(f"the plan has keys that give no mask: {error}") from None
            self._masking.add(keys)
        return mask

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
            known = self._new(plan)
        if (known.agreement, known.site) != (plan.agreement, self.name):
            raise SiteError("the state file has this run under another agreement or name")
        if self._ledger is not None:
            known.check_noted(self._noted().get(plan.run))
        elif known.is_paid:
            raise SiteError("this run was begun with a ledger: give the site that")
        if known.is_over:
            raise SiteError("this run is over: a new one is paid anew")
        if known.rounds:
            last, digest, _ = known.rounds[-1]
            if plan.round <= last:
                raise SiteError("this round was answered, or is older than one that was")
            if plan.round == last + 1 and plan.previous != digest:
                raise SiteError("the plan before was another one than this site answered")
        if plan.request.share > budget_of(mu, known.rounds).rest:
            raise SiteError("the plan asks for more than is left of the agreement's guarantee")
        self._book.check_spent(plan.agreement, self.name, plan.request.share, self._most)

    @property
    def _most(self) -> Fraction | None:
        """Most that squares of shares may add up to over all runs of the book, for `clear`."""
        if self._clear is None:
            return None
        most = Fraction(self._clear) ** 2 / self.agreement.shares
        for run, noted in self._noted().items():  # what an older copy of the book lacks
            known = self._book.run(run)
            lacking = noted.steps[0 if known is None else len(known.rounds) :]
            most -= sum(Fraction(own.share) ** 2 for own in lacking)
        return most

    def _new(self, plan: Plan) -> Run:
        """A run of which nothing was answered."""
        is_paid, keys = self._ledger is not None, _digest(plan.keys)
        return Run(plan.agreement, self.name, is_paid, keys, False, ())

    def _begun(self, plan: Plan) -> Run:
        """A run that was just paid for, or by a process that was killed before it was noted."""
        promised = self.agreement.call.promise(self.agreement.guarantee, self._seed)
        label = f"{self.agreement.statistic.title} of {plan.sites} sites"
        pay(self._ledger, promised, label, self._search(plan.run))
        return self._new(plan)

    def _search(self, run: str) -> str:
        """The name of a run in the ledger, which may have those of other studies and sites."""
        return f"{self.agreement.digest} {self.name} {run}"

    def _noted(self) -> dict[str, Noted]:
        """Runs of this study and site as the ledger knows them."""
        start, whole = self._search(""), {} if self._ledger is None else self._ledger.searches
        own = {name[len(start) :]: noted for name, noted in whole.items() if name.startswith(start)}
        return {run: noted for run, noted in own.items() if len(run) == RUN}

    def _note(self, run: str, rounds: tuple[Step, ...], *, last_is_new: bool) -> None:
        """Notes in the ledger the rounds that it lacks, among them the last if that is new.

        Raises
        ------
        SiteError
            If it has others, of a process with another copy of the state.
        """
        if self._ledger is None:
            return
        count = min(len(self._noted()[run].steps), len(rounds) - last_is_new)
        if not self._ledger.note(self._search(run), rounds[:count], rounds[count:]):
            raise SiteError(
                "another process of this site answers the same run, or ended it: one answer "
                "leaves, and this one is none"
            )

    def _stream(self, number: int) -> _core.Stream:
        """Randomness of one round."""
        if self._seed is None:
            return _core.Stream.from_os()
        key = hashlib.sha256(f"{self._seed} {self.name}".encode()).digest()
        return _core.Stream.from_key(key, number)


def _digest(keys: tuple[str, ...]) -> str:
    """SHA-256 of the keys of all sites; empty without masks."""
    return hashlib.sha256("".join(keys).encode()).hexdigest() if keys else ""
