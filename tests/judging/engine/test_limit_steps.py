"""The limit step by step, by hand: what each answer, refusal and timeout changes, and when."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from judging.engine.limits import Latencies, Limit
from tests.judging.clock import Clock

BEGAN = 10.0


@pytest.fixture
def clock() -> Clock:
    clock = Clock()
    clock.now = BEGAN
    return clock


def begin(limit: Limit, calls: int) -> None:
    for _ in range(calls):
        limit.begin()


def answer(limit: Limit, clock: Clock, calls: int, under_way: int | None = None) -> list[int]:
    """The limits after each of these calls, with this many under way or as many as allowed."""
    sizes = []
    for _ in range(calls):
        begin(limit, (under_way or limit.size) - limit.under_way)
        limit.answered(clock.now)
        sizes.append(limit.size)
    return sizes


def last(limit: Limit, clock: Clock, seconds: float, calls: int) -> list[int]:
    """The limits after each of these calls, which begin now, fill the limit and take this long."""
    begun, clock.now = clock.now, clock.now + seconds
    sizes = []
    for _ in range(calls):
        begin(limit, limit.size - limit.under_way)
        limit.answered(begun)
        sizes.append(limit.size)
    return sizes


def refuse(limit: Limit, calls: int, begun: float, wait: float = 0.1) -> None:
    for _ in range(calls):
        limit.refused(begun, wait)


class TestLatencies:
    def test_there_are_no_latencies_before_a_call_has_ended(self) -> None:
        kept = Latencies()
        assert (kept.median, kept.p95) == (None, None)

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("seconds", "median", "p95"),
        [
            ([7.0], 7.0, 7.0),
            ([5.0, 1.0, 4.0, 2.0, 3.0], 3.0, 5.0),
            ([4.0, 3.0, 2.0, 1.0], 2.0, 4.0),
            ([float(n) for n in range(21)], 10.0, 19.0),
        ],
    )
    def test_latencies_of_the_first_calls_count_at_once(
        self, seconds: list[float], median: float, p95: float
    ) -> None:
        kept = Latencies()
        for each in seconds:
            kept.add(each)
        assert (kept.median, kept.p95) == (median, p95)

    def test_later_latencies_are_evaluated_32_at_a_time(self) -> None:
        kept = Latencies()
        for _ in range(31):
            kept.add(1.0)
        for _ in range(31):
            kept.add(9.0)
        assert (kept.median, kept.p95) == (1.0, 1.0)
        kept.add(9.0)
        assert (kept.median, kept.p95) == (9.0, 9.0)

    def test_the_latest_200_latencies_are_kept(self) -> None:
        kept = Latencies()
        for number in range(1, 31 + 6 * 32 + 1):
            kept.add(-float(number))
        # The last evaluation was of calls 24 to 223.
        assert kept.median == -124.0


class TestStart:
    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("maximum", "remembered", "queues", "size"),
        [
            (500, None, False, 64),
            (500, None, True, 20),
            (500, 30, True, 30),
            (7, None, False, 7),
            (7, 30, False, 7),
            (1, None, False, 1),
            (0, None, False, 1),
        ],
    )
    def test_the_initial_limit_depends_on_maximum_memory_and_queueing(
        self, maximum: int, remembered: int | None, queues: bool, size: int
    ) -> None:
        limit = Limit(maximum, remembered, queues, clock=Clock())
        assert (limit.size, limit.room(), limit.maximum) == (size, size, max(1, maximum))
        assert limit.learned is None

    def test_each_answer_raises_the_limit_by_one_until_the_first_refusal(
        self, clock: Clock
    ) -> None:
        limit = Limit(67, clock=clock)
        assert answer(limit, clock, 5) == [65, 66, 67, 67, 67]

    def test_a_remembered_limit_grows_by_one_a_round_for_five_rounds(self, clock: Clock) -> None:
        limit = Limit(100, remembered=10, clock=clock)
        sizes = answer(limit, clock, 62)
        grew = [n for n, (old, new) in enumerate(zip([10, *sizes], sizes, strict=False), 1)
                if new > old]  # fmt: skip
        assert grew == [10, 21, 33, 46, 60, 61, 62]
        assert sizes[-1] == 17

    @pytest.mark.every_case
    @pytest.mark.parametrize(("under_way", "grows"), [(7, False), (8, True)])
    def test_the_limit_grows_only_if_four_fifths_of_it_are_in_use(
        self, clock: Clock, under_way: int, grows: bool
    ) -> None:
        limit = Limit(100, remembered=10, clock=clock)
        assert (answer(limit, clock, 10, under_way)[-1] == 11) == grows


class TestTimeouts:
    def test_ten_timeouts_among_the_last_fifty_calls_count_as_a_refusal(self, clock: Clock) -> None:
        limit = Limit(64, clock=clock)
        begin(limit, 10)
        sizes = []
        for _ in range(10):
            limit.overran(clock.now)
            sizes.append(limit.size)
        assert sizes == [64] * 9 + [48]
        assert limit.ceiling == 64

    def test_timeouts_before_the_last_fifty_calls_no_longer_count(self, clock: Clock) -> None:
        limit = Limit(64, clock=clock)
        begin(limit, 51)
        for _ in range(9):
            limit.overran(clock.now)
        for _ in range(41):
            limit.failed()
        limit.overran(clock.now)
        assert limit.size == 64

    def test_a_failure_does_not_count_as_a_timeout(self, clock: Clock) -> None:
        limit = Limit(64, clock=clock)
        begin(limit, 21)
        for _ in range(20):
            limit.failed()
        limit.overran(clock.now)
        assert limit.size == 64

    @pytest.mark.parametrize("end", [Limit.answered, Limit.overran])
    def test_the_latency_of_answered_and_timed_out_calls_is_recorded(
        self, clock: Clock, end: Callable[[Limit, float], None]
    ) -> None:
        limit = Limit(64, clock=clock)
        limit.begin()
        clock.now += 4
        end(limit, BEGAN)
        assert limit.latencies.median == 4.0

    def test_the_latency_of_a_failed_call_is_not_recorded(self, clock: Clock) -> None:
        limit = Limit(64, clock=clock)
        limit.begin()
        limit.failed()
        assert limit.latencies.median is None


class TestRefusal:
    @pytest.mark.every_case
    @pytest.mark.parametrize(("under_way", "ceiling"), [(64, 64), (40, 40), (1, 1)])
    def test_a_refusal_sets_the_ceiling_to_the_calls_under_way(
        self, clock: Clock, under_way: int, ceiling: int
    ) -> None:
        limit = Limit(64, clock=clock)
        begin(limit, under_way)
        limit.refused(BEGAN, 0.1)
        assert (limit.ceiling, limit.size, limit.learned) == (ceiling, 48, 48)

    @pytest.mark.every_case
    @pytest.mark.parametrize(("took", "rest"), [(0.0, 0.005), (0.02, 0.045), (0.5, 0.25)])
    def test_further_refusals_of_a_burst_are_awaited_for_at_most_a_quarter_second(
        self, clock: Clock, took: float, rest: float
    ) -> None:
        limit = Limit(64, clock=clock)
        begin(limit, 2)
        clock.now += took
        limit.refused(BEGAN, 20.0)
        assert limit.rests_until == pytest.approx(BEGAN + took + rest)
        assert limit.room() == 0
        clock.now = limit.rests_until
        assert limit.room() == 47
        assert limit.rests_until == 0.0

    def test_calls_begun_at_the_cut_do_not_belong_to_the_burst(self, clock: Clock) -> None:
        limit = Limit(64, clock=clock)
        begin(limit, 3)
        limit.refused(BEGAN - 0.1, 0.1)
        rests = limit.rests_until
        clock.now += 0.1
        limit.refused(BEGAN, 0.1)
        assert limit.rests_until == rests
        limit.refused(BEGAN - 0.05, 0.1)
        assert limit.rests_until == pytest.approx(BEGAN + 0.1 + 0.25)

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("median", "begun", "after", "cuts"),
        [
            (None, BEGAN, 0.375, False),
            (None, BEGAN, 0.5, True),
            (None, BEGAN - 1, 9.0, False),
            (0.125, BEGAN, 0.375, False),
            (1.0, BEGAN, 1.75, False),
            (1.0, BEGAN, 2.0, True),
            (1.0, BEGAN + 1, 1.75, False),
        ],
    )
    def test_the_limit_is_lowered_once_per_episode(
        self, clock: Clock, median: float | None, begun: float, after: float, cuts: bool
    ) -> None:
        """An episode lasts twice as long as a call, but at least half a second."""
        limit = Limit(64, clock=clock)
        if median is not None:
            limit.latencies.add(median)
        begin(limit, 64)
        limit.refused(BEGAN - 1, 0.1)
        clock.now += after
        limit.refused(begun, 0.1)
        assert limit.size == (45 if cuts else 48)

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("refused", "answered", "ceiling", "size"),
        [(2, 14, 20, 15), (3, 13, 18, 15), (12, 4, 9, 8), (16, 0, 5, 4)],
    )
    def test_the_unrefused_calls_of_a_burst_are_the_servers_capacity(
        self, clock: Clock, refused: int, answered: int, ceiling: int, size: int
    ) -> None:
        """Three refusals are a burst. Of twenty calls four are still under way."""
        limit = Limit(20, clock=clock)
        begin(limit, 20)
        refuse(limit, refused, BEGAN - 1)
        for _ in range(answered):
            limit.answered(BEGAN - 1)
        limit.begin()
        limit.answered(BEGAN)  # a call that began after the cut
        clock.now += 0.25
        assert limit.room() == size - 4
        assert (limit.ceiling, limit.size) == (ceiling, size)

    def test_a_burst_ends_once_it_is_evaluated(self, clock: Clock) -> None:
        limit = Limit(20, clock=clock)
        begin(limit, 20)
        refuse(limit, 4, BEGAN - 1)
        clock.now += 0.25
        assert limit.room() < 0
        limit.refused(BEGAN - 1, 0.1)
        assert limit.rests_until == 0.0

    def test_the_limit_is_never_below_one_call(self, clock: Clock) -> None:
        limit = Limit(4, clock=clock)
        begin(limit, 4)
        refuse(limit, 4, BEGAN - 1)
        clock.now += 0.25
        assert (limit.room(), limit.size, limit.ceiling) == (1, 1, 1)


class TestServerRefusingEverything:
    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("begun", "refused", "all_of_them"), [(7, 7, False), (8, 8, True), (9, 8, False)]
    )
    def test_eight_refusals_in_a_row_with_no_call_under_way_mean_that_everything_is_refused(
        self, clock: Clock, begun: int, refused: int, all_of_them: bool
    ) -> None:
        limit = Limit(64, clock=clock)
        begin(limit, begun)
        refuse(limit, refused, BEGAN, wait=20.0)
        assert limit.refuses_all == all_of_them
        assert (limit.rests_until == BEGAN + 20) == all_of_them
        assert limit.refusals_in_a_row == refused

    def test_an_answer_resets_the_count_of_refusals(self, clock: Clock) -> None:
        limit = Limit(64, clock=clock)
        begin(limit, 15)
        refuse(limit, 7, BEGAN)
        limit.answered(BEGAN)
        assert limit.refusals_in_a_row == 0
        refuse(limit, 7, BEGAN)
        assert (limit.under_way, limit.refuses_all) == (0, False)

    def test_a_refusing_server_gets_single_calls_until_one_is_not_refused(
        self, clock: Clock
    ) -> None:
        limit = Limit(64, clock=clock)
        begin(limit, 8)
        refuse(limit, 8, BEGAN, wait=1.0)
        clock.now += 1.0
        assert limit.room() == 1
        limit.begin()
        assert limit.room() == 0
        limit.failed()
        assert limit.room() == limit.size


class TestBelowACeiling:
    @pytest.fixture
    def limit(self, clock: Clock) -> Limit:
        """A server that refused with a hundred calls under way."""
        limit = Limit(200, remembered=100, clock=clock)
        begin(limit, 100)
        limit.refused(BEGAN, 0.1)
        limit.under_way = 0
        assert (limit.size, limit.ceiling) == (75, 100)
        return limit

    def test_the_limit_creeps_up_to_three_per_cent_below_the_ceiling(
        self, limit: Limit, clock: Clock
    ) -> None:
        sizes = answer(limit, clock, 75 + 76)
        assert [sizes.index(76), sizes.index(77)] == [74, 150]
        assert answer(limit, clock, 4000)[-1] == 97

    def test_the_limit_tries_more_every_twenty_seconds(self, limit: Limit, clock: Clock) -> None:
        answer(limit, clock, 4000)
        sizes = {}
        for moment in (29.75, 30.0, 49.75, 50.0, 70.0, 89.75):
            clock.now = moment
            sizes[moment] = answer(limit, clock, 300)[-1]
        assert sizes == {29.75: 97, 30.0: 98, 49.75: 98, 50.0: 99, 70.0: 100, 89.75: 100}
        assert limit.ceiling == 100

    def test_a_successful_round_above_the_ceiling_raises_it(
        self, limit: Limit, clock: Clock
    ) -> None:
        answer(limit, clock, 4000)
        for moment in (30.0, 50.0, 70.0, 90.0):
            clock.now = moment
            answer(limit, clock, 100)
        assert (limit.size, limit.ceiling) == (101, 100)
        assert answer(limit, clock, 101)[-1] == 102
        assert limit.ceiling == 101

    def test_calls_begun_before_the_cut_do_not_raise_the_limit(
        self, limit: Limit, clock: Clock
    ) -> None:
        for _ in range(200):
            begin(limit, limit.size - limit.under_way)
            limit.answered(BEGAN - 1)
        assert limit.size == 75


class TestQueueingServer:
    def test_a_round_is_as_many_calls_as_the_limit_and_at_least_sixteen(self, clock: Clock) -> None:
        limit = Limit(500, remembered=4, queues=True, clock=clock)
        for size, calls in ((4, 16), (8, 16), (16, 16), (32, 32)):
            sizes = last(limit, clock, 10.0, calls)
            assert sizes == [size] * (calls - 1) + [2 * size]

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("seconds", "sizes"),
        [
            ([1.0, 1.0], [40, 80]),
            # Twice as many calls take twice as long: the limit is right.
            ([1.0, 2.0], [40, 40]),
            # Slower still: too many calls. 40 * 0.9.
            ([1.0, 2.0, 2.5], [40, 40, 36]),
            # 40 / 1.5 calls a second are more than 20, though each takes longer: 40 * 1.1.
            ([1.0, 1.5], [40, 44]),
            ([1.0, 1.25], [40, 80]),
            # The best rate, 20, decays by a fiftieth to 19.6; 36 / 1.73 is over 5 % more.
            ([1.0, 2.0, 2.5, 1.73], [40, 40, 36, 39]),
            ([1.0, 2.0, 2.5, 1.76], [40, 40, 36, 36]),
        ],
    )
    def test_the_limit_follows_latency_and_throughput(
        self, clock: Clock, seconds: list[float], sizes: list[int]
    ) -> None:
        limit = Limit(500, queues=True, clock=clock)
        assert [last(limit, clock, each, limit.size)[-1] for each in seconds] == sizes

    def test_five_per_cent_more_throughput_is_no_gain_yet(self, clock: Clock) -> None:
        clock.now = 0.0
        limit = Limit(500, remembered=21, queues=True, clock=clock)
        assert last(limit, clock, 1.05, 21)[-1] == 42  # 21 / 1.05 = 20 a second
        clock.now = 2.0
        assert last(limit, clock, 2.0, 42)[-1] == 42  # 42 / 2 = 21 a second

    def test_calls_begun_before_the_last_change_are_ignored(self, clock: Clock) -> None:
        limit = Limit(500, queues=True, clock=clock)
        last(limit, clock, 1.0, 20)
        for _ in range(100):
            begin(limit, limit.size - limit.under_way)
            limit.answered(BEGAN)
        assert limit.size == 40


class TestHistory:
    def test_history_times_are_seconds_since_the_start_to_the_millisecond(
        self, clock: Clock
    ) -> None:
        limit = Limit(64, clock=clock)
        limit.begin()
        clock.now += 1.23456
        limit.refused(BEGAN, 0.1)
        assert list(limit.history) == [(0.0, 64), (1.235, 48)]

    def test_the_history_has_only_changes_and_at_most_a_thousand(self, clock: Clock) -> None:
        limit = Limit(8, clock=clock)
        limit.maximum = 8
        assert len(limit.history) == 1
        for _ in range(600):
            limit.maximum = 5
            limit.maximum = 8
            answer(limit, clock, 1)
        assert (len(limit.history), limit.history[-1][1]) == (1000, 6)
