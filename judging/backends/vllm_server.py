"""vLLM servers of this process: their command line, start, restart, stop, and why one ended.

A server outlives the engines that ask it: the same settings find the same server again. Each runs
under a watchdog (`vllm_watchdog`), which ends it as soon as this process is gone, however it
ended.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import re
import secrets
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from judging.backends.base import FatalError, SetupError

READ = 256 * 1024
LONGEST_LINE = 300
PORT_TAKEN = re.compile(r"address already in use", re.IGNORECASE)

# The first that is found anywhere in the log is the cause; what stands further up is more certain.
_CAUSES = tuple(
    (re.compile(pattern, re.IGNORECASE), words)
    for pattern, words in (
        (
            r"cannot start .*: No such file",
            "there is no program of that name; install requirements-vllm.txt into an environment "
            "of its own and set TANDEM_VLLM to the path of its bin/vllm",
        ),
        (
            r"gated repo|access to model .* is restricted|GatedRepoError",
            "the model is only for those whom its owner lets in; accept its terms where it is "
            "published and set HF_TOKEN where the judge runs",
        ),
        (
            r"not a (local folder|valid model identifier)|RepositoryNotFoundError|"
            r"Repository Not Found|Invalid repository ID|no such file or directory: .*config\.json",
            "there is no such model; give --model its published name, or the folder it lies in",
        ),
        (
            r"RevisionNotFoundError|not a valid git identifier",
            "the model has no such revision; mend --param revision",
        ),
        (
            r"OfflineModeIsEnabled|couldn't connect to|LocalEntryNotFoundError|"
            r"Temporary failure in name resolution|Network is unreachable",
            "the model is not on this machine and could not be fetched; fetch it beforehand, or "
            "give --model the folder it lies in",
        ),
        (
            r"out of memory|OutOfMemoryError",
            "the GPU's memory does not hold the model; take a smaller or a quantised one, or "
            "spread it with --param tensor_parallel",
        ),
        (
            r"less than desired GPU memory utilization",
            "another process holds the GPU's memory; end it, or lower --param gpu_memory",
        ),
        (
            r"No available memory for the cache blocks|larger than the available KV cache",
            "the memory beside the weights is too small for one request; lower --param "
            "max_model_len, raise --param gpu_memory, or spread the model with --param "
            "tensor_parallel",
        ),
        (
            r"greater than the derived max_model_len|max_model_len .*exceed",
            "the model reads no texts of that length; lower --param max_model_len",
        ),
        (
            r"must be divisible by tensor parallel size",
            "the model's heads cannot be shared out evenly; give --param tensor_parallel another "
            "number",
        ),
        (
            r"world size .*larger than|number of required GPUs exceeds|invalid device ordinal",
            "there are fewer GPUs than --param tensor_parallel asks for; lower it",
        ),
        (
            r"driver version is insufficient|driver on your system is too old|"
            r"Failed to infer device type|no NVIDIA driver|No CUDA GPUs are available",
            "no GPU can be used; look at nvidia-smi, or see to a build for CPU",
        ),
        (
            r"Model architectures? .*not supported",
            "this version of vLLM does not know the model's architecture; take another model",
        ),
        (
            r"Unknown quantization method|quantization method .*(not match|does not match)|"
            r"Cannot find the config file for",
            "the model is not stored in that quantisation; mend --param quantization",
        ),
        (
            r"unrecognized arguments|error: argument",
            "it does not know one of its arguments; mend TANDEM_VLLM_ARGS or the judge's params",
        ),
        (
            r"No module named '?vllm|PackageNotFoundError",
            "its environment is not whole; set it up with python -m scripts.vllm",
        ),
        (
            PORT_TAKEN.pattern,
            "its port was taken by another process meanwhile; try again",
        ),
    )
)
_PREFIX = re.compile(r"^(\([^)]*\) *)?((ERROR|CRITICAL|INFO|WARNING) [\d:. -]+(\[[^\]]*\])? *)?")
_ERROR = re.compile(r"\b\w*(Error|Exception|error): +\S")
_OUTER = re.compile(r"initialization failed|See root cause|died unexpectedly", re.IGNORECASE)


def tail_of(log: Path) -> str:
    """The end of a log; empty where there is none."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - READ))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


def cause_of(text: str) -> str:
    """What is wrong and the mend, with the line that tells it; empty where nothing does."""
    said = _telling_line(text)
    told = next((words for pattern, words in _CAUSES if pattern.search(text)), "")
    return "; it said: ".join(part for part in (told, said) if part)


def _telling_line(text: str) -> str:
    """The first line that names an error, but for those that only pass on another's."""
    lines = [_PREFIX.sub("", line.strip(), count=1).strip() for line in text.splitlines()]
    errors = [line for line in lines if _ERROR.search(line)]
    root = [line for line in errors if not _OUTER.search(line)]
    return (root or errors or [""])[0][:LONGEST_LINE]


PROGRAM, EXTRA = "TANDEM_VLLM", "TANDEM_VLLM_ARGS"
PARAM_FLAGS = {
    "max_model_len": "--max-model-len",
    "tensor_parallel": "--tensor-parallel-size",
    "gpu_memory": "--gpu-memory-utilization",
    "quantization": "--quantization",
    "dtype": "--dtype",
    "revision": "--revision",
}
# Where a server's weights lie is nothing that its answers are meant to hang on.
PLACING = ("tensor_parallel", "gpu_memory")
# Without the first a model can spend its whole answer on blanks inside the JSON; the second tells
# what the prefix cache served. The log would otherwise grow by a line for each call.
ALWAYS = (
    "--structured-outputs-config",
    json.dumps({"backend": "xgrammar", "disable_any_whitespace": True}),
    "--enable-prompt-tokens-details",
    "--enable-prefix-caching",
    "--seed=0",
    "--uvicorn-log-level=warning",
)
# A server that runs a model has no use for our secrets, and our packages would hide its own.
KEPT_BACK = (
    "SECRET_KEY",
    "DATABASE_URL",
    "CELERY_BROKER_URL",
    "CELERY_RESULT_BACKEND",
    "DJANGO_SETTINGS_MODULE",
    "PYTHONPATH",
    "PYTHONHOME",
)
JUDGES_KEYS = ("OPENAI_API_KEY", "TANDEM_KEY_")
# Flags stand in manifests, and every user of the machine may read them.
SECRET_FLAGS = ("--api-key", "--hf-token")


@dataclass(frozen=True)
class Settings:
    """What makes two judges share a server: the program, the model, and all flags but the port."""

    program: str
    model: str
    flags: tuple[str, ...]

    def command(self, port: int) -> list[str]:
        """A model in a folder is found from anywhere, under the name that the judge has for it."""
        path = Path(self.model)
        model = str(path.resolve()) if path.is_dir() else self.model
        where = ("--host=127.0.0.1", f"--port={port}", f"--served-model-name={self.model}")
        return [self.program, "serve", model, *where, *self.flags]


def settings_of(model: str, params: Mapping[str, Any]) -> Settings:
    """Raises SetupError."""
    if not model:
        raise SetupError("the vllm backend needs a model; give --model")
    if model.startswith("-"):
        raise SetupError(f"model {model!r} begins with a dash; give a model's name or its folder")
    given = [f"{flag}={params[name]}" for name, flag in PARAM_FLAGS.items() if name in params]
    return Settings(_program(), model, (*ALWAYS, *given, *extra_flags()))


def _program() -> str:
    """A path is made whole, as the server starts in another folder; a name is looked up there."""
    given = os.environ.get(PROGRAM, "").strip() or "vllm"
    return str(Path(given).absolute()) if "/" in given else given


def extra_flags() -> tuple[str, ...]:
    """The operator's own, which come last and so win. Raises SetupError."""
    try:
        flags = tuple(shlex.split(os.environ.get(EXTRA, "")))
    except ValueError as error:
        raise SetupError(f"{EXTRA} cannot be read ({error}); mend its quotes") from error
    for flag in (each.partition("=")[0].replace("_", "-") for each in flags):
        if flag in SECRET_FLAGS:
            raise SetupError(
                f"{EXTRA} has a secret behind {flag}; give a model hub's token as HF_TOKEN, and no "
                "key, for the server has one of its own"
            )
    return flags


def environment(key: str) -> dict[str, str]:
    """The server's environment. The key is not in its command, which every user may read."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in KEPT_BACK and not name.startswith(JUDGES_KEYS)
    }
    return kept | {"VLLM_API_KEY": key, "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}


GUARD = Path(__file__).with_name("vllm_watchdog.py")
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
