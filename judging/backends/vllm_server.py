"""vLLM servers of this process: started, waited for, started again, and stopped.

A server outlives the pumps that ask it: the same settings find the same server again. Each stands
under a guard (`vllm_guard`), which ends it when this process is gone, however it went.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import aiohttp

from judging.backends.base import FatalError
from judging.backends.vllm_command import Settings, environment
from judging.backends.vllm_log import PORT_TAKEN, cause_of, tail_of

GUARD = Path(__file__).with_name("vllm_guard.py")
# Its servers take this key only, so that nobody else on the machine can use them.
KEY_VARIABLE = "TANDEM_VLLM_KEY"
POLL_SECONDS = 0.2
SILENT_SECONDS = 15 * 60.0
IDLE_SECONDS = 10 * 60.0
STOP_SECONDS = 25.0
MOST_RESTARTS, WITHIN_SECONDS = 3, 60 * 60.0
PORTS_TRIED = 3
Clock = Callable[[], float]


class Started:
    """One process of a server, from its start to its end."""

    def __init__(self, settings: Settings) -> None:
        self.port = _free_port()
        # An empty folder: our package `datasets` would hide the library of that name from vLLM.
        self.folder = Path(tempfile.mkdtemp(prefix="tandem-vllm-"))
        self.log = self.folder / "vllm.log"
        self.ready = False
        with self.log.open("wb") as log:
            self.guard = subprocess.Popen(
                [sys.executable, "-I", str(GUARD), *settings.command(self.port)],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env=environment(os.environ.setdefault(KEY_VARIABLE, secrets.token_urlsafe(32))),
                start_new_session=True,  # an interrupt in the terminal is for us only
            )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ended(self) -> bool:
        return self.guard.poll() is not None

    def let_go(self) -> None:
        """Closes the pipe: the guard stops the server."""
        if self.guard.stdin is not None:
            with suppress(OSError):
                self.guard.stdin.close()

    def stop(self) -> None:
        """Stops the server and waits for its end. The log goes too."""
        self.let_go()
        try:
            self.guard.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.guard.kill()
            self.guard.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    async def healthy(self) -> bool:
        """Whether it answers that it can be asked."""
        timeout = aiohttp.ClientTimeout(total=5.0)
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout) as session,
                session.get(f"{self.url}/health") as response,
            ):
                return response.status == 200
        except (aiohttp.ClientError, OSError):
            return False


class Server:
    """A server that is started again when it has died. Safe to use from several threads."""

    def __init__(self, settings: Settings, clock: Clock = time.monotonic) -> None:
        self.settings, self.clock = settings, clock
        self.users = 0
        self._lock = threading.Lock()
        self._started: Started | None = None
        self._restarts: list[float] = []
        self._ports = 0

    def current(self) -> Started:
        """The process that runs, or a new one. Raises FatalError where another is of no use."""
        with self._lock:
            if self._started is not None and self._started.ended():
                self._look_at(self._started)
            if self._started is None:
                self._started = Started(self.settings)
            return self._started

    def _look_at(self, ended: Started) -> None:
        """Forgets a process that has ended, and counts how often that came."""
        self._started = None
        text = tail_of(ended.log)
        if not ended.ready:
            self._ports += 1
            if PORT_TAKEN.search(text) and self._ports < PORTS_TRIED:
                return
            self._ports = 0
            raise FatalError("vllm-start", _told("vLLM did not start", ended, text))
        now = self.clock()
        self._restarts = [at for at in self._restarts if now - at < WITHIN_SECONDS] + [now]
        if len(self._restarts) > MOST_RESTARTS:
            times = len(self._restarts)
            self._restarts = []
            raise FatalError("vllm-ended", _told(f"vLLM ended {times} times", ended, text))

    async def up(self) -> Started:
        """Waits until the server can be asked. Raises FatalError.

        There is no limit but for a log in which nothing is written any more: fetching and loading
        weights may take an hour, and says so all the while.
        """
        size, since = -1, self.clock()
        while not (started := self.current()).ready:
            if await started.healthy():
                started.ready = True
                self._ports = 0
                break
            if (grown := _size(started.log)) != size:
                size, since = grown, self.clock()
            elif self.clock() - since > SILENT_SECONDS:
                text = tail_of(started.log)
                await asyncio.to_thread(self.stop)
                minutes = f"{SILENT_SECONDS / 60:.0f} minutes"
                raise FatalError("vllm-start", _told(f"vLLM was silent for {minutes}", None, text))
            await asyncio.sleep(POLL_SECONDS)
        return started

    def stop(self) -> None:
        with self._lock:
            if self._started is not None:
                self._started.stop()
                self._started = None

    def forget(self) -> None:
        """In a forked process: the server is its parent's, who must be the only one to hold on."""
        if self._started is not None:
            self._started.let_go()
            self._started = None


class Servers:
    """The servers of this process by their settings. One that nobody asks is stopped after a while,
    and at once where its GPU is needed for another.
    """

    def __init__(self, idle_seconds: float = IDLE_SECONDS) -> None:
        self.idle_seconds = idle_seconds
        self._lock = threading.RLock()
        self._servers: dict[Settings, Server] = {}
        self._timers: dict[Settings, threading.Timer] = {}

    def take(self, settings: Settings) -> Server:
        """The server for these settings, to be given back; it may take seconds to stop others."""
        with self._lock:
            if timer := self._timers.pop(settings, None):
                timer.cancel()
            server = self._servers.setdefault(settings, Server(settings))
            server.users += 1
            for other in [other for other in self._servers if other != settings]:
                self._stop_idle(other)
            return server

    def give_back(self, server: Server) -> None:
        with self._lock:
            server.users -= 1
            if server.users == 0 and server.settings in self._servers:
                timer = threading.Timer(self.idle_seconds, self._stop_idle, [server.settings])
                timer.daemon = True
                self._timers[server.settings] = timer
                timer.start()

    def _stop_idle(self, settings: Settings) -> None:
        with self._lock:
            server = self._servers.get(settings)
            if server is not None and server.users == 0:
                del self._servers[settings]
                if timer := self._timers.pop(settings, None):
                    timer.cancel()
                server.stop()

    def stop_all(self) -> None:
        with self._lock:
            servers = list(self._servers.values())
            self._servers.clear()
        for server in servers:
            server.stop()

    def forget(self) -> None:
        """In a forked process."""
        self._lock = threading.RLock()
        for server in self._servers.values():
            server.forget()
        self._servers.clear()
        self._timers.clear()


SERVERS = Servers()
atexit.register(SERVERS.stop_all)
os.register_at_fork(after_in_child=SERVERS.forget)


def _told(what: str, ended: Started | None, text: str) -> str:
    code = f" (exit code {ended.guard.returncode})" if ended else ""
    cause = cause_of(text)
    where = f"; its log is {ended.log}" if ended else ""
    return f"{what}{code}" + (f": {cause}" if cause else "") + where


def _size(log: Path) -> int:
    try:
        return log.stat().st_size
    except OSError:
        return 0


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
