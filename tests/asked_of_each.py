"""One test of many quick questions: as tests of their own they would take several times as long."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

Test = Callable[..., None]


def asked_of_each(name: str, values: Iterable[Any]) -> Callable[[Test], Test]:
    """Calls the test with each value of a parameter; the first that fails is named."""
    values = list(values)

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def asked(**given: Any) -> None:
            for value in values:
                try:
                    test(**given, **{name: value})
                except BaseException as error:
                    error.add_note(f"{name} = {value!r}")
                    raise

        signature = inspect.signature(test)
        others = [own for own in signature.parameters.values() if own.name != name]
        asked.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        del asked.__wrapped__  # whose parameters pytest would look for
        return asked

    return decorate
