"""Retrieval by two roles: sessions, requests and replies."""

from __future__ import annotations

import json

import numpy as np
import pytest

import curvedp as cdp
from curvedp.mail import Client, PrivateMail, Reply, Request, Server, Session, retrieval_score
from curvedp.mail import roles as mail_roles
from mail_cases import blobs


def mail(epsilon=4.0):
    return PrivateMail(3, guarantee=cdp.PureDP(epsilon))


def parties(m_server=6, method="cell"):
    rows, labels = blobs(500, 6)
    public, images, queries = slice(0, 150), slice(150, 400), slice(400, 500)
    # the server's model: other features of the same images
    turn = np.linalg.qr(np.random.default_rng(5).standard_normal((m_server, m_server)))[0][:, :6]
    other = rows @ turn.T
    client = Client(mail(8.0), rows[public], labels[public], method=method)
    server = Server(mail(), other[images], other[public], labels[images], labels[public])
    server.open(Session.from_json(client.session.to_json()))
    return client, server, rows[queries], labels[queries], labels[images]


def answers(client, server, queries):
    found = []
    for query in queries:
        request = Request.from_json(client.ask(query, n_matches=8).to_json())
        found.append(Reply.from_json(server.answer(request).to_json()).matches)
    return np.array(found)


@pytest.mark.parametrize("m_server", [6, 9])
def test_matches_have_the_querys_class_though_the_models_differ(m_server):
    client, server, queries, wanted, images = parties(m_server)
    score = retrieval_score(images[answers(client, server, queries[:60])], wanted[:60])
    # one query in 500 names another cell; nine of sixty do with probability 2e-14
    assert score.recall[1] > 0.85
    assert score.precision[8] > 0.85


def test_named_cells_are_answered_by_matches_of_each_in_turn():
    client, server, queries, wanted, images = parties(method="subset")
    found = images[answers(client, server, queries[:60])]
    # three of four classes, each of them once before one comes again
    assert all(len(set(row[:3])) == len(set(row)) == 3 for row in found)
    # named with probability 3 e^8/(3 e^8 + 1)
    assert retrieval_score(found, wanted[:60], ks=(3,)).recall[3] > 0.9


def test_a_noisy_place_is_answered_by_what_is_near_to_it():
    rows, labels = blobs(500, 6)
    public, images = slice(0, 150), slice(150, 400)
    exact = PrivateMail(3, bandwidth=0.3, alpha=0.0, guarantee=cdp.GDP(1e9))
    client = Client(exact, rows[public], method="noise")
    server = Server(exact, rows[images], rows[public])
    server.open(client.session)
    assert client.session.cells is None
    found = labels[images][answers(client, server, rows[400:460])]
    assert retrieval_score(found, labels[400:460]).precision[8] > 0.9


def test_messages_hold_what_is_public_or_released_and_no_more():
    client, server, queries, _, _ = parties()
    session = json.loads(client.session.to_json())
    assert set(session) == {"schema_version", "n_anchors", "anchors", "cells"}
    assert np.array(session["anchors"]).shape == (150, 3)
    assert len(session["cells"]) >= 4
    request = client.ask(queries[0], n_matches=3)
    data = json.loads(request.to_json())
    assert set(data) == {"schema_version", "session", "named", "place", "guarantee", "n_matches"}
    assert data["guarantee"] == {"kind": "PureDP", "epsilon": 8.0, "neighbours": "replace"}
    assert len(data["named"]) == 1
    assert len(request.to_json()) < 250
    assert {client.ask(query).session for query in queries[:4]} == {client.session.name}
    assert set(json.loads(server.answer(request).to_json())) == {"schema_version", "matches"}
    assert len(server.answer(request).matches) == 3


def test_a_client_keeps_to_the_guarantee_that_its_cells_were_made_for():
    rows, labels = blobs()
    estimator = mail(2.0)
    client = Client(estimator, rows, labels)
    estimator.set_params(guarantee=cdp.PureDP(20.0))
    request = client.ask(rows[0])
    assert request.guarantee == cdp.PureDP(2.0)
    assert max(request.named) < len(client.session.cells)


REQUESTS = [
    {"named": []},
    {"named": [1.5]},
    {"named": "1"},
    {"named": None},
    {"place": [1.0]},
    {"named": None, "place": [[1.0]]},
    {"named": None, "place": [float("nan")]},
    {"session": 3},
    {"guarantee": 3},
    {"guarantee": {"kind": "Other"}},
    {"guarantee": {"kind": "GDP", "mu": "1", "neighbours": "replace"}},
    {"n_matches": 0},
    {"n_matches": "8"},
    {"schema_version": 2},
    {"features": [1.0]},
]
SESSIONS = [
    {"anchors": [[1.0, "x"]]},
    {"anchors": []},
    {"anchors": [[1.0, 2.0, 3.0], [1.0]]},
    {"cells": [[1.0, 2.0]]},
    {"cells": [[1.0, 2.0, float("inf")]]},
    {"n_anchors": 149},
    {"n_anchors": "150"},
]


def _refused(kind, text):
    with pytest.raises(ValueError, match=r".+"):
        kind.from_json(text)


@pytest.mark.parametrize("change", REQUESTS)
def test_malformed_requests_are_refused(change):
    client, _, queries, _, _ = parties()
    data = json.loads(client.ask(queries[0]).to_json())
    Request.from_json(json.dumps(data))
    _refused(Request, json.dumps({**data, **change}))


@pytest.mark.parametrize("change", SESSIONS)
def test_malformed_sessions_are_refused(change):
    client = parties()[0]
    data = json.loads(client.session.to_json())
    assert Session.from_json(json.dumps(data)).name == client.session.name
    _refused(Session, json.dumps({**data, **change}))


@pytest.mark.parametrize("kind", [Session, Request, Reply])
def test_texts_that_are_no_message_are_refused(kind):
    for text in ("[]", "{}", "nonsense", "[" * 100_000):
        _refused(kind, text)


def test_a_server_refuses_other_anchors_unknown_sessions_and_too_many_matches():
    client, server, queries, _, _ = parties()
    own, request = client.session, client.ask(queries[0])
    for wrong in (
        Session(149, own.anchors[:-1], own.cells),
        Session(151, own.anchors, own.cells),
        Session(150, own.anchors[:, :2], own.cells[:, :2]),
    ):
        with pytest.raises(ValueError, match="same anchors"):
            server.open(wrong)
    for wrong in (
        Session(150, own.anchors * 1e200, own.cells),
        Session(150, own.anchors, own.cells * 1e308),
    ):
        with np.errstate(over="ignore"), pytest.raises(ValueError, match="must lie within"):
            server.open(wrong)
    cases = (
        (("other", request.named, None), 3, "not open"),
        ((own.name, (len(own.cells),), None), 3, "cells that its session does not have"),
        ((own.name, (-1,), None), 3, "cells that its session does not have"),
        ((own.name, (0,) * 1000, None), 3, "names a cell twice"),
        ((own.name, None, np.zeros(2)), 3, "as many entries"),
        ((own.name, request.named, None), 251, "n_matches"),
    )
    for query, wanted, words in cases:
        with pytest.raises(ValueError, match=words):
            server.answer(Request(*query, request.guarantee, wanted))


def test_a_server_forgets_the_oldest_of_too_many_sessions(monkeypatch):
    monkeypatch.setattr(mail_roles, "_MOST_SESSIONS", 3)
    client, server, _, _, _ = parties()
    own = client.session
    others = [Session(150, own.anchors + shift, own.cells) for shift in (1.0, 2.0, 3.0)]
    for session in others[:2]:
        server.open(session)
    assert server.is_open(own.name)
    server.open(others[2])
    assert not server.is_open(own.name)
    assert all(server.is_open(session.name) for session in others)
