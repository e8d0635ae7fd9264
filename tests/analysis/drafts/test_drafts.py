"""Drafts: what a draft changes, where it is tried, its effect, and what adopting it does."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from analysis.disagreements.actions import set_tag
from analysis.drafts import tag_groups
from analysis.drafts.effect import effect_of
from analysis.drafts.tag_groups import group_tags
from analysis.drafts.views import Piece, difference
from analysis.models import Draft
from annotation.answers.submission import submit
from annotation.answers.types import Circumstances
from annotation.models import Assignment, Campaign, QuerySampling, Rater, Unit, User
from annotation.presentation import present, schema, whole_guideline
from audit.models import Event
from judging import library
from judging.backends.base import Request
from judging.models import Judge
from judging.trial_effects import trials_in
from judging.trials.drafts import DraftError
from tandem.protocols.base import name_units
from tests.judging.cast import campaign_of, judge, run_scripted, yes
from tests.once import once

pytestmark = pytest.mark.django_db
ADDED = "Answer no unless the report gives a year."


@once
def study(folder: Path) -> Campaign:
    """The first query is for development, the second for the audit; people always say no."""
    campaign = campaign_of(folder, development=0.5)
    first, second = QuerySampling.objects.filter(campaign=campaign).order_by("query")
    QuerySampling.objects.filter(pk=first.pk).update(role="development")
    QuerySampling.objects.filter(pk=second.pk).update(role="audit")
    return campaign


@pytest.fixture
def rita(study: Campaign) -> Client:
    client = Client()
    client.force_login(User.objects.create(username="rita", role="researcher"))
    return client


def label(campaign: Campaign) -> None:
    for item in campaign.items.select_related("query"):
        item.campaign = campaign
        for name in ("ada", "bo"):
            rater, _ = Rater.objects.get_or_create(name=name, defaults={"kind": "human"})
            units = list(name_units(present(item).units))
            row = Assignment.objects.create(item=item, rater=rater, asked=units)
            entry = {"evidence": [], "answerable": "no"}
            payload = {"units": dict.fromkeys(units, entry), "comment": None}
            submit(row, payload, "page", Circumstances(), present(item), schema(campaign))


def model(name: str = "m", **more: Any) -> Judge:
    return judge(name, "openai", model="m", base_url="http://127.0.0.1:1", **more)


def no_if_told(request: Request) -> str:
    """Say no if the guideline or the prompt has the new sentence, else yes."""
    if not any(ADDED in message.content for message in request.messages):
        return yes(request)
    entry = {"evidence": [], "answerable": "no"}
    return json.dumps({unit.name: entry for unit in request.facts.units})


def drafted(campaign: Campaign, asked: Judge | None = None) -> Draft:
    text = tag_groups.present_text(campaign, asked)
    return tag_groups.begin(campaign, asked, f"{ADDED}\n\n{text}", "years", None)


def test_a_draft_is_tried_and_compared_on_development_queries_only(
    study: Campaign,
) -> None:
    label(study)
    asked = model()
    run_scripted(study, asked, yes)
    draft = drafted(study)
    trial = tag_groups.trial_of(draft, asked)
    assert tag_groups.trial_of(draft, asked) == trial
    run, _, backend = run_scripted(study, trial, no_if_told)
    assert run.failed == 0
    assert backend.asked
    assert all("bridge 2" not in str(each.messages) for each in backend.asked)
    assert all(ADDED in str(each.messages) for each in backend.asked)
    found = effect_of(study, trial, resamples=50)["variables"]["answerable"]
    assert (found["units"], found["queries"], found["people"]) == (6, 1, 2)
    percent = found["measures"]["percent"]
    values = [percent[name]["value"] for name in ("before", "after", "difference")]
    assert values == [0.0, 1.0, 1.0]
    assert found["turns"] == {"wrong to right": 6, "right to wrong": 0, "otherwise": 0}
    assert study.guideline == ""
    assert list(trials_in(study, asked)) == []
    assert Event.objects.filter(event="draft.tried").exists()


def test_a_draft_of_a_prompt_changes_the_prompt_of_the_copy(study: Campaign) -> None:
    label(study)
    asked = model()
    run_scripted(study, asked, yes)
    trial = tag_groups.trial_of(drafted(study, asked), asked)
    run_scripted(study, trial, no_if_told)
    found = effect_of(study, trial, resamples=50)["variables"]["answerable"]
    assert found["turns"]["wrong to right"] == 6
    with pytest.raises(DraftError, match="is missing; add it"):
        tag_groups.begin(study, asked, "Judge {texts}.", "", None)


def test_a_try_uses_the_parameters_of_the_changed_file(study: Campaign) -> None:
    label(study)
    file = library.text_of("report-coverage")
    asked = model(file=file, params={"max_tokens": 77})
    run_scripted(study, asked, lambda request: "4")
    text = file.replace("temperature = 0\n", "temperature = 0.9\ntop_p = 0.8\n")
    trial = tag_groups.trial_of(tag_groups.begin(study, asked, text, "", None), asked)
    assert asked.params == {"temperature": 0.0, "max_tokens": 77, "omit": ["response_format"]}
    assert trial.params == asked.params | {"temperature": 0.9, "top_p": 0.8}


@pytest.mark.parametrize(
    ("prepare", "wrong"),
    [
        (lambda c: QuerySampling.objects.update(role="evaluation"), "no development queries"),
        (lambda c: None, "nobody has labelled the development queries"),
        (label, "has not answered the development queries"),
    ],
)
@pytest.mark.every_case
def test_an_impossible_try_is_refused_with_a_message(
    study: Campaign, prepare: Callable[[Campaign], object], wrong: str
) -> None:
    prepare(study)
    with pytest.raises(DraftError, match=wrong):
        tag_groups.trial_of(drafted(study), model())


def test_tags_are_grouped_by_question_slice_and_section(study: Campaign) -> None:
    label(study)
    user = User.objects.create(username="rita", role="researcher")
    for unit in Unit.objects.filter(item__campaign=study, key="q1:0"):
        set_tag(unit, "answerable", "guideline-gap", "years?", user, "Evidence")
    found = group_tags(study)
    assert [group.name for group in found.groups["Section of the guideline"]] == ["Evidence"]
    (question,) = found.groups["Question"]
    assert (question.name, question.counts) == ("When did it open?", [("guideline gap", 2)])
    assert {group.name for group in found.groups["System"]} == {"zeta-system", "bm25"}


def test_pages_link_from_tags_to_a_draft_and_on_to_the_settings(
    rita: Client, study: Campaign
) -> None:
    label(study)
    asked = model()
    run_scripted(study, asked, yes)
    unit = Unit.objects.filter(item__campaign=study).first()
    assert unit is not None
    where = f"/campaigns/{study.pk}/disagreements/{unit.pk}/tag/"
    rita.post(where, {"tag": "guideline-gap", "note": "years?"})
    listed = rita.get(f"/campaigns/{study.pk}/disagreements/?show=all").content.decode()
    assert f'href="/campaigns/{study.pk}/drafts/"' in listed
    page = rita.get(f"/campaigns/{study.pk}/drafts/").content.decode()
    assert f'href="/campaigns/{study.pk}/disagreements/{unit.pk}/?variable=answerable"' in page
    text = f"{ADDED}\n\n{whole_guideline(study)}"
    made = rita.post(f"/campaigns/{study.pk}/drafts/", {"text": text})
    draft = Draft.objects.get()
    assert made.headers["Location"] == f"/campaigns/{study.pk}/drafts/{draft.pk}/"
    assert f"<ins>{ADDED}" in rita.get(made.headers["Location"]).content.decode()
    tried = rita.post(f"{made.headers['Location']}try/", {"judge": asked.pk})
    trial = Judge.objects.get(base=asked)
    assert tried.headers["Location"] == f"/judges/{trial.pk}/start/?campaign={study.pk}"
    assert rita.get(tried.headers["Location"]).status_code == 200
    run_scripted(study, trial, no_if_told)
    shown = rita.get(made.headers["Location"]).content.decode()
    assert "Wrong to right: <strong>6</strong>" in shown
    terms = f"/campaigns/{study.pk}/terms/"
    opened = rita.post(terms, {"propose": "guideline", "text": draft.text})
    assert ADDED in opened.content.decode()
    study.refresh_from_db()
    assert study.guideline == ""
    study.guideline = "Another one."
    study.save()
    assert "has changed since this draft" in rita.get(made.headers["Location"]).content.decode()


def test_an_adopted_prompt_fills_the_form_of_a_new_judge(rita: Client, study: Campaign) -> None:
    asked = model()
    draft = drafted(study, asked)
    form = rita.post(f"/judges/new/?like={asked.pk}", {"propose": "prompt", "text": draft.text})
    assert form.status_code == 200
    assert ADDED in form.content.decode()
    assert Judge.objects.count() == 1
    assert not tag_groups.is_adopted(draft)


def test_a_difference_marks_changed_words_and_omits_equal_lines() -> None:
    old = "\n".join(["one", *"abcdefgh", "Say yes.", "end"])
    new = old.replace("Say yes.", "Say no.")
    first, *rest = difference(old, new)
    assert first is None
    changed = (Piece("Say ", "both"), Piece("yes", "old"), Piece("no", "new"), Piece(".", "both"))
    assert rest == [(Piece("f", "both"),), (Piece("g", "both"),), (Piece("h", "both"),), changed,
                    (Piece("end", "both"),)]  # fmt: skip
    assert difference(old, old) == []
