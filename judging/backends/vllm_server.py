"""vLLM servers of this process: command line, start, restart, stop, and the cause of a failure.

A server outlives the engines that ask it: equal settings share one server. Each server runs under
a watchdog (`vllm_watchdog`), which ends it as soon as this process has ended for any reason.
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

TAIL_BYTES = 256 * 1024
MAX_LINE_LENGTH = 300
PORT_TAKEN = re.compile(r"address already in use", re.IGNORECASE)

# The first pattern found anywhere in the log names the cause, so the most reliable come first.
_CAUSES = tuple(
    (re.compile(pattern, re.IGNORECASE), words)
    for pattern, words in (
        (
            r"cannot start .*: No such file",
            "no program has that name; install requirements-vllm.txt into an environment of its "
            "own and set TANDEM_VLLM to the path of its bin/vllm",
        ),
        (
            r"gated repo|access to model .* is restricted|GatedRepoError",
            "the model's owner grants access to it; accept the terms where the model is published "
            "and set HF_TOKEN where the judge runs",
        ),
        (
            r"not a (local folder|valid model identifier)|RepositoryNotFoundError|"
            r"Repository Not Found|Invalid repository ID|no such file or directory: .*config\.json",
            "the model does not exist; give its published name or its folder as --model",
        ),
        (
            r"RevisionNotFoundError|not a valid git identifier",
            "the model has no such revision; correct --param revision",
        ),
        (
            r"OfflineModeIsEnabled|couldn't connect to|LocalEntryNotFoundError|"
            r"Temporary failure in name resolution|Network is unreachable",
            "the model is not on this machine and could not be downloaded; download it first, or "
            "give its folder as --model",
        ),
        (
            r"out of memory|OutOfMemoryError",
            "the model does not fit into the GPU's memory; choose a smaller or quantised model, or "
            "spread it over GPUs with --param tensor_parallel",
        ),
        (
            r"less than desired GPU memory utilization",
            "another process uses the GPU's memory; end it, or lower --param gpu_memory",
        ),
        (
            r"No available memory for the cache blocks|larger than the available KV cache",
            "the memory left beside the weights is too small for one request; lower --param "
            "max_model_len, raise --param gpu_memory, or spread the model over GPUs with --param "
            "tensor_parallel",
        ),
        (
            r"greater than the derived max_model_len|max_model_len .*exceed",
            "the model cannot read texts of that length; lower --param max_model_len",
        ),
        (
            r"must be divisible by tensor parallel size",
            "the model's heads cannot be divided evenly; choose another --param tensor_parallel",
        ),
        (
            r"world size .*larger than|number of required GPUs exceeds|invalid device ordinal",
            "this machine has fewer GPUs than --param tensor_parallel asks for; lower it",
        ),
        (
            r"driver version is insufficient|driver on your system is too old|"
            r"Failed to infer device type|no NVIDIA driver|No CUDA GPUs are available",
            "no GPU can be used; check nvidia-smi, or install the build for CPUs",
        ),
        (
            r"Model architectures? .*not supported",
            "this version of vLLM does not support the model's architecture; choose another model",
        ),
        (
            r"Unknown quantization method|quantization method .*(not match|does not match)|"
            r"Cannot find the config file for",
            "the model is not stored in that quantisation; correct --param quantization",
        ),
        (
            r"unrecognized arguments|error: argument",
            "vLLM does not know one of the arguments; correct TANDEM_VLLM_ARGS or the judge's "
            "params",
        ),
        (
            r"No module named '?vllm|PackageNotFoundError",
            "vLLM's environment is incomplete; set it up with python -m scripts.vllm",
        ),
        (
            PORT_TAKEN.pattern,
            "another process took the port in the meantime; try again",
        ),
    )
)
_PREFIX = re.compile(r"^(\([^)]*\) *)?((ERROR|CRITICAL|INFO|WARNING) [\d:. -]+(\[[^\]]*\])? *)?")
_ERROR = re.compile(r"\b\w*(Error|Exception|error): +\S")
_OUTER = re.compile(r"initialization failed|See root cause|died unexpectedly", re.IGNORECASE)

PROGRAM_VARIABLE, EXTRA_VARIABLE = "TANDEM_VLLM", "TANDEM_VLLM_ARGS"
PARAM_FLAGS = {
    "max_model_len": "--max-model-len",
    "tensor_parallel": "--tensor-parallel-size",
    "gpu_memory": "--gpu-memory-utilization",
    "quantization": "--quantization",
    "dtype": "--dtype",
    "revision": "--revision",
}
# Answers should not depend on where the server's weights are stored.
PLACEMENT_PARAMS = ("tensor_parallel", "gpu_memory")
# Without the first flag a model can spend its whole answer on blanks inside the JSON. The second
# reports prefix cache hits. The last avoids a log line per call.
DEFAULT_FLAGS = (
    "--structured-outputs-config",
    json.dumps({"backend": "xgrammar", "disable_any_whitespace": True}),
    "--enable-prompt-tokens-details",
    "--enable-prefix-caching",
    "--seed=0",
    "--uvicorn-log-level=warning",
)
# The model server does not need Tandem's secrets, and Tandem's packages would shadow its own.
WITHHELD_VARIABLES = (
    "SECRET_KEY",
    "DATABASE_URL",
    "CELERY_BROKER_URL",
    "CELERY_RESULT_BACKEND",
    "DJANGO_SETTINGS_MODULE",
    "PYTHONPATH",
    "PYTHONHOME",
)
KEY_PREFIXES = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "TANDEM_KEY_")
# Flags are listed in manifests, and every user of the machine can read them.
SECRET_FLAGS = ("--api-key", "--hf-token")

WATCHDOG = Path(__file__).with_name("vllm_watchdog.py")
# The servers accept only this key, so that no other user of the machine can use them.
KEY_VARIABLE = "TANDEM_VLLM_KEY"
POLL_SECONDS = 0.2
SILENCE_SECONDS = 15 * 60.0
IDLE_SECONDS = 10 * 60.0
STOP_SECONDS = 25.0
MAX_RESTARTS, RESTART_WINDOW_SECONDS = 3, 60 * 60.0
MAX_PORTS = 3
Clock = Callable[[], float]


def read_tail(log: Path) -> str:
    """Return the end of a log, empty if the log does not exist."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - TAIL_BYTES))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""


def explain_log(text: str) -> str:
    """Return the cause of a failure, the remedy, and the log's error line. Empty if unknown."""
    line = _error_line(text)
    cause = next((words for pattern, words in _CAUSES if pattern.search(text)), "")
    return "; its log says: ".join(part for part in (cause, line) if part)


def _error_line(text: str) -> str:
    """Return the first line that names an error, skipping lines that only repeat another error."""
    lines = [_PREFIX.sub("", line.strip(), count=1).strip() for line in text.splitlines()]
    errors = [line for line in lines if _ERROR.search(line)]
    root = [line for line in errors if not _OUTER.search(line)]
    return (root or errors or [""])[0][:MAX_LINE_LENGTH]


@dataclass(frozen=True)
class Settings:
    """The program, the model and all flags except the port. Equal settings share a server."""

    program: str
    model: str
    flags: tuple[str, ...]

    def command(self, port: int) -> list[str]:
        """Return the command line. A model in a folder keeps the name that its judge uses."""
        path = Path(self.model)
        model = str(path.resolve()) if path.is_dir() else self.model
        where = ("--host=127.0.0.1", f"--port={port}", f"--served-model-name={self.model}")
        return [self.program, "serve", model, *where, *self.flags]


def settings_for(model: str, params: Mapping[str, Any]) -> Settings:
    """Read the settings from a judge's model and params. Raises SetupError."""
    if not model:
        raise SetupError("the vllm backend needs a model; give --model")
    if model.startswith("-"):
        raise SetupError(f"model {model!r} begins with a dash; give a model's name or its folder")
    flags = [f"{flag}={params[name]}" for name, flag in PARAM_FLAGS.items() if name in params]
    return Settings(_program(), model, (*DEFAULT_FLAGS, *flags, *extra_flags()))


def _program() -> str:
    """Return the program. A path becomes absolute because the server starts in another folder."""
    program = os.environ.get(PROGRAM_VARIABLE, "").strip() or "vllm"
    return str(Path(program).absolute()) if "/" in program else program


def extra_flags() -> tuple[str, ...]:
    """Return the operator's flags, which come last and so override. Raises SetupError."""
    try:
        flags = tuple(shlex.split(os.environ.get(EXTRA_VARIABLE, "")))
    except ValueError as error:
        raise SetupError(
            f"{EXTRA_VARIABLE} cannot be read ({error}); correct its quotation marks"
        ) from error
    for flag in (each.partition("=")[0].replace("_", "-") for each in flags):
        if flag in SECRET_FLAGS:
            raise SetupError(
                f"{EXTRA_VARIABLE} contains a secret after {flag}; set a model hub's token as "
                "HF_TOKEN, and give no key, since the server has its own"
            )
    return flags


def environment(key: str) -> dict[str, str]:
    """Return the server's environment with the key, which its public command must not contain."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in WITHHELD_VARIABLES and not name.startswith(KEY_PREFIXES)
    }
    return kept | {"VLLM_API_KEY": key, "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}


class ServerProcess:
    """One process of a server, from its start to its end."""

    def __init__(self, settings: Settings) -> None:
        self.port = _free_port()
        # In any other folder Tandem's `datasets` could hide the library of that name from vLLM.
        self.folder = Path(tempfile.mkdtemp(prefix="tandem-vllm-"))
        self.log = self.folder / "vllm.log"
        self.ready = False
        with self.log.open("wb") as log:
            self.watchdog = subprocess.Popen(
                [sys.executable, "-I", str(WATCHDOG), *settings.command(self.port)],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env=environment(os.environ.setdefault(KEY_VARIABLE, secrets.token_urlsafe(32))),
                start_new_session=True,  # an interrupt in the terminal must not reach the server
            )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ended(self) -> bool:
        return self.watchdog.poll() is not None

    def close_pipe(self) -> None:
        """Close the pipe, upon which the watchdog stops the server."""
        if self.watchdog.stdin is not None:
            with suppress(OSError):
                self.watchdog.stdin.close()

    def stop(self) -> None:
        """Stop the server, wait for its end and remove its log."""
        self.close_pipe()
        try:
            self.watchdog.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.watchdog.kill()
            self.watchdog.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    async def healthy(self) -> bool:
        """Return whether the server reports that it is ready."""
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
    """A server that is restarted after it has died. Safe to use from several threads."""

    def __init__(self, settings: Settings, clock: Clock = time.monotonic) -> None:
        self.settings, self.clock = settings, clock
        self.users = 0
        self._lock = threading.Lock()
        self._started: ServerProcess | None = None
        self._restarts: list[float] = []
        self._ports = 0

    def current(self) -> ServerProcess:
        """Return the running process, or a new one. Raises FatalError if a restart is futile."""
        with self._lock:
            if self._started is not None and self._started.ended():
                self._handle_end(self._started)
            if self._started is None:
                self._started = ServerProcess(self.settings)
            return self._started

    def _handle_end(self, ended: ServerProcess) -> None:
        """Forget a process that has ended, and count how often this happened."""
        self._started = None
        text = read_tail(ended.log)
        if not ended.ready:
            self._ports += 1
            if PORT_TAKEN.search(text) and self._ports < MAX_PORTS:
                return
            self._ports = 0
            raise FatalError("vllm-start", _describe_failure("vLLM did not start", ended, text))
        now = self.clock()
        self._restarts = [at for at in self._restarts if now - at < RESTART_WINDOW_SECONDS] + [now]
        if len(self._restarts) > MAX_RESTARTS:
            times = len(self._restarts)
            self._restarts = []
            raise FatalError(
                "vllm-ended", _describe_failure(f"vLLM ended {times} times", ended, text)
            )

    async def wait_until_ready(self) -> ServerProcess:
        """Wait until the server is ready. Raises FatalError.

        The time limit applies only while the log does not change: downloading and loading weights
        may take an hour, but keeps writing to the log.
        """
        size, since = -1, self.clock()
        while not (started := self.current()).ready:
            if await started.healthy():
                started.ready = True
                self._ports = 0
                break
            if (grown := _size(started.log)) != size:
                size, since = grown, self.clock()
            elif self.clock() - since > SILENCE_SECONDS:
                text = read_tail(started.log)
                await asyncio.to_thread(self.stop)
                minutes = f"{SILENCE_SECONDS / 60:.0f} minutes"
                raise FatalError(
                    "vllm-start", _describe_failure(f"vLLM was silent for {minutes}", None, text)
                )
            await asyncio.sleep(POLL_SECONDS)
        return started

    def stop(self) -> None:
        with self._lock:
            if self._started is not None:
                self._started.stop()
                self._started = None

    def forget(self) -> None:
        """In a forked process, close the pipe, since only the parent owns the server."""
        if self._started is not None:
            self._started.close_pipe()
            self._started = None


class Servers:
    """The servers of this process by their settings.

    An unused server is stopped after `idle_seconds`, or at once if another server needs its GPU.
    """

    def __init__(self, idle_seconds: float = IDLE_SECONDS) -> None:
        self.idle_seconds = idle_seconds
        self._lock = threading.RLock()
        self._servers: dict[Settings, Server] = {}
        self._timers: dict[Settings, threading.Timer] = {}

    def acquire(self, settings: Settings) -> Server:
        """Return the server for these settings, and stop unused ones, which may take seconds.

        The caller releases the server.
        """
        with self._lock:
            if timer := self._timers.pop(settings, None):
                timer.cancel()
            server = self._servers.setdefault(settings, Server(settings))
            server.users += 1
            for other in [other for other in self._servers if other != settings]:
                self._stop_idle(other)
            return server

    def release(self, server: Server) -> None:
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
        """In a forked process, drop the parent's servers."""
        self._lock = threading.RLock()
        for server in self._servers.values():
            server.forget()
        self._servers.clear()
        self._timers.clear()


SERVERS = Servers()
atexit.register(SERVERS.stop_all)
os.register_at_fork(after_in_child=SERVERS.forget)


def _describe_failure(what: str, ended: ServerProcess | None, text: str) -> str:
    code = f" (exit code {ended.watchdog.returncode})" if ended else ""
    cause = explain_log(text)
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
