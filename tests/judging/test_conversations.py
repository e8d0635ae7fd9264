"""Earlier turns of a conversation reach the page, the judge and the export unchanged."""

from __future__ import annotations

import html
import json
from pathlib import Path

import pytest
from django.core.management import CommandError
from django.utils import timezone

from annotation.models import Item
from annotation.presentation import present, schema
from annotation.provenance import basis_of
from datasets.digests import find_changes
from datasets.material import batch_rows
from datasets.models import Batch, Query
from judging.backends.scripted import Scripted
from judging.judge_file.template import MessageTemplate
from judging.prompts.request import Preparer
from judging.prompts.template import read_prompt
from judging.runs import ledger, planning
from tests.cast import run
from tests.datasets.helpers import jsonl
from tests.judging.cast import judge
from tests.page_cast import Study, client_of, page, study_of

pytestmark = pytest.mark.django_db
TURNS = [
    {"role": "user", "text": "Which bridges are there?"},
    {"role": "assistant", "text": "Two, <b>both</b> old."},
]
LINE = {
    "id": "q",
    "text": "When did the second open?",
    "history": TURNS,
    "questions": [{"id": "q1", "text": "In which year?"}],
    "reports": [{"id": "r", "text": "It opened in **1901**.", "system": "a"}],
}


def study(folder: Path) -> Study:
    return study_of("report-coverage", folder, lines=[LINE])


@pytest.mark.parametrize(
    ("turn", "said"),
    [
        ({"role": "system", "text": "x"}, '"role" of turn 1 is "system"; write one of user, assis'),
        ({"text": "x"}, '"role" of turn 1 is missing; add it'),
        ({"role": "user", "text": " "}, '"text" of turn 1 is empty; write its text'),
        ({"role": "user", "text": "x", "name": "y"}, 'unknown key "name" in turn 1'),
    ],
)
def test_a_turn_that_cannot_be_read_is_named(
    tmp_path: Path, turn: dict[str, str], said: str
) -> None:
    file = jsonl(tmp_path / "b.jsonl", {**LINE, "history": [turn]})
    with pytest.raises(CommandError, match=f"b.jsonl, line 1: {said}"):
        run("load_batch", str(file), "--name", "talk")


def test_turns_are_stored_digested_and_exported(tmp_path: Path) -> None:
    made = study(tmp_path).campaign
    (row,) = batch_rows(Batch.objects.get())
    assert [(turn.role, turn.text) for turn in row.history] == [tuple(t.values()) for t in TURNS]
    exported = json.loads(run("export", "--campaign", made.name, "--what", "batch"))
    assert exported["history"] == TURNS
    item = made.items.get()
    units = list(present(item).units)
    basis = str(basis_of(schema(made), present(item), units))
    Query.objects.update(history=[TURNS[0], {"role": "assistant", "text": "Three."}])
    assert "turn 2 of the conversation" in next(find_changes()).wrong
    other = Item.objects.get()
    other.campaign.created_at = timezone.now()  # so that it is read again
    assert basis_of(schema(made), present(other), units).differs(basis) == ["texts"]


def test_annotators_see_the_turns_above_the_question(tmp_path: Path) -> None:
    there = study(tmp_path)
    body = client_of(there.ada).get(page("item", there.assignment(there.ada))).content.decode()
    asked = body.index("When did the second open?")
    for turn in TURNS:
        assert 0 < body.index(html.escape(turn["text"])) < asked


def test_judges_see_the_turns_before_the_query(tmp_path: Path) -> None:
    made, rater = study(tmp_path).campaign, judge()
    planning.plan(made, rater)
    preparer = Preparer(made, rater, read_prompt(schema(made).protocol.prompt), Scripted({}))
    (row,) = ledger.assignments_of(made, rater).select_related("item__campaign", "item__query")
    said = "\n".join(message.content for message in preparer.prepare(row).request.messages)
    parts = ("User:", "Which bridges", "Assistant:", "Two, <b>", "When did the second")
    places = [said.index(part) for part in parts]
    assert places == sorted(places)


def test_a_judge_file_can_refer_to_the_turns() -> None:
    words = "{% for turn in history %}{{ turn.role }}: {{ turn.text }}. {% endfor %}"
    template = MessageTemplate(words)
    template.check({"history": frozenset({"number", "role", "text"})})
    assert template.render({"history": TURNS}) == (
        "user: Which bridges are there?. assistant: Two, <b>both</b> old.. "
    )
