"""A production-like site: gunicorn with two workers, production settings, hashed files."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from benchmarks.processes import ROOT, FailedError, manage

PATIENCE = 120  # seconds, generous for a busy machine


# Large files that no measured page needs, such as extensions of htmx.
UNSEEN = ("drf_spectacular_sidecar", "rest_framework", "ext")


def production(folder: Path, database: str | None = None) -> dict[str, str]:
    """Return a server's environment on this machine; `database` is a URL, or None for SQLite."""
    env = {
        "DEBUG": "0",
        "SECRET_KEY": secrets.token_urlsafe(50),
        "TANDEM_PLAIN_HTTP": "1",
        "ALLOWED_HOSTS": "127.0.0.1",
        "TANDEM_DATA_DIR": str(folder),
        "WEB_WORKERS": "2",
        "PYTHONDONTWRITEBYTECODE": "",
    }
    return {**env, "DATABASE_URL": database or f"sqlite:///{folder / 'tandem.sqlite3'}"}


def collect_files(folder: Path) -> Path:
    """Collect hashed and compressed static files in a folder for TANDEM_STATIC_DIR."""
    env = production(folder) | {"TANDEM_STATIC_DIR": str(folder / "static")}
    unseen = [word for pattern in UNSEEN for word in ("--ignore", pattern)]
    manage("collectstatic", "--noinput", "--verbosity", "0", *unseen, env=env)
    return folder / "static"


@contextmanager
def site(folder: Path, env: Mapping[str, str]) -> Iterator[str]:
    """Run a site; yield its address."""
    bind = f"127.0.0.1:{_free_port()}"
    command = [sys.executable, "-m", "gunicorn", "-c", "config/gunicorn.py", "config.wsgi"]
    log = folder / "gunicorn.log"
    with log.open("ab") as said:
        server = subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, **env, "BIND": bind}, stdout=said, stderr=said
        )
        try:
            _wait(f"http://{bind}/login/", server, log)
            yield f"http://{bind}"
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(PATIENCE)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while server.poll() is None and time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    raise FailedError(f"the site did not come up:\n{log.read_text('utf-8', 'replace')[-3000:]}")
