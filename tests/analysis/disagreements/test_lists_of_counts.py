"""Counts of a judge's own grades, of model families and of the baseline lead to their units."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import caches
from django.test import Client

from analysis.campaigns.reports import campaign_report
from analysis.disagreements.listing import UnitList
from analysis.disagreements.votes import VoteTable, votes_of
from annotation.models import Campaign, Label, User
from tandem.document import UnitCount
from tandem.labels.selection import ReportOptions
from tandem.sections.contents import document
from tests.analysis.campaigns.test_families import study
from tests.cast import run, write_lines

pytestmark = pytest.mark.django_db
FEW = ReportOptions(resamples=10)


def counts(campaign: Campaign, caption: str, **options: Any) -> list[UnitCount]:
    """The counts that link to a list, in tables whose caption begins with this text."""
    tables = document(campaign_report(campaign, replace(FEW, **options))).tables()
    rows = [
        row for _, _, table in tables if table.caption.startswith(caption) for row in table.rows
    ]
    return [cell for row in rows for cell in row if isinstance(cell, UnitCount)]


def listed(campaign: Campaign, count: UnitCount) -> int:
    variable = count.filters["variable"]
    table = votes_of(campaign, variable, "baseline" in count.filters)
    return len(UnitList(count.filters, campaign, variable, table).found)


def grade(campaign: Campaign, *given: str) -> list[Label]:
    """Give these grades to the judge's labels in order; the remaining labels get none."""
    of = Label.objects.filter(response__assignment__rater__name="model-x", value__in=("yes", "no"))
    labels = list(of.filter(response__assignment__replicate=0).order_by("pk"))
    for n, label in enumerate(labels[:-1]):
        label.meta = {"grade": given[n % len(given)]}
    Label.objects.bulk_update(labels[:-1], ["meta"])
    return labels


def test_each_grade_of_a_judge_leads_to_the_units_that_got_it(labelled: Campaign) -> None:
    labels = grade(labelled, "1", "2", "3")
    of_grades = counts(labelled, "Its own grades")
    assert sum(of_grades) == len(labels) - 1
    assert {count.filters["grade"] for count in of_grades} == {"1", "2", "3"}
    correlated = counts(labelled, "Its grades and people's")
    assert {count.filters["grade"] for count in correlated} == {"*"}
    for count in (*of_grades, *correlated):
        assert listed(labelled, count) == count


def test_grades_are_read_back_from_the_file_of_votes(labelled: Campaign) -> None:
    grade(labelled, "low", "high")
    table = votes_of(labelled, "answerable")
    again = VoteTable.from_file(io.BytesIO(table.as_bytes()))
    assert again.own_grades == table.own_grades
    for wanted in ("low", "high", "*"):
        assert table.graded("model-x", wanted).any()
        assert (again.graded("model-x", wanted) == table.graded("model-x", wanted)).all()
    assert not table.graded("model-x", "no such grade").any()


def test_sums_over_a_family_of_judges_lead_to_the_answers_of_that_family(tmp_path: Path) -> None:
    campaign = study(tmp_path, ours="llama", theirs="qwen")
    of_family = counts(campaign, "How it treats its own family")
    assert [count.filters["family"] for count in of_family] == ["llama", "!llama", "*"]
    for count in of_family:
        assert listed(campaign, count) == count


def test_pairs_of_labels_lead_to_their_units_and_say_so(labelled: Campaign) -> None:
    found = counts(labelled, "Each person with all others")
    assert found
    assert all("once for each other person" in count.about for count in found)
    for count in found:
        assert 0 < listed(labelled, count) <= count


def test_a_label_of_any_person_is_a_list(labelled: Campaign) -> None:
    table = votes_of(labelled, "answerable")
    found = UnitList({"show": "all", "label": "no"}, labelled, "answerable", table).found
    said = [table.votes(int(n)).people.values() for n in found]
    assert said
    assert all("no" in labels for labels in said)


def test_labels_of_the_baseline_are_listed_whether_or_not_a_report_computed_them(
    labelled: Campaign,
) -> None:
    every = counts(labelled, "Word overlap")
    assert all(listed(labelled, count) == count for count in every)
    caches["floors"].clear()
    client = Client()
    client.force_login(User.objects.create(username="rita", role="researcher"))
    address, asked = f"/campaigns/{labelled.pk}/disagreements/", {"show": "all", "baseline": "yes"}
    page = client.get(address, asked)
    assert page.context["page"].paginator.count > 0
    assert "word overlap says" in page.content.decode()
    table = votes_of(labelled, "answerable", baseline=True)
    again = VoteTable.from_file(io.BytesIO(table.as_bytes()))
    assert (again.by_baseline("no") == table.by_baseline("no")).all()
    assert not votes_of(labelled, "answerable").by_baseline("yes").any()


def test_comparisons_with_adjudicated_labels_lead_to_their_units(
    labelled: Campaign, tmp_path: Path
) -> None:
    of_judge = Label.objects.filter(response__assignment__rater__name="model-x", value="no")
    of_judge = of_judge.filter(response__assignment__replicate=0)
    units = [label.unit for label in of_judge.select_related("unit__item").order_by("pk")]
    # One unit was decided before. The last decision here is an escape, so it is in no comparison.
    decisions = [
        {"item": unit.item.key, "unit": unit.key, "variable": "answerable", "value": value,
         "rater": "adjudicated", "rater_kind": "reference"}
        for unit, value in zip(units, ("no", "yes", "invalid"), strict=False)
    ]  # fmt: skip
    run("import_labels", write_lines(tmp_path / "l.jsonl", decisions), "--campaign", labelled.name)
    found = counts(labelled, "Compared with adjudicated labels", reference="adjudicated")
    assert [count.filters["show"] for count in found] == ["adjudicated", "settled"]
    assert found[0] == 3
    for count in found:
        assert listed(labelled, count) == count


def test_each_annotator_of_the_test_leads_to_this_persons_units(labelled: Campaign) -> None:
    found = counts(labelled, "Each annotator left out")
    assert found
    for count in found:
        assert listed(labelled, count) == count or "counted in queries" in count.about


def test_a_list_of_grades_says_that_no_judge_has_any(labelled: Campaign) -> None:
    client = Client()
    client.force_login(User.objects.create(username="rita", role="researcher"))
    asked = {"show": "all", "grade": "*"}
    text = client.get(f"/campaigns/{labelled.pk}/disagreements/", asked).content.decode()
    assert "No judge here has given grades of its own" in text
