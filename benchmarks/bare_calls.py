"""Cost of a call for the HTTP client alone: `python -m benchmarks.bare_calls URL AT_ONCE CALLS`.

It sends as many requests of the same length and ignores their answers. It prints one JSON object
with the milliseconds of CPU time per call, which shows how fast this machine is, and the calls per
second.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time

import aiohttp

LETTERS = 4500


async def ask(url: str, at_once: int, calls: int) -> dict[str, float]:
    body = {"model": "fake", "messages": [{"role": "user", "content": "x" * LETTERS}]}
    data, left = json.dumps(body).encode(), iter(range(calls))
    headers = {"Content-Type": "application/json"}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def place() -> None:
            for _ in left:
                sent = aiohttp.BytesPayload(data)
                async with session.post(url, data=sent, headers=headers) as response:
                    await response.read()

        began, processor = time.monotonic(), time.process_time()
        await asyncio.gather(*(place() for _ in range(at_once)))
        return {
            "processor": 1000 * (time.process_time() - processor) / calls,
            "rate": calls / (time.monotonic() - began),
        }


def main(base: str, at_once: str, calls: str) -> None:
    url = f"{base}/v1/chat/completions"
    print(json.dumps(asyncio.run(ask(url, int(at_once), int(calls)))))


if __name__ == "__main__":
    main(*sys.argv[1:])
