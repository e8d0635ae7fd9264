"""A complete answer for which there is too little is refused; stored ones stay readable."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

from annotation.answers import submission
from annotation.answers.submission import submit
from annotation.models import Assignment, Response
from tandem.protocols.validation import Channel, RefusedError
from tests.annotation.prerequisites.test_second_round import answer
from tests.cast import exported, run, write_lines
from tests.page_cast import Study, study_of

pytestmark = pytest.mark.django_db
WRONG = "deflected: cannot be yes while descriptor is complete; change one of them"


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return study_of("grounded-answer", tmp_path)


def contradiction(assignment: Assignment) -> dict[str, Any]:
    return answer(assignment, None, descriptor="complete", deflected="yes")


@pytest.mark.every_case
@pytest.mark.parametrize("channel", ["page", "api", "judge", "parser", "import"])
def test_every_channel_refuses_it(study: Study, channel: Channel) -> None:
    mine = study.assignment(study.ada)
    with pytest.raises(RefusedError, match=WRONG):
        submit(mine, contradiction(mine), channel)
    submit(mine, answer(mine, None, descriptor="partial", deflected="yes"), channel)


def test_an_imported_file_with_it_is_refused_whole(study: Study, tmp_path: Path) -> None:
    of = {"item": "q/1", "unit": "q/1", "kind": "query", "rater": "ada"}
    said = {"descriptor": "complete", "deflected": "yes"}
    lines = [{**of, "variable": name, "value": value} for name, value in said.items()]
    path = write_lines(tmp_path / "labels.jsonl", lines)
    with pytest.raises(CommandError, match=WRONG):
        run("import_labels", path, "--campaign", study.campaign.name)
    assert not Response.objects.exists()


def test_an_answer_from_before_the_rule_is_read_and_checked_as_before(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = study.assignment(study.ada)
    with monkeypatch.context() as before:
        before.setattr(submission, "check_contradictions", lambda schema, entries: None)
        submit(mine, contradiction(mine), "page")
    labels = {x["variable"]: x["value"] for x in exported(study.campaign.name, "labels")}
    assert (labels["descriptor"], labels["deflected"]) == ("complete", "yes")
    assert "not an answer" not in run("check_invariants")
