"""Disagreements: which units are listed, what one shows, how it is tagged, and who may see it."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from html import unescape
from itertools import groupby
from typing import Any
from urllib.parse import parse_qsl

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from analysis.disagreements import views
from analysis.disagreements.detail import Piece, pieces
from analysis.disagreements.listing import UnitList
from analysis.disagreements.votes import votes_of
from analysis.models import UnitTag
from annotation.models import Campaign, Label, Look, Unit, User
from audit.models import Event
from tests.analysis.conftest import run

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true", "HX-Target": "unit"}


@pytest.fixture
def rita() -> Client:
    client = Client()
    client.force_login(User.objects.create(username="rita", role="researcher"))
    return client


@pytest.fixture(scope="module")
def report(ferries: Campaign) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        run("report", "--campaign", ferries.name, "--resamples", "10")
    )
    return found


@pytest.fixture
def confusion(report: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = report["variables"]["answerable"]["judges"]["model-x"]["confusion"]
    return found


def listed(client: Client, campaign: Campaign, **asked: str) -> Any:
    answer = client.get(f"/campaigns/{campaign.pk}/disagreements/", asked)
    assert answer.status_code == 200
    return answer.context


def rows(client: Client, campaign: Campaign, **asked: str) -> list[dict[str, str]]:
    answer = client.get(f"/campaigns/{campaign.pk}/disagreements.csv", asked)
    text = b"".join(answer).decode()
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def cells(confusion: dict[str, Any]) -> Iterator[tuple[str, str, int]]:
    for people, row in zip(confusion["labels"], confusion["matrix"], strict=True):
        for judge, number in zip(confusion["labels"], row, strict=True):
            yield people, judge, number


def test_each_cell_of_the_confusion_lists_as_many_units_as_the_report_counts(
    rita: Client, labelled: Campaign, confusion: dict[str, Any]
) -> None:
    for people, judge, number in cells(confusion):
        context = listed(rita, labelled, people=people, said=judge, judge="model-x")
        assert context["page"].paginator.count == number
    differ = sum(number for people, judge, number in cells(confusion) if people != judge)
    assert listed(rita, labelled, show="judge")["page"].paginator.count == differ
    table = {
        (row["code"], cell["code"]): cell["number"]
        for row in listed(rita, labelled)["listed"].crosstab()
        for cell in row["cells"]
    }
    assert {(p, j): n for p, j, n in cells(confusion)}.items() <= table.items()


def test_each_count_in_the_results_links_to_as_many_units(rita: Client, labelled: Campaign) -> None:
    page = unescape(rita.get(f"/campaigns/{labelled.pk}/results/").content.decode())
    start = f"/campaigns/{labelled.pk}/disagreements/?"
    counts = re.findall(rf'href="{re.escape(start)}([^"]+)">[^<\d]*(\d+)[^<]*</a>', page)
    found = [(dict(parse_qsl(address)), int(number)) for address, number in counts]
    table = votes_of(labelled, "answerable", baseline=True)
    for given, number in found:
        assert len(UnitList(given, labelled, "answerable", table).found) == number, given
    shows = {given["show"] for given, _ in found}
    assert shows >= {"judge", "people", "ties", "agree", "several", "decided", "all"}
    parts = set().union(*(given for given, _ in found))
    assert parts >= {
        "system",
        "slice",
        "one",
        "other",
        "label",
        "people",
        "said",
        "score",
        "baseline",
    }
    page = re.sub(r"<figure.*?</figure>", "", page, flags=re.DOTALL)
    tables = re.findall(r"<caption>([^<,]+).*?</caption>(.*?)</table>", page, re.DOTALL)
    plain = re.compile(r'data-label="(?:Questions|Support)">\d+</td>')
    assert [caption for caption, body in tables if plain.search(body)] == []


def test_each_filter_in_use_is_named_and_can_be_removed(rita: Client, labelled: Campaign) -> None:
    asked = {"show": "several", "one": "model-x", "label": "yes", "people": "no", "system": "long"}
    context = listed(rita, labelled, **asked)
    assert context["active"] == [
        ("All units labelled by several people", "system=long&one=model-x&label=yes"),
        ("long", "show=several&one=model-x&label=yes&people=no"),
        ("model-x says Yes", "show=several&system=long&people=no"),
        ("people say No", "show=several&system=long&one=model-x&label=yes"),
    ]
    assert context["listed"].kept == [("one", "model-x"), ("label", "yes"), ("people", "no")]


def test_each_list_of_one_click_has_as_many_units_as_it_says(
    rita: Client, labelled: Campaign
) -> None:
    quick = listed(rita, labelled, system="long")["listed"].quick()
    assert [(each.name, each.is_shown) for each in quick] == [
        ("Disagreements", True),
        ("Judge differs", False),
        ("People differ", False),
        ("All labelled", False),
    ]
    for each in quick:
        found = listed(rita, labelled, **dict(parse_qsl(each.query)))
        assert found["page"].paginator.count == each.number > 0


def test_a_range_of_scores_is_shown_and_an_invalid_one_is_ignored(
    rita: Client, labelled: Campaign
) -> None:
    address = f"/campaigns/{labelled.pk}/disagreements/"
    asked = {"show": "decided", "judge": "model-x", "score": "0.25:0.5"}
    page = rita.get(address, asked)
    assert page.context["active"][-1][0] == "score 0.250 to 0.500 from model-x"
    scores = [row["score"] for row in page.context["rows"]]
    assert all(score is not None and 0.25 <= score <= 0.5 for score in scores)
    every = listed(rita, labelled, show="decided")["page"].paginator.count
    for other in ("0.25", "low:high", ":"):
        found = listed(rita, labelled, show="decided", score=other)
        assert found["page"].paginator.count == every


def test_units_on_which_people_are_unanimous_come_first(rita: Client, labelled: Campaign) -> None:
    shown = [row["votes"] for row in listed(rita, labelled)["rows"]]
    dissents = [votes.dissent for votes in shown]
    assert dissents == sorted(dissents)
    assert dissents[0] == 0 < dissents[-1]


def test_the_query_with_most_disagreements_comes_first_and_queries_stay_together(
    rita: Client, labelled: Campaign
) -> None:
    context = listed(rita, labelled, show="people", sort="query", rows="50")
    queries = [row["votes"].query for row in context["rows"]]
    blocks = [len(list(block)) for _, block in groupby(queries)]
    assert len(blocks) == len(set(queries)) > 1
    assert blocks == sorted(blocks, reverse=True)
    assert blocks[0] > blocks[-1]


def test_disagreements_among_people_are_listed_without_a_judge(
    rita: Client, labelled: Campaign
) -> None:
    shown = [row["votes"] for row in listed(rita, labelled, show="people")["rows"]]
    assert shown
    assert all(len(set(votes.people.values())) > 1 for votes in shown)


def test_for_a_pair_of_raters_the_units_that_both_labelled_are_listed(
    rita: Client, labelled: Campaign, report: dict[str, Any]
) -> None:
    (pair, *_) = report["variables"]["answerable"]["agreement"]["pairs"]
    both = {"one": pair["a"], "other": pair["b"]}
    shared = listed(rita, labelled, show="all", **both)
    assert shared["page"].paginator.count == pair["units"]
    apart = listed(rita, labelled, show="people", rows="50", **both)
    shown = [row["votes"].people for row in apart["rows"]]
    assert len(shown) == round(pair["units"] * (1 - pair["percent"]["value"]))
    assert all(people[pair["a"]] != people[pair["b"]] for people in shown)


def test_every_list_can_be_filtered_by_slices_and_queries_of_the_report(
    rita: Client, labelled: Campaign, report: dict[str, Any]
) -> None:
    for name, groups in report["variables"]["answerable"]["strata"].items():
        value, of = next(iter(groups.items()))
        of_slice = {"slice": f"{name}:{value}"} if name != "system" else {"system": value}
        context = listed(rita, labelled, show="several", **of_slice)
        assert context["page"].paginator.count == of["agreement"]["units"], (name, value)
    (query, _), *_ = context["listed"].queries()
    found = [row["query"].pk for row in listed(rita, labelled, show="all", query=query)["rows"]]
    assert set(found) == {query}


def test_the_filter_by_cell_does_not_apply_to_disagreements_among_people(
    rita: Client, labelled: Campaign
) -> None:
    cell = {"people": "yes", "said": "no", "judge": "model-x"}
    among = listed(rita, labelled, show="people")["page"].paginator.count
    assert listed(rita, labelled, show="people", **cell)["page"].paginator.count == among


def test_a_list_can_be_filtered_by_system_and_words(rita: Client, labelled: Campaign) -> None:
    everything = rows(rita, labelled, show="all")
    long = rows(rita, labelled, show="all", system="long")
    assert {row["system"] for row in long} == {"long"}
    assert 0 < len(long) < len(everything)
    words = everything[0]["unit"]
    assert {row["unit"] for row in rows(rita, labelled, show="all", find=words)} >= {words}
    assert rows(rita, labelled, show="all", find="no such words") == []


def test_the_downloaded_file_has_the_label_of_every_rater(rita: Client, labelled: Campaign) -> None:
    found = rows(rita, labelled, show="judge")
    assert {row["label of ada"] for row in found} <= {"yes", "no", "invalid", ""}
    assert all(row["majority"] != row["label of model-x"] for row in found)


def test_a_unit_opens_with_all_answers_and_their_evidence(rita: Client, labelled: Campaign) -> None:
    unit = Unit.objects.get(item__campaign=labelled, item__key="q1#long", key="q1:a")
    judged = Label.objects.filter(unit=unit, response__assignment__rater__name="model-x")
    judged.update(meta={"grade": "4 of 5"})
    address = f"/campaigns/{labelled.pk}/disagreements/{unit.pk}/"
    whole = rita.get(address).content.decode()
    part = rita.get(address, headers=HTMX).content.decode()
    assert "<html" in whole
    assert "<html" not in part
    assert part.strip().startswith('<section id="unit"')
    assert "q1#long" in part
    for name in ("ada", "bram", "chidi", "model-x"):
        assert f"<bdi>{name}</bdi>" in part
    assert "run by the town</mark>" in part
    assert "grade 4 of 5" in part


def test_a_tag_is_stored_counted_and_recorded_in_the_trail(
    rita: Client, labelled: Campaign
) -> None:
    unit = Unit.objects.filter(item__campaign=labelled).first()
    assert unit is not None
    address = f"/campaigns/{labelled.pk}/disagreements/{unit.pk}/tag/"
    given = {"tag": "guideline-gap", "note": "ferries at night"}
    part = rita.post(address, given, headers=HTMX).content.decode()
    # The row of the list and the counts below it are replaced together with the unit.
    assert re.search(rf'id="row-tag-{unit.pk}" hx-swap-oob="true"><span[^>]*>guideline gap', part)
    assert 'id="tag-counts" hx-swap-oob="true"' in part
    made = UnitTag.objects.get()
    assert (made.unit, made.variable, made.tag) == (unit, "answerable", "guideline-gap")
    assert Event.objects.filter(event="unit.tagged", campaign=labelled.pk).count() == 1
    found = rows(rita, labelled, show="all", tag="guideline-gap")
    assert [(row["tag"], row["note"]) for row in found] == [("guideline-gap", "ferries at night")]
    counts = {tag: number for tag, _, number in listed(rita, labelled)["tag_counts"]}
    assert counts["guideline-gap"] == 1
    rita.post(address, {"tag": ""})
    assert not UnitTag.objects.exists()


def test_an_unknown_tag_is_refused(rita: Client, labelled: Campaign) -> None:
    unit = Unit.objects.filter(item__campaign=labelled).first()
    assert unit is not None
    address = f"/campaigns/{labelled.pk}/disagreements/{unit.pk}/tag/"
    assert rita.post(address, {"tag": "boring"}).status_code == 422
    assert not UnitTag.objects.exists()


def test_looking_at_disagreements_is_recorded_in_the_ledger(
    rita: Client, labelled: Campaign
) -> None:
    listed(rita, labelled)
    looks = Look.objects.filter(kind="disagreements", user__username="rita")
    assert looks.count() >= 1


def test_a_unit_opens_beside_the_page_of_the_list_that_has_it(
    rita: Client, labelled: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "PAGE", 2)
    first = listed(rita, labelled, show="all")
    units = first["listed"].units
    assert first["detail"].unit.pk == units[0]
    start = f"/campaigns/{labelled.pk}/disagreements/"
    context = rita.get(f"{start}{units[3]}/?show=all").context
    assert [row["unit"].pk for row in context["rows"]] == units[2:4]
    assert (context["place"], context["total"]) == (4, len(units))
    assert (context["before"], context["after"]) == (units[2], units[4])
    other = next(unit for unit in units if unit not in listed(rita, labelled)["listed"].units)
    page = rita.get(f"{start}{other}/")
    assert page.context["detail"].unit.pk == other
    assert "not in this list" in page.content.decode()


def test_going_back_in_the_browser_returns_a_whole_page(rita: Client, labelled: Campaign) -> None:
    restored = {"HX-Request": "true", "HX-History-Restore-Request": "true"}
    address = f"/campaigns/{labelled.pk}/disagreements/"
    assert "<html" in rita.get(address, headers=restored).content.decode()
    assert "<html" not in rita.get(address, headers={"HX-Request": "true"}).content.decode()


def test_many_raters_of_a_unit_are_counted_by_their_answers() -> None:
    words = {"yes": "Yes", "no": "No"}.__getitem__
    few = dict.fromkeys(("ada", "bram"), "yes")
    assert list(views._answers_with_raters(few, words)) == [("ada", "Yes", 1), ("bram", "Yes", 1)]
    many = {**dict.fromkeys(("ada", "bram", "chidi", "dora"), "no"), "emil": "yes"}
    assert list(views._answers_with_raters(many, words)) == [
        ("ada, bram, chidi, dora", "No", 4),
        ("emil", "Yes", 1),
    ]


def test_a_page_of_the_list_takes_the_same_queries_however_many_units_exist(
    rita: Client, labelled: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "PAGE", 1)
    listed(rita, labelled, show="all")
    numbers = []
    for on_a_page in (1, 30):
        monkeypatch.setattr(views, "PAGE", on_a_page)
        with CaptureQueriesContext(connection) as queries:
            found = listed(rita, labelled, show="all")
        assert len(found["rows"]) == on_a_page < found["page"].paginator.count
        numbers.append(len(queries))
    # The first time, a look is stored as well.
    assert abs(numbers[1] - numbers[0]) <= 2
    assert max(numbers) <= 35


def test_a_text_is_split_at_the_ends_of_highlights_in_code_points() -> None:
    text = "a🌉é\u0301b"
    found = list(pieces(text, [(1, 3, 1), (2, 4, 2)]))
    assert found == [
        Piece("a", ()),
        Piece("🌉", (1,)),
        Piece("é", (1, 2)),
        Piece("\u0301", (2,)),
        Piece("b", ()),
    ]
    assert "".join(piece.text for piece in found) == text
