"""Guarantees, their conversions and composition, releases, and the ledger that spends a budget."""

from curvedp.privacy.accounting import compose_mixed, to_dp_event
from curvedp.privacy.assumptions import ASSUMPTIONS
from curvedp.privacy.coverage import Coverage, GroupCoverage
from curvedp.privacy.guarantees import (
    GDP,
    ZCDP,
    ApproxDP,
    Guarantee,
    Neighbours,
    PureDP,
    Unproved,
    compose,
)
from curvedp.privacy.l2_noise import L2Noise
from curvedp.privacy.ledger import Ledger, LedgerEntry
from curvedp.privacy.provenance import Payment, Provenance
from curvedp.privacy.record_count import RecordCount
from curvedp.privacy.release import Release
from curvedp.privacy.secret import NoiseSecret
from curvedp.privacy.statement import Statement

__all__ = [
    "ASSUMPTIONS",
    "GDP",
    "ZCDP",
    "ApproxDP",
    "Coverage",
    "GroupCoverage",
    "Guarantee",
    "L2Noise",
    "Ledger",
    "LedgerEntry",
    "Neighbours",
    "NoiseSecret",
    "Payment",
    "Provenance",
    "PureDP",
    "RecordCount",
    "Release",
    "Statement",
    "Unproved",
    "compose",
    "compose_mixed",
    "to_dp_event",
]


def __dir__() -> list[str]:
    return sorted(__all__)
