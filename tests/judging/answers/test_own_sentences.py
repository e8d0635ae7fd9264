"""A judge that splits answers itself: labels by sentence, and the whole answer's factuality."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError
from django.urls import reverse

from annotation.campaigns.design import Design
from annotation.models import Assignment, Campaign, Label, User
from judging.backends.base import Request
from judging.backends.scripted import Scripted
from judging.judges import JudgeError
from judging.models import Judge
from judging.trials.one_item import try_judge
from tests.cast import exported, run
from tests.judging.cast import judge, run_scripted
from tests.judging.parsers.test_sentences import HEAD
from tests.page_cast import client_of, study_of

pytestmark = pytest.mark.django_db

JSON = dict[str, Any]
OPENED, BUILT, STEEL, SEA = (
    "The bridge opened in 1901 [1].", "Anna Lee built it.", "It is of steel.", "The sea is near.",
)  # fmt: skip
LINES = (
    {
        "id": "one",
        "text": "What about the bridge?",
        "passages": [{"id": "p", "text": "The bridge opened in 1901."}],
        "reports": [
            {"id": "zeta", "text": f"{OPENED} {BUILT} {STEEL} {SEA}", "system": "zeta",
             "sentences": [OPENED, BUILT, STEEL, SEA]},
            {"id": "eta", "text": f"{BUILT} {STEEL}", "system": "eta",
             "sentences": [BUILT, STEEL]},
        ],
    },
)  # fmt: skip
BY_SENTENCE = f"{HEAD}match = '$.sentence'\n"


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    design = Design(variables=("support",), seed=3)
    return study_of("answer-rating", tmp_path, design, LINES).campaign


def garage(file: str = BY_SENTENCE, name: str = "garage") -> Judge:
    return judge(name, "openai", model="m", base_url="http://127.0.0.1:9", file=file)


def answer(campaign: Campaign, zeta: list[tuple[str, str]], eta: list[tuple[str, str]]) -> None:
    """Run the judge, which gives these sentences and labels for the two answers."""

    def script(request: Request) -> str:
        said = zeta if SEA in request.messages[-1].content else eta
        elements = [{"sentence": sentence, "label": label} for sentence, label in said]
        return json.dumps({"grounding_quality": elements})

    made, _, _ = run_scripted(campaign, garage(), script)
    assert made.state == "done"


def labels() -> dict[str, str]:
    return dict(Label.objects.values_list("unit__key", "value"))


JOINED = [
    ("The bridge opened in 1901.", "supported"),
    ("Anna Lee built it. It is of steel.", "supported"),
    ("The sea", "no-rad"),
    ("is near.", "no-rad"),
]
"""As many sentences as the answer has: by position, two labels would be on wrong sentences."""
ALL = [(BUILT, "supported"), (STEEL, "unsupported")]


def test_labels_are_on_the_sentences_that_the_judge_names_and_the_others_are_missing(
    campaign: Campaign,
) -> None:
    answer(campaign, JOINED, ALL)
    assert labels() == {"zeta#1": "supported", "eta#1": "supported", "eta#2": "unsupported"}
    rows = exported("Study", "labels")
    missing = {row["unit"]: row["missing"] for row in rows if row.get("missing")}
    assert missing == {"zeta#2": "unmatched", "zeta#3": "unmatched", "zeta#4": "unmatched"}
    assert set(Assignment.objects.filter(rater__name="garage").values_list("status")) == {("done",)}


def test_the_verdicts_on_its_own_sentences_stand_with_the_labels_of_a_split_answer(
    campaign: Campaign,
) -> None:
    answer(campaign, JOINED, ALL)
    meta = dict(Label.objects.values_list("unit__key", "meta"))
    assert meta["zeta#1"] == {"own_sentences": {"supported": 2, "no-rad": 2}}
    assert "own_sentences" not in (meta["eta#1"] or {}), "each of its sentences has a label"


def factuality() -> dict[str, Any]:
    """The judge's unadjusted factuality by system, None if it is undefined."""
    found = json.loads(run("measures", "--campaign", "Study", "--resamples", "2"))
    systems = found["measures"]["uFactuality"]["systems"]
    return {
        name: of["raters"].get("garage", {}).get("value")
        for name, of in systems.items()
        if name in ("zeta", "eta")
    }


@pytest.mark.parametrize(
    ("third", "value"),
    [("no-rad", 1), ("supported", 1), ("unsupported", 0), ("contradictory", 0)],
)
def test_the_factuality_of_a_whole_answer_needs_no_match(
    campaign: Campaign, third: str, value: int
) -> None:
    answer(campaign, [*JOINED[:2], ("The sea", third), JOINED[3]], ALL)
    assert factuality() == {"zeta": value, "eta": 0}


def test_the_factuality_is_the_same_from_a_labels_file(campaign: Campaign, tmp_path: Path) -> None:
    answer(campaign, [*JOINED[:3], ("is near.", "contradictory")], ALL)
    before = factuality()
    rows = exported("Study", "labels")
    file = tmp_path / "again.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    Assignment.objects.filter(rater__name="garage").delete()
    run("import_labels", str(file), "--campaign", "Study")
    assert (before, factuality()) == ({"zeta": 0, "eta": 0}, before)


def test_an_answer_none_of_whose_sentences_is_named_is_missing_as_a_whole(
    campaign: Campaign,
) -> None:
    answer(campaign, [("Anna Lee built it. It is of steel.", "supported")], ALL)
    assert set(labels()) == {"eta#1", "eta#2"}
    failed = Assignment.objects.get(rater__name="garage", status="failed")
    assert failed.reason == "unmatched"
    assert factuality()["zeta"] is None


def test_an_unreadable_verdict_on_an_own_sentence_leaves_the_whole_answer_open(
    campaign: Campaign,
) -> None:
    answer(campaign, [*JOINED[:3], ("is near.", "perhaps")], ALL)
    assert labels()["zeta#1"] == "supported"
    assert factuality() == {"zeta": None, "eta": 0}


def test_a_new_judge_is_refused_whose_file_does_not_say_how_elements_belong_to_units(
    campaign: Campaign, tmp_path: Path
) -> None:
    path = tmp_path / "judge.toml"
    path.write_text(HEAD, "utf-8")
    with pytest.raises(CommandError, match="line 13: an element of each belongs"):
        run("create_judge", "--file", str(path), "--check")
    with pytest.raises(JudgeError, match="match = 'position'"):
        garage(HEAD)
    path.write_text(f'{HEAD}match = "position"\n', "utf-8")
    run("create_judge", "--file", str(path), "--check")


def test_a_judge_that_exists_keeps_its_file_and_reads_by_position(campaign: Campaign) -> None:
    rater = garage()
    Judge.objects.filter(pk=rater.pk).update(file=HEAD)
    rater.refresh_from_db()

    def script(request: Request) -> str:
        said = JOINED if SEA in request.messages[-1].content else ALL
        return json.dumps({"grounding_quality": [{"label": label} for _, label in said]})

    made, _, _ = run_scripted(campaign, rater, script)
    assert (made.state, len(labels())) == ("done", 6)
    assert garage(HEAD, "another").file == HEAD, "a file that the site has may be used again"


def test_a_try_names_the_sentences_that_the_judge_did_not_name(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    elements = [{"sentence": sentence, "label": label} for sentence, label in JOINED]
    both = [*elements, {"sentence": BUILT, "label": "supported"}]
    backend = Scripted(lambda request: json.dumps({"grounding_quality": both}))
    monkeypatch.setattr("judging.trials.one_item.build_backend", lambda judge: backend)
    tried = try_judge(garage(), campaign, 1)
    rita = client_of(User.objects.get(username="rita"))
    data = {"campaign": campaign.pk, "item": 1}
    page = rita.post(reverse("judge-try", args=[tried.judge.pk]), data, follow=True)
    lost = {each.unit: each.missing for each in tried.entries}
    assert {"support": "unmatched"} in lost.values()
    assert {} in lost.values()
    assert "support missing: unmatched" in page.content.decode()
