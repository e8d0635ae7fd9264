"""Python processes that tests start, forked from a server that has imported the libraries already.

Importing Django, Celery and aiohttp takes half a second of processor time for each command.
`Process` is `subprocess.Popen`, and `run` is `subprocess.run`, for such commands. A process has its
own environment, folder, streams, session and exit status as always. It reads the settings itself,
and imports what depends on them. `tests.ready` is another server, which has already imported this
for Tandem's own commands.

`python -m tests.forks FD` is the server. It ends with the process that started it.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import random
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests import ready

ROOT = Path(__file__).resolve().parents[1]
# None of these reads a setting while it is imported.
LIBRARIES = (
    "aiohttp",
    "annotation.protocols",
    "celery.bin.celery",
    "datasets.readers",
    "django.contrib.auth.hashers",
    "django.core.handlers.wsgi",
    "django.core.management.commands.shell",
    "django.core.paginator",
    "django.core.serializers.json",
    "django.db.backends.sqlite3.base",
    "django.db.models",
    "django.forms",
    "django.template.loader",
    "django.views.generic",
    "judging.backends",
    "kombu.transport.filesystem",
    "numpy",
    "requests",
    "rich.progress",
    "rich.traceback",
    "structlog",
)
# An interpreter and its libraries read these once, when they start.
READ_ONCE = ("PYTHON", "LC_", "LANG", "OPENBLAS")
LONGEST_PAUSE = 0.02  # seconds between checks whether a process has ended


class Process(subprocess.Popen[Any]):
    """`subprocess.Popen`, but forked if the server can fork it."""

    _server: Server | None = None

    def _execute_child(self, args: Any, *others: Any) -> None:
        (executable, preexec_fn, _, pass_fds, cwd, env, _, _, shell,
         stdin, to_child, from_child, stdout, errors, stderr, *rest) = others  # fmt: skip
        env = {**os.environ} if env is None else {**env}
        special = executable or preexec_fn or pass_fds or shell
        if special or not can_fork(args, env):
            super()._execute_child(args, *others)  # type: ignore[misc]
            return
        own = [theirs if theirs != -1 else n for n, theirs in enumerate((stdin, stdout, stderr))]
        job = {"words": [str(word) for word in args[1:]], "cwd": str(cwd or Path.cwd()),
               "env": env, "session": rest[-2], "group": rest[-1]}  # fmt: skip
        self._server = Server.of_this_process(ready.place_for(job))
        self.pid = self._server.ask(job, own)[0]
        self._child_created = True
        for descriptor, ours in ((stdin, to_child), (stdout, from_child), (stderr, errors)):
            if descriptor != -1 and ours != -1:
                os.close(descriptor)

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        if self._server is None:
            return super()._try_wait(wait_flags)  # type: ignore[misc]
        pause = 0.0005
        while True:
            pid, status = self._server.ask({"wait": self.pid}, ())
            if pid or wait_flags & os.WNOHANG:
                return pid, status
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _internal_poll(self, *others: Any, **named: Any) -> int | None:
        if self._server is None:
            return super()._internal_poll(*others, **named)  # type: ignore[misc]
        if self.returncode is None and self._waitpid_lock.acquire(False):  # type: ignore[attr-defined]
            try:
                pid, status = self._try_wait(os.WNOHANG)
                if pid:
                    self._handle_exitstatus(status)  # type: ignore[attr-defined]
            finally:
                self._waitpid_lock.release()  # type: ignore[attr-defined]
        return self.returncode


def run(
    command: Sequence[str], *, timeout: float, said: str | None = None, **options: Any
) -> subprocess.CompletedProcess[str]:
    """`subprocess.run` with captured text; the command reads `said`."""
    pipe = subprocess.PIPE
    options |= {"stdin": None if said is None else pipe, "stdout": pipe, "stderr": pipe}
    with Process(command, text=True, **options) as process:
        try:
            out, errors = process.communicate(said, timeout)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(process.args, process.returncode, out, errors)


def can_fork(args: Any, env: Mapping[str, str]) -> bool:
    """Return whether a command starts this Python without options, in an environment like this one.

    A process with line tracing has to start it itself.
    """
    words = [args] if isinstance(args, (str, os.PathLike)) else list(args)
    plain = len(words) > 1 and (words[1] in ("-m", "-c") or not str(words[1]).startswith("-"))
    return (
        plain
        and words[0] == sys.executable
        and hasattr(os, "fork")
        and "COVERAGE_PROCESS_START" not in env
        and _read_once(env) == _read_once(os.environ)
    )


def _read_once(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name.startswith(READ_ONCE)}


class Server:
    """The fork server of this process, which gets one job at a time."""

    _of: dict[tuple[int, str], Server] = {}

    @classmethod
    def of_this_process(cls, place: str = "") -> Server:
        """The plain server, or its fork for an entry of `tests.ready`."""
        with _STARTING:
            key = os.getpid(), place
            if key not in cls._of:
                cls._of[key] = cls(place)
        return cls._of[key]

    def __init__(self, place: str = "") -> None:
        self.socket, theirs = socket.socketpair()
        self.lock = threading.Lock()
        null, command = subprocess.DEVNULL, [sys.executable, "-m", "tests.forks"]
        self.process: subprocess.Popen[Any]
        with theirs:
            if place:
                self.process = Process(
                    [*command, "0", "ready"], cwd=ROOT, stdin=theirs.fileno(), stdout=null,
                    env=ready.environment(place),
                )  # fmt: skip
            else:
                self.process = subprocess.Popen(
                    [*command, str(theirs.fileno())], cwd=ROOT, stdin=null, stdout=null,
                    pass_fds=[theirs.fileno()],
                )  # fmt: skip
        atexit.register(self.end, os.getpid())

    def ask(self, what: Mapping[str, Any], descriptors: Sequence[int]) -> tuple[int, int]:
        body = json.dumps(what).encode()
        with self.lock:
            socket.send_fds(self.socket, [len(body).to_bytes(4)], descriptors)
            self.socket.sendall(body)
            answer = self.socket.recv(12, socket.MSG_WAITALL)
        return int.from_bytes(answer[:8]), int.from_bytes(answer[8:])

    def end(self, pid: int) -> None:
        """End the server. The process that started it adds the server's usage to its own."""
        if pid == os.getpid():
            self.socket.close()
            self.process.wait()


_STARTING = threading.RLock()


def serve(client: socket.socket) -> dict[str, Any] | None:
    """Fork a process for each job, and return the job in the fork. Return None at the end."""
    while True:
        head, descriptors, *_ = socket.recv_fds(client, 4, 3)
        if not head:
            return None
        job = json.loads(client.recv(int.from_bytes(head), socket.MSG_WAITALL))
        if "wait" in job:
            pid, status = os.waitpid(job["wait"], os.WNOHANG)
        else:
            pid, status = os.fork(), 0
            if not pid:
                client.close()
                _settle(job, descriptors)
                return dict(job)
        for descriptor in descriptors:
            os.close(descriptor)
        client.sendall(pid.to_bytes(8) + status.to_bytes(4))


def _settle(job: Mapping[str, Any], descriptors: Sequence[int]) -> None:
    """Give a fork the state of a new process."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if job["session"]:
        os.setsid()
    elif job["group"] >= 0:
        os.setpgid(0, job["group"])
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(job["cwd"])
    os.environ.clear()
    os.environ.update(job["env"])
    random.seed()
    sys.modules["numpy"].random.seed()


def begin(words: Sequence[str]) -> None:
    """Run a command line like Python would."""
    first, *rest = words
    sys.path[0] = "" if first == "-c" else str(Path.cwd())
    if first == "-m":
        sys.argv = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif first == "-c":
        sys.argv = ["-c", *rest[1:]]
        exec(compile(rest[0], "<string>", "exec"), {"__name__": "__main__"})
    else:
        sys.argv, sys.path[0] = list(words), str(Path(first).resolve().parent)
        runpy.run_path(first, run_name="__main__")


def main(descriptor: int, *like: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in LIBRARIES:
        importlib.import_module(name)
    if like:
        ready.set_up()
    gc.collect()
    gc.freeze()
    if job := serve(socket.socket(fileno=descriptor)):
        if like:
            ready.follow(job["words"])
        begin(job["words"])


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
