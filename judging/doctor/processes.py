"""Checks of the broker, the workers, the queue, and the servers of judges."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from celery import current_app
from django.conf import settings
from django.db.models import Max
from django.utils import timezone
from kombu import Connection

from datasets.models import Job
from datasets.work import queue
from datasets.work.wake import has_broker
from judging.backends import HOSTED
from judging.doctor.base import Finding, must_mend, warning, well
from judging.models import ACTIVE, Judge
from judging.runs.lifecycle import runs_without_worker
from judging.servers import missing_key, servers_of

WAIT_SECONDS = 3.0
PING_SECONDS = 2.0
LATE, TOO_LATE = timedelta(minutes=1), timedelta(minutes=10)
RECENT = timedelta(days=7)
START_WORKER = "Start one: tandem work, and Celery's workers where judges run (see Deploy)"


def check_broker() -> Finding:
    """Connect to the broker."""
    if not has_broker():
        return well("messages are files in the data folder")
    try:
        with Connection(
            settings.CELERY_BROKER_URL,
            connect_timeout=WAIT_SECONDS,
            transport_options={"socket_connect_timeout": WAIT_SECONDS, "socket_timeout": 3},
        ) as broker:
            shown = broker.as_uri()
            broker.ensure_connection(max_retries=1, timeout=WAIT_SECONDS)
            if broker.transport.driver_type == "redis":
                # kombu connects to it at the first command only.
                broker.default_channel.client.ping()
    except Exception as error:  # each transport has its own errors
        address = Connection(settings.CELERY_BROKER_URL).as_uri()
        return must_mend(
            f"the broker {address} cannot be reached ({_brief(error)})",
            "Start it, or correct CELERY_BROKER_URL",
        )
    return well(f"{shown} answers")


def _brief(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


def check_workers() -> Finding:
    """Look for a process that carries out jobs, and with a broker for Celery's workers."""
    found = ["tandem work"] if queue.has_worker() else []
    if has_broker():
        found += sorted(_celery_workers())
    if found:
        return well(f"{len(found)} running: {', '.join(found[:5])}")
    return must_mend("no worker is running, so reports and judges wait", START_WORKER)


def _celery_workers() -> list[str]:
    try:
        answers = current_app.control.ping(timeout=PING_SECONDS) or []
    except Exception:  # the check of the broker says why
        return []
    return [name for answer in answers for name in answer]


def check_queue() -> Iterator[Finding]:
    """Yield what has waited for long: jobs, and runs of judges."""
    jobs = Job.objects.filter(state=Job.State.WAITING).order_by("created_at")
    runs = runs_without_worker().order_by("started_at")
    first_job = jobs.values_list("created_at", flat=True).first()
    first_run = runs.values_list("started_at", flat=True).first()
    if first_job is None and first_run is None:
        yield well("nothing waits")
    if first_job is not None:
        yield _waiting(f"{jobs.count()} jobs wait", first_job)
    if first_run is not None:
        yield _waiting(f"{runs.count()} runs of judges wait for a worker", first_run)


def _waiting(what: str, since: datetime) -> Finding:
    age = timezone.now() - since
    says = f"{what}, the oldest for {_duration(age)}"
    if age > TOO_LATE:
        return must_mend(says, "Look whether the workers run, and in their log")
    if age > LATE:
        return warning(says, "Wait, or start more workers")
    return well(says)


def _duration(age: timedelta) -> str:
    minutes = int(age.total_seconds() // 60)
    if minutes < 2:
        return f"{max(0, int(age.total_seconds()))} s"
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h"


def check_judge_servers() -> Iterator[Finding]:
    """Yield servers that do not accept a connection, and keys that are not set.

    They must be mended if judges have used them within a week, or wait to.
    """
    servers: dict[str, bool] = {}
    keys: dict[str, bool] = {}
    for judge in Judge.objects.filter(backend__in=HOSTED, base=None).annotate(
        last_run=Max("runs__started_at")
    ):
        recent = max(judge.last_run or judge.created_at, judge.created_at)
        is_used = timezone.now() - recent < RECENT or judge.runs.filter(state__in=ACTIVE).exists()
        for server in servers_of(judge):
            servers[server.base_url] = servers.get(server.base_url, False) or is_used
        if variable := missing_key(judge):
            keys[variable] = keys.get(variable, False) or is_used
    yield from _unreachable(servers)
    for variable, is_used in sorted(keys.items()):
        found = must_mend if is_used else warning
        yield found(f"{variable}, the key of a judge, is not set", f"Set {variable}")
    if not servers:
        yield well("no judge asks a server")


def _unreachable(servers: dict[str, bool]) -> Iterator[Finding]:
    urls = sorted(servers)
    if not urls:
        return
    with ThreadPoolExecutor(max_workers=8) as pool:
        reasons = list(pool.map(_connect, urls))
    for url, reason in zip(urls, reasons, strict=True):
        if not reason:
            yield well(f"{url} accepts connections")
            continue
        found = must_mend if servers[url] else warning
        yield found(f"{url} cannot be reached ({reason})", "Start the server, or correct its judge")


def _connect(url: str) -> str:
    """Open a connection and close it; return why that failed."""
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        with closing(socket.create_connection((parts.hostname or "", port), WAIT_SECONDS)):
            return ""
    except OSError as error:
        return str(error.strerror or error)
