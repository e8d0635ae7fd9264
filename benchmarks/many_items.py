"""A campaign of any number of items, created inside the database by a few statements.

Every item has one unit and two slots, one of them answered by one of 200 people. The rows are those
that `create_campaign` and `submit` would write. Triggers, constraints and indexes are active; a
million items take minutes.
"""

# Tables, columns and expressions are constants; no input from outside is used.
# ruff: noqa: S608

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import connection, models
from django.utils import timezone

from annotation.models import (
    Assignment,
    Campaign,
    Item,
    Label,
    QuerySampling,
    Rater,
    Response,
    Unit,
    UnitSampling,
    User,
)
from annotation.people.leases import Ended, open_assignments, release
from benchmarks.study import rater
from benchmarks.study_names import PASSWORD, name_of
from datasets.models import Batch, Query, Question, Report

REPORTS, OTHERS = 10, 188
"""Items of a query, each about its own report; and additional raters without accounts."""
TEXT = "'The harbour of case ' || n.i || ' was rebuilt in 1999, and its pier held. '"
JSON = {"postgresql": "jsonb", "sqlite": "text"}
UID = {"postgresql": "gen_random_uuid()", "sqlite": "lower(hex(randomblob(16)))"}


def make(name: str, items: int, people: int, others: int = OTHERS) -> dict[str, Any]:
    """Create a batch and a campaign of this name, with people and a researcher.

    The `others` have answered as much as the people, and have no accounts.
    """
    more = Rater.objects.bulk_create(Rater(name=f"other{number}") for number in range(others))
    raters = [*(rater(number) for number in range(people)), *(each.pk for each in more)]
    User.objects.create_user(name_of(people), password=PASSWORD, role="researcher")
    campaign = campaign_of(name, items)
    answers(campaign.pk, raters)
    Item.objects.filter(campaign=campaign.pk).update(taken=1)
    refresh()
    return {"id": campaign.pk, "items": items, "people": people}


def campaign_of(name: str, items: int) -> Campaign:
    """Create a batch and a campaign of this name, about whose items nobody has been asked."""
    batch = Batch.objects.create(name=name, format="native", digest=name)
    _material(batch.pk, items)
    campaign = Campaign.objects.create(
        name=name, protocol="report-coverage", protocol_version="1", batch=batch,
        raters_per_item=2, pool="open",
    )  # fmt: skip
    _items(campaign.pk, batch.pk)
    return campaign


def free(name: str) -> dict[str, Any]:
    """End every lease, so that each person can take another slot."""
    places = list(open_assignments(Campaign.objects.get(name=name)))
    return {"freed": sum(release(each, Ended.FREED) for each in places)}


def _material(batch: int, items: int) -> None:
    queries = -(-items // REPORTS)
    key = "'q' || n.i"
    fill(Query, _numbers(queries), {
        "batch_id": batch, "key": key, "position": "n.i", "references": _json("[]"),
        "text": "'What became of case ' || n.i || '?'",
    })  # fmt: skip
    part = {"batch_id": batch, "query_id": "q.id"}
    of_batch = f"FROM datasets_query q WHERE q.batch_id = {batch}"
    fill(Question, of_batch, {
        **part, "key": "q.key || ':0'", "position": 0, "text": "'Did the pier hold?'",
    })  # fmt: skip
    numbers = _numbers(items)
    # By key, since SQLite has an index for it: by position it would try every query.
    join = f"JOIN datasets_query q ON q.batch_id = {batch} AND q.key = 'q' || (n.i / {REPORTS})"
    fill(Report, f"{numbers} {join}", {
        **part, "key": "'r' || n.i", "position": f"n.i % {REPORTS}",
        "text": " || ".join([TEXT] * 6), "system": "'system-' || (n.i % 3)",
    })  # fmt: skip


def _items(campaign: int, batch: int) -> None:
    of_batch = f"FROM datasets_report r WHERE r.batch_id = {batch}"
    fill(Item, of_batch, {
        "campaign_id": campaign, "key": "r.key", "query_id": "r.query_id", "report_id": "r.id",
        "position": "row_number() OVER (ORDER BY r.id) - 1", "quota": 2, "taken": 0,
        "probability": 1, "use": "'study'", "words": 84,
    })  # fmt: skip
    questions = "JOIN datasets_question q ON q.query_id = i.query_id"
    of_campaign = f"FROM annotation_item i {questions} WHERE i.campaign_id = {campaign}"
    unit = {"item_id": "i.id", "key": "q.key", "position": 0}
    fill(Unit, of_campaign, {**unit, "kind": "'question'", "name": "q.key"})
    drawn = {"kind": "'all'", "seed": 0, "wave": 1, "probability": 1, "drawn": "true"}
    fill(UnitSampling, of_campaign, {**unit, **drawn, "unit_kind": "'question'", "stratum": "''"})
    queries = f"FROM datasets_query q WHERE q.batch_id = {batch}"
    fill(QuerySampling, queries, {
        **drawn, "campaign_id": campaign, "query_id": "q.id", "role": "'evaluation'",
        "role_probability": 1,
    })  # fmt: skip


FIRST = "CASE WHEN i.position % 3 = 0 THEN 'invalid' ELSE 'no' END"


def answers(
    campaign: int,
    raters: list[int],
    slot: str = "1",
    value: str = FIRST,
    score: str = "NULL",
    only: str = "1 = 1",
) -> None:
    """Create an answer to each item by one of the raters in turn.

    The other arguments are SQL over `i`, the item; `only` is true of the items that are answered.
    """
    now = f"'{timezone.now():%Y-%m-%d %H:%M:%S}+00:00'"
    number = "row_number() OVER (ORDER BY id) - 1 AS n"
    among = f"SELECT id, {number} FROM annotation_rater WHERE id IN ({', '.join(map(str, raters))})"
    turn = f"JOIN ({among}) p ON p.n = i.position % {len(raters)}"
    of_campaign = f"JOIN annotation_item i ON i.campaign_id = {campaign} AND {only}"
    units = f"FROM annotation_unit u {of_campaign} AND i.id = u.item_id {turn}"
    fill(Assignment, units, {
        "uid": UID[connection.vendor], "item_id": "i.id", "slot": slot, "replicate": 0,
        "rater_id": "p.id", "scope": "''",
        "asked": as_json("'[\"' || u.name || '\"]'"), "shown": _json("[]"), "status": "'done'",
        "reason": "''", "missing": _json("{}"), "attempts": 0, "seconds": "30 + i.position % 40",
        "assisted_by": "''", "created_at": now,
    })  # fmt: skip
    given = (
        f"FROM annotation_assignment a {of_campaign} AND i.id = a.item_id "
        "JOIN annotation_unit u ON u.item_id = i.id "
        f"AND a.rater_id IN ({', '.join(map(str, raters))})"
    )
    answer = f"""{{"evidence": [], "answerable": "' || {value} || '"}}"""
    said = f"""'{{"comment": null, "units": {{"' || u.name || '": {answer}}}}}'"""
    fill(Response, given, {
        "assignment_id": "a.id", "revision": 1, "current": "true", "payload": as_json(said),
        "comment": "''", "door": "'page'", "created_at": now,
    })  # fmt: skip
    labels = f"{given} JOIN annotation_response r ON r.assignment_id = a.id"
    fill(Label, labels, {
        "response_id": "r.id", "unit_id": "u.id", "variable": "'answerable'", "value": value,
        "score": score,
    })  # fmt: skip


def _numbers(count: int) -> str:
    """Return SQL for a table `n` whose column `i` counts from 0."""
    numbers = f"SELECT 0 AS i UNION ALL SELECT i + 1 FROM up WHERE i + 1 < {count}"
    return f"FROM (WITH RECURSIVE up AS ({numbers}) SELECT i FROM up) n"


def _json(text: str) -> str:
    return as_json(f"'{text}'")


def as_json(expression: str) -> str:
    return f"CAST({expression} AS {JSON[connection.vendor]})"


def fill(model: type[models.Model], rows: str, columns: Mapping[str, object]) -> None:
    quoted = connection.ops.quote_name
    names = ", ".join(quoted(name) for name in columns)
    table, values = quoted(model._meta.db_table), ", ".join(map(str, columns.values()))
    with connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO {table} ({names}) SELECT {values} {rows}")


def refresh() -> None:
    """Update the planner's statistics and the visibility map, like autovacuum."""
    how = "ANALYZE"
    if connection.vendor == "postgresql" and not connection.in_atomic_block:
        how = "VACUUM ANALYZE"
    with connection.cursor() as cursor:
        cursor.execute(how)
