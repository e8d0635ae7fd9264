"""What a person sees of a judge's labels, on the page of every protocol and in the API."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from annotation.answers.submission import submit
from annotation.assignments.context import Cited, JudgeAnswer, judge_answers_for
from annotation.assignments.queue import next_assignment
from annotation.models import Assignment, Label, Rater, Span, rater_of
from annotation.presentation import present, schema
from annotation.protocols import PROTOCOLS
from tests.annotation.validating_cast import (
    BUILT,
    JUDGE,
    judge,
    judge_all,
    judged,
    plain_answer,
    second,
    validating,
)
from tests.api.cast import script_of
from tests.cast import RICH, exported
from tests.page_cast import Study, client_of, page, study_of

pytestmark = pytest.mark.django_db
VALIDATED = [name for name, protocol in PROTOCOLS.items() if protocol.listed is None]
YES = {"answerable": "yes", "evidence": [BUILT]}
NO = {"answerable": "no", "evidence": []}


def study(tmp_path: Path, protocol: str = "report-coverage", **more: Any) -> Study:
    judge()
    return study_of(protocol, tmp_path, validating(**more), RICH)


def shown(of: Study, assignment: Assignment) -> str:
    return client_of(of.ada).get(page("item", assignment)).content.decode()


def verdicts_in(content: str) -> list[dict[str, Any]]:
    found = re.findall(r'data-verdict="(.*?)"', content, re.DOTALL)
    return [json.loads(html.unescape(each)) for each in found]


def first_judged(of: Study, **answers: dict[str, Any]) -> Assignment:
    judged(of.campaign.items.get(key="r"), answers)
    return of.assignment(of.ada)


class TestEveryProtocol:
    @pytest.mark.parametrize("protocol", VALIDATED)
    def test_each_unit_shows_the_judges_label(self, tmp_path: Path, protocol: str) -> None:
        of = study(tmp_path, protocol)
        judge_all(of.campaign)
        assignment = of.assignment(of.ada)
        content = shown(of, assignment)
        assert len(verdicts_in(content)) == len(assignment.asked)
        assert content.count("js/work/validating.js") == 1
        assert content.count("one by one") == 1
        assert "planted-comment" not in content

    @pytest.mark.every_case
    @pytest.mark.parametrize("protocol", PROTOCOLS)
    def test_a_campaign_without_validation_shows_no_judges_labels(
        self, tmp_path: Path, protocol: str
    ) -> None:
        judge()
        of = study_of(protocol, tmp_path, lines=RICH)
        judge_all(of.campaign)
        content = shown(of, of.assignment(of.ada))
        for trace in ("data-judged", "work/validating", JUDGE):
            assert trace not in content

    @pytest.mark.parametrize("protocol", VALIDATED)
    def test_confirming_all_judges_labels_makes_a_valid_answer(
        self, tmp_path: Path, protocol: str
    ) -> None:
        of = study(tmp_path, protocol)
        judge_all(of.campaign)
        assignment = of.assignment(of.ada)
        found = judge_answers_for(assignment, present(assignment.item))
        units = {name: dict(verdict.answer) for name, verdict in found.items()}
        submit(assignment, {"units": units, "comment": None}, "page")
        ada = rater_of(of.ada).name
        values = ["unit__key", "variable", "value", "spans__start", "spans__quote"]
        of_rater = {
            rater: set(
                Label.objects.filter(
                    response__assignment__rater__name=rater,
                    response__assignment__item=assignment.item,
                ).values_list(*values)
            )
            for rater in (JUDGE, ada)
        }
        assert of_rater[ada] == of_rater[JUDGE]


class TestOneVerdict:
    def test_a_judges_label_has_quotes_in_code_points_and_a_score(self, tmp_path: Path) -> None:
        of = study(tmp_path)
        text = "Anna Lee\u0301 "
        quote = {"quote": "built it 🌉", "start": len(text)}
        assignment = first_judged(of, **{"🌉": {"answerable": "yes", "evidence": [quote]}})
        Label.objects.update(score=0.625)
        found = judge_answers_for(assignment, present(assignment.item))["🌉"]
        assert found.answer == {"evidence": [quote], "answerable": "yes"}
        assert found.quotes == (Cited("report", "built it 🌉", len(text)),)
        assert "score 0.62" in shown(of, assignment) or "score 0.63" in shown(of, assignment)

    def test_an_unfound_quote_of_a_judge_is_marked_and_not_copied(self, tmp_path: Path) -> None:
        of = study(tmp_path)
        lost = {"quote": "Never was there such a bridge", "start": None}
        assignment = first_judged(of, **{"🌉": {"answerable": "yes", "evidence": [lost]}})
        content = shown(of, assignment)
        assert "not found in the text" in content
        assert verdicts_in(content) == [{"evidence": [], "answerable": "yes"}]

    def test_text_by_a_model_is_escaped(self, tmp_path: Path) -> None:
        name, words = "<b>judge</b>", '"><img src=x onerror=alert(1)>'
        judge(name)
        of = study_of("report-coverage", tmp_path, validating(name))
        lost = {"quote": words, "start": None}
        given = {"🌉": {"answerable": "yes", "evidence": [lost]}}
        judged(of.campaign.items.get(key="r"), given, judge(name))
        content = shown(of, of.assignment(of.ada))
        assert "<img src=x" not in content
        assert "<b>judge" not in content
        assert content.count("&lt;img src=x onerror=alert(1)&gt;") == 1

    def test_a_judges_escape_is_shown_like_a_label(self, tmp_path: Path) -> None:
        of = study(tmp_path)
        assignment = first_judged(of, **{"🌉": {"answerable": "invalid", "evidence": []}})
        content = shown(of, assignment)
        assert [verdict["answerable"] for verdict in verdicts_in(content)] == ["invalid"]
        word = PROTOCOLS["report-coverage"].variables[0].words.get("invalid", "Invalid")
        assert f"<strong>{word}</strong>" in content

    def test_only_the_judges_first_replicate_and_current_answer_counts(
        self, tmp_path: Path
    ) -> None:
        of = study(tmp_path)
        assignment = first_judged(of, **{"🌉": YES})
        first = Assignment.objects.get(item=assignment.item, rater=judge())
        submit(first, {"units": {"🌉": NO}}, "judge")
        again = Assignment.objects.create(
            item=assignment.item, rater=judge(), replicate=1, asked=["🌉"]
        )
        submit(again, {"units": {"🌉": {"answerable": "invalid", "evidence": []}}}, "judge")
        judged(assignment.item, {"🌉": YES}, judge("another"))
        found = judge_answers_for(assignment, present(assignment.item))
        assert found == {"🌉": JudgeAnswer(JUDGE, NO)}

    def test_an_unassisted_assignment_shows_no_judges_labels(self, tmp_path: Path) -> None:
        of = study(tmp_path)
        assignment = first_judged(of, **{"🌉": NO})
        assignment.assisted_by = ""
        assert judge_answers_for(assignment, present(assignment.item)) == {}

    def test_each_report_has_its_own_judges_labels(self, tmp_path: Path) -> None:
        of = study(tmp_path)
        judged(of.campaign.items.get(key="r#1"), {"🌉": NO, "a/b#1": NO})
        assignment = first_judged(of, **{"🌉": YES})
        assignment.asked = ["a/b#1", "🌉"]
        Label.objects.update(score=0.0)
        quotes = (Cited("report", "built it 🌉", 10),)
        found = judge_answers_for(assignment, present(assignment.item))
        assert found == {"🌉": JudgeAnswer(JUDGE, YES, {"answerable": 0.0}, quotes)}
        assignment.asked = ["a/b#1"]
        assert judge_answers_for(assignment, present(assignment.item)) == {}

    def test_units_asked_only_in_the_judges_campaign_are_not_shown(self, tmp_path: Path) -> None:
        of = study(tmp_path)
        assignment = first_judged(of, **{"🌉": NO})
        spec = present(assignment.item)
        fewer = replace(spec, units=tuple(unit for unit in spec.units if unit.key != "🌉"))
        assert judge_answers_for(assignment, fewer) == {}

    def test_a_judges_quote_of_another_text_is_marked_and_not_copied(self, tmp_path: Path) -> None:
        of = study(tmp_path)
        assignment = first_judged(of, **{"🌉": YES})
        (label,) = Label.objects.filter(response__assignment__rater=judge())
        label.pk, label.variable, label.value = None, "about", "1"
        label.save()
        Span.objects.create(label=label, field="elsewhere", quote="It", start=0, end=2)
        found = judge_answers_for(assignment, present(assignment.item))["🌉"]
        assert found.answer == YES | {"about": "1"}
        assert found.quotes == (Cited("report", "built it 🌉", 10), Cited("elsewhere", "It", 0))

    def test_a_label_that_the_judge_lacks_is_left_open(self, tmp_path: Path) -> None:
        of = study(tmp_path, "question-typing")
        item = of.campaign.items.order_by("position")[0]
        (unit,) = item.units.values_list("name", flat=True)
        given = Assignment.objects.create(item=item, rater=judge(), asked=[unit])
        submit(given, {"units": {unit: {"valid": "no"}}}, "import")
        assignment = of.assignment(of.ada)
        found = judge_answers_for(assignment, present(assignment.item))
        names = [variable.name for variable in schema(of.campaign).variables_of("query")]
        assert found == {unit: JudgeAnswer(JUDGE, dict.fromkeys(names) | {"valid": "no"})}

    def test_no_other_raters_answer_is_shown(self, tmp_path: Path) -> None:
        of = study(tmp_path, raters_per_item=2)
        assignment = first_judged(of, **{"🌉": NO})
        judged(assignment.item, {"🌉": YES | {"evidence": []}} | {"🌉": NO}, judge("planted-other"))
        bens = of.assignment(of.ben)
        given = {"units": {"🌉": NO}, "comment": "planted-comment-of-ben"}
        submit(bens, given, "page")
        content = shown(of, assignment)
        assert "planted" not in content
        assert "ben" not in re.findall(r"\w+", content)

    def test_only_judges_labels_are_shown(self, tmp_path: Path) -> None:
        of = study(tmp_path)
        assignment = first_judged(of, **{"🌉": NO})
        assert list(judge_answers_for(assignment, present(assignment.item))) == ["🌉"]
        Rater.objects.filter(name=JUDGE).update(kind=Rater.Kind.TRIAL)
        assert judge_answers_for(assignment, present(assignment.item)) == {}

    def test_labels_of_a_judge_in_another_campaign_are_shown(self, tmp_path: Path) -> None:
        judge()
        of = study_of("report-coverage", tmp_path)
        checked = second(of.campaign, "Checked", validates=f"{JUDGE}@Study")
        judged(of.campaign.items.get(key="r"), {"🌉": NO})
        judged(checked.items.get(key="r"), {"🌉": YES})
        assignment = next_assignment(checked, rater_of(of.ada))
        assert assignment is not None
        assert [v["answerable"] for v in verdicts_in(shown(of, assignment))] == ["no"]

    def test_a_swapped_pair_has_its_judges_label_swapped(self, tmp_path: Path) -> None:
        of = study(tmp_path, "answer-preference", raters_per_item=8)
        judge_all(of.campaign)  # the first code: the first of the pair
        seen = set()
        for number in range(8):
            rater = Rater.objects.create(name=f"r{number}")
            assignment = next_assignment(of.campaign, rater)
            assert assignment is not None
            rater.user, of.ada.pk = of.ada, of.ada.pk
            rater.save()
            turned = assignment.shown != [t.field for t in present(assignment.item).texts]
            code = verdicts_in(shown(of, assignment))[0]["preferred"]
            seen.add((turned, code))
            rater.user = None
            rater.save()
        assert seen == {(False, "first"), (True, "second")}


class TestLabels:
    def test_exports_say_who_assisted(self, tmp_path: Path) -> None:
        of = study(tmp_path)
        assignment = first_judged(of, **{"🌉": NO})
        submit(assignment, {"units": {"🌉": NO}, "comment": None}, "page")
        for what in ("labels", "responses"):
            lines = exported("Study", what)
            assert {line["rater"]: line.get("assisted_by") for line in lines} == {
                rater_of(of.ada).name: JUDGE,
                JUDGE: None,
            }

    def test_labels_of_an_ordinary_campaign_stay_unassisted(self, tmp_path: Path) -> None:
        of = study_of("report-coverage", tmp_path)
        assignment = of.assignment(of.ada)
        submit(assignment, {"units": plain_answer(assignment), "comment": None}, "page")
        assert {line.get("assisted_by") for line in exported("Study", "labels")} == {None}


class TestTheApi:
    def test_the_api_gives_an_annotator_the_judges_labels(self, tmp_path: Path) -> None:
        of = study(tmp_path)
        assignment = first_judged(of, **{"🌉": NO})
        client = script_of(of.ada)
        listed = client.get("assignments/").json()["results"]
        assert [row["assisted_by"] for row in listed] == [JUDGE]
        found = client.get(f"assignments/{assignment.uid}/").json()
        assert found["assisted_by"] == JUDGE
        assert [unit["verdict"] for unit in found["units"]] == [
            {"judge": JUDGE, "answer": NO, "scores": {}, "quotes": []}
        ]

    def test_an_answer_by_the_api_is_marked_as_assisted(self, tmp_path: Path) -> None:
        of = study(tmp_path)
        assignment = first_judged(of, **{"🌉": NO})
        address = f"assignments/{assignment.uid}/response/"
        saved = script_of(of.ada).put(address, {"units": {"🌉": NO}})
        assert (saved.status_code, saved.json()["assisted_by"]) == (201, JUDGE)
        assert {x.get("assisted_by") for x in exported("Study", "labels")} == {JUDGE, None}

    def test_the_api_gives_no_judges_labels_without_validation(self, tmp_path: Path) -> None:
        judge()
        of = study_of("report-coverage", tmp_path)
        judge_all(of.campaign)
        assignment = of.assignment(of.ada)
        found = script_of(of.ada).get(f"assignments/{assignment.uid}/").json()
        assert found["assisted_by"] is None
        assert {json.dumps(unit["verdict"]) for unit in found["units"]} == {"null"}
