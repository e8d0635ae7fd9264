"""KPP and KPF from the labels of the points that answers make, by command, page and API."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

from annotation.models import Campaign, User
from tests.analysis.conftest import run
from tests.analysis.evaluation.test_command import label, value
from tests.api.cast import script_of
from tests.cast import write_lines
from tests.once import once
from tests.page_cast import client_of

pytestmark = pytest.mark.django_db

JSON = dict[str, Any]
BATCH = {
    "id": "t",
    "text": "Why was the bridge closed?",
    "passages": [{"id": "p1", "text": "It opened in 1901."}, {"id": "p2", "text": "It rotted."}],
    "key_points": [
        {"id": f"k{n}", "text": f"Point {n}", "passage": "p1"} for n in range(1, 5)
    ],
    "reports": [
        {"id": "b", "text": "Old, rotten, red.", "system": "bm25", "context": ["p1", "p2"],
         "key_points": [{"id": f"b:p{n}", "text": f"Own {n}"} for n in range(1, 4)]},
        {"id": "s", "text": "I cannot say.", "system": "silent", "context": ["p1"],
         "key_points": []},
        {"id": "w", "text": "Whole.", "system": "whole", "context": ["p1"]},
    ],
}  # fmt: skip
RECALL = [
    *(label("b", f"k{n}", "entailed", "yes" if n < 4 else "no") for n in range(1, 5)),
    *(label("b", f"k{n}", "entailed", "yes", "judge") for n in range(1, 5)),
    *(label("s", f"k{n}", "entailed", "no") for n in range(1, 5)),
    label("w", "k1", "entailed", "yes"),
]
SUPPORT = [
    label("b", "b:p1", "grounded", "yes"),
    label("b", "b:p2", "grounded", "yes"),
    label("b", "b:p3", "grounded", "no"),
]


def measures(*options: str, campaign: str = "recall") -> JSON:
    found: JSON = json.loads(run("measures", "--campaign", campaign, "--resamples", "2", *options))
    return found


def campaign(folder: Path, name: str, protocol: str, labels: list[JSON], *made: str) -> None:
    run("create_campaign", name, "--protocol", protocol, "--batch", "b", *made)
    path = write_lines(folder / f"{name}.jsonl", labels)
    run("import_labels", str(path), "--campaign", name)


@once
def study(folder: Path) -> Path:
    """One campaign about the query's key points, and one about the points that answers make."""
    run("load_batch", str(write_lines(folder / "b.jsonl", [BATCH])), "--name", "b")
    campaign(folder, "recall", "key-point-recall", RECALL)
    own = ("--option", "points=answers")
    campaign(folder, "support", "key-point-verification", SUPPORT, *own)
    return folder


def reason(of: JSON, system: str, rater: str = "people") -> str:
    found = of["systems"][system]
    each = found["raters"].get(rater) or found[rater]
    assert each["value"] is None
    return str(each["reason"])


def test_precision_is_computed_from_the_points_that_answers_make(study: Path) -> None:
    found = measures(campaign="support")["measures"]
    assert value(found["KPP"], "bm25") == pytest.approx(2 / 3)
    assert value(found["KPP"], "bm25", "ada") == pytest.approx(2 / 3)
    assert "points=answers" in reason(found["KPP"], "whole")
    assert "Retention" not in found
    assert "KPR" not in found


def test_a_point_that_nobody_was_asked_about_follows_the_option_unrated(study: Path) -> None:
    # Of four points of the query, one was asked about the answer of `whole`.
    found = measures()["measures"]["KPR"]
    assert reason(found, "whole").startswith("75 % of the key points were never rated")
    bounds = measures("--option", "unrated=bounds")["measures"]["KPR"]["systems"]["whole"]
    assert bounds["people"]["bounds"] == [1 / 4, 1]
    for unrated, expected in (("zero", 1 / 4), ("condensed", 1)):
        found = measures("--option", f"unrated={unrated}")["measures"]["KPR"]
        assert value(found, "whole") == expected
        assert value(found, "bm25") == 3 / 4


def test_one_of_two_own_points_labelled_is_no_precision(study: Path) -> None:
    own = ("--option", "points=answers")
    campaign(study, "partly", "key-point-verification", SUPPORT[:1], *own)
    found = measures(campaign="partly")["measures"]["KPP"]
    assert reason(found, "bm25").startswith("67 % of the key points were never rated")
    bounds = measures("--option", "unrated=bounds", campaign="partly")["measures"]["KPP"]
    assert bounds["systems"]["bm25"]["people"]["bounds"] == pytest.approx([1 / 3, 1])


def test_without_labels_of_answer_points_precision_and_f_are_null_with_a_reason(
    study: Path,
) -> None:
    found = measures()["measures"]
    assert value(found["KPR"], "bm25") == pytest.approx(3 / 4)
    # All points of the query come from the context, which is not the precision of the answer.
    assert value(found["Points-from-context"], "bm25") == 1
    assert "label a campaign of key-point-verification" in reason(found["KPP"], "bm25")
    assert "both KPR and KPP" in reason(found["KPF"], "bm25")


def test_f_combines_recall_and_precision_per_evaluator_and_answer(study: Path) -> None:
    report = measures("--points", "support")
    found = report["measures"]
    assert report["points"] == "support"
    assert value(found["KPP"], "bm25") == pytest.approx(2 / 3)
    # KPR 3/4, KPP 2/3: 12/17.
    assert value(found["KPF"], "bm25") == pytest.approx(12 / 17)
    assert value(found["KPF"], "bm25", "ada") == pytest.approx(12 / 17)
    # The judge has no labels of the answers' own points, and uses nobody else's.
    assert value(found["KPR"], "bm25", "judge") == 1
    assert "same evaluator" in reason(found["KPF"], "bm25", "judge")


def test_an_answer_that_makes_no_point_has_an_f_of_0_and_no_precision(study: Path) -> None:
    found = measures("--points", "support")["measures"]
    assert value(found["KPF"], "silent") == 0
    reason(found["KPP"], "silent")
    zero = measures("--points", "support", "--option", "unexpressed=zero")["measures"]
    assert value(zero["KPP"], "silent") == 0
    # Nobody listed the points of this answer, so its precision is unknown.
    reason(zero["KPP"], "whole")
    reason(zero["KPF"], "whole")


@pytest.mark.first_case
@pytest.mark.parametrize(
    ("of", "points", "wrong"),
    [
        ("recall", "recall", "'recall' does not ask about points of answers; name a campaign"),
        ("support", "support", "points do not apply to 'support'"),
        ("recall", "plain", "'plain' does not ask about points of answers"),
    ],
)
def test_other_campaigns_are_refused(study: Path, of: str, points: str, wrong: str) -> None:
    campaign(study, "plain", "key-point-verification", [label("k1", "k1", "grounded", "yes")])
    with pytest.raises(CommandError, match=wrong):
        run("measures", "--campaign", of, "--points", points)


def test_the_methods_name_the_campaign_with_the_answer_points(study: Path) -> None:
    text = run("measures", "--campaign", "recall", "--points", "support", "--format", "md")
    assert "KPP and KPF rest on the labels of support, by the same evaluator as KPR." in text


def test_page_and_api_offer_the_campaign_with_the_answer_points(study: Path) -> None:
    root = User.objects.create_user("root", role="admin")
    pk = Campaign.objects.get(name="recall").pk
    page = client_of(root).get(f"/campaigns/{pk}/results/?measures=own").content.decode()
    assert '<option value="support">' in page
    found = script_of(root).get(f"campaigns/{pk}/measures/?points=support").json()
    assert value(found["measures"]["KPF"], "bm25") == pytest.approx(12 / 17)
    refused = script_of(root).get(f"campaigns/{pk}/measures/?points=recall")
    assert refused.status_code == 400
    assert "There are no points of answers in 'recall'; there are support." in str(refused.json())
