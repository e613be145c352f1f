"""The table of inputs in docs/measured/inputs.md is that of the tests."""

from __future__ import annotations

from input_table import PAGE, cases_of, rewritten


def test_the_page_has_the_table_of_all_inputs():
    assert len(cases_of()) > 60
    assert len(set(cases_of())) == len(cases_of())
    assert PAGE.read_text(encoding="utf-8") == rewritten(), "run python tests/input_table.py"
