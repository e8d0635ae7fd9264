"""Several codes and a scale, from the page to labels, a file, and back."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from annotation.answers.submission import submit
from annotation.integrity import CheckedCounts, violations
from annotation.models import Assignment, Label, Response
from tests.cast import exported, run, write_lines
from tests.page_cast import Study, client_of, page
from tests.several_cast import make_issues_study

pytestmark = pytest.mark.django_db
BOAT = "verdreht–ö 🛶"
Answers = tuple[dict[str, Any], ...]
ANSWERS: Answers = (
    {"issues": [BOAT, "left-out"], "harm": "35"},
    {"issues": [], "harm": None},
    {"issues": "cannot-tell", "harm": None},
)


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> Study:
    return make_issues_study(monkeypatch)


def form(answers: Answers = ANSWERS, **more: Any) -> dict[str, Any]:
    """The fields that the page sends: a set of codes as JSON."""
    sent: dict[str, Any] = dict(more)
    for number, answer in enumerate(answers):
        sent[f"unit-{number}"] = f"q:{number}"
        sent[f"unit-{number}-evidence"] = "[]"
        for name, value in answer.items():
            if value is not None:
                sent[f"unit-{number}-{name}"] = (
                    value if isinstance(value, str) else json.dumps(value)
                )
    return sent


def payload(answers: Answers = ANSWERS) -> dict[str, Any]:
    units = {f"q:{n}": {**answer, "evidence": []} for n, answer in enumerate(answers)}
    return {"units": units, "comment": None}


def values() -> dict[tuple[str, str], str]:
    rows = Label.objects.filter(response__current=True)
    return {
        (name, variable): value
        for name, variable, value in rows.values_list("unit__name", "variable", "value")
    }


def test_the_page_stores_a_set_as_one_label_in_declared_order(study: Study) -> None:
    mine, client = study.assignment(study.ada), client_of(study.ada)
    sent = client.post(
        page("submit", mine), form(version=0, key="00000000-0000-4000-8000-000000000001")
    )
    assert sent.status_code == 200, sent.content
    assert values() == {
        ("q:0", "issues"): f'["left-out", "{BOAT}"]',
        ("q:0", "harm"): "35",
        ("q:1", "issues"): "[]",
        ("q:2", "issues"): "cannot-tell",
    }
    stored = Response.objects.get().payload["units"]
    assert stored["q:0"]["issues"] == ["left-out", BOAT]
    shown = client.get(page("item", mine)).content.decode()
    assert len(re.findall(r'type="checkbox" name="unit-0-issues"[^>]* checked', shown)) == 2
    assert re.search(r'name="unit-1-issues" value=""[^>]* checked', shown)
    assert re.search(r'name="unit-0-harm" value="35"', shown)
    assert re.search(r'data-unset>\s*<input type="range"[^>]*>\s*<input[^>]*unit-1-harm', shown)


def test_an_untouched_question_is_not_an_answer(study: Study) -> None:
    mine, client = study.assignment(study.ada), client_of(study.ada)
    untouched = ({"issues": None, "harm": None}, *ANSWERS[1:])
    refused = client.post(page("submit", mine), form(untouched, version=0))
    assert refused.status_code == 422
    assert not Label.objects.exists()
    assert not re.search(
        r"unit-\d-issues[^>]* checked", client.get(page("item", mine)).content.decode()
    )


def test_a_draft_keeps_a_set_as_it_is(study: Study) -> None:
    mine, client = study.assignment(study.ada), client_of(study.ada)
    untouched = {"issues": None, "harm": None}
    begun: Answers = ({"issues": [], "harm": None}, {"issues": ["made-up"], "harm": "5"}, untouched)
    assert client.post(page("draft", mine), form(begun, version=0)).json()["version"] == 1
    shown = client.get(page("item", mine)).content.decode()
    assert re.search(r'name="unit-0-issues" value=""[^>]* checked', shown)
    assert re.search(r'name="unit-1-issues" value="made-up"[^>]* checked', shown)
    assert not re.search(r"unit-2-issues[^>]* checked", shown)
    for wrong in (["x" * 300], ["\0"], [["made-up"]]):
        odd = ({"issues": wrong, "harm": None}, *ANSWERS[1:])
        assert client.post(page("draft", mine), form(odd, version=1)).status_code == 422


def test_the_same_set_in_another_order_changes_nothing(study: Study) -> None:
    mine = study.assignment(study.ada)
    assert submit(mine, payload(), "api").created
    turned = ({"issues": ["left-out", BOAT], "harm": 35}, *ANSWERS[1:])
    assert not submit(mine, payload(turned), "api").created


def test_labels_go_out_and_come_in_again(study: Study, tmp_path: Path) -> None:
    mine = study.assignment(study.ada)
    submit(mine, payload(), "page")
    before = values()
    lines = exported("Issues", "labels")
    assert {line["value"] for line in lines if line["variable"] == "issues"} == {
        f'["left-out", "{BOAT}"]',
        "[]",
        "cannot-tell",
    }
    for what, form_of in (
        ("labels", "jsonl"),
        ("labels", "csv"),
        ("label-studio", "json"),
        ("responses", "jsonl"),
    ):
        out = tmp_path / f"{what}.{form_of}"
        run("export", "--campaign", "Issues", "--what", what, "--format", form_of, "--output", out)
        said = run("import_labels", out, "--campaign", "Issues")
        assert "Nothing to do" in said, said
        Response.objects.all().delete()
        Assignment.objects.all().delete()
        run("import_labels", out, "--campaign", "Issues")
        assert values() == before
        assert Response.objects.get().payload["units"]["q:0"]["issues"] == ["left-out", BOAT]


def test_files_may_have_codes_in_any_order_and_numbers_in_any_form(
    study: Study, tmp_path: Path
) -> None:
    line = {"item": "hidden-system-0:r", "unit": "q:0", "rater": "Zoë"}
    lines = [
        {**line, "variable": "issues", "value": json.dumps([BOAT, "left-out"])},
        {**line, "variable": "harm", "value": "35.0"},
    ]
    run("import_labels", write_lines(tmp_path / "labels.jsonl", lines), "--campaign", "Issues")
    assert values()["q:0", "issues"] == f'["left-out", "{BOAT}"]'
    assert values()["q:0", "harm"] == "35"


def test_a_wrong_value_of_a_file_is_refused_with_the_mend(study: Study, tmp_path: Path) -> None:
    line = {"item": "hidden-system-0:r", "unit": "q:0", "rater": "Zoë"}
    for variable, value, mend in (
        ("issues", "made-up", "give a list of any of made-up, left-out, verdreht"),
        ("issues", '["nothing"]', "or alone cannot-tell"),
        ("harm", "36", "give a number from 0 to 100 in steps of 5"),
    ):
        lines = [{**line, "variable": variable, "value": value}]
        path = write_lines(tmp_path / "labels.jsonl", lines)
        with pytest.raises(Exception, match=mend):
            run("import_labels", path, "--campaign", "Issues")


def test_every_stored_answer_is_sound(study: Study) -> None:
    submit(study.assignment(study.ada), payload(), "page")
    assert not list(violations((), CheckedCounts()))
