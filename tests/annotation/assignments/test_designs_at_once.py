"""With many people at once, every design assigns exactly the slots that it allows.

On PostgreSQL people take their slots concurrently, on SQLite one after the other.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import pytest

from annotation.assignments.queue import free_items
from annotation.gold.scoring import is_gold_turn, next_item
from annotation.models import Item, Rater
from tests import forks
from tests.cast import ROOT, Line, campaign_of, load, manage, manage_all, write_lines
from tests.databases import environment
from tests.patience import PATIENCE

pytestmark = pytest.mark.postgresql

QUERIES, REPORTS = 8, 3
ITEMS = QUERIES * REPORTS
GOLD, EVERY = ("r0-0", "r2-1", "r4-2", "r7-0"), 3


def query(n: int) -> Line:
    reports = [
        {"id": f"r{n}-{m}", "text": f"It is so {n} {m}.", "system": f"s{m}"} for m in range(REPORTS)
    ]
    question = {"id": f"q{n}:a", "text": "Is it so?"}
    return {"id": f"q{n}", "text": "Is it?", "questions": [question], "reports": reports}


LINES = [query(n) for n in range(QUERIES)]


class Given(NamedTuple):
    rater: str
    query: str
    item: str
    use: str
    asked: list[str]
    drawn: list[str] | None


class Places(NamedTuple):
    item: str
    use: str
    quota: int
    taken: int


@pytest.fixture(scope="module")
def many(house: Path) -> Path:
    """The shared data folder with a batch of several reports per query."""
    path = write_lines(house / "at-once.jsonl", LINES)
    manage(house, "load_batch", path, "--name", "at once")
    return house


def make(house: Path, name: str, *arguments: object, then: Sequence[object] = ()) -> None:
    """A campaign, and a command after it."""
    create = (
        "create_campaign",
        name,
        "--pool",
        "open",
        "--protocol",
        "report-coverage",
        "--batch",
        "at once",
    )
    done = manage_all(house, (*create, *arguments), *filter(None, [then]))
    assert done.returncode == 0, done.stderr


def crowd(house: Path, name: str, people: int, clicks: int = 1) -> tuple[list[Given], list[Places]]:
    """Let people take items at once; return their assignments in order, and the counts of items."""
    done = forks.run(
        [sys.executable, "-m", "tests.annotation.crowd", name, str(people), str(clicks)],
        cwd=ROOT, env=environment(house), timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    given, items = json.loads(done.stdout.splitlines()[-1])
    return [Given(*row) for row in given], [Places(*row) for row in items]


def assert_exact(given: list[Given], places: list[Places]) -> None:
    """Check that all slots of the study are taken, and that items count each person once."""
    pairs = [(row.rater, row.item) for row in given]
    assert len(pairs) == len(set(pairs))
    people = Counter(row.item for row in given)
    assert all(each.taken == people[each.item] for each in places)
    assert all(each.taken == each.quota for each in places if each.use == "study")


@pytest.mark.processes
class TestCrowds:
    def test_overlap_items_go_to_several_people_and_others_to_one(self, many: Path) -> None:
        make(many, "overlap", "--raters-per-item", 3, "--overlap", 0.5)
        given, places = crowd(many, "overlap", people=8)
        assert_exact(given, places)
        assert Counter(each.quota for each in places) == {3: ITEMS // 2, 1: ITEMS // 2}

    def test_in_random_order_every_slot_is_filled(self, many: Path) -> None:
        make(many, "random", "--raters-per-item", 3, "--option", "items=random")
        given, places = crowd(many, "random", people=8)
        assert_exact(given, places)

    def test_in_blocked_order_each_person_finishes_a_query_first(self, many: Path) -> None:
        make(many, "blocked", "--raters-per-item", 4, "--option", "items=blocked")
        given, places = crowd(many, "blocked", people=4)
        assert_exact(given, places)
        for name in {row.rater for row in given}:
            mine = [row.query for row in given if row.rater == name]
            assert len(mine) == ITEMS
            assert len(list(groupby(mine))) == QUERIES

    def test_double_clicks_do_not_shift_gold_turns(self, many: Path) -> None:
        lines = [
            {"item": key, "unit": f"q{key[1]}:a", "variable": "answerable", "value": "no",
             "rater": "known"}
            for key in GOLD
        ]  # fmt: skip
        path = write_lines(many / "gold.jsonl", lines)
        known = ("set_known", path, "--campaign", "gold", "--use", "gold")
        make(many, "gold", "--raters-per-item", 3, "--gold-every", EVERY, then=known)
        given, places = crowd(many, "gold", people=4, clicks=2)
        assert_exact(given, places)
        assert sum(row.use == "gold" for row in given) > 0
        for name in {row.rater for row in given}:
            mine, had = [row.use for row in given if row.rater == name], 0
            for number, use in enumerate(mine):
                turn = is_gold_turn(0, name, number, EVERY) and had < len(GOLD)
                assert (use == "gold") == turn
                had += turn

    def test_double_clicks_do_not_exceed_the_limit_of_items(self, many: Path) -> None:
        limit = (
            "from annotation.models import Campaign; rows = Campaign.objects.filter(name='shared')"
        )
        share = ("shell", "--no-imports", "-c", f"{limit}; rows.update(items_per_person=5)")
        make(many, "shared", "--raters-per-item", 3, then=share)
        given, places = crowd(many, "shared", people=4, clicks=2)
        assert Counter(Counter(row.rater for row in given).values()) == {5: 4}
        assert sum(each.taken for each in places) == len(given)

    def test_simultaneous_people_are_asked_the_same_shared_sample(self, house: Path) -> None:
        """The first person at an item creates the sample, and eight people arrive at once."""
        first = (
            "create_campaign",
            "came first",
            "--pool",
            "open",
            "--protocol",
            "report-coverage",
            "--batch",
            "b",
        )
        second = ("create_campaign", "follows", "--protocol", "rubric-passage", "--batch", "b",
                  "--pool", "open", "--raters-per-item", 3, "--option", "prerequisite=came first",
                  "--option", "sampling=shared", "--option", "per_passage=1")  # fmt: skip
        answered = house / "first.jsonl"
        export = ("export", "--campaign", "came first", "--what", "units", "--output", answered)
        done = manage_all(house, first, export)
        assert done.returncode == 0, done.stderr
        with answered.open(encoding="utf-8") as lines:
            units = [json.loads(line) for line in lines]
        said = [
            {"item": unit["item"], "unit": unit["unit"], "variable": "answerable", "value": "no",
             "rater": "earlier"}
            for unit in units
        ]  # fmt: skip
        labels = write_lines(house / "said.jsonl", said)
        answers = ("import_labels", labels, "--campaign", "came first")
        done = manage_all(house, answers, second)
        assert done.returncode == 0, done.stderr
        given, places = crowd(house, "follows", people=8)
        assert_exact(given, places)
        for row in given:
            assert row.drawn is not None
            assert sorted(row.asked) == sorted(row.drawn)
            assert len(row.drawn) == 1


@pytest.mark.parametrize("order", ["random", "blocked"])
def test_losing_the_race_for_an_item_gives_another_one(
    db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: str
) -> None:
    """Others take all items from that position on, between two queries of the same person."""
    load(tmp_path, LINES)
    campaign = campaign_of("report-coverage", "--option", f"items={order}")
    first = campaign.items.earliest("position")

    def others_come(*_: object) -> bytes:
        Item.objects.filter(campaign=campaign).exclude(pk=first.pk).update(taken=1)
        return (2**64 - 1).to_bytes(8)

    monkeypatch.setattr("annotation.gold.scoring.rank", others_come)
    rater = Rater.objects.create(name="ann")
    assert next_item(campaign, rater, free_items(campaign, rater)) == first
