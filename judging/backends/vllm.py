"""The backend that starts a vLLM server with its judge and stops it afterwards."""

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
)
from judging.backends.openai import OpenAICompatible
from judging.backends.vllm_server import (
    KEY_VARIABLE,
    PARAM_FLAGS,
    PLACING,
    POLL_SECONDS,
    SERVERS,
    Server,
    Settings,
    Started,
    extra_flags,
    settings_of,
)

NOWHERE = "http://127.0.0.1:1"
# Less than any deadline for a call, so that a server that starts again is no call's time-out.
WAIT_SECONDS = 20.0
# A process that has died hangs up first and is seen to be dead a moment later.
NOTICE_SECONDS = 1.0


class VLLM:
    """Asks a server that this process starts for it, through the openai backend.

    A server that cannot be started fails every request with the reason. `queues`: it refuses
    nobody who comes while it is busy, and lets him wait.
    """

    queues = True

    def __init__(self, setup: Setup) -> None:
        if setup.base_url:
            raise SetupError("the vllm backend starts its own server; leave out --base-url")
        if setup.api_key_env:
            raise SetupError("the vllm backend makes its own key; leave out --api-key-env")
        self.settings = settings_of(setup.model, setup.params)
        self.endpoint = f"vllm:{setup.model}"
        deciding = {
            name: value
            for name, value in setup.params.items()
            if name in PARAM_FLAGS and name not in PLACING
        }
        self._own: JSON = {
            "endpoint": self.endpoint,
            "server": {"params": deciding, "flags": list(extra_flags())},
        }
        params = {k: v for k, v in setup.params.items() if k not in PARAM_FLAGS}
        # Whoever starts the server has written its address: no guard stands before it.
        self._setup = replace(
            setup, base_url=NOWHERE, api_key_env=KEY_VARIABLE, params=params, listed_hosts=None
        )
        self._inner = self._unconnected = OpenAICompatible(self._setup)
        self._server: Server | None = None
        self._started: Started | None = None
        self._failure: FatalError | None = None
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        self._changing = asyncio.Lock()
        self._failure = None
        self._server = await _taken(self.settings)
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
            SERVERS.give_back(self._server)
        self._server = self._started = None

    def identity(self, request: Request) -> JSON:
        """As the openai backend's, with the server's settings instead of where it happens to be."""
        return self._unconnected.identity(request) | self._own

    def body(self, request: Request) -> JSON:
        """The JSON that is sent, for whoever writes it to a file instead."""
        return self._unconnected.body(request)

    async def ask(self, request: Request) -> Answer:
        started = await self._running()
        try:
            return await self._inner.ask(request)
        except TransientError as error:
            if error.status is not None or not await _ends(started):
                raise
        await self._running()
        raise TransientError(
            "server-ended", "vLLM ended in mid-call and was started again", unreachable=True
        )

    async def probe(self) -> Findings:
        await self._running()
        found = await self._inner.probe()
        facts = {"served_by": "vllm", "flags": list(self.settings.flags)}
        return replace(found, facts=dict(found.facts) | facts)

    def recall(self, facts: Mapping[str, Any]) -> None:
        """What a probe found out before; the server that is started next is of the same kind."""
        self._inner.recall(facts)

    async def fingerprint(self, answers: bool = False) -> Mapping[str, Any]:
        """The openai backend's: which model under which version answers."""
        await self._running()
        return await self._inner.fingerprint(answers)

    async def _running(self) -> Started:
        """The process to ask, waited for if it is being started again.

        Raises FatalError, or TransientError where it takes longer than a call may wait.
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
                    STARTING, "vLLM ended and is starting again", unreachable=True
                ) from None
        return self._started

    async def _reconnect(self) -> None:
        async with self._changing:
            if self._failure is None and self._started is not None and self._started.ended():
                try:
                    await self._connect()
                except FatalError as error:
                    self._failure = error
        if self._failure is not None:
            raise self._failure

    async def _connect(self) -> None:
        """To the server as it runs now; calls on an older connection come to their own end."""
        assert self._server is not None
        started = await self._server.up()
        inner = OpenAICompatible(replace(self._setup, base_url=started.url))
        inner.context = self._inner.context
        self._inner = await self._stack.enter_async_context(inner)
        self._started = started


async def _taken(settings: Settings) -> Server:
    """The server for these settings; in a thread, since another one may have to be stopped."""
    taking = asyncio.ensure_future(asyncio.to_thread(SERVERS.take, settings))
    try:
        return await asyncio.shield(taking)
    except asyncio.CancelledError:
        taking.add_done_callback(lambda done: SERVERS.give_back(done.result()))
        raise


async def _ends(started: Started) -> bool:
    """Whether the process has ended, or does so within a moment."""
    loop = asyncio.get_running_loop()
    until = loop.time() + NOTICE_SECONDS
    while not started.ended() and loop.time() < until:
        await asyncio.sleep(POLL_SECONDS / 4)
    return started.ended()
