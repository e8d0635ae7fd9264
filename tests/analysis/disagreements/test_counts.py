"""One meaning of a disagreement: the tab, the first page, the list and the report say the same."""

from __future__ import annotations

import re
from html import unescape

import numpy as np
import pytest
from django.test import Client

from analysis.attention.checks import check_campaign
from analysis.disagreements.choose import Disagreements, add_up, is_disagreement
from analysis.disagreements.votes import VoteTable, votes_of
from analysis.templatetags import cockpit_tags
from annotation.models import Campaign, Rater, User

CODES = {"y": 0, "n": 1, "?": 2}


def table(people: int, **columns: str) -> VoteTable:
    """Labels as a string for each rater, people first: `y`, `n`, `?` an escape, `.` none."""
    labels = [
        (unit, rater, CODES[code])
        for rater, column in enumerate(columns.values())
        for unit, code in enumerate(column)
        if code != "."
    ]
    at, raters, codes = np.array(sorted(labels), np.int64).T
    units = np.arange(len(next(iter(columns.values()))), dtype=np.int64)
    none = np.full(len(at), -1, np.int64)
    return VoteTable(
        units, units, np.full(len(units), -1, np.int64), at, raters, codes, none,
        np.full(len(at), np.nan), ("yes", "no", "invalid"), frozenset({"invalid"}),
        tuple(columns), people, (), {},
    )  # fmt: skip


def test_a_disagreement_is_one_of_people_or_of_a_judge_with_most_people() -> None:
    of = table(3, ada="yyyy?y.", ben="yynyy..", cem="yynn?..", x="ynynny?", z="yy.y...")
    #          alike: 0; x alone: 1; people: 2, 3 (with x and z on a majority); x, people say yes: 4
    assert np.flatnonzero(is_disagreement(of)).tolist() == [1, 2, 3, 4]
    found = Disagreements.of_table(of)
    assert found == Disagreements(4, 2, {"x": 4, "z": 0})
    assert found.by_judges_alone == 2
    assert add_up([found, found]) == Disagreements(8, 4, {"x": 8, "z": 0})


@pytest.mark.django_db
def test_tab_first_page_list_and_file_say_the_same_number(
    labelled: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cockpit_tags, "FEWEST_UNITS", 1)
    monkeypatch.setattr("analysis.attention.rules.labels.FEWEST_UNITS", 1)
    (number,) = check_campaign(labelled)["disagreements"].values()
    total = number["total"]
    assert total > max(number["people"], *number["judges"].values()), "each differs on its own"
    rita = Client()
    rita.force_login(User.objects.create(username="rita", role="researcher"))
    first = unescape(rita.get(f"/campaigns/{labelled.pk}/?now=1").content.decode())
    listed = rita.get(f"/campaigns/{labelled.pk}/disagreements/")
    page = unescape(listed.content.decode())
    tab = re.compile(r'class="tab-count" title="Questions on which[^"]*">(\d+)<')
    assert tab.findall(first) == tab.findall(page) == [str(total)]
    assert f"{total} disagreements. To adjudicate:" in first
    assert listed.context["page"].paginator.count == total
    file = b"".join(rita.get(f"/campaigns/{labelled.pk}/disagreements.csv")).decode()
    assert len(file.strip().splitlines()) - 1 == total


@pytest.mark.django_db
def test_the_tab_follows_the_labels_that_the_list_under_it_shows(
    labelled: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The checks are older than a judge's exclusion; the list is not."""
    monkeypatch.setattr(cockpit_tags, "FEWEST_UNITS", 1)
    rita = Client()
    rita.force_login(User.objects.create(username="rita", role="researcher"))
    rita.get(f"/campaigns/{labelled.pk}/?now=1")
    labelled.exclusions.create(rater=Rater.objects.get(name="model-x"), reason="a mistake")
    people = int(votes_of(labelled, "answerable").people_differ.sum())
    page = rita.get(f"/campaigns/{labelled.pk}/disagreements/")
    assert page.context["page"].paginator.count == people
    assert f">{people}</span></a>" in page.content.decode()
