"""An entry for a public registry of deployments, as far as a release knows its fields.

The form is that of the deployments registry (Dwork, Kohli, Mulligan 2019, Differential privacy in
practice: expose your epsilons!; its schema at commit 057e5d8). Every sentence that is filled in
follows from the release.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from curvedp._text import rounded_up
from curvedp._validation import as_choice, as_probability
from curvedp.privacy.base import Guarantee, adds_or_removes
from curvedp.privacy.disclosure import Disclosure
from curvedp.privacy.guarantees import GDP, ZCDP, ApproxDP, PureDP, Unproved
from curvedp.privacy.provenance import Provenance

__all__ = ["CURATORS", "SECTORS", "entry", "problems"]

#: Words of the registry for kinds of publishers and for sectors.
CURATORS = ("Government", "Industry", "Nonprofit")
SECTORS = ("Technology", "Healthcare", "Education", "Government", "Energy", "Finance")
_MODELS = ("geodesic regression", "tangent logistic", "k-means")
_VARIANTS: dict[type[Guarantee], str] = {
    PureDP: "Pure DP",
    ApproxDP: "Approximate DP",
    ZCDP: "Zero-concentrated DP",
}
_DELTA = 1e-6
_STATED = "Not stated."
_MOVED = "added or removed"


@dataclass(frozen=True)
class Product:
    """A data product, as its publisher describes it.

    Attributes
    ----------
    name, data_curator, description, intended_use, region : str
    curator_type : str
        One of `CURATORS`.
    sector : str or None
        One of `SECTORS`.
    authors : tuple of str
        Of the entry.
    preparation : str
        What was done with the records before the release, and how parameters were chosen.
    justification : str
    """

    name: str
    data_curator: str
    curator_type: str
    description: str
    intended_use: str
    region: str
    sector: str | None
    authors: tuple[str, ...]
    preparation: str
    justification: str

    def __post_init__(self) -> None:
        for field in ("name", "data_curator", "description", "intended_use", "region"):
            text = getattr(self, field)
            if not isinstance(text, str) or not text.strip():
                raise ValueError(f"{field} must be a text: the registry requires it")
        as_choice(self.curator_type, CURATORS, "curator_type")
        if self.sector is not None:
            as_choice(self.sector, SECTORS, "sector")
        if not self.authors or not all(isinstance(own, str) and own for own in self.authors):
            raise ValueError("authors must be the names of those who write the entry")


def entry(told: Disclosure, product: Product, *, delta: float = _DELTA) -> dict[str, Any]:
    """The registry's entry for a release, of tier 3.

    Parameters
    ----------
    told : Disclosure
    product : Product
    delta : float
        At which the epsilon of a guarantee that has none is stated.

    Raises
    ------
    ValueError
        If nothing is proved about the release, or it does not say when it was made.
    """
    guarantee, made = told.guarantee, told.provenance
    if isinstance(guarantee, Unproved):
        raise ValueError("a release without a guarantee has no entry in a registry of guarantees")
    if made is None:
        raise ValueError("the release does not say when it was made: it has no provenance")
    as_probability(delta, "delta")
    return {
        "url_slug": re.sub(r"[^a-z0-9]+", "-", product.name.lower()).strip("-") or "entry",
        "deployment": {
            "basic": _basic(told, product, made),
            "dp_variant": {
                "variant_name": _VARIANTS.get(type(guarantee), "Custom"),
                "data_domain": (
                    f"Points of {_number(told)}{told.counted} on {told.manifold}. Their domain: "
                    f"{told.domain}."
                ),
                "unprotected_quantities": _unprotected(told),
            },
            "privacy_loss": _loss(told, guarantee, made, delta),
            "deployment_model": _model(told, made),
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": product.preparation or _STATED,
                "mechanisms": _mechanisms(told, made),
                "composition": _composition(told),
                "post_processing": "None that touches the records again.",
                "justification": product.justification or _STATED,
                "utility": told.statement.accuracy,
            },
            "administrative": {
                "status": "Draft",
                "registry_authors": list(product.authors),
                "tier": 3,
            },
        },
    }


def _basic(told: Disclosure, product: Product, made: Provenance) -> dict[str, Any]:
    """Product and publisher."""
    is_model = bool(told.model) or told.statistic.startswith(_MODELS)
    sector = {} if product.sector is None else {"data_product_sector": product.sector}
    return {
        "name": product.name,
        "data_curators": [
            {
                "data_curator_name": product.data_curator,
                "data_curator_type": product.curator_type,
            }
        ],
        "description": product.description,
        "intended_use": product.intended_use,
        "data_product_type": "Machine learning model" if is_model else "Summary statistics",
        "data_product_region": product.region,
        **sector,
        "publication_date": made.day,
    }


def _loss(told: Disclosure, guarantee: Guarantee, made: Provenance, delta: float) -> dict[str, Any]:
    """Unit and parameters; of a kind without a word of its own the whole privacy relation."""
    unit = made.unit or ("person" if told.units_by_name else "record")
    details = told.statement.cost
    if isinstance(guarantee, GDP):
        mu = rounded_up(guarantee.mu)
        metric = (
            "the number of replaced units, their number being public"
            if guarantee.neighbours == "replace"
            else "the number of added and removed units"
        )
        details = (
            f"Gaussian differential privacy. Input metric: {metric}; bound: 1. Output measure: "
            f"the trade-off curve of tests; bound: that of N(0, 1) and N({mu}, 1). {details}"
        )
    is_public = guarantee.neighbours == "replace"
    is_public &= told.records_per_unit == told.groups_per_unit == 1
    counted = {"number_of_privacy_units": told.n} if is_public else {}
    return {
        "privacy_unit": f"{unit}-level",
        "privacy_unit_details": _unit(told),
        **counted,
        "privacy_parameters": _parameters(guarantee, delta),
        "privacy_parameters_details": details,
    }


def _model(told: Disclosure, made: Provenance) -> dict[str, str]:
    """Trust, and how often something is released."""
    later = _later(made)
    if told.is_local:
        name, trust = (
            "Local",
            "Nobody is trusted: noise is added before the record leaves its owner.",
        )
        actors = "The owner of the record, and everybody who sees the release."
    elif "shares-of-noise" in told.assumptions:
        name, trust = (
            "Federated",
            "Records stay at their sites, of which enough are trusted to add their shares of the "
            "noise; the server is trusted to look at totals alone.",
        )
        actors = "The sites, each with its records; the server; everybody who sees the release."
        later = "Later releases from a site's records are charged to that site's own ledger."
    else:
        name, trust = "Central", "The curator is trusted; who sees the release is not."
        actors = "The curator, who sees the records; everybody who sees the release."
    return {
        "model_name": name,
        "trust_assumptions": trust,
        "actors": actors,
        "release_type": "Many releases" if told.groups else "One release",
        "release_type_details": later,
        "data_source_type": "Static",
        "access_type": "Non-interactive",
    }


def _number(told: Disclosure) -> str:
    """The number of records or units before their name, where it is public."""
    return f"{told.n} " if told.guarantee.neighbours == "replace" else ""


def _unprotected(told: Disclosure) -> str:
    """Quantities that are public."""
    groups = "; which unit is in which group" if "public-groups" in told.assumptions else ""
    by_replacing = told.guarantee.neighbours == "replace"
    n = f"The number of {told.counted}, {told.n}{groups}; the" if by_replacing else "The"
    return (
        f"{n} domain and all parameters, which were known or chosen without a look at the records."
    )


def _unit(told: Disclosure) -> str:
    """Adjacent data sets."""
    if told.is_local:
        return "Any two records are adjacent."
    by_replacing = told.guarantee.neighbours == "replace"
    if told.units_by_name:
        done = "replaced by any others; the number of units stays" if by_replacing else _MOVED
        return f"All records of one unit are {done}."
    k = told.records_per_unit
    which = "One record is" if k == 1 else f"At most {k} records, those of one unit, are"
    return f"{which} {'replaced; the number of records stays' if by_replacing else _MOVED}."


def _parameters(guarantee: Guarantee, delta: float) -> dict[str, float]:
    """Numbers that the registry knows."""
    match guarantee:
        case PureDP(epsilon):
            return {"epsilon": epsilon}
        case ApproxDP(epsilon, own):
            return {"epsilon": epsilon, "delta": own}
        case ZCDP(rho):
            return {"rho": rho, "epsilon": guarantee.to_epsilon(delta), "delta": delta}
    rho = guarantee.to_zcdp().rho
    return {"epsilon": guarantee.to_epsilon(delta), "delta": delta, "rho": rho}


def _later(made: Provenance) -> str:
    if made.payment is None:
        return "No ledger was asked: later releases from the records are not counted with this one."
    left = made.payment.remaining
    return (
        "Later releases from the records are charged to the same ledger, which refuses what its "
        f"budget of {made.payment.budget} does not cover; "
        f"{'nothing' if left is None else left.as_rest()} is left."
    )


def _composition(told: Disclosure) -> str:
    parts = ", ".join(told.stages)
    whole, verb = told.guarantee if told.each is None else told.each, "compose to"
    counts_all = told.count is not None and told.groups_per_unit > 1  # of all of a unit's groups
    if adds_or_removes(told.guarantee) or counts_all:  # where each holds the numbers of records
        verb = "are covered together by"
        whole = whole if told.count is None else told.guarantee
    found = f"The stages ({parts}) {verb} {whole}." if parts else told.alone
    if {"public-groups", "public-keys"} & told.assumptions:
        keys = "" if "public-groups" in told.assumptions else "their keys "
        found += (
            f" Groups are disjoint and {keys}public: for a unit in one of them the releases of all "
            "compose in parallel, for a unit in several those of its groups add up."
        )
    if told.groups:
        found += (
            f" A unit is in at most {told.groups_per_unit} of {told.groups} groups, so that all "
            f"releases promise {told.guarantee}."
        )
    return found


def _mechanisms(told: Disclosure, made: Provenance) -> str:
    """Mechanism, library, and measures against what leaks beside the value."""
    time = (
        "the answer was given at a public time"
        if made.steady
        else "none: the time of the computation must not be seen"
    )
    return "\n".join(
        [
            *(f"- Mechanism: {noise}." for noise in told.noise),
            f"- Library: curvedp {made.version}.",
            f"- Floating point: noise was {told.drawing}.",
            f"- Timing: {time}.",
            "- Platform: errors and warnings depend on shapes, parameters and released numbers "
            "alone.",
        ]
    )


#: Fields of the registry's form: for an object its fields, for a list what its items are, for
#: others their kind or their words.
_TEXT: tuple[str, ...] = ()
_FORM: dict[str, Any] = {
    "url_slug": _TEXT,
    "deployment": {
        "basic": {
            "name": _TEXT,
            "data_curators": [{"data_curator_name": _TEXT, "data_curator_type": CURATORS}],
            "description": _TEXT,
            "intended_use": _TEXT,
            "data_product_type": (
                "Summary statistics",
                "Machine learning model",
                "Dataset",
                "Synthetic data",
                "Interactive API",
                "SQL queries",
            ),
            "data_product_region": _TEXT,
            "data_product_sector?": SECTORS,
            "publication_date": _TEXT,
        },
        "dp_variant?": {
            "variant_name?": (*_VARIANTS.values(), "Renyi DP", "Custom"),
            "data_domain?": _TEXT,
            "unprotected_quantities?": _TEXT,
        },
        "privacy_loss?": {
            "privacy_unit?": _TEXT,
            "privacy_unit_details?": _TEXT,
            "number_of_privacy_units?": int,
            "privacy_parameters?": {"epsilon?": float, "delta?": float, "rho?": float},
            "privacy_parameters_details?": _TEXT,
        },
        "deployment_model?": {
            "model_name?": ("Local", "Central", "Shuffle", "Federated", "Varies"),
            "model_name_details?": _TEXT,
            "trust_assumptions?": _TEXT,
            "actors?": _TEXT,
            "release_type?": ("One release", "Many releases"),
            "release_type_details?": _TEXT,
            "data_source_type?": ("Static", "Dynamic"),
            "data_source_type_details?": _TEXT,
            "access_type?": ("Interactive", "Non-interactive"),
            "access_type_details?": _TEXT,
        },
        "implementation?": {
            "preprocessing_and_hyperparameter_tuning?": _TEXT,
            "mechanisms?": _TEXT,
            "composition?": _TEXT,
            "post_processing?": _TEXT,
            "justification?": _TEXT,
            "utility?": _TEXT,
            "additional_information?": _TEXT,
        },
        "administrative": {
            "evidence_sources?": dict,
            "status": ("Draft",),
            "registry_authors": [_TEXT],
            "tier": int,
        },
    },
}


def problems(found: Any, form: Any = None, place: str = "") -> list[str]:
    """Places at which an entry has not the registry's form; none if it has.

    Parameters
    ----------
    found : dict
        An entry.
    """
    form = _FORM if form is None else form
    if isinstance(form, Mapping):
        if not isinstance(found, Mapping):
            return [f"{place}: no object"]
        names = {name.rstrip("?"): own for name, own in form.items()}
        needed = [name for name in form if not name.endswith("?")]
        wrong = [f"{place}/{name}: missing" for name in needed if name not in found]
        wrong += [f"{place}/{name}: unknown" for name in found if name not in names]
        inside = (name for name in found if name in names)
        return wrong + [
            told
            for name in inside
            for told in problems(found[name], names[name], f"{place}/{name}")
        ]
    if isinstance(form, list):
        if not isinstance(found, list) or not found:
            return [f"{place}: no list with an item"]
        return [
            told
            for at, item in enumerate(found)
            for told in problems(item, form[0], f"{place}/{at}")
        ]
    if isinstance(form, tuple):
        if not isinstance(found, str) or not found.strip():
            return [f"{place}: no text"]
        if form and found not in form:
            return [f"{place}: {found!r} is none of {list(form)}"]
        if place.endswith("_date") and not re.fullmatch(r"\d{4}-\d\d-\d\d", found):
            return [f"{place}: no date"]
        return []
    if form is float:
        return [] if type(found) in (int, float) else [f"{place}: no number"]
    return [] if type(found) is form else [f"{place}: no {form.__name__}"]
