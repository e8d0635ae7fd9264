"""The limit by hand, step by step: what each answer, refusal and silence changes, and when."""

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
    """The sizes after each of these calls, while so many are under way, or all that may be."""
    sizes = []
    for _ in range(calls):
        begin(limit, (under_way or limit.size) - limit.under_way)
        limit.answered(clock.now)
        sizes.append(limit.size)
    return sizes


def last(limit: Limit, clock: Clock, seconds: float, calls: int) -> list[int]:
    """The sizes after each of these calls, which begin now, fill the limit and take so long."""
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
    def test_there_are_none_before_a_call_has_ended(self) -> None:
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
    def test_the_first_calls_count_at_once(
        self, seconds: list[float], median: float, p95: float
    ) -> None:
        kept = Latencies()
        for each in seconds:
            kept.add(each)
        assert (kept.median, kept.p95) == (median, p95)

    def test_later_ones_are_looked_at_32_at_a_time(self) -> None:
        kept = Latencies()
        for _ in range(31):
            kept.add(1.0)
        for _ in range(31):
            kept.add(9.0)
        assert (kept.median, kept.p95) == (1.0, 1.0)
        kept.add(9.0)
        assert (kept.median, kept.p95) == (9.0, 9.0)

    def test_the_latest_200_are_kept(self) -> None:
        kept = Latencies()
        for number in range(1, 31 + 6 * 32 + 1):
            kept.add(-float(number))
        # The latest look was at calls 24 to 223.
        assert kept.median == -124.0


class TestTheBeginning:
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
    def test_so_many_calls_may_begin_at_first(
        self, maximum: int, remembered: int | None, queues: bool, size: int
    ) -> None:
        limit = Limit(maximum, remembered, queues, clock=Clock())
        assert (limit.size, limit.room(), limit.maximum) == (size, size, max(1, maximum))
        assert limit.learned is None

    def test_each_answer_makes_room_for_one_more_until_the_first_refusal(
        self, clock: Clock
    ) -> None:
        limit = Limit(67, clock=clock)
        assert answer(limit, clock, 5) == [65, 66, 67, 67, 67]

    def test_what_a_server_bore_before_grows_by_one_a_round_for_five_rounds(
        self, clock: Clock
    ) -> None:
        limit = Limit(100, remembered=10, clock=clock)
        sizes = answer(limit, clock, 62)
        grew = [n for n, (old, new) in enumerate(zip([10, *sizes], sizes, strict=False), 1)
                if new > old]  # fmt: skip
        assert grew == [10, 21, 33, 46, 60, 61, 62]
        assert sizes[-1] == 17

    @pytest.mark.every_case
    @pytest.mark.parametrize(("under_way", "grows"), [(7, False), (8, True)])
    def test_it_grows_where_four_fifths_of_the_places_are_in_use(
        self, clock: Clock, under_way: int, grows: bool
    ) -> None:
        limit = Limit(100, remembered=10, clock=clock)
        assert (answer(limit, clock, 10, under_way)[-1] == 11) == grows


class TestSilence:
    def test_ten_of_the_last_fifty_calls_out_of_time_are_a_refusal(self, clock: Clock) -> None:
        limit = Limit(64, clock=clock)
        begin(limit, 10)
        sizes = []
        for _ in range(10):
            limit.overran(clock.now)
            sizes.append(limit.size)
        assert sizes == [64] * 9 + [48]
        assert limit.ceiling == 64

    def test_what_came_before_the_last_fifty_counts_no_more(self, clock: Clock) -> None:
        limit = Limit(64, clock=clock)
        begin(limit, 51)
        for _ in range(9):
            limit.overran(clock.now)
        for _ in range(41):
            limit.failed()
        limit.overran(clock.now)
        assert limit.size == 64

    def test_a_failure_is_no_call_out_of_time(self, clock: Clock) -> None:
        limit = Limit(64, clock=clock)
        begin(limit, 21)
        for _ in range(20):
            limit.failed()
        limit.overran(clock.now)
        assert limit.size == 64

    @pytest.mark.parametrize("end", [Limit.answered, Limit.overran])
    def test_what_a_call_took_is_known_either_way(
        self, clock: Clock, end: Callable[[Limit, float], None]
    ) -> None:
        limit = Limit(64, clock=clock)
        limit.begin()
        clock.now += 4
        end(limit, BEGAN)
        assert limit.latencies.median == 4.0

    def test_a_failure_tells_nothing_of_how_long_calls_take(self, clock: Clock) -> None:
        limit = Limit(64, clock=clock)
        limit.begin()
        limit.failed()
        assert limit.latencies.median is None


class TestARefusal:
    @pytest.mark.every_case
    @pytest.mark.parametrize(("under_way", "ceiling"), [(64, 64), (40, 40), (1, 1)])
    def test_the_ceiling_is_what_was_under_way(
        self, clock: Clock, under_way: int, ceiling: int
    ) -> None:
        limit = Limit(64, clock=clock)
        begin(limit, under_way)
        limit.refused(BEGAN, 0.1)
        assert (limit.ceiling, limit.size, limit.learned) == (ceiling, 48, 48)

    @pytest.mark.every_case
    @pytest.mark.parametrize(("took", "rest"), [(0.0, 0.005), (0.02, 0.045), (0.5, 0.25)])
    def test_the_others_of_its_burst_are_waited_for_a_quarter_of_a_second_at_most(
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

    def test_what_begins_with_the_cut_is_no_part_of_the_burst(self, clock: Clock) -> None:
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
    def test_an_episode_is_cut_once(
        self, clock: Clock, median: float | None, begun: float, after: float, cuts: bool
    ) -> None:
        """It lasts twice as long as a call, and half a second at least."""
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
    def test_of_a_burst_what_was_not_refused_is_what_the_server_bears(
        self, clock: Clock, refused: int, answered: int, ceiling: int, size: int
    ) -> None:
        """Three refusals are a burst. Of twenty calls four are still under way."""
        limit = Limit(20, clock=clock)
        begin(limit, 20)
        refuse(limit, refused, BEGAN - 1)
        for _ in range(answered):
            limit.answered(BEGAN - 1)
        limit.begin()
        limit.answered(BEGAN)  # it began after the cut
        clock.now += 0.25
        assert limit.room() == size - 4
        assert (limit.ceiling, limit.size) == (ceiling, size)

    def test_a_burst_is_over_when_it_was_taken_in(self, clock: Clock) -> None:
        limit = Limit(20, clock=clock)
        begin(limit, 20)
        refuse(limit, 4, BEGAN - 1)
        clock.now += 0.25
        assert limit.room() < 0
        limit.refused(BEGAN - 1, 0.1)
        assert limit.rests_until == 0.0

    def test_one_call_is_always_allowed(self, clock: Clock) -> None:
        limit = Limit(4, clock=clock)
        begin(limit, 4)
        refuse(limit, 4, BEGAN - 1)
        clock.now += 0.25
        assert (limit.room(), limit.size, limit.ceiling) == (1, 1, 1)


class TestAServerThatRefusesAll:
    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("begun", "refused", "all_of_them"), [(7, 7, False), (8, 8, True), (9, 8, False)]
    )
    def test_eight_refusals_in_a_row_with_nothing_under_way_are_all(
        self, clock: Clock, begun: int, refused: int, all_of_them: bool
    ) -> None:
        limit = Limit(64, clock=clock)
        begin(limit, begun)
        refuse(limit, refused, BEGAN, wait=20.0)
        assert limit.refuses_all == all_of_them
        assert (limit.rests_until == BEGAN + 20) == all_of_them
        assert limit.refusals_in_a_row == refused

    def test_an_answer_in_between_begins_the_count_anew(self, clock: Clock) -> None:
        limit = Limit(64, clock=clock)
        begin(limit, 15)
        refuse(limit, 7, BEGAN)
        limit.answered(BEGAN)
        assert limit.refusals_in_a_row == 0
        refuse(limit, 7, BEGAN)
        assert (limit.under_way, limit.refuses_all) == (0, False)

    def test_it_is_asked_singly_until_one_call_ends_otherwise(self, clock: Clock) -> None:
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

    def test_it_creeps_up_to_three_hundredths_below(self, limit: Limit, clock: Clock) -> None:
        sizes = answer(limit, clock, 75 + 76)
        assert [sizes.index(76), sizes.index(77)] == [74, 150]
        assert answer(limit, clock, 4000)[-1] == 97

    def test_it_looks_above_that_every_twenty_seconds(self, limit: Limit, clock: Clock) -> None:
        answer(limit, clock, 4000)
        told = {}
        for moment in (29.75, 30.0, 49.75, 50.0, 70.0, 89.75):
            clock.now = moment
            told[moment] = answer(limit, clock, 300)[-1]
        assert told == {29.75: 97, 30.0: 98, 49.75: 98, 50.0: 99, 70.0: 100, 89.75: 100}
        assert limit.ceiling == 100

    def test_a_round_above_it_that_goes_well_moves_it(self, limit: Limit, clock: Clock) -> None:
        answer(limit, clock, 4000)
        for moment in (30.0, 50.0, 70.0, 90.0):
            clock.now = moment
            answer(limit, clock, 100)
        assert (limit.size, limit.ceiling) == (101, 100)
        assert answer(limit, clock, 101)[-1] == 102
        assert limit.ceiling == 101

    def test_calls_from_before_the_cut_do_not_count(self, limit: Limit, clock: Clock) -> None:
        for _ in range(200):
            begin(limit, limit.size - limit.under_way)
            limit.answered(BEGAN - 1)
        assert limit.size == 75


class TestAServerThatLetsCallsWait:
    def test_a_round_is_sixteen_calls_at_least_and_as_many_as_there_are_places(
        self, clock: Clock
    ) -> None:
        limit = Limit(500, remembered=4, queues=True, clock=clock)
        for size, calls in ((4, 16), (8, 16), (16, 16), (32, 32)):
            sizes = last(limit, clock, 10.0, calls)
            assert sizes == [size] * (calls - 1) + [2 * size]

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("seconds", "sizes"),
        [
            ([1.0, 1.0], [40, 80]),
            # Twice as many calls that take twice as long: as it is, it is right.
            ([1.0, 2.0], [40, 40]),
            # Slower than that: too many. 40 * 0.9.
            ([1.0, 2.0, 2.5], [40, 40, 36]),
            # 40 / 1.5 calls a second are more than 20, though each takes longer: 40 * 1.1.
            ([1.0, 1.5], [40, 44]),
            ([1.0, 1.25], [40, 80]),
            # The best rate, 20, is forgotten by a fiftieth: 36 / 1.73 is 5 in 100 above 19.6.
            ([1.0, 2.0, 2.5, 1.73], [40, 40, 36, 39]),
            ([1.0, 2.0, 2.5, 1.76], [40, 40, 36, 36]),
        ],
    )
    def test_the_limit_follows_latency_and_throughput(
        self, clock: Clock, seconds: list[float], sizes: list[int]
    ) -> None:
        limit = Limit(500, queues=True, clock=clock)
        assert [last(limit, clock, each, limit.size)[-1] for each in seconds] == sizes

    def test_five_in_a_hundred_more_throughput_are_no_rise_yet(self, clock: Clock) -> None:
        clock.now = 0.0
        limit = Limit(500, remembered=21, queues=True, clock=clock)
        assert last(limit, clock, 1.05, 21)[-1] == 42  # 21 / 1.05 = 20 a second
        clock.now = 2.0
        assert last(limit, clock, 2.0, 42)[-1] == 42  # 42 / 2 = 21 a second

    def test_what_began_before_the_last_change_tells_nothing(self, clock: Clock) -> None:
        limit = Limit(500, queues=True, clock=clock)
        last(limit, clock, 1.0, 20)
        for _ in range(100):
            begin(limit, limit.size - limit.under_way)
            limit.answered(BEGAN)
        assert limit.size == 40


class TestHistory:
    def test_it_tells_the_seconds_since_the_beginning_in_thousandths(self, clock: Clock) -> None:
        limit = Limit(64, clock=clock)
        limit.begin()
        clock.now += 1.23456
        limit.refused(BEGAN, 0.1)
        assert list(limit.history) == [(0.0, 64), (1.235, 48)]

    def test_it_tells_changes_only_and_the_last_thousand(self, clock: Clock) -> None:
        limit = Limit(8, clock=clock)
        limit.maximum = 8
        assert len(limit.history) == 1
        for _ in range(600):
            limit.maximum = 5
            limit.maximum = 8
            answer(limit, clock, 1)
        assert (len(limit.history), limit.history[-1][1]) == (1000, 6)
