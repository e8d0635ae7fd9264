"""Results are stored in groups: full groups, or whatever arrived within a moment."""

from __future__ import annotations

import asyncio

from judging.answers.results import Result
from judging.engine.persistence import GROUP_SECONDS, Writer
from tests.judging.virtual import in_virtual_time, now, rows

GROUP = 32

Written = list[tuple[float, int]]


def written(arrivals: list[float], write_seconds: float = 0.0) -> Written:
    """The start times of groups and their sizes, for results that arrive at these times."""
    groups: Written = []

    async def write(group: list[Result]) -> None:
        groups.append((round(now(), 6), len(group)))
        await asyncio.sleep(write_seconds)

    async def job() -> None:
        writer = Writer(write, lambda: None)
        writing = asyncio.create_task(writer.run())
        prepared = rows(1)[0]
        for moment in arrivals:
            await asyncio.sleep(moment - now())
            writer.add(Result(prepared))
        await asyncio.sleep(1)
        assert writer.unwritten == 0
        writer.close()
        await writing

    in_virtual_time(job)
    return groups


def test_a_single_result_waits_a_moment_for_others() -> None:
    assert written([1.0, 1.01, 1.02]) == [(1.0 + GROUP_SECONDS, 3)]


def test_a_full_group_is_written_at_once() -> None:
    assert written([1.0] * (GROUP + 1)) == [(1.0, GROUP), (1.0 + GROUP_SECONDS, 1)]


def test_a_group_that_is_not_full_waits_even_after_a_full_one() -> None:
    groups = written([1.0] * GROUP + [2.0] * (GROUP - 1))
    assert groups == [(1.0, GROUP), (2.0 + GROUP_SECONDS, GROUP - 1)]


def test_a_single_last_result_is_written_at_once() -> None:
    moments: list[float] = []

    async def job() -> None:
        async def write(group: list[Result]) -> None:
            moments.append(now())

        writer = Writer(write, lambda: None)
        writing = asyncio.create_task(writer.run())
        writer.add(Result(rows(1)[0]))
        writer.hurry()
        await asyncio.sleep(1)
        writer.close()
        await writing

    in_virtual_time(job)
    assert moments == [0.0]


def test_a_result_after_a_full_group_waits_its_own_moment() -> None:
    assert written([1.0] * GROUP + [1.2]) == [(1.0, GROUP), (1.2 + GROUP_SECONDS, 1)]


def test_the_last_results_are_written_without_waiting_even_after_another_group() -> None:
    groups: list[int] = []

    async def job() -> None:
        async def write(group: list[Result]) -> None:
            groups.append(len(group))
            await asyncio.sleep(GROUP_SECONDS / 10)

        writer = Writer(write, lambda: None)
        writing = asyncio.create_task(writer.run())
        for _ in range(GROUP + 2):
            writer.add(Result(rows(1)[0]))
        await asyncio.sleep(GROUP_SECONDS / 20)
        writer.hurry()
        await asyncio.sleep(GROUP_SECONDS / 4)
        assert writer.unwritten == 0
        writer.close()
        await writing

    in_virtual_time(job)
    assert groups == [GROUP, 2]


def test_no_group_exceeds_the_maximum_size() -> None:
    groups = written([1.0] * 200, write_seconds=0.01)
    assert max(size for _, size in groups) == GROUP
    assert sum(size for _, size in groups) == 200


def test_with_slow_writing_the_next_group_is_written_before_it_is_full() -> None:
    arrivals = [1 + n / 640 for n in range(640)]
    sizes = [size for _, size in written(arrivals, write_seconds=0.015)][3:-3]
    assert min(sizes) >= 8
    assert max(sizes) < GROUP


def test_everything_is_written_before_the_writer_ends() -> None:
    async def job() -> int:
        sizes: list[int] = []

        async def write(group: list[Result]) -> None:
            await asyncio.sleep(0.5)
            sizes.append(len(group))

        writer = Writer(write, lambda: None)
        for _ in range(3 * GROUP):
            writer.add(Result(rows(1)[0]))
        writer.close()
        await writer.run()
        return sum(sizes)

    assert in_virtual_time(job) == 3 * GROUP
