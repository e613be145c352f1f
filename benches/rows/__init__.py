"""Rows of the side-by-side table. Importing a module registers its rows."""

from harness import Registry

ROWS = Registry()
