"""Examples in a judge's messages come only from development queries, and stay the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from annotation.answers.submission import submit
from annotation.answers.types import Circumstances
from annotation.models import Assignment, Campaign, Item, QuerySampling, Rater
from annotation.presentation import present, schema
from judging.models import JudgeRun
from judging.prompts.template import PromptError
from tandem.protocols.base import name_units
from tests.judging.cast import campaign_of, judge, run_scripted
from tests.once import once

pytestmark = pytest.mark.django_db
FILE = '''
[judge]
protocol = "report-coverage"

[[messages]]
role = "user"
text = """
{% for example in examples %}
Question: {{ example.question.text }} Answered: {{ example.labels.answerable }}
{% endfor %}
Now: {{ question.text }} {{ report.text }}
"""

[answer]
parser = "letter"
variable = "answerable"

[examples]
k = 2
'''


@once
def study(folder: Path) -> Campaign:
    """The first query is a development query, and so is the second."""
    campaign = campaign_of(folder, development=0.5)
    QuerySampling.objects.filter(campaign=campaign).update(role="development")
    return campaign


def answer(item: Item, name: str, code: str) -> None:
    """A person's answer to every question of an item."""
    rater, _ = Rater.objects.get_or_create(name=name, defaults={"kind": Rater.Kind.HUMAN})
    units = name_units(present(item).units)
    row = Assignment.objects.create(item=item, rater=rater, asked=list(units))
    quote = [{"quote": present(item).texts[0].text[:6], "start": 0}]
    entry = {"evidence": quote if code == "yes" else [], "answerable": code}
    payload = {"units": dict.fromkeys(units, entry), "comment": None}
    submit(row, payload, "page", Circumstances(), present(item), schema(item.campaign))


def asked(campaign: Campaign, name: str) -> list[str]:
    rater = judge(name, "openai", model="m", base_url="http://127.0.0.1:1", file=FILE)
    _, _, backend = run_scripted(campaign, rater, lambda request: "no")
    return [request.messages[0].content for request in backend.asked]


def test_a_message_shows_units_of_other_development_queries_with_human_labels(
    study: Campaign,
) -> None:
    for item in study.items.all():
        for name in ("ada", "bo"):
            answer(item, name, "yes" if item.query.key == "q1" else "no")
    for words in asked(study, "j"):
        own = "bridge 1" if "bridge 1" in words or "Nobody knows 1" in words else "bridge 2"
        assert words.count("Answered: ") == 2
        assert ("Answered: no" in words) == (own == "bridge 1")


def test_no_run_begins_with_too_few_human_labels(study: Campaign) -> None:
    with pytest.raises(PromptError, match="give the campaign a development split"):
        asked(study, "j")
    assert not JudgeRun.objects.exists()


def test_a_unit_on_which_annotators_disagree_is_never_an_example(study: Campaign) -> None:
    for item in study.items.all():
        answer(item, "ada", "yes")
        answer(item, "bo", "no")
    with pytest.raises(PromptError, match="have labelled 0 units"):
        asked(study, "j")


def test_later_human_labels_change_no_request(study: Campaign) -> None:
    items = list(study.items.order_by("position"))
    for item in items:
        answer(item, "ada", "no")
    rater = judge("j", "openai", model="m", base_url="http://127.0.0.1:1", file=FILE)
    first, _, before = run_scripted(study, rater, lambda request: "no", limit=2)
    for item in items:
        answer(item, "bo", "yes")
        answer(item, "cy", "yes")
    second, _, after = run_scripted(study, rater, lambda request: "no")
    assert second.manifest["examples"] == first.manifest["examples"]
    assert {"Answered: no" in r.messages[0].content for r in (*before.asked, *after.asked)} == {
        True
    }


def test_an_evaluation_query_is_never_an_example(study: Campaign) -> None:
    for item in study.items.all():
        answer(item, "ada", "no")
    QuerySampling.objects.filter(campaign=study).update(role="evaluation")
    with pytest.raises(PromptError, match="have labelled 0 units"):
        asked(study, "j")
