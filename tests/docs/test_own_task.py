"""The three protocols of the page on writing one: checked, added, labelled, judged, reported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from annotation.answers.submission import submit
from annotation.assignments.queue import next_assignment
from annotation.models import Label, rater_of
from tandem.protocols.protocol_file import read_protocol
from tests.cast import Line, campaign_of, load, run
from tests.docs.markdown import blocks, written
from tests.page_cast import _user

pytestmark = pytest.mark.django_db
EXAMPLES = {
    read_protocol(text, "page.toml").declaration.name: text
    for text in blocks(written()["how-to/own-task.md"], "toml")
}
BATCH: list[Line] = [
    {
        "id": "q",
        "text": "Who built the bridge?",
        "passages": [{"id": "p", "text": "Ada built it in 1901."}],
        "reports": [
            {
                "id": "r",
                "text": "Ada built it. It is red.",
                "system": "one",
                "sentences": ["Ada built it.", "It is red."],
                "sentence_citations": [["p"], []],
            }
        ],
    }
]
ANSWERS: dict[str, list[dict[str, Any]]] = {
    "helpfulness-rubric": [
        {
            "on-topic": "yes",
            "complete": "partly",
            "clear": "yes",
            "length": "too-short",
            "overall": "6",
            "written": {"text": "When it was built.", "citations": []},
        }
    ],
    "error-taxonomy": [
        {"errors": [], "severity": None, "evidence": []},
        {"errors": ["not-in-sources"], "severity": "slight", "evidence": []},
    ],
    "claim-support": [
        {
            "support": "partial",
            "evidence": [
                {"quote": "Ada built it.", "start": None, "field": "report"},
                {"quote": "Ada built it", "start": None, "field": "passage:p"},
            ],
        }
    ],
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_checked_added_labelled_judged_and_reported(
    name: str, tmp_path: Path
) -> None:
    file = tmp_path / f"{name}.toml"
    file.write_text(EXAMPLES[name], "utf-8")
    load(tmp_path, BATCH)
    assert "It fits 'b'" in run("protocol", "check", file, "--batch", "b")
    run("protocol", "add", file)
    campaign = campaign_of(f"{name}@1")
    mine = next_assignment(campaign, rater_of(_user("ada", "annotator")))
    assert mine
    units = dict(zip(mine.asked, ANSWERS[name], strict=True))
    submit(mine, {"units": units, "comment": None}, "api")
    run("create_judge", "overlap", "--backend", "lexical")
    run("run_judge", "--judge", "overlap", "--campaign", campaign.name)
    judged = Label.objects.filter(response__assignment__rater__name="overlap")
    assert judged.exists()
    report = json.loads(run("report", "--campaign", campaign.name, "--format", "json"))
    declared = read_protocol(EXAMPLES[name], "page.toml").declaration
    assert set(report["variables"]) == {variable.name for variable in declared.variables}


def test_the_page_has_the_three_examples_that_it_announces() -> None:
    assert set(EXAMPLES) == set(ANSWERS)
