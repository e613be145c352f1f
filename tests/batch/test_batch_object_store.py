"""Records in an object store: read from end to end, with how many requests for each file."""

from __future__ import annotations

import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import batch_cases as cases
import curvedp as cdp
import curvedp.batch
from batch_cases import release
from curvedp.batch.files import check_outside
from curvedp.errors import BatchError

fs = pytest.importorskip("pyarrow.fs")
if not hasattr(fs, "S3FileSystem"):
    pytest.skip("this pyarrow has no S3", allow_module_level=True)

#: Most requests for a small file, from the first look at it to the last.
MOST = 20


class Store(BaseHTTPRequestHandler):
    """As much of S3 as readers ask for: what is there, and pieces of it."""

    protocol_version = "HTTP/1.1"
    wbufsize, disable_nagle_algorithm = 1 << 16, True
    held: dict[str, bytes]
    asked: Counter[str]

    def log_message(self, *_):
        """Says nothing."""

    def _answer(self, code, body=b"", length=None, **headers):
        self.send_response(code)
        size = len(body) if length is None else length
        told = {"Content-Length": size, "ETag": '"1"', "Content-Type": "application/xml"}
        told |= {name.replace("_", "-"): value for name, value in headers.items()}
        told["Last-Modified"] = "Thu, 01 Jan 2026 00:00:00 GMT"
        for name, value in told.items():
            self.send_header(name, str(value))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def do_HEAD(self):
        self.asked["HEAD"] += 1
        name = unquote(urlsplit(self.path).path).lstrip("/")
        if name in self.held:
            self._answer(200, length=len(self.held[name]))
        else:
            self._answer(200 if name == "bucket" else 404)

    def do_GET(self):
        self.asked["GET"] += 1
        parts = urlsplit(self.path)
        name = unquote(parts.path).lstrip("/")
        if name.rstrip("/") == "bucket":
            self._answer(200, self._listed(parse_qs(parts.query).get("prefix", [""])[0]))
            return
        begin, end = self.headers["Range"].removeprefix("bytes=").split("-")
        whole = self.held[name]
        end = min(int(end), len(whole) - 1)
        told = {"Content_Range": f"bytes {begin}-{end}/{len(whole)}"}
        self._answer(206, whole[int(begin) : end + 1], **told)

    def _listed(self, prefix):
        found = [
            f"<Contents><Key>{escape(key)}</Key><Size>{len(data)}</Size>"
            "<LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>1</ETag></Contents>"
            for key, data in sorted(
                (name.removeprefix("bucket/"), data) for name, data in self.held.items()
            )
            if key.startswith(prefix)
        ]
        body = "".join(found)
        return (
            '<?xml version="1.0"?><ListBucketResult><Name>bucket</Name>'
            f"<Prefix>{escape(prefix)}</Prefix><KeyCount>{len(found)}</KeyCount>"
            f"<IsTruncated>false</IsTruncated>{body}</ListBucketResult>"
        ).encode()


@pytest.fixture
def store():
    """A store on this machine, what it holds, what it was asked for, and its folder's URI."""
    kind = type("OwnStore", (Store,), {"held": {}, "asked": Counter()})
    server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    options = f"endpoint_override=127.0.0.1:{server.server_port}&scheme=http&region=us-east-1"
    yield kind, f"s3://key:secret@bucket/in?{options}"
    server.shutdown()
    server.server_close()


def put(kind, data, files):
    step = -(-len(data) // files)
    for number in range(files):
        sink = pa.BufferOutputStream()
        pq.write_table(data.slice(number * step, step), sink)
        kind.held[f"bucket/in/{number:03d}.parquet"] = sink.getvalue().to_pybytes()


def test_files_of_a_store_are_read_with_few_requests(store, tmp_path, secret):
    kind, place = store
    data, files = cases.table(120), 12
    put(kind, data, files)
    ledger = cdp.Ledger(cdp.PureDP(1.0))
    found = release(place, out=tmp_path / "out.parquet", secret=secret, ledger=ledger).table
    assert cases.by_key(found) == cases.by_key(release(data, secret=secret).table)
    assert sum(kind.asked.values()) <= MOST * files
    assert len(ledger.entries) == 1


def test_a_file_of_a_store_that_changes_is_noticed(store, tmp_path, monkeypatch, secret):
    kind, place = store
    put(kind, cases.table(60), 3)
    how = {"secret": secret, "chunk_rows": 300}
    cases.interrupted(tmp_path, place, monkeypatch, **how)
    name = "bucket/in/001.parquet"
    before, kind.held[name] = kind.held[name], kind.held["bucket/in/002.parquet"]
    with pytest.raises(BatchError, match="another fingerprint"):
        cases.run(tmp_path, place, resume=True, **how)
    kind.held[name] = before
    cases.run(tmp_path, place, resume=True, **how)


def test_options_of_a_uri_are_no_pattern(store):
    _, place = store
    for outside in ("/somewhere/out.parquet", place.replace("bucket/in", "bucket/out.parquet")):
        check_outside(outside, place)
    with pytest.raises(BatchError, match="stands among the records"):
        check_outside(place.replace("bucket/in", "bucket/in/out.parquet"), place)
    with pytest.raises(BatchError, match="stands among the records"):
        check_outside(
            place.replace("bucket/in", "bucket/in/out.parquet"),
            place.replace("bucket/in", "bucket/in/*.parquet"),
        )
