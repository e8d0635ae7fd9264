"""The server as a program: prints its address, and runs until it is stopped."""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys

from aiohttp import web

from tests.fake_openai.answering import Rule
from tests.fake_openai.behaviour import Behaviour
from tests.fake_openai.faults import FAULTS
from tests.fake_openai.probabilities import MODES
from tests.fake_openai.server import FakeOpenAI


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.fake_openai",
        description="An OpenAI-compatible server that answers by rule and fails on demand.",
        epilog=f"Faults: {', '.join(FAULTS)}. While it runs, GET /stats and POST /control.",
    )
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--latency", type=float, default=0.0, metavar="SECONDS")
    parser.add_argument("--spread", type=float, default=0.0, metavar="SECONDS")
    parser.add_argument("--sigma", type=float, default=0.0, help="of a lognormal latency")
    parser.add_argument("--slots", type=int, metavar="CALLS", help="worked on at once; others wait")
    parser.add_argument("--answer", default="yes", help="a code, or mixed")
    parser.add_argument("--fixed", action="append", default=[], metavar="KEY=JSON")
    parser.add_argument("--fault", action="append", default=[], metavar="NAME[:SHARE]")
    parser.add_argument("--retry-after", metavar="TEXT")
    parser.add_argument("--capacity", type=int, metavar="CALLS", help="429 above so many at once")
    parser.add_argument("--rate", type=float, metavar="CALLS", help="429 above so many a second")
    parser.add_argument(
        "--burst", type=int, default=1, metavar="CALLS", help="that may come at once"
    )
    parser.add_argument(
        "--tokens-per-minute", type=float, metavar="TOKENS", help="429 above so many"
    )
    parser.add_argument("--key", help="the only key that is let in")
    parser.add_argument("--model", help="the only model that it serves")
    parser.add_argument("--weights", default="", help="other weights, other answers")
    parser.add_argument("--context", type=int, metavar="TOKENS", help="the longest prompt")
    parser.add_argument("--unconstrained", action="store_true", help="ignores the schema")
    parser.add_argument("--logprobs", choices=MODES, default="raw")
    parser.add_argument(
        "--prefix-cache", type=int, metavar="TOKENS", help="the number of tokens in a block"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--attended", action="store_true", help="ends with its standard input")
    return parser.parse_args()


def behaviour(given: argparse.Namespace) -> Behaviour:
    fixed = dict(pair.split("=", 1) for pair in given.fixed)
    faults = dict((f if ":" in f else f"{f}:1").rsplit(":", 1) for f in given.fault)
    return Behaviour(
        latency=given.latency,
        spread=given.spread,
        rule=Rule(given.answer, {key: json.loads(value) for key, value in fixed.items()}),
        faults={name: float(share) for name, share in faults.items()},
        retry_after=given.retry_after,
        capacity=given.capacity,
        sigma=given.sigma,
        slots=given.slots,
        rate=given.rate,
        burst=given.burst,
        tokens_per_minute=given.tokens_per_minute,
        key=given.key,
        model=given.model,
        weights=given.weights,
        context=given.context,
        constrained=not given.unconstrained,
        logprobs=given.logprobs,
        prefix_cache=given.prefix_cache,
    )


async def serve(given: argparse.Namespace) -> None:
    runner = web.AppRunner(FakeOpenAI(behaviour(given), given.seed).app(), access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, given.host, given.port, backlog=1024)
    await site.start()
    port = runner.addresses[0][1]
    print(f"http://{given.host}:{port}", flush=True)
    stopped, loop = asyncio.Event(), asyncio.get_running_loop()
    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, stopped.set)
    if given.attended:
        loop.add_reader(sys.stdin.fileno(), stopped.set)
    await stopped.wait()
    await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(serve(arguments()))
