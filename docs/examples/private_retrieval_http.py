"""Private image retrieval between two programs: PrivateMail's roles over HTTP and JSON.

    python docs/examples/private_retrieval_http.py

Starts a server on the loopback interface, opens a session by sending embedded public anchors, and
asks for images like a private one by numbers of cells, about 200 bytes a query. Made-up features
stand for those of two different models. A real server also needs TLS and authentication.
"""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

import curvedp as cdp
from curvedp.mail import Client, PrivateMail, Reply, Request, Server, Session

LARGEST_MESSAGE = 16 * 2**20


def serve(server: Server, port: int = 0) -> ThreadingHTTPServer:
    """An HTTP server on the loopback interface that answers requests; port 0 takes a free one."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            try:
                text = self._answer(self._read())
            except (TypeError, ValueError) as error:
                self._send(400, json.dumps({"error": str(error)}))
            else:
                self._send(200, text)

        def _read(self) -> bytes:
            length = int(self.headers.get("Content-Length", "0"))
            if 0 < length <= LARGEST_MESSAGE:
                return self.rfile.read(length)
            # who still writes would see a broken pipe and not the answer
            left = min(length, 4 * LARGEST_MESSAGE)
            while left > 0 and (part := self.rfile.read(min(left, 2**16))):
                left -= len(part)
            raise ValueError(f"a message must have 1 to {LARGEST_MESSAGE} bytes, got {length}")

        def _answer(self, body: bytes) -> str:
            if self.path == "/session":
                server.open(Session.from_json(body))
                return "{}"
            return server.answer(Request.from_json(body)).to_json()

        def _send(self, status: int, text: str) -> None:
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing about requests is logged."""

    listening = ThreadingHTTPServer(("127.0.0.1", port), Handler)
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
