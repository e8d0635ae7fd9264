"""Settings of the web server: `gunicorn -c config/gunicorn.py config.wsgi`.

On TERM it accepts no new connections and lets running requests finish within the grace period.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from config import env
from config.logging import logging_config

bind = env.read("BIND", "127.0.0.1:8000")
workers = env.whole_number("WEB_WORKERS")
threads = env.whole_number("WEB_THREADS")
worker_class = "gthread"
timeout = 60
graceful_timeout = 25
keepalive = 65  # longer than the proxies in front, which else send into a closed connection
# A worker's heartbeat on a disk that is busy would look like a worker that hangs.
worker_tmp_dir = "/dev/shm" if Path("/dev/shm").is_dir() else None
# A fresh process now and then; the jitter keeps them from all going at once.
max_requests, max_requests_jitter = 20_000, 2_000
# Only a proxy of one's own may say which scheme a request came by.
forwarded_allow_ips = "*" if env.whole_number("TANDEM_PROXIES", least=0) else ""
# Its control socket would be one more way in, and it lies in somebody's home.
control_socket_disable = True
# No header may move the site to another prefix: what a proxy lets through would be another path.
forwarder_headers = ""
# A query that takes longer than a request may is ended by the server; libpq reads this.
raw_env = ["PGOPTIONS=-c statement_timeout=60s -c idle_in_transaction_session_timeout=60s"]
accesslog = None  # the application writes a line a request, with its id
_FORMAT = "text" if env.flag("DEBUG") else "json"
logconfig_dict = logging_config(env.one_of("TANDEM_LOG_FORMAT", _FORMAT, "json", "text")) | {
    "incremental": False
}
logconfig_dict["loggers"] |= {
    "gunicorn.error": {"level": "INFO", "handlers": [], "propagate": True},
    "gunicorn.access": {"level": "WARNING", "handlers": [], "propagate": True},
}


def on_starting(_: Any) -> None:
    """Refuses to serve with settings that are not safe; what the checks say tells what to set."""
    plain = env.flag("DEBUG") or env.flag("TANDEM_PLAIN_HTTP")
    strict = () if plain else ("--deploy", "--tag", "security", "--fail-level", "WARNING")
    # In a process of its own: the workers shall not inherit what the checks have opened.
    done = subprocess.run(
        [sys.executable, env.BASE_DIR / "manage.py", "check", *strict],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        found = [line.removeprefix("?: ") for line in done.stderr.splitlines() if "?: " in line]
        sys.exit(f"Not started: {'; '.join(found) or done.stderr.strip()}")


def post_worker_init(worker: Any) -> None:
    """Imports what the addresses lead to before the first person asks, who else waits for it."""
    from django.urls import get_resolver

    assert get_resolver().url_patterns
