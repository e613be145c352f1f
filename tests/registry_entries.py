"""Entries of releases in a registry, as tests make and check them."""

from __future__ import annotations

import json

from curvedp.privacy import registry

#: What a registry asks for besides.
PRODUCT = {
    "name": "Mean direction",
    "data_curator": "A laboratory",
    "curator_type": "Nonprofit",
    "description": "Of 300 records",
    "intended_use": "Research",
    "region": "Europe",
    "authors": ["A. Author"],
}


def check_entry(found):
    """The entry of what can be published has the registry's form, and the page its sections."""
    entry = found.to_registry(**PRODUCT)
    assert registry.problems(entry) == []
    assert json.loads(json.dumps(entry)) == entry
    page = found.document()
    assert page.count("\n## ") == 7
    assert found.statement.accuracy[1:] in page
    return entry["deployment"]
