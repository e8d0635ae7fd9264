"""Requests to a site: the token, errors in the site's words, retries, and the progress of jobs.

A read may be repeated. A write carries an `Idempotency-Key`, chosen once and kept for each attempt,
with which the site carries it out once. So a request whose answer was lost is sent again, after a
growing pause; one that the site refused for now (429, 503) after the pause that it names.
"""

from __future__ import annotations

import http.client
import json
import random
import shutil
import sys
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any
from urllib.parse import urlencode, urlsplit

from tandem.types import JSON
from tandem.version import VERSION

API = "/api/v1/"
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 20.0
LOST = (urllib.error.URLError, http.client.HTTPException, ConnectionError, TimeoutError)
GATEWAY = (502, 504)
"""A proxy's statuses, after which the request may or may not have reached the site."""
WAIT = (429, 503)
PIECE = 1 << 16
_IN_QUOTES = {ord(each): f"%{ord(each):02X}" for each in '"\r\n'}


class SiteError(Exception):
    """What a site refused, in its own words, or that there was no answer.

    `status` is the HTTP status, or None without an answer. `problems` names each field or unit with
    what is wrong, and `body` is the whole answer. `wait` is the seconds after which the site would
    take the request, if it named them.
    """

    def __init__(
        self, asked: str, status: int | None, error: str, body: JSON, wait: float | None = None
    ) -> None:
        self.asked, self.status, self.error, self.body = asked, status, error, body
        self.wait = wait
        self.problems: list[JSON] = list(body.get("problems") or ())
        super().__init__(str(self))

    def __str__(self) -> str:
        parts = [self.error, *map(_problem, self.problems)]
        status = "" if self.status is None else f" ({self.status})"
        if self.wait is not None:
            status = f" ({self.status}, try again in {self.wait:.0f} s)"
        return f"{self.asked}: {'; '.join(parts)}{status}"


def _problem(of: JSON) -> str:
    where = " ".join(str(of[name]) for name in ("unit", "field") if of.get(name))
    return f"{where}: {of.get('wrong')}" if where else str(of.get("wrong"))


class Secret:
    """A token, which no representation shows."""

    def __init__(self, value: str) -> None:
        self._value = value

    def header(self) -> str:
        return f"Bearer {self._value}"

    def hide(self, text: str) -> str:
        return text.replace(self._value, "…") if self._value else text

    def __repr__(self) -> str:
        return "Secret(…)"


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect is an error: it would carry the token to another address."""

    def redirect_request(self, *_: Any) -> None:
        return None


@dataclass(frozen=True)
class Answer:
    status: int
    data: Any
    headers: Mapping[str, str]


class Transport:
    """Sends requests to one site, with one token.

    `timeout` is how many seconds to wait for one answer, and `patience` how many seconds to try
    again in all before a lost connection or a refusal for now is an error.
    """

    def __init__(self, url: str, token: str, timeout: float = 60, patience: float = 180) -> None:
        self.url, self._secret = site_address(url), Secret(token)
        self.timeout, self.patience = timeout, patience
        self._opener = urllib.request.build_opener(_NoRedirect)
        self.sleep: Callable[[float], None] = time.sleep

    def get(self, path: str, **query: Any) -> Answer:
        return self._json("GET", path, query)

    def post(self, path: str, body: Any = None, key: str = "") -> Answer:
        """Send a write, which the site carries out once for each `key`, by default a new one."""
        data = json.dumps({} if body is None else body).encode()
        headers = {"Content-Type": "application/json"}
        return self._json("POST", path, {}, data, headers, key)

    def upload(self, path: str, fields: Mapping[str, str], files: Sequence[Path]) -> Answer:
        """Send files as a form, read from the disk piece by piece."""
        boundary = uuid.uuid4().hex
        with TemporaryFile() as form:
            _write_form(form, boundary, fields, files)
            headers = {
                "Content-Type": f"multipart/form-data; boundary={boundary}",
                "Content-Length": str(form.tell()),
            }
            return self._json("POST", path, {}, form, headers)

    def download(self, path: str, file: IO[bytes], **query: Any) -> Answer | None:
        """Write an answer to a file, piece by piece; return a 202 instead, which has no file yet.

        A connection that is lost in the middle begins the file again.
        """

        def receive(response: Any) -> Answer | None:
            if response.status == 202:
                return _read(response)
            file.seek(0)
            file.truncate()
            shutil.copyfileobj(response, file, PIECE)
            expected = response.headers.get("Content-Length")
            if expected is not None and file.tell() != int(expected):
                raise http.client.IncompleteRead(b"")
            return None

        unfinished: Answer | None = self._send("GET", path, query, None, {}, receive)
        return unfinished

    def _json(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any],
        data: bytes | IO[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
        key: str = "",
    ) -> Answer:
        own = dict(headers or {})
        if method != "GET":
            own["Idempotency-Key"] = key or new_key()
        answer: Answer = self._send(method, path, query, data, own, _read)
        return answer

    def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any],
        data: bytes | IO[bytes] | None,
        headers: Mapping[str, str],
        receive: Any,
    ) -> Any:
        """Send a request until it has an answer. Raises SiteError."""
        address = self.url + self.path_of(path)
        if given := {name: of for name, of in query.items() if of is not None}:
            address += ("&" if "?" in address else "?") + urlencode(given, doseq=True)
        asked = f"{method} {urlsplit(address).path.partition(API)[2] or API}"
        sent = {
            "Accept": "application/json, */*;q=0.1",
            "User-Agent": f"tandem-eval/{VERSION}",
            **headers,
        }
        until, pause = time.monotonic() + self.patience, FIRST_PAUSE
        while True:
            if data is not None and not isinstance(data, bytes):
                data.seek(0)
            request = urllib.request.Request(address, data, sent, method=method)
            request.add_unredirected_header("Authorization", self._secret.header())
            try:
                with self._opener.open(request, timeout=self.timeout) as response:
                    return receive(response)
            except urllib.error.HTTPError as error:
                refusal = self._refusal(asked, error)
                wait = self._pause_after(refusal, pause)
            except LOST as error:
                why = self._secret.hide(str(getattr(error, "reason", "") or error or "it was lost"))
                remedy = "check the address, and that the site runs"
                refusal = SiteError(asked, None, f"no answer from {self.url} ({why}); {remedy}", {})
                wait = pause * random.uniform(0.5, 1)
            if wait is None or time.monotonic() + wait > until:
                raise refusal from None
            self.sleep(wait)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _pause_after(self, refusal: SiteError, pause: float) -> float | None:
        """Return the seconds until a refused request may be sent again; None if it may not."""
        if refusal.wait is not None:
            return refusal.wait
        return pause if refusal.status in (*WAIT, *GATEWAY) else None

    def _refusal(self, asked: str, error: urllib.error.HTTPError) -> SiteError:
        body: Any = None
        try:
            body = json.loads(self._secret.hide(error.read().decode("utf-8", "replace")))
        except (ValueError, *LOST):
            pass
        if not isinstance(body, dict) or "error" not in body:
            body = {}
            said = f"the site answered {error.code} {error.reason}"
            if where := error.headers.get("Location"):
                said += f" and leads to {where}; give the address that it leads to"
        else:
            said = str(body["error"])
        wait = _seconds(error.headers.get("Retry-After")) if error.code in WAIT else None
        return SiteError(asked, error.code, self._secret.hide(said), body, wait)

    def path_of(self, address: str) -> str:
        """Return the path of an address of the API, which stays on this site whatever its host."""
        if address.startswith(("http://", "https://")):
            parts = urlsplit(address)
            rest = parts.path.partition(API)[2]
            return f"{API}{rest}{'?' if parts.query else ''}{parts.query}"
        return API + address


def new_key() -> str:
    """Return a key for one write, however often it is sent."""
    return uuid.uuid4().hex


def site_address(url: str) -> str:
    """Return a site's address without the API's path. Raises ValueError if it is not one."""
    parts = urlsplit(url.strip())
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{url!r} is not a site's address; give one such as https://host")
    if parts.username or parts.password:
        raise ValueError("an address holds no name or password; give the token apart")
    path = parts.path.partition(API.rstrip("/"))[0].rstrip("/")
    return f"{parts.scheme}://{parts.netloc}{path}"


def _read(response: Any) -> Answer:
    text = response.read()
    return Answer(response.status, json.loads(text) if text else None, response.headers)


def _seconds(header: str | None) -> float | None:
    """Return the seconds of a Retry-After, which is a number or a date."""
    if header is None:
        return None
    if header.strip().isdigit():
        return float(header)
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - time.time())
    except ValueError:
        return None


def _write_form(
    form: IO[bytes], boundary: str, fields: Mapping[str, str], files: Sequence[Path]
) -> None:
    for name, value in fields.items():
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n'
        form.write(f"{head}{value}\r\n".encode())
    for path in files:
        name = path.name.translate(_IN_QUOTES)
        head = f'Content-Disposition: form-data; name="files"; filename="{name}"'
        kind = "Content-Type: application/octet-stream"
        form.write(f"--{boundary}\r\n{head}\r\n{kind}\r\n\r\n".encode())
        with path.open("rb") as file:
            shutil.copyfileobj(file, form, PIECE)
        form.write(b"\r\n")
    form.write(f"--{boundary}--\r\n".encode())


WIDTH = 24
QUICKEST, SLOWEST, GROWTH = 0.5, 5.0, 1.3


@dataclass(frozen=True)
class Progress:
    """What is under way, how much of it is done, and a note such as the time left.

    `total` is 0 where it is unknown.
    """

    what: str
    done: int
    total: int
    note: str = ""

    def __str__(self) -> str:
        share = min(1.0, self.done / self.total) if self.total else 0.0
        bar = "█" * round(share * WIDTH) + "░" * (WIDTH - round(share * WIDTH))
        count = f" {self.done:,} of {self.total:,}" if self.total else ""
        return f"{self.what} {bar}{count}{f', {self.note}' if self.note else ''}"


Callback = Callable[[Progress], None]


class Line:
    """Writes progress over the same line of the standard error."""

    def __init__(self) -> None:
        self._last = ""

    def __call__(self, progress: Progress) -> None:
        line = str(progress)
        if line != self._last:
            sys.stderr.write(f"\r{line.ljust(len(self._last))}")
            sys.stderr.flush()
        self._last = line

    def end(self) -> None:
        if self._last:
            sys.stderr.write("\n")
            sys.stderr.flush()
        self._last = ""


def is_watched() -> bool:
    """Return whether a person sees the standard error: in a terminal, or in a notebook."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


class Watch:
    """Repeats a question with growing pauses until it has an answer, and tells the progress."""

    def __init__(self, progress: bool | Callback, sleep: Callable[[float], None]) -> None:
        self._line = Line() if progress is True and is_watched() else None
        self._tell = self._line or (progress if callable(progress) else None)
        self._sleep = sleep
        self._pause = QUICKEST

    def tell(self, progress: Progress) -> None:
        if self._tell is not None:
            self._tell(progress)

    def pause(self, until: float | None = None) -> bool:
        """Wait a little longer than before. Return False if that would be after `until`."""
        if until is not None and time.monotonic() + self._pause > until:
            return False
        self._sleep(self._pause)
        self._pause = min(SLOWEST, self._pause * GROWTH)
        return True

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        if self._line is not None:
            self._line.end()


PAGE = 200


class Connection:
    """A site that is asked through `transport`; `progress` is as in `Client`."""

    def __init__(self, transport: Transport, progress: bool | Callback) -> None:
        self.transport, self._progress = transport, progress

    def watch(self) -> Watch:
        return Watch(self._progress, self.transport.sleep)

    def result(self, path: str, what: str, **query: Any) -> Any:
        """Return the answer of an address whose result a job may compute, after waiting for it."""
        answer = self.transport.get(path, **query)
        while answer.status == 202:
            answer = self.transport.get(self._job_result(answer.data, what))
        return answer.data

    def save(self, path: str, target: Path, what: str) -> Path:
        """Download a file that a job may write. A file of that name stays until it is whole."""
        part = target.with_name(f"{target.name}.part")
        try:
            with part.open("wb") as file:
                address = path
                while (answer := self.transport.download(address, file)) is not None:
                    address = self._job_result(answer.data, what)
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
        return target

    def _job_result(self, job: JSON, what: str) -> str:
        with self.watch() as watch:
            while job["state"] in ("waiting", "running"):
                watch.tell(of_job(what, job))
                watch.pause()
                job = self.transport.get(job["address"]).data
        if job["state"] != "done" or job["result"] is None:
            raise SiteError(what, None, job["error"] or f"the job is {job['state']}", job)
        return str(job["result"])

    def all(self, path: str, **query: Any) -> Iterator[JSON]:
        """Yield the entries of a list, from all its pages."""
        page = self.transport.get(path, page_size=PAGE, **query).data
        yield from page["results"]
        while page["next"]:
            page = self.transport.get(page["next"]).data
            yield from page["results"]


def of_job(what: str, job: JSON) -> Progress:
    return Progress(what, job["done"], job["total"], job["state"])
