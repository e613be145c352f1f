"""Private image retrieval between two programs: PrivateMail's roles over HTTP and JSON.

    python docs/examples/private_retrieval_http.py

Starts a server on the loopback interface, opens a session by sending embedded public anchors, and
asks for images like a private one by numbers of cells, about 200 bytes a query. Made-up features
stand for those of two different models. The server bounds what clients take of it: threads, memory,
time, and a budget of work for each, known by its address; the budget of privacy is the client's
own, in a ledger. A real server also needs TLS and authentication.
"""

from __future__ import annotations

import contextlib
import io
import json
import socket
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

import curvedp as cdp
from curvedp.mail import Client, PrivateMail, Reply, Request, Server, Session

#: Bytes of the largest session and of the largest request.
LARGEST = {"/session": 4 * 2**20, "/query": 2**16}
#: Bytes of the head of a message, and bytes that are read of one that is refused.
HEAD, REFUSED = 2**14, 2**23
#: Connections at a time of all clients and of one, and sessions that are read at a time.
CONNECTIONS, OF_CLIENT, SESSIONS = 64, 8, 4
#: Seconds from the beginning of a connection to its end, whatever is sent how slowly.
SECONDS = 10.0
#: Budget of each client: seconds of the server's processor time in a minute.
BUDGET = 6.0


class Listening(ThreadingHTTPServer):
    """A server whose threads, memory and time are bounded, and shared fairly among clients."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self._lock = threading.Lock()
        self._open: dict[socket.socket, tuple[str, float]] = {}
        self._minute, self._spent = 0, Counter[str]()
        self._reading: set[str] = set()
        super().__init__(address, handler)

    def verify_request(self, request: socket.socket, client_address: tuple[str, int]) -> bool:
        """Refuses connections beyond what all clients, or this one, may have at a time."""
        client = client_address[0]
        with self._lock:
            own = sum(client == other for other, _ in self._open.values())
            if len(self._open) >= CONNECTIONS or own >= OF_CLIENT:
                return False
            self._open[request] = client, time.monotonic()
        return True

    def service_actions(self) -> None:
        """Ends connections that take too long: called twice a second."""
        with self._lock:
            late = time.monotonic() - SECONDS
            for connection, (_, begun) in self._open.items():
                if begun < late:
                    with contextlib.suppress(OSError):
                        connection.shutdown(socket.SHUT_RDWR)

    def shutdown_request(self, request: socket.socket) -> None:
        with self._lock:
            self._open.pop(request, None)
        super().shutdown_request(request)

    @contextlib.contextmanager
    def reading(self, client: str) -> Iterator[None]:
        """Lets a client send a session: one at a time, and few of all clients."""
        with self._lock:
            if client in self._reading or len(self._reading) >= SESSIONS:
                raise ValueError("the server reads other sessions: come back soon")
            self._reading.add(client)
        try:
            yield
        finally:
            with self._lock:
                self._reading.discard(client)

    def has_budget(self, client: str) -> bool:
        """True if a client has not spent what it may in this minute."""
        with self._lock:
            if (minute := int(time.monotonic() // 60.0)) != self._minute:
                self._minute, self._spent = minute, Counter()
            return self._spent[client] < BUDGET

    def spend(self, client: str, seconds: float) -> None:
        """Takes processor time from a client's budget."""
        with self._lock:
            self._spent[client] += seconds

    def handle_error(self, request: object, client_address: object) -> None:
        """Says nothing of clients that hang up."""


class Head(io.BufferedIOBase):
    """What a client sends, whose head is bounded."""

    def __init__(self, file: io.BufferedIOBase) -> None:
        self._file, self._left = file, HEAD

    def readline(self, size: int | None = -1) -> bytes:
        line = self._file.readline(self._left)
        self._left -= len(line)
        if self._left <= 0:
            raise ConnectionError("the head of a message is too long")
        return line

    def read(self, size: int | None = -1) -> bytes:
        return self._file.read(size)

    def read1(self, size: int = -1) -> bytes:
        return self._file.read1(size)

    def close(self) -> None:
        self._file.close()


def serve(server: Server, port: int = 0) -> Listening:
    """An HTTP server on the loopback interface that answers requests; port 0 takes a free one."""

    class Handler(BaseHTTPRequestHandler):
        server: Listening
        timeout = SECONDS

        def do_POST(self) -> None:
            begun, client = time.thread_time(), self.client_address[0]
            is_session = self.path == "/session"
            try:
                if not self.server.has_budget(client):
                    self._refuse(429, "this client's budget is spent: come back in a minute")
                    return
                with self.server.reading(client) if is_session else contextlib.nullcontext():
                    text = self._answer(self._read())
                self._send(200, text)
            except (TypeError, ValueError) as error:
                self._refuse(400, str(error))
            finally:
                self.server.spend(client, time.thread_time() - begun)

        def setup(self) -> None:
            super().setup()
            self.rfile = Head(self.rfile)

        def _read(self) -> bytes:
            most, text = LARGEST.get(self.path, 0), self.headers.get("Content-Length", "")
            length = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0
            if not 0 < length <= most:
                raise ValueError(f"a message to {self.path} must have 1 to {most} bytes and say so")
            body = self.rfile.read(length)
            if len(body) < length:
                raise ConnectionError
            return body

        def _answer(self, body: bytes) -> str:
            if self.path == "/session":
                server.open(Session.from_json(body))
                return "{}"
            return server.answer(Request.from_json(body)).to_json()

        def _refuse(self, status: int, words: str) -> None:
            self._send(status, json.dumps({"error": words}))
            # who still writes would see a reset connection and not the answer
            left = REFUSED
            while left > 0 and (part := self.rfile.read1(2**16)):
                left -= len(part)

        def _send(self, status: int, text: str) -> None:
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_WR)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing about requests is logged."""

    listening = Listening(("127.0.0.1", port), Handler)
    threading.Thread(target=listening.serve_forever, daemon=True).start()
    return listening


def post(url: str, text: str) -> bytes:
    """The answer to a message; raises ValueError with the server's words if it refuses."""
    message = urllib.request.Request(url, text.encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(message, timeout=30) as response:
            return response.read()
    except urllib.error.HTTPError as refusal:
        with refusal:
            raise ValueError(json.loads(refusal.read())["error"]) from None


def open_session(url: str, client: Client) -> None:
    """Sends the client's public anchors and cells, once."""
    post(f"{url}/session", client.session.to_json())


def send(url: str, request: Request) -> Reply:
    """Posts a request of an open session and reads the reply."""
    return Reply.from_json(post(f"{url}/query", request.to_json()))


def features(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Made-up unit features of five classes."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 5, n)
    rows = np.eye(16)[labels] + 0.15 * rng.standard_normal((n, 16))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True), labels


def main() -> None:
    """One private query, from the client's model to the classes of its matches."""
    anchors, anchor_labels = features(200, seed=1)
    images, image_labels = features(500, seed=2)
    queries, query_labels = features(1, seed=3)
    # the server's model sees the same images under other features
    other = np.linalg.qr(np.random.default_rng(4).standard_normal((16, 16)))[0]

    embedding = PrivateMail(n_components=4, guarantee=cdp.PureDP(epsilon=5.0))
    server = Server(embedding, images @ other, anchors @ other, image_labels, anchor_labels)
    listening = serve(server)
    try:
        client = Client(embedding, anchors, anchor_labels)
        with cdp.Ledger(cdp.PureDP(5.0)) as ledger:
            request = client.ask(queries[0], n_matches=8, ledger=ledger)
        url = f"http://127.0.0.1:{listening.server_port}"
        open_session(url, client)
        reply = send(url, request)
    finally:
        listening.shutdown()
        listening.server_close()
    print(f"class of the query {query_labels[0]}, of its matches {image_labels[reply.matches]}")


if __name__ == "__main__":
    main()
