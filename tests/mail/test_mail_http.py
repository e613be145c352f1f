"""The documented example of the two roles over HTTP runs on the loopback interface."""

from __future__ import annotations

import importlib.util
import json
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pytest

import curvedp as cdp
from curvedp.mail import Client, PrivateMail, Server, retrieval_score

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "private_retrieval_http.py"


@pytest.fixture(scope="module")
def example():
    if not EXAMPLE.exists():
        pytest.skip("the documentation is not beside the tests")
    spec = importlib.util.spec_from_file_location("private_retrieval_http", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def listening(example):
    anchors, anchor_labels = example.features(200, seed=1)
    images, image_labels = example.features(400, seed=2)
    embedding = PrivateMail(4)
    server = example.serve(Server(embedding, images, anchors, image_labels, anchor_labels))
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_the_example_runs(example, capsys):
    example.main()
    printed = capsys.readouterr().out
    assert printed.startswith("class of the query")
    assert len(printed.split("matches")[1].strip(" []\n").split()) == 8


def test_queries_over_http_find_their_class(example, listening):
    anchors, anchor_labels = example.features(200, seed=1)
    _, image_labels = example.features(400, seed=2)
    queries, wanted = example.features(40, seed=3)
    client = Client(PrivateMail(4, guarantee=cdp.PureDP(20.0)), anchors, anchor_labels)
    with pytest.raises(ValueError, match="the session is not open"):
        example.send(listening, client.ask(queries[0]))
    example.open_session(listening, client)
    found = [example.send(listening, client.ask(query)).matches for query in queries]
    assert retrieval_score(image_labels[np.array(found)], wanted).precision[8] > 0.9


def test_fifty_thousand_anchors_are_sent_once_and_queries_as_numbers_of_cells(example):
    anchors, anchor_labels = example.features(50_000, seed=1)
    images, image_labels = example.features(400, seed=2)
    queries, wanted = example.features(20, seed=3)
    mail = PrivateMail(16, guarantee=cdp.PureDP(20.0))
    client = Client(mail, anchors, anchor_labels, n_cells=5)
    server = example.serve(Server(mail, images, anchors, image_labels, anchor_labels))
    url = f"http://127.0.0.1:{server.server_port}"
    try:
        assert len(client.session.to_json()) < example.LARGEST_MESSAGE
        example.open_session(url, client)
        requests = [client.ask(query) for query in queries]
        found = [example.send(url, request).matches for request in requests]
    finally:
        server.shutdown()
        server.server_close()
    assert max(len(request.to_json()) for request in requests) < 250
    assert retrieval_score(image_labels[np.array(found)], wanted).precision[8] > 0.9


def test_a_message_that_is_too_large_gets_an_answer_and_no_broken_pipe(example, listening):
    with pytest.raises(ValueError, match=f"1 to {example.LARGEST_MESSAGE} bytes"):
        example.post(listening + "/session", " " * (example.LARGEST_MESSAGE + 1))


@pytest.mark.parametrize("path", ["/session", "/query"])
@pytest.mark.parametrize("body", [b"", b"{}", b"[1]", b"nonsense", b"\xff\xfe"])
def test_bad_requests_get_an_answer_and_the_server_goes_on(example, listening, body, path):
    message = urllib.request.Request(listening + path, body, method="POST")
    with pytest.raises(urllib.error.HTTPError) as error:
        urllib.request.urlopen(message, timeout=30)
    with error.value as response:
        assert response.code == 400
        assert "error" in json.loads(response.read())
