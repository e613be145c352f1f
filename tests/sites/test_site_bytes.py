"""Messages of studies: one way to write each, and no other bytes are read."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curvedp.errors import SiteError
from curvedp.sites import ServerMean, SiteMean
from curvedp.sites.wire import Answer, Plan
from site_cases import normal, sites_of, study

NORTH = np.tile([0.0, 0.0, 1.0], (30, 1))
RUN = "0123456789abcdef" * 2


def _messages() -> dict[str, list[bytes]]:
    """Plans and answers of all kinds."""
    found: dict[str, list[bytes]] = {"plan": [], "answer": []}
    for space in ("sphere:2", "spd:2"):
        own = study(3, 1, space)
        server, sites = ServerMean(own, run=RUN), sites_of(own, normal(space, 900), seed=1)
        step: Any = server.plan()
        while isinstance(step, bytes):
            answers = [site.answer(step) for site in sites]
            found["plan"].append(step)
            found["answer"] += answers
            step = server.feed(answers)
    return found


MESSAGES = _messages()


def test_messages_are_what_their_content_is_written_as() -> None:
    for plan in MESSAGES["plan"]:
        assert Plan.from_bytes(plan).to_bytes() == plan
    for answer in MESSAGES["answer"]:
        assert Answer.from_bytes(answer).to_bytes() == answer
        with pytest.raises(SiteError, match="no plan"):
            Plan.from_bytes(answer)
    kinds = {Plan.from_bytes(plan).request.kind for plan in MESSAGES["plan"]}
    assert kinds == {"start", "scale", "tail", "round"}


def test_messages_are_small() -> None:
    assert max(map(len, MESSAGES["plan"])) < 800
    assert max(map(len, MESSAGES["answer"])) < 300 + 8 * 277


def _damaged(draw: Any, message: bytes) -> bytes:
    """A message with bytes changed, cut out, put in, or with another value of a header."""
    how = draw(st.sampled_from(["bytes", "cut", "more", "header", "spaces"]))
    at = draw(st.integers(0, len(message) - 1))
    if how == "bytes":
        changed = bytearray(message)
        changed[at] ^= draw(st.integers(1, 255))
        return bytes(changed)
    if how == "cut":
        return message[:at] + message[at + draw(st.integers(1, 40)) :]
    if how == "more":
        return message[:at] + draw(st.binary(min_size=1, max_size=20)) + message[at:]
    first, line, payload = message.split(b"\n", 2)
    header = json.loads(line)
    if how == "spaces":
        return b"\n".join([first, json.dumps(header, sort_keys=True).encode(), payload])
    leaf = (
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9)
        | st.sampled_from(["0x1p+2000", "nan", "inf", "-0x1p0", "0x1p-1074", "1e400", "\ud800"])
    )  # fmt: skip
    value = draw(st.recursive(leaf, lambda own: st.lists(own, max_size=2), max_leaves=4))
    name = draw(st.sampled_from([*header, "more"]))
    if header.get(name) == value and type(header.get(name)) is type(value):
        header["more"] = 1
    header[name] = value
    text = json.dumps(header, sort_keys=True, separators=(",", ":"))
    return b"\n".join([first, text.encode(), payload])


@st.composite
def _damaged_messages(draw: Any, what: str) -> bytes:
    return _damaged(draw, draw(st.sampled_from(MESSAGES[what])))


SITE = SiteMean(NORTH, study(3, 1), "site 0", seed=0)


@given(_damaged_messages("plan") | st.binary(max_size=200))
@settings(max_examples=300, deadline=None)
def test_damaged_plans_are_refused_with_one_error_or_are_other_plans(message: bytes) -> None:
    """A plan may have any point and level, and any share that is left: it is answered once."""
    try:
        answer = SITE.answer(message)
    except SiteError:
        return
    own = Plan.from_bytes(message)
    assert own.agreement == SITE.agreement.digest
    assert Answer.from_bytes(answer).plan == own.digest
    known = SITE._book.run(own.run)
    assert sum(Fraction(share) ** 2 for *_, share in known.rounds) <= 4
    with pytest.raises(SiteError):
        SITE.answer(message)


@given(st.lists(_damaged_messages("answer") | st.binary(max_size=200), max_size=4))
@settings(max_examples=200, deadline=None)
def test_no_damaged_answer_stops_the_server(messages: list[bytes]) -> None:
    server = ServerMean(study(3, 2), run=RUN)
    step = server.feed(messages)
    assert isinstance(step, bytes)


@pytest.mark.parametrize("given", [None, "text", bytearray(b"curvedp sites 1\n"), 3])
def test_messages_are_bytes(given: Any) -> None:
    with pytest.raises(TypeError, match="bytes"):
        SITE.answer(given)


def test_long_and_deep_messages_are_refused() -> None:
    for message in (
        b"curvedp sites 1\n" + b"[" * 100_000 + b"\n",
        b"curvedp sites 1\n" + b"9" * 100_000 + b"\n",
        b"curvedp sites 1\n" + b" " * 2**21,
        b"curvedp sites 1\n{}",
        b"curvedp sites 1\n{}\n",
        b"curvedp sites 2\n{}\n",
    ):
        with pytest.raises(SiteError):
            Plan.from_bytes(message)
