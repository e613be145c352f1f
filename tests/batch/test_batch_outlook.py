"""What a batch is said to take, against what it takes."""

from __future__ import annotations

from collections import Counter

import pytest

import batch_cases as cases
import curvedp as cdp
from batch_cases import check_parameters, release
from curvedp.batch.outlook import outlook_of


@pytest.mark.parametrize("word", cases.STATISTICS)
def test_every_statistic_has_an_outlook(word):
    asked, table = cases.asked(word), cases.table(120)
    parameters = check_parameters(**asked)
    found = release(table, **asked).table
    sizes = Counter(found["n"].to_pylist())
    told = outlook_of(parameters, sizes)
    assert 0.6 * found.nbytes < told.result < 1.7 * found.nbytes
    assert told.seconds > 0
    records = sum(n * count for n, count in sizes.items())
    assert told.memory > 8 * 3 * min(records, 1000)


def test_cost_grows_with_the_batch():
    """Ten times the groups make ten times the result in the memory of as many chunks."""
    parameters = check_parameters(statistic=cdp.Mean(), guarantee=cdp.GDP(5.0))
    one, ten = (outlook_of(parameters, Counter({20: count})) for count in (10**5, 10**6))
    assert ten.result == pytest.approx(10 * one.result)
    assert ten.memory == one.memory
    small = outlook_of(parameters, Counter({20: 10**5}), chunk_rows=1000)
    assert small.memory < 0.01 * one.memory
