"""Load the application once in the main process, and renew the main process for new code.

Web processes are forked from the main process. A killed one is replaced at once, and all of them
share the memory of the loaded application. At the fork, the main process has no open database
connection and no thread, which a fork may not share.

For new code on HUP, the main process therefore starts again as itself: the same process id, the
same listening sockets, another interpreter. Until its web processes are ready, the old ones
continue to answer. Then these are told to stop, and finish the requests that they have begun.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from datasets import site_lock

FORMER = "TANDEM_FORMER_PROCESSES"
"""The variable that tells the main process, after its restart, which web processes to end."""
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)
GRACE_SECONDS = 5.0
"""How long after its own grace period a process is killed."""


def preload(server: Any) -> None:
    """Load the application, all views and templates, so that no fork or first request waits.

    Each process, and at first each of its threads, would otherwise compile the same templates.
    """
    server.app.wsgi()
    from django.db import connections
    from django.urls import get_resolver, reverse

    # The URL configuration imports all views when it is first used.
    list(get_resolver().url_patterns)
    reverse("login")  # builds the table of all routes
    _compile_templates()
    connections.close_all()
    # A collection in a forked process would write to all objects, and so copy their memory.
    gc.collect()
    gc.freeze()


def _compile_templates() -> None:
    """Compile our templates. One with an error raises it when it is rendered, and not here."""
    from django.conf import settings
    from django.template import TemplateSyntaxError
    from django.template.loader import get_template

    folders: Any = settings.TEMPLATES[0]["DIRS"]
    for folder in folders:
        for path in sorted(folder.rglob("*.html")):
            with suppress(TemplateSyntaxError):
                get_template(str(path.relative_to(folder)))


def renew_on_hup(server: Any, problem: Callable[[], str]) -> None:
    """Have HUP restart the main process, unless `problem` finds an error in the settings."""
    former = [int(pid) for pid in os.environ.pop(FORMER, "").split(",") if pid]
    server.handle_hup = partial(_start_again, server, problem)
    if former:
        _end_later(server, former)


def hear_signals() -> None:
    """Handle the signals that arrived while `_start_again` restarted the main process."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


def _start_again(server: Any, problem: Callable[[], str]) -> None:
    # A signal to stop would be lost with this interpreter, or kill the next one before it has
    # handlers.
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    if found := problem():
        server.log.error("Not reloaded: %s", found)
        hear_signals()
        return
    server.log.info("Starting again with new code")
    listeners = {"GUNICORN_FD": ",".join(str(each.fileno()) for each in server.LISTENERS)}
    if server.systemd:
        listeners = {"LISTEN_PID": str(server.pid), "LISTEN_FDS": str(len(server.LISTENERS))}
    # gunicorn takes sockets over from the process that is named here.
    known = {"GUNICORN_PID": str(server.pid), FORMER: ",".join(map(str, server.WORKERS))}
    if (lock := getattr(server, "tandem_lock", None)) is not None:
        known |= site_lock.pass_on(lock)
    os.chdir(server.START_CTX["cwd"])
    # The command line that gunicorn itself keeps would not start `python -m gunicorn` again.
    os.execve(sys.executable, sys.orig_argv, server.cfg.env_orig | listeners | known)


def _end_later(server: Any, former: Sequence[int]) -> None:
    """End the former web processes once there are new ones.

    gunicorn no longer knows them, so this is added to the function that it calls each second.
    """
    manage, ends = server.manage_workers, list[float]()

    def managed() -> None:
        manage()
        if not ends:
            _tell(server, former, signal.SIGTERM)
            ends.append(time.monotonic() + server.cfg.graceful_timeout + GRACE_SECONDS)
        elif time.monotonic() > ends[0]:
            _tell(server, former, signal.SIGKILL)
            server.manage_workers = manage

    server.manage_workers = managed


def _tell(server: Any, processes: Sequence[int], number: signal.Signals) -> None:
    for pid in processes:
        # A process that has ended is no longer a child, and its id may belong to another process.
        if pid not in server.WORKERS and _is_running_child(pid):
            os.kill(pid, number)


def _is_running_child(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG) == (0, 0)
    except ChildProcessError:
        return False
