"""Private image retrieval between two programs: PrivateMail's roles over HTTP and JSON.

    python docs/examples/private_retrieval_http.py

Starts a server on the loopback interface and asks it for images like a private one. Made-up
features stand for those of two different models. A real server also needs TLS and authentication.
"""

from __future__ import annotations

import json
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

import curvedp as cdp
from curvedp.mail import Client, PrivateMail, Reply, Request, Server

LARGEST_REQUEST = 16 * 2**20


def serve(server: Server, port: int = 0) -> ThreadingHTTPServer:
    """An HTTP server on the loopback interface that answers requests; port 0 takes a free one."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            try:
                length = int(self.headers.get("Content-Length", "0"))
                if not 0 < length <= LARGEST_REQUEST:
                    raise ValueError("the request is empty or too large")
                reply = server.answer(Request.from_json(self.rfile.read(length)))
            except (TypeError, ValueError) as error:
                self._send(400, json.dumps({"error": str(error)}))
            else:
                self._send(200, reply.to_json())

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


def send(url: str, request: Request) -> Reply:
    """Posts a request and reads the reply."""
    message = urllib.request.Request(
        url, request.to_json().encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(message, timeout=30) as response:
        return Reply.from_json(response.read())


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
        reply = send(f"http://127.0.0.1:{listening.server_port}", request)
    finally:
        listening.shutdown()
        listening.server_close()
    print(f"class of the query {query_labels[0]}, of its matches {image_labels[reply.matches]}")


if __name__ == "__main__":
    main()
