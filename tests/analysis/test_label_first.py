"""Page, command and API each create a campaign of the units that people should label first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError
from django.test import Client
from django.urls import reverse

from annotation.campaigns.changes import current_settings as settings_of
from annotation.models import Campaign, QuerySampling, User
from tests.annotation.derivation.cast import batch, label
from tests.api.cast import script_of
from tests.cast import exported, run
from tests.once import once

pytestmark = pytest.mark.django_db
REPORTS = {"q1r": "q1", "q1o": "q1", "q2r": "q2", "q2o": "q2"}
DISPUTED = {("q2o", "q2:0"), ("q2o", "q2:1"), ("q1r", "q1:2")}
"""The first two belong to an evaluation query, the last to one for development."""


def labels_of(judge: str) -> dict[str, dict[str, str]]:
    """The labels of a judge, all yes; the second judge says no on the disputed units."""
    return {
        item: {
            f"{query}:{n}": "no" if judge == "two" and (item, f"{query}:{n}") in DISPUTED else "yes"
            for n in range(3)
        }
        for item, query in REPORTS.items()
    }


@once
def study(folder: Path) -> Campaign:
    """Two judges over four reports of three questions each, and no people yet."""
    batch(folder)
    run(
        "create_campaign", "old", "--protocol", "report-coverage", "--batch", "b",
        "--raters-per-item", "2", "--option", "development=0.5", "--option", "seed=5",
    )  # fmt: skip
    for judge in ("one", "two"):
        for item, of in labels_of(judge).items():
            given = {unit: [{"answerable": value}] for unit, value in of.items()}
            items = dict.fromkeys(of, item)
            label(folder, given, "old", items, (judge,), rater_kind="judge")
    return Campaign.objects.get(name="old")


@pytest.fixture
def rita(client: Client) -> Client:
    client.force_login(User.objects.create_user("rita", role=User.Role.RESEARCHER))
    return client


def report_of(name: str) -> Any:
    return json.loads(run("report", "--campaign", name, "--format", "json", "--resamples", "50"))


def test_the_campaign_has_exactly_the_listed_items_and_keeps_the_judges(
    study: Campaign,
) -> None:
    printed = run("label_first", "old", "--units", "3", "--into", "first")
    assert ": 2 items, 6 units, 4 annotator slots" in printed
    assert "Carried over 4 answers" in printed
    listed = report_of("old")["variables"]["answerable"]["between_judges"]["label_first"][:3]
    first = Campaign.objects.get(name="first")
    keys = list(first.items.order_by("position").values_list("key", flat=True))
    assert keys == list(dict.fromkeys(unit["item"] for unit in listed)) == ["q2o", "q2r"]
    assert {(row["item"], row["rater"]) for row in exported("first", "labels")} == {
        (item, judge) for item in keys for judge in ("one", "two")
    }
    assert first.continues == study
    # A query on which a prompt may have been tuned stays a development query.
    sampled = QuerySampling.objects.filter(campaign=first).order_by("query__position")
    assert list(sampled.values_list("role", "kind", "drawn", "probability")) == [
        ("development", "chosen", False, 0),
        ("evaluation", "chosen", True, 1),
    ]
    run("check_invariants")
    run("draws", "--campaign", "first", "--check")
    assert "Nothing to do" in run("label_first", "old", "--units", "3", "--into", "first")


def test_the_report_says_first_that_its_items_are_no_random_sample(study: Campaign) -> None:
    run("label_first", "old", "--units", "1", "--into", "first")
    report = report_of("first")
    assert report["chosen_items"] == 1
    assert "1 item was chosen" in report["verdict"]["sample"]["text"]
    text = run("report", "--campaign", "first", "--format", "md", "--resamples", "50")
    assert text.index("What do the figures hold for?") < text.index("Can people agree?")
    measured = json.loads(run("measures", "--campaign", "first", "--format", "json"))
    assert "not estimates for others" in measured["warnings"][0]["text"]
    bench = run(
        "bench_judges", "--campaign", "first", "--judge", "one", "--judge", "two", "--no-run",
        "--format", "md", "--resamples", "50",
    )  # fmt: skip
    assert "1 item was chosen, not sampled at random" in bench
    assert report_of("old")["chosen_items"] == 0


def test_the_results_link_to_a_form_filled_with_the_list(study: Campaign, rita: Client) -> None:
    results = rita.get(reverse("results", args=[study.pk])).content.decode()
    address = f"{reverse('label-first', args=[study.pk])}?of=answerable"
    assert f'href="{address}">New campaign with these 6 questions<' in results
    page = rita.get(f"{address}&units=2").content.decode()
    assert "2 questions in 1 item, the most urgent first" in page
    assert "labelled whole, which makes 3 questions" in page
    form = rita.post(f"{address}&units=3", follow=True).context["form"]
    assert (form["name"].value(), form["continues"].value()) == ("old-first", "old")
    sent = {name: form[name].value() for name in form.fields}
    sent = {name: value for name, value in sent.items() if value is not None}
    hidden = {"protocol": "report-coverage", "batch": "b"}
    assert rita.post(reverse("campaign-new"), {**sent, **hidden}).status_code == 302
    run("label_first", "old", "--units", "3", "--into", "by command")
    made = Campaign.objects.filter(name__in=("old-first", "by command"))
    one, other = (
        (each.options, each.raters_per_item, each.continues, settings_of(each)) for each in made
    )
    assert one == other
    assert one[0]["chosen"] == ["q2o", "q2r"]


def test_the_api_gives_the_size_first_and_creates_the_campaign_once(study: Campaign) -> None:
    rita = User.objects.create_user("rita", role=User.Role.RESEARCHER)
    script, path = script_of(rita), f"campaigns/{study.pk}/label-first/"
    asked = {"name": "first", "units": 3, "raters_per_item": 1}
    answer = script.post(path, {**asked, "dry_run": True}).json()
    assert (answer["campaign"], answer["units"], answer["units_asked"]) == (None, 3, 6)
    made = script.post(path, asked)
    assert (made.status_code, made.json()["carried"]) == (201, 4)
    assert script.post(path, asked).status_code == 200
    assert Campaign.objects.get(pk=made.json()["campaign"]).raters_per_item == 1
    wrong = script.post(path, {**asked, "variable": "color"})
    assert wrong.status_code == 422
    assert "answerable" in wrong.content.decode()


def test_wrong_items_and_campaigns_without_a_list_are_refused_in_one_line(tmp_path: Path) -> None:
    batch(tmp_path)
    create = ("create_campaign", "c", "--protocol", "report-coverage", "--batch", "b")
    with pytest.raises(CommandError, match=r"no item 'q9' for report-coverage; correct it"):
        run(*create, "--option", "chosen=q1r,q9")
    with pytest.raises(CommandError, match="asked all chosen items"):
        run(*create, "--option", "chosen=q1r", "--human-share", "0.5")
    assert "The items were chosen" in run(*create, "--option", "chosen=q1r", "--dry-run")
    # A key with a comma is in quotation marks, as in CSV.
    with pytest.raises(CommandError, match=r"no item 'Paris, \"1924\"' for report-coverage"):
        run(*create, "--option", 'chosen="q1r","Paris, ""1924"""')
    with pytest.raises(CommandError, match=r'quote each word with a comma, as in "a,b",c'):
        run(*create, "--option", 'chosen="q1r,q9')
    run(*create)
    with pytest.raises(CommandError, match=r"needs two judges .* run another judge\."):
        run("label_first", "c")
