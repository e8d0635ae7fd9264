"""Measures are sliced by people's labels of the same queries in another campaign."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import caches
from django.core.management.base import CommandError
from django.test import Client

from annotation.assignments.queue import next_assignment
from annotation.models import Campaign, User, rater_of
from annotation.people.membership import add_member, set_pool
from tests.analysis.conftest import run
from tests.analysis.test_report_page import logged_in
from tests.api.cast import script_of
from tests.cast import write_lines
from tests.once import once
from tests.team_cast import join_team

pytestmark = pytest.mark.django_db

JSON = dict[str, Any]
#: Four questions whose answers have the coverage 1, 0, 1 and 0.
COVERED = {"a": "yes", "b": "no", "c": "yes", "d": "no"}
BATCH = [
    {
        "id": name,
        "text": f"Question {name}?",
        "questions": [{"id": f"{name}?", "text": "What?"}],
        "passages": [{"id": f"{name}{n}", "text": f"Passage {name}{n}."} for n in range(3)],
        "reports": [{"id": f"r{name}", "text": "Words.", "system": "s"}],
        "meta": {"sensitivity": "static" if name == "a" else "fast-changing"},
    }
    for name in COVERED
]
GATES = {"valid": "yes", "false_premise": "no", "information_seeking": "yes"}


def said(
    item: str, unit: str, variable: str, value: str, rater: str = "ada", kind: str = "human"
) -> JSON:
    return {
        "item": item,
        "unit": unit,
        "variable": variable,
        "value": value,
        "rater": rater,
        "rater_kind": kind,
    }


def typed(query: str, rater: str, kind: str = "human", **codes: str) -> list[JSON]:
    """Labels of a question that passes the gate; `codes` change some of them."""
    return [said(query, query, name, code, rater, kind) for name, code in (GATES | codes).items()]


def campaign(folder: Path, name: str, protocol: str, labels: Iterable[JSON]) -> Campaign:
    path = write_lines(folder / f"{name}.jsonl", list(labels))
    run("create_campaign", name, "--protocol", protocol, "--batch", "b", "--pool", "open")
    run("import_labels", str(path), "--campaign", name)
    return Campaign.objects.get(name=name)


@once
def study(folder: Path) -> Campaign:
    caches["reports"].clear()
    run("load_batch", str(write_lines(folder / "batch.jsonl", BATCH)), "--name", "b")
    labels = [said(f"r{q}", f"{q}?", "answerable", code) for q, code in COVERED.items()]
    return campaign(folder, "c", "report-coverage", labels)


def typing(folder: Path) -> Campaign:
    """Two of three people call a static; b was a tie and decided; c fails the gate; d is a tie."""
    labels = [
        *typed("a", "ada", sensitivity="static"),
        *typed("a", "ben", sensitivity="static"),
        *typed("a", "cem", sensitivity="fast-changing"),
        *typed("b", "ada", sensitivity="static"),
        *typed("b", "ben", sensitivity="fast-changing"),
        *typed("b", "adjudicated", "reference", sensitivity="fast-changing"),
        *typed("c", "ada", sensitivity="static"),
        *typed("c", "ben", information_seeking="no"),
        *typed("c", "cem", information_seeking="no"),
        *typed("d", "ada", sensitivity="static"),
        *typed("d", "ben", sensitivity="slow-changing"),
        *typed("d", "judge", "judge", sensitivity="static"),
    ]
    return campaign(folder, "typing", "question-typing", labels)


def measured(*options: str) -> JSON:
    found: JSON = json.loads(run("measures", "--campaign", "c", "--resamples", "2", *options))
    return found


def slices(report: JSON, stratum: str) -> dict[str, tuple[float, int]]:
    """People's coverage of each slice, with the number of reports."""
    found = report["measures"]["Cov(y)"]["slices"][stratum]
    cells = {name: of["s"]["people"] for name, of in found.items()}
    return {name: (cell["value"], cell["n"]) for name, cell in cells.items()}


def test_a_question_is_sliced_by_the_adjudicated_label_or_peoples_majority(
    study: Campaign, tmp_path: Path
) -> None:
    typing(tmp_path)
    report = measured("--slices", "typing")
    # a and b have a type; c failed the gate, and d is a tie.
    assert slices(report, "sensitivity@typing") == {"static": (1, 1), "fast-changing": (0, 1)}
    assert report["strata"]["sensitivity@typing"] == {
        "campaign": "typing",
        "variable": "sensitivity",
        "queries": 2,
        "decided": 1,
        "words": {
            "static": "Static",
            "slow-changing": "Slow changing",
            "fast-changing": "Fast changing",
        },
    }
    # The batch's own strata are unchanged.
    assert slices(report, "sensitivity") == {
        "fast-changing": (pytest.approx(1 / 3), 3),
        "static": (1, 1),
    }


def test_gates_make_slices_only_if_they_divide_the_questions(
    study: Campaign, tmp_path: Path
) -> None:
    typing(tmp_path)
    report = measured("--slices", "typing")
    assert slices(report, "information_seeking@typing") == {
        "yes": (pytest.approx(1 / 3), 3),
        "no": (1, 1),
    }
    assert "valid@typing" not in report["measures"]["Cov(y)"]["slices"]
    assert report["strata"]["valid@typing"]["queries"] == 4


def test_slices_follow_the_order_of_the_codes(study: Campaign, tmp_path: Path) -> None:
    labels = [
        *typed("a", "ada", popularity="torso"),
        *typed("b", "ada", popularity="head"),
        *typed("c", "ada", popularity="tail"),
    ]
    campaign(tmp_path, "typing", "question-typing", labels)
    assert list(slices(measured("--slices", "typing"), "popularity@typing")) == [
        "head",
        "torso",
        "tail",
    ]


def test_a_campaigns_own_categories_make_slices_whatever_their_number(
    study: Campaign, tmp_path: Path
) -> None:
    """Long2RAG's domains are not codes of the protocol, but come from the campaign's options."""
    run("create_campaign", "domains", "--protocol", "question-typing", "--batch", "b",
        "--option", "variables=category", "--option", "categories=law,sport,art")  # fmt: skip
    labels = [said(q, q, "category", code) for q, code in {"a": "art", "b": "law"}.items()]
    run("import_labels", str(write_lines(tmp_path / "d.jsonl", labels)), "--campaign", "domains")
    found = slices(measured("--slices", "domains"), "category@domains")
    assert found == {"law": (0, 1), "art": (1, 1)}


def test_grounding_is_sliced_by_the_share_of_relevant_passages(
    study: Campaign, tmp_path: Path
) -> None:
    """Of relevant passages, a has 0 of 3, b 1 of 2 (and a tie), c all; nobody labelled d."""
    marks = {"a": "nnn", "b": "yn", "c": "yyy"}
    codes = {"y": "yes", "n": "no"}
    labels = [
        said(query, f"{query}/{query}{n}", "relevant", codes[letter])
        for query, letters in marks.items()
        for n, letter in enumerate(letters)
    ]
    labels += [said("b", "b/b2", "relevant", "yes"), said("b", "b/b2", "relevant", "no", "ben")]
    campaign(tmp_path, "grounding", "grounding-relevance", labels)
    report = measured("--slices", "grounding")
    assert slices(report, "grounding@grounding") == {
        "low": (1, 1),
        "medium": (0, 1),
        "high": (1, 1),
    }
    assert report["strata"]["grounding@grounding"]["queries"] == 3


def test_every_format_says_where_the_slices_come_from(study: Campaign, tmp_path: Path) -> None:
    typing(tmp_path)
    printed = run("measures", "--campaign", "c", "--slices", "typing", "--format", "md")
    assert "sliced by the labels of typing: people's most frequent one" in printed
    rows = run("measures", "--campaign", "c", "--slices", "typing", "--format", "csv")
    assert "sensitivity@typing,fast-changing" in rows


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("c", "is a campaign of report-coverage; name question-typing or grounding-relevance"),
        ("elsewhere", "is over the batch 'other', 'c' over 'b'"),
        ("empty", "people have decided no label in 'empty'"),
        ("none", "'none'"),
    ],
)
def test_the_command_refuses_a_campaign_that_cannot_slice(
    study: Campaign, tmp_path: Path, name: str, words: str
) -> None:
    run("load_batch", str(write_lines(tmp_path / "other.jsonl", BATCH[:1])), "--name", "other")
    run("create_campaign", "elsewhere", "--protocol", "question-typing", "--batch", "other")
    run("create_campaign", "empty", "--protocol", "question-typing", "--batch", "b")
    with pytest.raises(CommandError, match=words):
        measured("--slices", name)


class TestPageAndApi:
    @pytest.fixture
    def other(self, study: Campaign, tmp_path: Path) -> Campaign:
        return typing(tmp_path)

    @staticmethod
    def start(study: Campaign) -> str:
        return f"/campaigns/{study.pk}/measures"

    @staticmethod
    def page(study: Campaign) -> str:
        return f"/campaigns/{study.pk}/results/"

    def answers(self, study: Campaign, client: Client, query: str) -> list[Any]:
        files = [f"{self.start(study)}{suffix}" for suffix in (".json", ".csv", ".zip")]
        return [client.get(f"{each}?{query}") for each in (self.page(study), *files)]

    def test_page_and_api_have_the_numbers_of_the_command(
        self, study: Campaign, other: Campaign
    ) -> None:
        client = logged_in("researcher")
        expected = json.loads(run("measures", "--campaign", "c", "--slices", "typing"))
        found = json.loads(client.get(f"{self.start(study)}.json?slices=typing").content)
        script = script_of(User.objects.get(username="researcher"))
        downloaded = script.get(f"campaigns/{study.pk}/measures/?slices=typing").json()
        for each in (expected, found, downloaded):
            del each["generated_at"]
        assert found == downloaded == expected
        body = client.get(f"{self.page(study)}?slices=typing").content.decode()
        assert ">sensitivity in typing: Static</text>" in body
        assert "sensitivity of 2 queries" in body

    def test_only_labelled_campaigns_over_the_same_batch_are_offered(
        self, study: Campaign, other: Campaign
    ) -> None:
        run("create_campaign", "unlabelled", "--protocol", "question-typing", "--batch", "b")
        page = logged_in("researcher").get(f"{self.page(study)}?measures=own").content.decode()
        assert 'name="slices" value="typing"' in page
        assert "unlabelled" not in page
        assert 'value="c"' not in page

    def test_new_labels_in_the_other_campaign_change_the_slices(
        self, study: Campaign, other: Campaign, tmp_path: Path
    ) -> None:
        client, address = logged_in("researcher"), f"{self.start(study)}.json?slices=typing"
        before = json.loads(client.get(address).content)["strata"]["sensitivity@typing"]
        more = [said("d", "d", "sensitivity", "static", "dea")]
        more += [said("d", "d", name, code, "dea") for name, code in GATES.items()]
        run("import_labels", str(write_lines(tmp_path / "m.jsonl", more)), "--campaign", "typing")
        after = json.loads(client.get(address).content)["strata"]["sensitivity@typing"]
        assert (before["queries"], after["queries"]) == (2, 3)

    def test_slicing_needs_the_right_to_read_the_other_campaign(
        self, study: Campaign, other: Campaign
    ) -> None:
        client = logged_in("researcher")
        join_team(User.objects.get(username="researcher"))
        set_pool(other, Campaign.Pool.NAMED)
        *answers, labels = self.answers(study, client, "slices=typing")
        assert {answer.status_code for answer in answers} == {422}
        assert labels.status_code == 403  # since a mere member of a team may not export labels
        assert "There are no slices by &#x27;typing&#x27;" in answers[0].content.decode()
        assert "typing" not in client.get(f"{self.page(study)}?measures=own").content.decode()
        script = script_of(User.objects.get(username="researcher"))
        answer = script.get(f"campaigns/{study.pk}/measures/?slices=typing")
        assert (answer.status_code, answer.json()["problems"][0]["field"]) == (400, "slices")
        add_member(other, User.objects.get(username="researcher"), "researcher")
        *answers, _ = self.answers(study, client, "slices=typing")
        assert {answer.status_code for answer in answers} == {200}

    def test_slicing_is_refused_with_an_open_item_in_the_other_campaign(
        self, study: Campaign, other: Campaign
    ) -> None:
        client = logged_in("researcher")
        user = User.objects.get(username="researcher")
        other.raters_per_item = 9
        other.save()
        other.items.update(quota=9)
        assert next_assignment(other, rater_of(user)) is not None
        answers = self.answers(study, client, "slices=typing")
        assert {answer.status_code for answer in answers} == {422}
        assert all("You have an open item in typing" in a.content.decode() for a in answers)
        answer = script_of(user).get(f"campaigns/{study.pk}/measures/?slices=typing")
        assert answer.status_code == 400


class TestSlicesInFiles:
    """Markdown and LaTeX print slices only on request."""

    @pytest.mark.first_case
    @pytest.mark.parametrize("form", ["md", "latex"])
    def test_readable_formats_show_slices_only_if_requested(
        self, study: Campaign, tmp_path: Path, form: str
    ) -> None:
        typing(tmp_path)
        asked = ("measures", "--campaign", "c", "--resamples", "2", "--slices", "typing",
                 "--format", form)  # fmt: skip
        without, shown = run(*asked), run(*asked, "--show-slices")
        for words in ("Slice and system", "sensitivity, as labelled in typing", "By sensitivity"):
            assert words not in without
            assert words in shown
        dot = {"md": "·", "latex": r"$\cdot$"}[form]
        assert f"static {dot} s" in shown
        assert f"fast-changing {dot} s" in shown

    def test_json_and_csv_always_contain_slices(self, study: Campaign) -> None:
        for form in ("json", "csv"):
            asked = ("measures", "--campaign", "c", "--resamples", "2", "--format", form)
            without, shown = run(*asked), run(*asked, "--show-slices")
            assert "sensitivity" in without
            assert shown.splitlines()[-1] == without.splitlines()[-1]
