"""The documented example of the two roles over HTTP runs on the loopback interface.

Hostile clients take no more of the server than it grants each: attacks with controls that succeed.
"""

from __future__ import annotations

import contextlib
import functools
import http.client
import importlib.util
import json
import socket
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pytest

import curvedp as cdp
from asked_of_each import asked_of_each
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
        assert len(client.session.to_json()) < example.LARGEST["/session"]
        example.open_session(url, client)
        requests = [client.ask(query) for query in queries]
        found = [example.send(url, request).matches for request in requests]
    finally:
        server.shutdown()
        server.server_close()
    assert max(len(request.to_json()) for request in requests) < 250
    assert retrieval_score(image_labels[np.array(found)], wanted).precision[8] > 0.9


def test_a_message_that_is_too_large_gets_an_answer_and_no_broken_pipe(example, listening):
    for path, most in example.LARGEST.items():
        with pytest.raises(ValueError, match=f"1 to {most} bytes"):
            example.post(listening + path, " " * (most + 1))


@pytest.mark.parametrize("path", ["/session", "/query"])
@pytest.mark.parametrize("body", [b"", b"{}", b"[1]", b"nonsense", b"\xff\xfe"])
def test_bad_requests_get_an_answer_and_the_server_goes_on(example, listening, body, path):
    message = urllib.request.Request(listening + path, body, method="POST")
    with pytest.raises(urllib.error.HTTPError) as error:
        urllib.request.urlopen(message, timeout=30)
    with error.value as response:
        assert response.code == 400
        assert "error" in json.loads(response.read())


# ------------------------------------------------------------------------- hostile clients

OTHER = "127.0.0.2"
two_addresses = pytest.mark.skipif(
    sys.platform != "linux", reason="the loopback interface has one address"
)


@pytest.fixture
def attacked(example, monkeypatch):
    """A server for one test, which may change its bounds first; it ends soon when it is told to."""
    forever = functools.partialmethod(example.Listening.serve_forever, 0.05)
    monkeypatch.setattr(example.Listening, "serve_forever", forever)
    # a connection that finds the queue full tries again after 1, 2, 4 and 8 seconds
    monkeypatch.setattr(example.Listening, "request_queue_size", 128)
    with contextlib.ExitStack() as stack:

        def start():
            anchors, labels = example.features(60, seed=1)
            server = example.serve(Server(PrivateMail(4), anchors, anchors, labels, labels))
            stack.callback(server.server_close)
            stack.callback(server.shutdown)
            return server

        yield start


def connected(server, count, text=b"POST /query HTTP/1.0\r\n"):
    """So many connections of one client, which begin a message."""
    found = []
    for _ in range(count):
        own = socket.create_connection(server.server_address, timeout=30)
        with contextlib.suppress(OSError):
            own.sendall(text)
        found.append(own)
    return found


def ask(server, source, body=b"{}", path="/query", headers=None):
    """The status of the answer to a message from an address; None without an answer."""
    connection = http.client.HTTPConnection(
        *server.server_address, timeout=30, source_address=(source, 0)
    )
    try:
        connection.request("POST", path, body, headers or {})
        return connection.getresponse().status
    except (ConnectionError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def is_closed(own):
    """True if the other end has closed a connection, waiting for it at most a moment."""
    own.settimeout(0.05)
    try:
        return own.recv(2**16) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


def eventually(condition, seconds=20.0):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


@two_addresses
@pytest.mark.parametrize("bounded", [True, False], ids=["bounded", "the control"])
def test_many_silent_connections_hold_few_threads(example, attacked, monkeypatch, bounded):
    most = example.OF_CLIENT + 1
    if not bounded:
        monkeypatch.setattr(example, "CONNECTIONS", 10**6)
        monkeypatch.setattr(example, "OF_CLIENT", 10**6)
    before, server = threading.active_count(), attacked()
    silent = connected(server, 100)
    eventually(lambda: threading.active_count() - before > 90, 1.0)
    threads = threading.active_count() - before
    assert (threads <= most) == bounded
    assert ask(server, OTHER) == 400
    for own in silent:
        own.close()


@two_addresses
@pytest.mark.parametrize("seconds", [1.0, 60.0], ids=["bounded", "the control"])
def test_bytes_that_drop_slowly_end_in_time(example, attacked, monkeypatch, seconds):
    """A byte of a head, or of a body, now and then: no single wait is long."""
    monkeypatch.setattr(example, "SECONDS", seconds)
    server = attacked()
    head = b"POST /session HTTP/1.0\r\nContent-Length: 1000\r\n\r\n{"
    slow = [*connected(server, 3), *connected(server, 1, head)]

    def all_end():
        for own in slow:
            with contextlib.suppress(OSError):
                own.sendall(b" ")
        assert ask(server, OTHER) == 400
        return all([is_closed(own) for own in slow])

    assert eventually(all_end, 20.0 if seconds == 1.0 else 1.5) == (seconds == 1.0)
    assert any(is_closed(own) for own in slow) == (seconds == 1.0)
    for own in slow:
        own.close()


@asked_of_each("length", ["1_0", "+5", "-1", "1e3", "9" * 30, "", "\u0665"])
def test_lengths_that_are_none_are_refused(attacked, length):
    server = attacked()
    own, sent = connected(server, 1)[0], f"Content-Length: {length}\r\n\r\n".encode()
    own.sendall(sent)
    own.shutdown(socket.SHUT_WR)
    assert own.recv(2**16).startswith(b"HTTP/1.0 400")
    own.close()


def test_a_huge_body_is_refused_before_it_is_read(attacked, example):
    server = attacked()
    own = connected(server, 1)[0]
    own.sendall(b"Content-Length: 999999999999\r\n\r\n")
    assert own.recv(2**16).startswith(b"HTTP/1.0 400")
    part = b"x" * 2**16

    def flooded():
        with contextlib.suppress(OSError):
            for _ in range(20 * example.REFUSED // len(part)):
                own.sendall(part)
            return False
        return True

    assert flooded()  # it is read to a limit, and then cut
    own.close()


def test_an_endless_head_is_cut(attacked, example):
    server = attacked()
    own = connected(server, 1, b"POST /query HTTP/1.0\r\n" + b"X-A: " + b"x" * 2 * example.HEAD)
    assert eventually(lambda: is_closed(own[0]))
    own[0].close()


def test_one_session_of_a_client_is_read_at_a_time(attacked, example):
    server = attacked()
    with contextlib.ExitStack() as stack:
        for number in range(example.SESSIONS):
            stack.enter_context(server.reading(f"client {number}"))
        for client in ("client 0", "another"):
            with pytest.raises(ValueError, match="other sessions"), server.reading(client):
                pass
    with server.reading("client 0"):
        pass


@two_addresses
@pytest.mark.parametrize("budget", [1e-9, 1e9], ids=["bounded", "the control"])
def test_a_client_that_asks_without_end_spends_its_own_budget(
    example, attacked, monkeypatch, budget
):
    monkeypatch.setattr(example, "BUDGET", budget)
    server = attacked()
    # the first answer alone takes more than a nanosecond; it is counted just after it was sent
    found = {ask(server, "127.0.0.1") for _ in range(20)}
    assert (429 in found) == (budget < 1.0)
    assert ask(server, OTHER) == 400


def test_clients_that_hang_up_leave_no_word(attacked, example, capfd):
    server = attacked()
    head = b"POST /session HTTP/1.0\r\nContent-Length: 1000\r\n\r\n{"
    for own in [*connected(server, 3), *connected(server, 3, head)]:
        own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        own.close()  # with a reset
    assert eventually(lambda: not server._open)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("version", [True, 1.0, "1", None])
def test_a_schema_is_a_whole_number(version):
    text = json.dumps({"schema_version": version, "matches": [1, 2]})
    with pytest.raises(ValueError, match="another schema"):
        cdp.mail.Reply.from_json(text)
