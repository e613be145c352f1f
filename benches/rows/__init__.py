"""Rows of the side-by-side table. Importing a module registers its rows."""

from importlib import import_module

from harness import Registry

ROWS = Registry()

#: Tables in the order of the page, by module, with the number of threads that their targets assume.
TABLES = {
    "maps": 1,
    "means": 1,
    "samplers": 1,
    "chains": 1,
    "region": 1,
    "regression": 1,
    "neighbours": 1,
    "conformal": 1,
    "mail": 1,
    "descriptors": 1,
    "groups": 2,
    "solve": 2,
}


def load() -> Registry:
    """The registry with the rows of all tables."""
    for name in TABLES:
        import_module(f"rows.{name}")
    return ROWS
