"""A small, strict server of the OSV protocol, with records that a test gives it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

JSON = dict[str, Any]
PER_PAGE = 2


class Osv:
    """What the service knows: ids by package name and version, and records by id."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, str, str], list[str]] = {}
        self.records: dict[str, JSON] = {}
        self.status = 200
        self.requests: list[str] = []
        self.address = ""

    def tell(self, ecosystem: str, name: str, version: str, **record: Any) -> None:
        self.known.setdefault((ecosystem, name, version), []).append(record["id"])
        self.records[record["id"]] = record

    def batch(self, body: JSON) -> JSON | None:
        """Answer queries of a name and a version each, a page of ids at a time."""
        results = []
        for query in body["queries"]:
            if set(query) - {"package", "version", "page_token"}:
                return None
            package = query["package"]
            found = self.known.get((package["ecosystem"], package["name"], query["version"]), [])
            start = int(query.get("page_token", 0))
            result: JSON = {}
            if page := found[start : start + PER_PAGE]:
                result["vulns"] = [
                    {"id": each, "modified": "2026-01-01T00:00:00Z"} for each in page
                ]
            if len(found) > start + PER_PAGE:
                result["next_page_token"] = str(start + PER_PAGE)
            results.append(result)
        return {"results": results}


@contextmanager
def served(osv: Osv) -> Iterator[Osv]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.answer(osv.batch(body) if self.path == "/v1/querybatch" else None)

        def do_GET(self) -> None:
            self.answer(osv.records.get(self.path.removeprefix("/v1/vulns/")))

        def answer(self, body: JSON | None) -> None:
            osv.requests.append(f"{self.command} {self.path}")
            self.send_response(osv.status if body is not None else 404)
            self.end_headers()
            self.wfile.write(json.dumps(body or {}).encode())

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        osv.address = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield osv
        finally:
            server.shutdown()
            thread.join()
