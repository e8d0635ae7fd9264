"""Settings of the web server: `gunicorn -c config/gunicorn.py config.wsgi`.

On TERM it accepts no new connections and lets running requests finish within the grace period. On
HUP it restarts with new code, and no request is lost (`config.front.renewal`).
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from config import env
from config.front import exchange, local_worker, renewal
from config.logging import logging_config
from datasets import site_lock

bind = env.read("BIND", "127.0.0.1:8000")
# Processes for work on items, and processes to which these pass on all other requests.
_WORK, _OTHER = env.whole_number("WEB_WORKERS"), env.whole_number("WEB_OTHER_WORKERS", least=0)
workers = _WORK + (_OTHER if exchange.IS_SUPPORTED else 0)
threads = env.whole_number("WEB_THREADS")
worker_class = "config.front.worker.Worker"
# Slow clients occupy a connection and no thread; when there are more, the idlest is closed.
worker_connections = 1000
sendfile = False  # files are sent by the loop, like all else
timeout = 60
graceful_timeout = 25
keepalive = 65  # longer than that of proxies, which could otherwise use a closed connection
# With its heartbeat file on a busy disk, a worker would seem to hang.
worker_tmp_dir = "/dev/shm" if Path("/dev/shm").is_dir() else None
# Workers restart now and then; the jitter keeps them from restarting at once.
max_requests, max_requests_jitter = 20_000, 2_000
# Only the site's own proxy may set a request's scheme.
forwarded_allow_ips = "*" if env.whole_number("TANDEM_PROXIES", least=0) else ""
# The control socket would be one more way to control the server, and is in a home folder.
control_socket_disable = True
# No header may set the site's prefix, since a proxy that passes it on would change paths.
forwarder_headers = ""
# The database ends statements that take longer than a request may; libpq reads this.
raw_env = ["PGOPTIONS=-c statement_timeout=60s -c idle_in_transaction_session_timeout=60s"]
accesslog = None  # the application logs a line for each request, with its id
_FORMAT = "text" if env.flag("DEBUG") else "json"
logconfig_dict = logging_config(env.one_of("TANDEM_LOG_FORMAT", _FORMAT, "json", "text")) | {
    "incremental": False
}
logconfig_dict["loggers"] |= {
    "gunicorn.error": {"level": "INFO", "handlers": [], "propagate": True},
    "gunicorn.access": {"level": "WARNING", "handlers": [], "propagate": True},
}


def on_starting(server: Any) -> None:
    """Refuse to start with unsafe settings, or beside another site; print what to change."""
    try:
        folder, closed = env.private_data_dir()
    except ImproperlyConfigured as error:
        sys.exit(f"Not started: {error}")
    if closed:
        server.log.warning(closed)
    if found := problem():
        sys.exit(f"Not started: {found}")
    try:
        database, address = env.database(folder), ", ".join(server.cfg.bind)
        server.tandem_lock = site_lock.join_as_server(folder, database, address)
    except site_lock.SiteInUseError as error:
        sys.exit(f"Not started: {error}")


def problem() -> str:
    """Return what the checks of the settings ask to set; empty if they pass."""
    plain = env.flag("DEBUG") or env.flag("TANDEM_PLAIN_HTTP")
    tags = ("--tag", "security", "--tag", "database")
    strict = () if plain else ("--deploy", *tags, "--fail-level", "WARNING")
    # A separate process, so that workers do not inherit what the checks have opened.
    done = subprocess.run(
        [sys.executable, env.BASE_DIR / "manage.py", "check", "--database", "default", *strict],
        capture_output=True,
        text=True,
        check=False,
    )
    found = [line.removeprefix("?: ") for line in done.stderr.splitlines() if "?: " in line]
    if done.returncode:
        return "; ".join(found) or done.stderr.strip()
    return "" if env.flag("DEBUG") else _not_collected()


def _not_collected() -> str:
    """Return what to do if there are no static files, without which no page can be shown."""
    folder = env.static_dir(env.data_dir())
    if (folder / "staticfiles.json").is_file():
        return ""
    return f"there are no static files in {folder}: run tandem collectstatic --noinput"


def when_ready(server: Any) -> None:
    """Start the worker beside the site, if there is to be one, and load the application."""
    renewal.hear_signals()
    if workers > _WORK:
        server.tandem_exchange = exchange.Exchange(_WORK)
    if env.flag("TANDEM_WITH_WORKERS"):
        server.tandem_beside = local_worker.start(env.data_dir() / "worker.log")
    renewal.preload(server)
    renewal.renew_on_hup(server, problem)


def pre_fork(server: Any, worker: Any) -> None:
    if exchange := getattr(server, "tandem_exchange", None):
        exchange.assign(worker, server.WORKERS.values())


def child_exit(server: Any, worker: Any) -> None:
    if exchange := getattr(server, "tandem_exchange", None):
        exchange.note(worker, False)


def post_fork(server: Any, worker: Any) -> None:
    if kept := getattr(server, "tandem_beside", None):
        kept.forget()


def on_exit(server: Any) -> None:
    if kept := getattr(server, "tandem_beside", None):
        kept.stop()
