"""Privacy audit: does a mechanism keep what it claims?

An audit draws fresh outputs at two neighbouring data sets, counts events and computes from the
counts a lower bound on the privacy parameter that holds with stated confidence. A bound above the
claim refutes it.
"""

from curvedp.audit.likelihood_ratio import Auditable, likelihood_ratio_audit
from curvedp.audit.low_bits import low_bits
from curvedp.audit.release_function import audit_release_function
from curvedp.audit.result import AuditResult, Event
from curvedp.audit.samples import audit_samples

__all__ = [
    "AuditResult",
    "Auditable",
    "Event",
    "audit_release_function",
    "audit_samples",
    "likelihood_ratio_audit",
    "low_bits",
]


def __dir__() -> list[str]:
    return sorted(__all__)
