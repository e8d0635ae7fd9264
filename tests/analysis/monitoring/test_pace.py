"""People far slower or faster than others on the same items are flagged only on much evidence."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.cache import caches
from django.urls import reverse

from analysis.attention.checks import check_campaign
from analysis.monitoring.flags import Times, paces, quality, unusual_paces
from annotation.answers.submission import submit
from annotation.models import Assignment, Item, User, rater_of
from annotation.people.membership import exclude
from datasets.models import Query
from tests.page_cast import Study, client_of, make_study, payload

ANN, BO, CY, DI = 1, 2, 3, 4


def table(seconds: dict[int, float], items: int = 24) -> Times:
    """Each rater takes the same seconds on each item, and twice as long on every third."""
    return {n: {who: of * (2 if n % 3 == 0 else 1) for who, of in seconds.items()}
            for n in range(items)}  # fmt: skip


def codes(times: Times, out: tuple[int, ...] = ()) -> dict[int, str]:
    return {rater: of.code for rater, of in sorted(unusual_paces(paces(times, out), out).items())}


class TestRule:
    def test_a_person_three_times_as_slow_as_all_others_is_flagged(self) -> None:
        times = table({ANN: 180, BO: 60, CY: 55})
        pace = paces(times)[ANN]
        assert (pace.items, pace.people, pace.own, pace.others) == (24, 2, 180, 57.5)
        assert pace.ratio == pytest.approx(180 / 57.5)
        assert codes(times) == {ANN: "slow"}

    def test_a_person_three_times_as_fast_as_all_others_is_flagged(self) -> None:
        assert codes(table({ANN: 20, BO: 60, CY: 55})) == {ANN: "quick"}

    def test_one_slow_person_does_not_make_others_look_fast(self) -> None:
        assert codes(table({ANN: 600, BO: 60, CY: 55})) == {ANN: "slow"}
        # Each item has two people, so that the slow one is the only other on half of the items.
        pairs = {n: {ANN: 600.0, (BO if n % 2 else CY): 60.0} for n in range(80)}
        pairs |= {80 + n: {BO: 60.0, CY: 60.0} for n in range(30)}
        assert codes(pairs) == {ANN: "slow"}

    def test_of_two_people_neither_is_flagged(self) -> None:
        assert codes(table({ANN: 600, BO: 60})) == {}

    def test_fewer_than_twenty_items_raise_no_flag(self) -> None:
        assert codes(table({ANN: 600, BO: 60, CY: 55}, items=19)) == {}
        assert codes(table({ANN: 600, BO: 60, CY: 55}, items=20)) == {ANN: "slow"}

    def test_items_of_few_queries_are_no_evidence_however_many_they_are(self) -> None:
        times = table({ANN: 600, BO: 60, CY: 55}, items=90)
        for queries, named in ((9, ""), (10, "slow")):
            assert paces(times, queries={n: n % queries for n in times})[ANN].code == named

    def test_items_of_one_query_widen_the_interval(self) -> None:
        times = {n: {ANN: 60.0 * (1 + n // 6), BO: 60.0, CY: 60.0} for n in range(90)}
        alone = paces(times)[ANN]
        alike = paces(times, queries={n: n // 6 for n in times})[ANN]
        assert alike.ratio == alone.ratio
        assert alike.low < alone.low < alone.high < alike.high

    def test_people_who_share_only_a_few_items_are_no_evidence(self) -> None:
        times = {n: {ANN: 600.0, BO: 60.0} | ({CY: 60.0} if n < 4 else {}) for n in range(30)}
        assert codes(times) == {}

    def test_a_person_only_twice_as_slow_is_not_flagged(self) -> None:
        assert codes(table({ANN: 115, BO: 60, CY: 58})) == {}

    def test_a_few_long_breaks_do_not_count_as_slowness(self) -> None:
        times = {n: {ANN: 9000.0 if n % 3 == 0 else 60.0, BO: 60.0, CY: 55.0} for n in range(30)}
        assert codes(times) == {}

    def test_an_interval_that_includes_a_factor_of_two_raises_no_flag(self) -> None:
        # The median is 2.5 times as long, but the ratios of many items are lower.
        times = {n: {ANN: 60.0 + 8 * n, BO: 60.0, CY: 60.0} for n in range(24)}
        pace = paces(times)[ANN]
        assert pace.low < 2 < pace.ratio
        assert codes(times) == {}

    def test_long_items_alone_do_not_make_a_person_slow(self) -> None:
        times = {n: {ANN: 600.0, BO: 590.0, CY: 610.0} for n in range(24)}
        times |= {100 + n: {BO: 20.0, CY: 20.0} for n in range(100)}
        assert codes(times) == {}

    def test_an_excluded_person_is_not_compared_with(self) -> None:
        times = table({ANN: 60, BO: 60, CY: 600, DI: 600})
        # Among two slow and two fast people there is no usual pace.
        assert codes(times) == {}
        assert codes(times, out=(DI,)) == {CY: "slow", DI: "slow"}


@pytest.fixture
def study(db: None) -> Study:
    """Ada, Ben and Rita answer 20 reports, one per query; Ada takes three times as long."""
    caches["reports"].clear()
    study = make_study(reports=20, people=3)
    for user, seconds in ((study.ada, 180.0), (study.ben, 60.0), (study.rita, 55.0)):
        for _ in range(20):
            submit(study.assignment(user), payload("no"), "page")
        timed(user, seconds)
    for item in study.campaign.items.all():
        own = Query.objects.create(
            batch=study.campaign.batch, key=item.key, position=item.pk, text="What held?"
        )
        Item.objects.filter(pk=item.pk).update(query=own)
    return study


def timed(user: User, seconds: float | None) -> None:
    Assignment.objects.filter(rater=rater_of(user)).update(seconds=seconds)


def flags(study: Study) -> dict[str, str]:
    caches["reports"].clear()
    found = quality(study.campaign).hints
    return {each.name: each.code for each in found if each.code in ("slow", "quick")}


class TestCampaign:
    def test_a_slow_person_has_a_flag_with_its_numbers(self, study: Study) -> None:
        (flag,) = (each for each in quality(study.campaign).hints if each.code == "slow")
        assert (flag.name, flag.variable) == (rater_of(study.ada).name, None)
        assert flag.text.startswith("3.1 [3.1, 3.1] times as long per item as the others")
        assert "20 items that others answered, too: 3 min against 58 s." in flag.text

    def test_reports_of_one_query_are_no_evidence(self, study: Study) -> None:
        query = Query.objects.order_by("pk")[0]
        Item.objects.update(query=query)
        assert flags(study) == {}

    def test_the_overview_and_the_persons_page_link_to_the_flag(self, study: Study) -> None:
        name = rater_of(study.ada).name
        assert {"code": "slow", "rater": rater_of(study.ada).pk, "name": name,
                "variable": None} in check_campaign(study.campaign)["flags"]  # fmt: skip
        where = reverse("rater-quality", args=[study.campaign.pk, rater_of(study.ada).pk])
        page = content(study.root, where)
        assert "Far slower than the others" in page
        labels = reverse("rater-labels", args=[study.campaign.pk, rater_of(study.ada).pk])
        assert f'href="{labels}"' in page
        assert client_of(study.root).get(labels).status_code == 200

    def test_unknown_times_raise_no_flag(self, study: Study) -> None:
        timed(study.ada, None)
        assert flags(study) == {}

    def test_an_excluded_person_is_no_standard_for_others(self, study: Study) -> None:
        exclude(study.campaign, rater_of(study.rita), "guessed")
        assert flags(study) == {}

    def test_a_person_who_reads_too_fast_has_only_that_flag(self, study: Study) -> None:
        study.campaign.items.update(words=6000)
        timed(study.ada, 10.0)
        named = {(e.name, e.code) for e in quality(study.campaign).hints}
        assert (rater_of(study.ada).name, "fast") in named
        assert flags(study) == {}

    def test_gold_items_do_not_count_towards_pace(self, study: Study) -> None:
        study.campaign.items.filter(position__lt=1).update(use="gold")
        assert flags(study) == {}


def content(user: User, where: str) -> Any:
    client = client_of(user)
    answer = client.get(where, follow=True)
    assert answer.status_code == 200
    return answer.content.decode()
