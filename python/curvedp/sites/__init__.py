"""One mean of the records of many sites, which no record leaves.

    server: plan -> sites: sums of messages, each with its share of the noise
            -> server: total -> next plan, until there is a release

Server and sites are state machines over bytes: whatever carries the bytes carries the study. Any
J - f of J sites carry the whole noise together. Proof: docs/proofs/sums-of-messages.md.
"""

from curvedp.sites.agreement import Agreement
from curvedp.sites.release import SitesMeanRelease
from curvedp.sites.server import ServerMean
from curvedp.sites.simulation import simulate
from curvedp.sites.site import SiteMean

__all__ = ["Agreement", "ServerMean", "SiteMean", "SitesMeanRelease", "simulate"]


def __dir__() -> list[str]:
    return sorted(__all__)
