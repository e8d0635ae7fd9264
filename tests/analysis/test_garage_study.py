"""GaRAGe from relevance to figures: writers see uses, and deflect without relevant passages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from annotation.answers.submission import submit
from annotation.api.assignments import describe_assignment
from annotation.campaign_setup.creation import create_campaign
from annotation.campaigns.design import Design
from annotation.models import Assignment, Campaign, Item, Response
from annotation.presentation import present
from datasets.models import Batch
from judging.backends.base import Request
from tandem.protocols.validation import RefusedError
from tests.annotation.campaign_setup.test_creation import relevance
from tests.cast import FIRST, SECOND, Line, campaign_of, exported, load, run, write_lines
from tests.judging.cast import judge, run_scripted
from tests.page_cast import Study, client_of, page, study_of

pytestmark = pytest.mark.django_db

JSON = dict[str, Any]
WRITES = ("descriptor", "deflected")
BARE: Line = {key: FIRST[key] for key in FIRST if key not in ("references", "key_points")}
PASSAGE: Line = FIRST["passages"][0]
OF_ONE: Line = {**BARE, "rankings": []}
LINES: tuple[Line, ...] = (BARE, SECOND)


def said(unit: str, rater: str, variable: str, value: str) -> JSON:
    item = unit.rpartition("/")[0]
    return {"item": item, "unit": unit, "rater": rater, "variable": variable, "value": value}


@pytest.fixture
def study(tmp_path: Path) -> Study:
    """Ada and Bo call one passage of the first request relevant, and none of the second."""
    load(tmp_path, LINES)
    relevance(
        tmp_path,
        ("q/1/p", "ann", "yes"),
        ("q/1/p", "bo", "yes"),
        ("q/1/p#1", "ann", "no"),
        ("q 2/p2", "ann", "no"),
    )
    uses = [said("q/1/p", "ann", "use", "outdated"), said("q/1/p", "bo", "use", "outdated")]
    run("import_labels", write_lines(tmp_path / "uses.jsonl", uses), "--campaign", "rel")
    design = Design(variables=WRITES, passages="relevant:rel")
    return study_of("grounded-answer", tmp_path, design, LINES)


def second(study: Study) -> Item:
    return study.campaign.items.get(key="q 2")


def both(study: Study) -> tuple[Assignment, Assignment]:
    """Ada's assignments of the first request, which she declines, and of the second."""
    first = study.assignment(study.ada)
    submit(first, deflection(first.item), "page")
    return first, study.assignment(study.ada)


def deflection(item: Item, text: str | None = None) -> JSON:
    query: JSON = {"descriptor": "no-answer", "deflected": "yes", "written": None}
    if text:
        query = {
            "descriptor": "complete",
            "deflected": "no",
            "written": {"text": text, "citations": []},
        }
    return {"units": {item.key: query}, "comment": None}


def test_a_request_without_a_relevant_passage_is_kept_and_its_page_says_so(study: Study) -> None:
    assert [item.key for item in study.campaign.items.all()] == ["q/1", "q 2"]
    first, then = both(study)
    bodies = [client_of(study.ada).get(page("item", a)).content.decode() for a in (first, then)]
    assert ['id="no-passages"' in body for body in bodies] == [False, True]
    assert "data-source=" not in bodies[1]
    assert present(then.item).texts == ()


def test_a_request_without_a_relevant_passage_can_only_be_deflected(study: Study) -> None:
    _, mine = both(study)
    with pytest.raises(RefusedError, match="there is no passage to write it from"):
        submit(mine, deflection(mine.item, "In Ghent."), "page")
    assert submit(mine, deflection(mine.item), "page").created
    _, line = exported("Study", "responses")
    assert (line["item"], line["units"]["q 2"]["deflected"]) == ("q 2", "yes")
    assert [unit["item"] for unit in exported("Study", "units")] == ["q/1", "q 2"]


def test_a_judges_prompt_says_that_no_passage_is_relevant(study: Study) -> None:
    asked: list[Request] = []

    def answers(request: Request) -> str:
        asked.append(request)
        return json.dumps(
            {
                unit.name: {
                    "descriptor": "complete",
                    "deflected": "no",
                    "written": {"text": "In Ghent.", "citations": []},
                }
                for unit in request.facts.units
            }
        )

    run_scripted(study.campaign, judge("bold", granularity="item"), answers)
    words = ["\n".join(message.content for message in request.messages) for request in asked]
    assert ["nothing to answer from" in each for each in words] == [False, True]
    assert ['; use: "Outdated"' in each for each in words] == [True, False]
    kept = Response.objects.get(assignment__item=second(study))
    assert kept.payload["units"]["q 2"]["deflected"] == "no"


def measured(campaign: str) -> JSON:
    found: JSON = json.loads(run("measures", "--campaign", campaign, "--resamples", "2"))
    return found["measures"]


def test_the_campaigns_deflections_count_if_the_batch_has_no_reference(
    study: Study, tmp_path: Path
) -> None:
    """Ada deflects the second request. Neither of its systems does; one of the first's does."""
    rows = [
        {
            "item": key,
            "unit": key,
            "rater": rater,
            "rater_kind": kind,
            "variable": "deflected",
            "value": value,
        }
        for key, ada, bold in (("q/1", "no", "no"), ("q 2", "yes", "no"))
        for rater, kind, value in (("ada", "human", ada), ("bold", "judge", bold))
    ]
    run("import_labels", write_lines(tmp_path / "d.jsonl", rows), "--campaign", "Study")
    found = measured("Study")
    rates = {name: found[f"Deflection:{name}"]["systems"] for name in ("TP", "FP")}
    assert rates["TP"][""]["raters"]["bold"]["value"] == 0
    assert rates["FP"][""]["raters"]["bold"]["value"] == 0
    assert {s: rates["TP"][s]["texts"]["value"] for s in ("one", "two")} == {"one": 0, "two": 0}
    assert rates["FP"]["two"]["texts"]["n"] == 1


class TestUses:
    def shown(self, campaign: Campaign) -> dict[str, str | None]:
        item = campaign.items.get(key="q/1")
        return {text.field: dict(text.facts).get("use") for text in present(item).texts}

    def test_the_writer_sees_what_most_people_called_a_passage_useful_for(
        self, study: Study
    ) -> None:
        mine = study.assignment(study.ada)
        assert self.shown(study.campaign) == {"passage:p": "Outdated"}
        body = client_of(study.ada).get(page("item", mine)).content.decode()
        assert "<i>Use</i> Outdated" in body
        (text,) = describe_assignment(mine)["texts"]
        assert {"name": "use", "value": "Outdated"} in text["facts"]

    def test_a_use_already_shown_is_kept_when_somebody_changes_it(
        self, study: Study, tmp_path: Path
    ) -> None:
        rows = [said("q/1/p", rater, "use", "unknown") for rater in ("ann", "bo")]
        run("import_labels", write_lines(tmp_path / "later.jsonl", rows), "--campaign", "rel")
        assert self.shown(study.campaign) == {"passage:p": "Outdated"}

    def test_every_use_in_a_tie_of_people_is_shown(self, study: Study, tmp_path: Path) -> None:
        rows = [said("q/1/p", "bo", "use", "answer-the-question")]
        run("import_labels", write_lines(tmp_path / "later.jsonl", rows), "--campaign", "rel")
        made = campaign_of("grounded-answer", "--option", "passages=relevant:rel")
        assert self.shown(made) == {"passage:p": "Answers the question / Outdated"}

    @pytest.mark.parametrize(
        ("passage", "passages", "use"),
        [
            ({"use": "outdated"}, "relevant", "Outdated"),
            ({"meta": {"use": "outdated"}}, "relevant", "Outdated"),
            ({"meta": {"use": "a spoon"}}, "relevant", None),
            ({"use": "outdated"}, "all", None),
        ],
    )
    def test_labels_of_the_batch_are_shown_beside_relevant_passages_only(
        self, tmp_path: Path, passage: JSON, passages: str, use: str | None
    ) -> None:
        marked = {**OF_ONE, "passages": [{**PASSAGE, **passage}]}
        load(tmp_path, [marked])
        assert exported_use(tmp_path, marked) == passage.get("use")
        made = campaign_of("grounded-answer", "--option", f"passages={passages}")
        assert self.shown(made) == {"passage:p": use}

    def test_raters_who_do_not_write_see_no_uses(self, tmp_path: Path) -> None:
        load(tmp_path, [{**OF_ONE, "passages": [{**PASSAGE, "use": "outdated"}]}])
        for protocol in ("grounding-relevance", "answer-rating"):
            made = campaign_of(protocol, "--option", "passages=relevant", name=protocol)
            assert set(self.shown(made).values()) == {None}


def exported_use(folder: Path, line: Line) -> str | None:
    """The use of the only passage, as the batch's export has it."""
    campaign_of("grounding-relevance", name="export")
    (query,) = exported("export", "batch")
    found: str | None = query["passages"][0].get("use")
    return found


def test_an_unknown_use_is_refused_with_its_line(tmp_path: Path) -> None:
    wrong = {**OF_ONE, "passages": [{**PASSAGE, "use": "handy"}]}
    with pytest.raises(Exception, match='line 1: "use" of passage 1 is "handy"; write one of'):
        load(tmp_path, [wrong])


class TestRelevanceAwareFactuality:
    """If no sentence needs evidence, any context supports the answer, even an empty one."""

    def rated(self, tmp_path: Path, passages: str, *keys: str) -> JSON:
        campaign_of("answer-rating", "--option", f"passages={passages}", name="rated")
        rows = [
            {"item": item, "unit": unit, "rater": "ada", "variable": variable, "value": value}
            for item, report, sentences in (("q/1", "r#1", 2), ("q 2", "s/two", 2))
            for unit, variable, value in (
                *((f"{report}#{n}", "support", "no-rad") for n in range(1, sentences + 1)),
                (report, "eligibility", "none"),
            )
            if item in keys
        ]
        run("import_labels", write_lines(tmp_path / "r.jsonl", rows), "--campaign", "rated")
        return measured("rated")

    def test_factuality_is_null_if_no_passage_was_relevant(
        self, study: Study, tmp_path: Path
    ) -> None:
        found = self.rated(tmp_path, "relevant:rel", "q 2")
        for name in ("uRAF", "RAF"):
            of = found[name]["systems"]["two"]["people"]
            assert of["value"] is None
            assert of["reason"].endswith(", and a relevant passage to hold them to")
        assert found["Eligibility"]["systems"]["two"]["people"]["value"] == 1

    def test_a_request_without_relevant_passages_counts_for_no_system(
        self, study: Study, tmp_path: Path
    ) -> None:
        found = self.rated(tmp_path, "relevant:rel", "q/1", "q 2")
        of = {name: found[name]["systems"]["two"]["people"] for name in ("uRAF", "Eligibility")}
        assert (of["uRAF"]["value"], of["uRAF"]["n"]) == (1, 1)
        assert of["Eligibility"]["n"] == 2

    def test_a_request_counts_if_all_passages_are_taken(self, study: Study, tmp_path: Path) -> None:
        found = self.rated(tmp_path, "all", "q/1", "q 2")
        assert found["uFactuality"]["systems"]["two"]["people"]["n"] == 2


def test_a_query_without_a_relevant_passage_has_no_item_to_tick_or_validate(tmp_path: Path) -> None:
    """Ticking and validating need a passage; only a writer can deflect."""
    load(tmp_path, LINES)
    relevance(tmp_path, ("q/1/p", "ann", "yes"))
    batch = Batch.objects.get(name="b")
    for variable in ("selected", "grounded"):
        design = Design(variables=(variable,), passages="relevant:rel")
        made = create_campaign(variable, "grounded-answer", batch, design).campaign
        assert [item.key for item in made.items.all()] == ["q/1"]
