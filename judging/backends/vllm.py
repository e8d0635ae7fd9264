"""The backend that starts a vLLM server for its judge and stops it afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any, Self

from judging.backends.base import (
    JSON,
    STARTING,
    Answer,
    FatalError,
    Findings,
    Request,
    Setup,
    SetupError,
    TransientError,
    UnassignedReply,
)
from judging.backends.contents import ADDRESSES, HEADERS
from judging.backends.openai import OpenAICompatible
from judging.backends.vllm_server import (
    KEY_VARIABLE,
    PARAM_FLAGS,
    PLACEMENT_PARAMS,
    POLL_SECONDS,
    SERVERS,
    Server,
    ServerProcess,
    Settings,
    extra_flags,
    settings_for,
)

PLACEHOLDER_URL = "http://127.0.0.1:1"
# Shorter than any call's deadline, so that a server restart does not time a call out.
WAIT_SECONDS = 20.0
# A dying process closes its connections shortly before its end can be observed.
NOTICE_SECONDS = 1.0


class VLLM:
    """Starts a server in this process and asks it through the openai backend.

    If the server cannot be started, every request fails with the reason. `queues` says that a
    busy server queues requests instead of rejecting them.
    """

    queues = True

    def __init__(self, setup: Setup) -> None:
        if setup.base_url:
            raise SetupError("the vllm backend starts its own server; leave out --base-url")
        if setup.api_key_env:
            raise SetupError("the vllm backend creates its own key; leave out --api-key-env")
        if HEADERS in setup.params:
            raise SetupError("the vllm backend asks its own server; leave out --param headers")
        if ADDRESSES in setup.params:
            raise SetupError(
                "the vllm backend starts its own server; leave out --param addresses, or start the "
                "servers yourself and use the openai backend"
            )
        self.settings = settings_for(setup.model, setup.params)
        self.endpoint = f"vllm:{setup.model}"
        deciding = {
            name: value
            for name, value in setup.params.items()
            if name in PARAM_FLAGS and name not in PLACEMENT_PARAMS
        }
        self._server_identity: JSON = {
            "endpoint": self.endpoint,
            "server": {"params": deciding, "flags": list(extra_flags())},
        }
        params = {k: v for k, v in setup.params.items() if k not in PARAM_FLAGS}
        # This process starts the server itself, so its address needs no guard.
        self._setup = replace(
            setup,
            base_url=PLACEHOLDER_URL,
            api_key_env=KEY_VARIABLE,
            params=params,
            listed_hosts=None,
        )
        self._inner = self._unconnected = OpenAICompatible(self._setup)
        self.batch_url = self._inner.batch_url
        self._server: Server | None = None
        self._started: ServerProcess | None = None
        self._failure: FatalError | None = None
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        self._reconnecting = asyncio.Lock()
        self._failure = None
        self._server = await _take_server(self.settings)
        try:
            await self._connect()
        except FatalError as error:
            self._failure = error
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._stack.aclose()
        if self._server is not None:
            SERVERS.release(self._server)
        self._server = self._started = None

    def identity(self, request: Request) -> JSON:
        """Like the openai backend's identity, but with the server's settings, not its address."""
        return self._unconnected.identity(request) | self._server_identity

    def body(self, request: Request) -> JSON:
        """Return the JSON of a request, for batch files."""
        return self._unconnected.body(request)

    def read_reply(self, status: int, headers: Mapping[str, str], raw: bytes) -> Answer:
        """Read the answer in a response, for batch files. Raises BackendError."""
        return self._unconnected.read_reply(status, headers, raw)

    async def ask(self, request: Request) -> Answer:
        started = await self._running_process()
        try:
            return await self._inner.ask(request)
        except TransientError as error:
            if error.status is not None or not await _has_ended(started):
                raise
        await self._running_process()
        raise TransientError(
            "server-ended", "vLLM ended during the call and was restarted", unreachable=True
        )

    async def probe(self) -> Findings:
        await self._running_process()
        found = await self._inner.probe()
        facts = {"served_by": "vllm", "flags": list(self.settings.flags)}
        return replace(found, facts=dict(found.facts) | facts)

    def recall(self, facts: Mapping[str, Any]) -> None:
        """Apply the facts of an earlier probe, since the next server has the same settings."""
        self._inner.recall(facts)

    async def fingerprint(self, answers: bool = False) -> Mapping[str, Any]:
        """Return which model and version answers, as the openai backend does."""
        await self._running_process()
        return await self._inner.fingerprint(answers)

    @property
    def unassigned(self) -> list[UnassignedReply]:
        return self._inner.unassigned

    async def _running_process(self) -> ServerProcess:
        """Return the process to ask, and wait for it while it restarts.

        Raises FatalError, or TransientError if the restart takes longer than a call may wait.
        """
        if self._failure is not None:
            raise self._failure
        if self._started is None:
            raise RuntimeError("ask inside the backend's async with block")
        if self._started.ended():
            try:
                async with asyncio.timeout(WAIT_SECONDS):
                    await self._reconnect()
            except TimeoutError:
                raise TransientError(
                    STARTING, "vLLM ended and is restarting", unreachable=True
                ) from None
        return self._started

    async def _reconnect(self) -> None:
        async with self._reconnecting:
            if self._failure is None and self._started is not None and self._started.ended():
                try:
                    await self._connect()
                except FatalError as error:
                    self._failure = error
        if self._failure is not None:
            raise self._failure

    async def _connect(self) -> None:
        """Connect to the current server process. Calls on an older connection may finish."""
        assert self._server is not None
        started = await self._server.wait_until_ready()
        inner = OpenAICompatible(replace(self._setup, base_url=started.url))
        inner.context = self._inner.context
        inner.unassigned = self._inner.unassigned
        self._inner = await self._stack.enter_async_context(inner)
        self._started = started


async def _take_server(settings: Settings) -> Server:
    """Acquire the server for these settings, in a thread because another may have to stop first."""
    taking = asyncio.ensure_future(asyncio.to_thread(SERVERS.acquire, settings))
    try:
        return await asyncio.shield(taking)
    except asyncio.CancelledError:
        taking.add_done_callback(lambda done: SERVERS.release(done.result()))
        raise


async def _has_ended(started: ServerProcess) -> bool:
    """Return whether the process has ended, or ends within `NOTICE_SECONDS`."""
    loop = asyncio.get_running_loop()
    until = loop.time() + NOTICE_SECONDS
    while not started.ended() and loop.time() < until:
        await asyncio.sleep(POLL_SECONDS / 4)
    return started.ended()
