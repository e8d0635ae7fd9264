"""A proxy before a site that loses connections, and refuses for now, as networks and proxies do."""

from __future__ import annotations

import http.client
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

HOP = ("connection", "transfer-encoding", "keep-alive", "date", "server")
Fault = str
"""`before`: the request never reaches the site. `after`: its answer is lost. `middle`: half of the
answer arrives. A number and a header are an answer of the proxy's own: `503 Retry-After: 0`.
"""


class Losing(ThreadingHTTPServer):
    """Forwards to a site. `fault` says what happens to the n-th sending of a request."""

    daemon_threads = True

    def __init__(self, site: str, fault: Callable[[str, str, int], Fault]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.site, self.fault = urlsplit(site), fault
        self.seen = Counter[tuple[str, str]]()
        self.headers: list[dict[str, str]] = []
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def count(self, method: str, path: str) -> int:
        with self.lock:
            self.seen[method, path] += 1
            return self.seen[method, path]


class _Handler(BaseHTTPRequestHandler):
    server: Losing

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.headers.append({"method": self.command, "path": path, **self.headers})
        fault = self.server.fault(self.command, path, self.server.count(self.command, path))
        if fault == "before":
            return self._cut()
        if fault[:1].isdigit():
            status, _, header = fault.partition(" ")
            return self._send(int(status), [header.partition(": ")[::2]] if header else [], b"")
        site = http.client.HTTPConnection(str(self.server.site.hostname), self.server.site.port)
        try:
            site.request(self.command, self.path, body, dict(self.headers))
            answer = site.getresponse()
            content = answer.read()
        finally:
            site.close()
        if fault == "after":
            return self._cut()
        kept = [(k, v) for k, v in answer.getheaders() if k.lower() not in (*HOP, "content-length")]
        return self._send(answer.status, kept, content, half=fault == "middle")

    def do_POST(self) -> None:
        self.do_GET()

    def _send(self, status: int, headers: list[Any], content: bytes, half: bool = False) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if half else content)
        if half:
            self._cut()

    def _cut(self) -> None:
        self.close_connection = True
        self.wfile.flush()
        self.connection.close()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def losing(site: str, fault: Callable[[str, str, int], Fault]) -> Iterator[Losing]:
    proxy = Losing(site, fault)
    thread = threading.Thread(target=proxy.serve_forever, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.shutdown()
        proxy.server_close()
        thread.join()
