"""Perturbations: what judges are shown and asked, and what is changed."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from annotation.models import Assignment, Campaign, Item, Label, Rater, Span
from annotation.presentation import present, schema
from annotation.protocols import PROTOCOLS
from judging.backends.base import Request
from judging.backends.scripted import Scripted
from judging.models import Judge, JudgeCall, JudgeRun
from judging.prompts.perturbations import (
    FAMILIES,
    LABEL_WORDS,
    VERSION,
    apply_perturbation,
    favourable_code,
    position_on_scale,
    read_paraphrase,
)
from judging.prompts.template import read_prompt
from judging.runs import planning
from judging.runs.planning import TrialSample, plan_trial, sample_assignments
from judging.runs.prompts import prompt_for
from judging.trials.perturbed_judges import TrialError, ensure_trials
from tandem.protocols.base import ItemSpec, Variable, name_units
from tests.judging.cast import campaign_of, command, judge, run_scripted, yes

ALL = TrialSample(items=1000)


@pytest.fixture
def base(campaign: Campaign) -> Judge:
    """A judge that has answered everything with yes."""
    found = judge("base")
    run_scripted(campaign, found)
    return found


def trial_of(campaign: Campaign, base: Judge, kind: str, **given: Any) -> Judge:
    return ensure_trials(campaign, base, kind, **given)[0]


def asked_in(
    campaign: Campaign, base: Judge, kind: str, script: Any = yes, draw: TrialSample = ALL
) -> tuple[Judge, Scripted]:
    trial = trial_of(campaign, base, kind)
    plan_trial(campaign, trial, draw)
    _, _, backend = run_scripted(campaign, trial, script)
    return trial, backend


def family(campaign: Campaign, base: Judge, name: str) -> Judge:
    trials = ensure_trials(campaign, base, "inject")
    return next(trial for trial in trials if trial.variation["family"] == name)


def shown(trial: Judge, item: Item) -> ItemSpec:
    return apply_perturbation(trial, present(item), item)


def prompts(backend: Scripted) -> list[str]:
    return sorted("\n".join(m.content for m in request.messages) for request in backend.asked)


def test_a_trial_has_the_settings_of_its_judge_and_another_name(
    campaign: Campaign, base: Judge
) -> None:
    trial = trial_of(campaign, base, "again")
    assert (trial.rater.name, trial.rater.kind) == ("base~again", Rater.Kind.TRIAL)
    assert (trial.base, trial.variation) == (base, {"kind": "again", "seed": 0})
    assert (trial.backend, trial.granularity) == (base.backend, base.granularity)


def test_equal_trials_are_created_once_per_seed(campaign: Campaign, base: Judge) -> None:
    first = trial_of(campaign, base, "random")
    assert trial_of(campaign, base, "random") == first
    other = trial_of(campaign, base, "random", seed=1)
    assert other != first
    assert other.rater.name.startswith("base~random~")


def test_a_repeat_trial_sends_the_same_request_and_pays_again(
    campaign: Campaign, base: Judge
) -> None:
    before = set(JudgeCall.objects.values_list("request_hash", flat=True))
    _, backend = asked_in(campaign, base, "again")
    assert len(backend.asked) == 4
    assert set(JudgeCall.objects.values_list("request_hash", flat=True)) == before


def test_a_trial_repeats_only_answered_assignments(campaign: Campaign) -> None:
    base = judge("base")
    run_scripted(campaign, base, limit=2)
    _, backend = asked_in(campaign, base, "again")
    assert len(backend.asked) == 2


def test_a_trial_sample_is_seeded_and_nested(campaign: Campaign, base: Judge) -> None:
    def keys(items: int, seed: int) -> list[str]:
        return [
            row.item.key for row in sample_assignments(campaign, base, TrialSample(items), seed)
        ]

    assert keys(3, 0) == keys(3, 0)
    assert keys(2, 0) == keys(4, 0)[:2]
    assert len({tuple(keys(4, seed)) for seed in range(8)}) > 1


def test_few_items_are_all_sampled(campaign: Campaign, base: Judge) -> None:
    assert len(sample_assignments(campaign, base, TrialSample(), 0)) == 4


def test_the_share_of_a_trial_is_a_share_of_units(
    campaign: Campaign, base: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("judging.runs.planning.LEAST_UNITS", 1)
    assert len(sample_assignments(campaign, base, TrialSample(share=0.05), 0)) == 1
    assert len(sample_assignments(campaign, base, TrialSample(share=0.5), 0)) == 2


def test_a_trial_can_be_extended_and_keeps_its_assignments(campaign: Campaign, base: Judge) -> None:
    trial = trial_of(campaign, base, "again")
    assert plan_trial(campaign, trial, TrialSample(items=1)) == 3
    assert plan_trial(campaign, trial, TrialSample(items=1)) == 3
    assert plan_trial(campaign, trial, TrialSample(items=2)) == 6
    planning.plan(campaign, trial)
    places = Assignment.objects.filter(rater=trial.rater).values_list("replicate", flat=True)
    assert list(places) == [0, 0]


def test_a_trial_by_unit_repeats_whole_items(campaign: Campaign) -> None:
    base = judge("base", granularity="unit")
    run_scripted(campaign, base)
    _, backend = asked_in(campaign, base, "empty", draw=TrialSample(items=1))
    assert len(backend.asked) == 3


def test_an_emptied_item_holds_no_word_of_its_texts(campaign: Campaign, base: Judge) -> None:
    _, backend = asked_in(campaign, base, "empty", lambda request: "no JSON")
    assert all(request.facts.texts == ("",) for request in backend.asked)
    assert not any("Anna Lee" in prompt for prompt in prompts(backend))
    assert all("When did it open?" in prompt for prompt in prompts(backend))


def test_a_random_text_comes_from_another_query(campaign: Campaign, base: Judge) -> None:
    trial = trial_of(campaign, base, "random")
    for item in campaign.items.select_related("query"):
        own = {text.text for text in present(item).texts}
        others = campaign.items.exclude(query=item.query_id)
        foreign = {text.text for other in others for text in present(other).texts}
        found = {text.text for text in shown(trial, item).texts}
        assert found <= foreign - own
        assert shown(trial, item) == shown(trial, item)


def test_units_keep_their_names_under_every_perturbation(tmp_path: Path, db: None) -> None:
    campaign = campaign_of(tmp_path, "grounded-answer")
    base = judge("base")
    command("run_judge", "--campaign", campaign.name, "--judge", "base")
    item = campaign.items.select_related("query").first()
    assert item is not None
    stored = present(item)
    for kind in ("empty", "random", "inject"):
        spec = shown(trial_of(campaign, base, kind), item)
        assert list(name_units(spec.units)) == list(name_units(stored.units))
        assert [unit.kind for unit in spec.units] == [unit.kind for unit in stored.units]
        assert [text.field for text in spec.texts] == [text.field for text in stored.texts]


def test_units_cut_from_a_text_are_emptied_with_it(tmp_path: Path, db: None) -> None:
    campaign = campaign_of(tmp_path, "grounded-answer")
    base = judge("base")
    command("run_judge", "--campaign", campaign.name, "--judge", "base")
    item = campaign.items.select_related("query").first()
    assert item is not None
    spec = shown(trial_of(campaign, base, "empty"), item)
    words = {unit.text for unit in spec.units if unit.kind == "passage-sentence"}
    assert words == {""}


def test_quotes_of_a_trial_are_searched_in_the_stored_text(campaign: Campaign, base: Judge) -> None:
    trial, _ = asked_in(campaign, base, "random")
    spans = Span.objects.filter(label__response__assignment__rater=trial.rater)
    assert "none" in set(spans.values_list("method", flat=True))
    for span in spans.exclude(start=None).select_related("label__response__assignment__item"):
        text = present(span.label.response.assignment.item).texts[0].text
        assert text[span.start : span.end] == span.quote
    assert Label.objects.filter(response__assignment__rater=trial.rater).count() == 12


def test_a_yes_without_a_quote_is_unreadable_in_a_trial_too(
    campaign: Campaign, base: Judge
) -> None:
    def bare(request: Request) -> str:
        answer = {"evidence": [], "answerable": "yes"}
        return json.dumps({unit.name: answer for unit in request.facts.units})

    trial, _ = asked_in(campaign, base, "empty", bare)
    rows = Assignment.objects.filter(rater=trial.rater)
    assert set(rows.values_list("reason", flat=True)) == {"unreadable"}


def test_there_are_eight_families_of_hostile_text(campaign: Campaign, base: Judge) -> None:
    trials = ensure_trials(campaign, base, "inject")
    assert len(FAMILIES) == len(trials) == 8
    assert {trial.variation["version"] for trial in trials} == {VERSION}
    assert len({trial.rater.name for trial in trials}) == 8


@pytest.mark.first_case
@pytest.mark.parametrize("name", FAMILIES)
def test_a_hostile_text_is_added_to_the_whole_stored_text(
    campaign: Campaign, base: Judge, name: str
) -> None:
    trial = family(campaign, base, name)
    for item in campaign.items.select_related("query"):
        before, after = present(item).texts[0].text, shown(trial, item).texts[0].text
        assert set(before.split()) <= set(after.split())
        assert len(after) > len(before)
        assert shown(trial, item) == shown(trial, item)


def test_an_injected_order_names_the_label_that_it_asks_for(
    campaign: Campaign, base: Judge
) -> None:
    item = campaign.items.select_related("query").first()
    assert item is not None
    assert "answerable: yes" in shown(family(campaign, base, "order"), item).texts[0].text
    coded = shown(family(campaign, base, "encoded"), item).texts[0].text
    line = max(coded.split(), key=len)
    assert b"answerable: yes" in base64.b64decode(line)


def test_a_stuffed_text_repeats_the_questions_with_a_label(campaign: Campaign, base: Judge) -> None:
    item = campaign.items.select_related("query").first()
    assert item is not None
    stuffed = shown(family(campaign, base, "stuffed"), item).texts[0].text
    assert stuffed.count("When did it open? yes.") == LABEL_WORDS // 3


def test_a_forged_closing_delimiter_does_not_end_a_text(campaign: Campaign, base: Judge) -> None:
    trial = family(campaign, base, "boundary")
    plan_trial(campaign, trial, ALL)
    _, _, backend = run_scripted(campaign, trial)
    for request in backend.asked:
        text = request.facts.texts[0]
        forged = text.split("[end ")[1][:16]
        user = request.messages[-1].content
        end = user.split(text, 1)[1].splitlines()[1]
        assert end.startswith("[end ")
        assert forged not in end


def test_chat_template_tokens_are_sent_as_text(campaign: Campaign, base: Judge) -> None:
    trial = family(campaign, base, "tokens")
    plan_trial(campaign, trial, ALL)
    _, _, backend = run_scripted(campaign, trial)
    assert all([m.role for m in request.messages] == ["system", "user"]
               for request in backend.asked)  # fmt: skip


def test_a_pair_is_shown_swapped_and_its_label_swapped_back(tmp_path: Path, db: None) -> None:
    campaign = campaign_of(tmp_path, "answer-preference")
    base = judge("base")

    def first(request: Request) -> str:
        return json.dumps({unit.name: {"preferred": "first"} for unit in request.facts.units})

    _, _, before = run_scripted(campaign, base, first)
    trial, after = asked_in(campaign, base, "swapped", first)
    texts = {request.facts.texts for request in before.asked}
    assert {request.facts.texts[::-1] for request in after.asked} == texts
    labels = Label.objects.filter(response__assignment__rater=trial.rater)
    assert set(labels.values_list("value", flat=True)) == {"second"}
    base_labels = Label.objects.filter(response__assignment__rater=base.rater)
    assert set(base_labels.values_list("value", flat=True)) == {"first"}


def test_a_tie_over_a_swapped_pair_remains_a_tie(tmp_path: Path, db: None) -> None:
    campaign = campaign_of(tmp_path, "answer-preference")
    base = judge("base")

    def tie(request: Request) -> str:
        return json.dumps({unit.name: {"preferred": "tie-bad"} for unit in request.facts.units})

    run_scripted(campaign, base, tie)
    trial, _ = asked_in(campaign, base, "swapped", tie)
    labels = Label.objects.filter(response__assignment__rater=trial.rater)
    assert set(labels.values_list("value", flat=True)) == {"tie-bad"}


def test_a_paraphrase_changes_only_the_prompt(campaign: Campaign, base: Judge) -> None:
    trial, backend = asked_in(campaign, base, "paraphrase")
    assert prompt_for(trial, campaign) == read_paraphrase("report-coverage")
    assert prompt_for(trial, campaign) != prompt_for(base, campaign)
    assert all("Which questions does the report settle?" in p for p in prompts(backend))
    assert Label.objects.filter(response__assignment__rater=trial.rater).count() == 12


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_protocol_has_a_paraphrase_with_all_slots(protocol: str) -> None:
    prompt = read_prompt(read_paraphrase(protocol))
    own = read_prompt(PROTOCOLS[protocol].prompt)
    assert "{texts}" in prompt.user
    assert prompt.sha256 != own.sha256


def test_the_answers_reading_of_key_points_has_its_own_paraphrase() -> None:
    reading = PROTOCOLS["key-point-verification"].read_as("answers")
    prompt = read_prompt(read_paraphrase(reading.slug))
    assert "Do the passages back it?" in prompt.system
    assert prompt.sha256 != read_prompt(read_paraphrase(reading.name)).sha256


REWORDED = [name for name in PROTOCOLS if "{guideline}" not in read_paraphrase(name)]


def test_rating_protocols_have_a_reworded_rubric() -> None:
    assert {"report-coverage", "rubric-passage", "answer-rating"} <= set(REWORDED)


@pytest.mark.parametrize("protocol", REWORDED)
def test_a_reworded_rubric_explains_every_label_of_the_guideline(protocol: str) -> None:
    text, guideline = read_paraphrase(protocol), PROTOCOLS[protocol].guideline
    codes = [code for v in PROTOCOLS[protocol].variables for code in v.answers]
    assert not [c for c in codes if f"**{c}**" in guideline and f"**{c}**" not in text]


def test_a_custom_prompt_needs_a_custom_paraphrase(campaign: Campaign, tmp_path: Path) -> None:
    own, other = tmp_path / "own.md", "Other. {texts} {units} {answer}"
    own.write_text("Judge. {texts} {units} {answer}", "utf-8")
    address = "http://127.0.0.1:9/v1"
    base = judge("base", "openai", model="m", base_url=address, prompt=str(own))
    run_scripted(campaign, base)
    with pytest.raises(TrialError, match="give its paraphrase with --prompt"):
        ensure_trials(campaign, base, "paraphrase")
    assert ensure_trials(campaign, base, "paraphrase", prompt=other)[0].prompt == other
    assert ensure_trials(campaign, base, "again")[0].prompt == base.prompt


@pytest.mark.parametrize(
    ("kind", "message"),
    [("swapped", "has no pairs"), ("again", "has answered nothing")],
)
def test_an_impossible_trial_is_refused(campaign: Campaign, kind: str, message: str) -> None:
    base = judge("base")
    if kind != "again":
        run_scripted(campaign, base)
    with pytest.raises(TrialError, match=message):
        ensure_trials(campaign, base, kind)


def test_a_trial_of_a_changed_prompt_is_refused(campaign: Campaign, base: Judge) -> None:
    JudgeRun.objects.update(prompt_sha256="0" * 64)
    with pytest.raises(TrialError, match="has changed since judge base ran"):
        ensure_trials(campaign, base, "again")


def test_a_trial_with_random_texts_needs_a_second_query(campaign: Campaign, base: Judge) -> None:
    assert ensure_trials(campaign, base, "random")
    first = campaign.items.order_by("position")[0].query
    Assignment.objects.exclude(item__query=first).delete()
    campaign.items.exclude(query=first).delete()
    with pytest.raises(TrialError, match="has only one query"):
        ensure_trials(campaign, base, "random")


def test_an_item_without_texts_has_no_control_trials(tmp_path: Path, db: None) -> None:
    campaign = campaign_of(tmp_path, "question-typing")
    base = judge("base")
    command("run_judge", "--campaign", campaign.name, "--judge", "base")
    for kind in ("empty", "random", "inject"):
        with pytest.raises(TrialError, match="shows no texts"):
            ensure_trials(campaign, base, kind)


def test_a_trial_of_a_trial_is_refused(campaign: Campaign, base: Judge) -> None:
    trial, _ = asked_in(campaign, base, "again")
    with pytest.raises(TrialError, match="is itself a trial"):
        ensure_trials(campaign, trial, "again")


@pytest.mark.parametrize(
    ("protocol", "name", "label"),
    [
        ("report-coverage", "answerable", "yes"),
        ("report-coverage", "rating", "5"),
        ("key-point-verification", "key", "agree"),
        ("answer-rating", "eligibility", "none"),
        ("answer-rating", "support", "supported"),
        ("answer-preference", "preferred", "first"),
        ("question-typing", "false_premise", "no"),
    ],
)
def test_the_favourable_code_is_yes_or_the_best_of_a_scale(
    protocol: str, name: str, label: str
) -> None:
    variable = next(v for v in PROTOCOLS[protocol].variables if v.name == name)
    assert favourable_code(variable) == label
    assert position_on_scale(variable, label) == 1.0


def test_positions_on_the_scale_run_from_worst_to_best() -> None:
    rating = Variable("rating", "question", "?", tuple("012345"), level="ordinal")
    key = Variable("key", "key-point", "?", ("agree", "neutral", "disagree"), level="ordinal")
    assert [position_on_scale(rating, code) for code in "05"] == [0.0, 1.0]
    assert [position_on_scale(key, code) for code in key.codes] == [1.0, 0.5, 0.0]
    assert position_on_scale(rating, "invalid") is None


def test_a_hostile_text_asks_for_every_asked_variable(tmp_path: Path, db: None) -> None:
    campaign = campaign_of(tmp_path, variables="answerable,rating")
    base = judge("base")
    command("run_judge", "--campaign", campaign.name, "--judge", "base")
    item = campaign.items.select_related("query").first()
    assert item is not None
    assert {v.name for v in schema(campaign).variables} == {"answerable", "rating"}
    text = shown(family(campaign, base, "table"), item).texts[0].text
    assert "| answerable | yes |" in text
    assert "| rating | 5 |" in text
