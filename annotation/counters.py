"""Counts of a campaign's answers, kept by database triggers, so that pages do not count rows.

Triggers keep the counts correct for every writer: a page, a judge, an import, or SQL by hand.

On PostgreSQL people write at the same time, and a row that all of them incremented would make them
wait for each other. So each change is a row of its own, and from time to time the rows are folded
into one. Rows that another process is folding are skipped. SQLite has one writer, which increments
the existing row. An index finds that row, because every answer of a judge waits for it.

Triggers are removed before each migration and installed again after it, because SQLite rebuilds a
table that changes, and PostgreSQL refuses to change a column that a trigger uses. Installing them
counts all rows again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import connection, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import IntegerField, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce

from annotation.models import Campaign, Tally

NOBODY = "CAST(NULL AS bigint)"


@dataclass(frozen=True)
class Count:
    """A number for each campaign, rater and name `what`, as SQL over a row `r` of a table.

    `joins` may add tables. An update counts only if one of the `watched` expressions changes. If
    `many` rows change at once, as when judges claim and answer them, the PostgreSQL trigger runs
    once per statement.
    """

    name: str
    table: str
    what: str
    watched: tuple[str, ...]
    campaign: str = "r.campaign_id"
    rater: str = NOBODY
    number: str = "1"
    joins: str = ""
    many: bool = False


# A leased row counts as open, because the status changes with every claim.
STATUS = "CASE WHEN r.status = 'leased' THEN 'open' ELSE r.status END"


def _answers(use: str) -> str:
    slot = "CASE WHEN r.slot IS NULL THEN 'no-place' ELSE 'placed' END"
    return f"'answers/' || {use} || '/' || {STATUS} || '/' || {slot}"


def answers(use: str, status: str, has_slot: bool) -> str:
    """Return the name of the count of assignments to items of a use."""
    return f"answers/{use}/{status}/{'placed' if has_slot else 'no-place'}"


USE, HAS_SLOT = 'r."use"', "r.taken < r.quota"
OF_ITEM = "JOIN annotation_item i ON i.id = r.item_id"

ANSWERS = Count(
    "answers",
    "annotation_assignment",
    _answers('i."use"'),
    (STATUS, "r.slot"),
    campaign="i.campaign_id",
    rater="r.rater_id",
    joins=OF_ITEM,
    many=True,
)

COUNTS = (
    ANSWERS,
    Count("items", "annotation_item", f"'items/' || {USE}", (USE,)),
    Count("places", "annotation_item", f"'places/' || {USE}", (USE, "r.quota"), number="r.quota"),
    Count(
        "free",
        "annotation_item",
        f"'free/' || {USE}",
        (USE, HAS_SLOT),
        number=f"CASE WHEN {HAS_SLOT} THEN 1 ELSE 0 END",
    ),
    Count(
        "queries",
        "annotation_querydraw",
        "'queries/' || r.role || '/' || CASE WHEN r.drawn THEN 'drawn' ELSE 'left' END",
        ("r.role", "r.drawn"),
    ),
    Count(
        "units",
        "annotation_unitdraw",
        "CASE WHEN r.drawn IS NULL THEN 'units/pending' WHEN r.drawn THEN 'units/drawn' "
        "ELSE 'units/left' END",
        ("r.drawn",),
        campaign="i.campaign_id",
        joins=OF_ITEM,
    ),
)


def answers_of_item(use: str) -> str:
    """Return the columns for all assignments of the item in `NEW`, under another use."""
    return f"NEW.campaign_id, r.rater_id, {_answers(use)}"


ALL_ANSWERS = "answers/"


def sum_counts(*what: str, raters: Q | None = None) -> Coalesce:
    """Return the sum of these counts, as an expression for a queryset of campaigns."""
    rows = (
        _counts_of_outer(what, raters).values("campaign").annotate(sum=Sum("number")).values("sum")
    )
    return Coalesce(Subquery(rows, output_field=IntegerField()), 0)


def count_raters(*what: str, raters: Q) -> Subquery:
    """Return the number of raters with any of these counts, for a queryset of campaigns."""
    rows = (
        _counts_of_outer(what, raters).values("rater").annotate(sum=Sum("number")).filter(sum__gt=0)
    )
    return _CountRows(rows.values("rater"), output_field=IntegerField())


def numbers(campaign: Campaign) -> dict[str, int]:
    """Return the counts of a campaign that belong to no rater, by name. Zeros are left out."""
    rows = Tally.objects.filter(campaign=campaign, rater=None)
    sums = rows.values_list("what").annotate(sum=Sum("number")).filter(sum__gt=0)
    return dict(sums.order_by("what"))


def answers_by_rater(campaign: Campaign) -> Mapping[int, dict[str, int]]:
    """Return the counts of assignments by rater and name. Raters without any are left out."""
    rows = Tally.objects.filter(campaign=campaign, what__startswith=ALL_ANSWERS)
    sums = rows.values_list("rater", "what").annotate(sum=Sum("number")).filter(sum__gt=0)
    found: dict[int, dict[str, int]] = {}
    for rater, what, number in sums.order_by("rater", "what"):
        found.setdefault(rater, {})[what] = number
    return found


def raters_in(*campaigns: int) -> QuerySet[Tally, int]:
    """Return a query for the primary keys of raters with an assignment in any of the campaigns."""
    rows = Tally.objects.filter(campaign__in=campaigns, what__startswith=ALL_ANSWERS)
    sums = rows.order_by().values("rater").annotate(sum=Sum("number"))
    return sums.filter(sum__gt=0).values_list("rater", flat=True)


class _CountRows(Subquery):
    template = "(SELECT COUNT(*) FROM (%(subquery)s) counted)"


def _counts_of_outer(what: tuple[str, ...], raters: Q | None) -> QuerySet[Tally, Any]:
    rows = Tally.objects.filter(campaign=OuterRef("pk"), what__in=what)
    return (rows.filter(raters) if raters else rows).order_by()


# The SQL below is composed of names and expressions in this module, never of input.
# ruff: noqa: S608


TABLE = "annotation_tally"
PREFIX = "tandem_tally_"
INTO = f"INSERT INTO {TABLE} (campaign_id, rater_id, what, number)"
ONCE = "(campaign_id, what, coalesce(rater_id, 0))"
ADDED = f"ON CONFLICT {ONCE} DO UPDATE SET number = number + excluded.number"
OF_USE = f"{PREFIX}use"
EVENTS = ("insert", "update", "delete")
FOLDED_ONE_IN = 50
"""The average number of changes after which the rows of a campaign are folded."""

FOLD = f"""
CREATE OR REPLACE FUNCTION {PREFIX}fold(of_campaign bigint) RETURNS void LANGUAGE sql AS $$
  WITH gone AS (
    DELETE FROM {TABLE} WHERE id IN (
      SELECT id FROM {TABLE} WHERE campaign_id = of_campaign FOR UPDATE SKIP LOCKED
    ) RETURNING campaign_id, rater_id, what, number
  )
  {INTO}
  SELECT campaign_id, rater_id, what, sum(number) FROM gone GROUP BY 1, 2, 3
  HAVING sum(number) <> 0
$$"""


def trigger_names() -> dict[str, str]:
    """Return every trigger with its table."""
    found = {f"{PREFIX}{c.name}_{event}": c.table for c in COUNTS for event in EVENTS}
    return found | {OF_USE: "annotation_item"}


def recount_statements() -> Iterator[str]:
    """Yield the statements that count everything again."""
    yield f"DELETE FROM {TABLE}"
    for count in COUNTS:
        yield f"{INTO} {count_query(count)}"


def count_query(count: Count, rows: str = "", number: str = "") -> str:
    """Return the query that counts some rows, or the whole table."""
    columns = f"{count.campaign}, {count.rater}, {count.what}, sum({number or count.number})"
    return f"SELECT {columns} FROM {rows or count.table} r {count.joins} GROUP BY 1, 2, 3"


def postgresql_statements() -> Iterator[str]:
    yield FOLD
    for count in COUNTS:
        yield _function(count.name + "_insert", f"{INTO} {count_query(count, 'new_rows')};")
        less = count_query(count, "old_rows", f"-({count.number})")
        yield _function(count.name + "_delete", f"{INTO} {less};")
        yield _function(count.name + "_update", _update_body(count))
        yield _trigger(count, "insert", "REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT")
        yield _trigger(count, "delete", "REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT")
        yield _trigger(count, "update", _update_scope(count))
    yield _function("use", "".join(f"{each};\n" for each in _use_change_statements()))
    yield (
        f"CREATE TRIGGER {OF_USE} AFTER UPDATE ON annotation_item FOR EACH ROW "
        f"WHEN ({_any_changed((USE,))}) EXECUTE FUNCTION {OF_USE}()"
    )


def _function(name: str, body: str) -> str:
    return f"""
CREATE OR REPLACE FUNCTION {PREFIX}{name}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  {body}
  RETURN NULL;
END $$"""


def _update_scope(count: Count) -> str:
    if count.many:
        return "REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT"
    return f"FOR EACH ROW WHEN ({_any_changed(count.watched)})"


def _update_body(count: Count) -> str:
    """Return the trigger body for updates, which moves counts and sometimes folds them."""
    old, new = ("old_rows", "new_rows") if count.many else ("(SELECT OLD.*)", "(SELECT NEW.*)")
    of = f"{count.campaign}, {count.rater}, {count.what}"
    before = f"SELECT {of}, -({count.number}) FROM {old} r {count.joins}"
    after = f"SELECT {of}, {count.number} FROM {new} r {count.joins}"
    return f"""{INTO} SELECT campaign, rater, what, sum(number)
  FROM ({before} UNION ALL {after}) moved (campaign, rater, what, number)
  GROUP BY 1, 2, 3 HAVING sum(number) <> 0;
  IF FOUND AND random() * {FOLDED_ONE_IN} < 1 THEN
    PERFORM {PREFIX}fold(campaign)
    FROM (SELECT DISTINCT {count.campaign} FROM {new} r {count.joins}) few (campaign);
  END IF;"""


def _any_changed(watched: tuple[str, ...]) -> str:
    return " OR ".join(
        f"({_for_row(each, 'OLD')}) IS DISTINCT FROM ({_for_row(each, 'NEW')})" for each in watched
    )


def _trigger(count: Count, event: str, how: str) -> str:
    name = f"{PREFIX}{count.name}_{event}"
    return (
        f"CREATE TRIGGER {name} AFTER {event.upper()} ON {count.table} {how} "
        f"EXECUTE FUNCTION {name}()"
    )


def _use_change_statements() -> Iterator[str]:
    """Yield the statements that count an item's assignments under its new use."""
    rows = "FROM annotation_assignment r WHERE r.item_id = NEW.id GROUP BY 1, 2, 3"
    yield f"""{INTO} SELECT {answers_of_item('OLD."use"')}, -count(*) {rows}"""
    yield f"""{INTO} SELECT {answers_of_item('NEW."use"')}, count(*) {rows}"""


def sqlite_statements() -> Iterator[str]:
    yield f"DELETE FROM {TABLE}"
    yield f"CREATE UNIQUE INDEX IF NOT EXISTS {PREFIX}once ON {TABLE} {ONCE}"
    for count in COUNTS:
        for event in EVENTS:
            body = [_increment(count, "OLD", "-")] if event != "insert" else []
            body += [_increment(count, "NEW", "")] if event != "delete" else []
            changed = " OR ".join(
                f"({_for_row(each, 'OLD')}) IS NOT ({_for_row(each, 'NEW')})"
                for each in count.watched
            )
            yield (
                f"CREATE TRIGGER {PREFIX}{count.name}_{event} AFTER {event.upper()} "
                f"ON {count.table} FOR EACH ROW {f'WHEN {changed}' if event == 'update' else ''} "
                f"BEGIN {' '.join(body)} END"
            )
    yield (
        f"CREATE TRIGGER {OF_USE} AFTER UPDATE ON annotation_item FOR EACH ROW "
        f'WHEN OLD."use" IS NOT NEW."use" BEGIN '
        f"{' '.join(f'{each} {ADDED};' for each in _use_change_statements())} END"
    )


def _for_row(expression: str, row: str) -> str:
    return expression.replace("r.", f"{row}.")


def _increment(count: Count, row: str, sign: str) -> str:
    """Return the statement that increments or decrements a count, creating its row if needed."""
    campaign, rater, what, number = (
        _for_row(each, row) for each in (count.campaign, count.rater, count.what, count.number)
    )
    change = f"{campaign}, {rater}, {what}, {sign}({number})"
    if count.joins:
        return f"{INTO} SELECT {change} FROM annotation_item i WHERE i.id = {row}.item_id {ADDED};"
    return f"{INTO} VALUES ({change}) {ADDED};"


TABLES = {TABLE, *trigger_names().values()}


def before_migrating(using: str, plan: Any = None, **_: Any) -> None:
    """Handle the signal `pre_migrate`: remove the triggers."""
    connection = connections[using]
    if plan and _has_tables(connection):
        with transaction.atomic(using=using):
            _drop(connection)


def after_migrating(using: str, plan: Any = None, **_: Any) -> None:
    """Handle the signal `post_migrate`: install the triggers, or count again after a `flush`.

    `flush` sends the signal without a plan. It empties the tables in any order, and on SQLite the
    triggers count these deletions.
    """
    connection = connections[using]
    if not _has_tables(connection):
        return
    if plan or installed_triggers(connection) != set(trigger_names()):
        install(using)
    elif plan is None:
        recount(using)


def install(using: str = "default") -> None:
    """Install all triggers and count everything, in one transaction that other writers wait for."""
    connection = connections[using]
    make = postgresql_statements if connection.vendor == "postgresql" else sqlite_statements
    with transaction.atomic(using=using):
        _drop(connection)
        with connection.cursor() as cursor:
            for statement in (*make(), *recount_statements()):
                cursor.execute(statement)


def recount(using: str = "default") -> None:
    """Count everything again. Needed only if an administrator doubts the counts."""
    with transaction.atomic(using=using), connections[using].cursor() as cursor:
        for statement in recount_statements():
            cursor.execute(statement)


def _has_tables(connection: BaseDatabaseWrapper) -> bool:
    return TABLES.issubset(connection.introspection.table_names())


def _drop(connection: BaseDatabaseWrapper) -> None:
    where = connection.vendor == "postgresql"
    with connection.cursor() as cursor:
        for name, table in trigger_names().items():
            cursor.execute(f"DROP TRIGGER IF EXISTS {name}{f' ON {table}' if where else ''}")


def installed_triggers(connection: BaseDatabaseWrapper) -> set[str]:
    """Return the names of the triggers in the database."""
    catalogue = {
        "postgresql": "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal",
        "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger'",
    }
    with connection.cursor() as cursor:
        cursor.execute(catalogue[connection.vendor])
        return {name for (name,) in cursor.fetchall() if name.startswith(PREFIX)}


WRONG = f"""
SELECT campaign, rater, what, sum(number) FROM (
  SELECT campaign_id AS campaign, rater_id AS rater, what, number FROM {TABLE}
  UNION ALL {" UNION ALL ".join(count_query(each, number=f"-({each.number})") for each in COUNTS)}
) both_ways GROUP BY campaign, rater, what HAVING sum(number) <> 0 ORDER BY campaign, what"""


def wrong_counts() -> Iterator[str]:
    """Yield one line for each count of a campaign that differs from its rows."""
    with connection.cursor() as cursor:
        cursor.execute(WRONG)
        for campaign, rater, what, more in cursor.fetchall():
            whose = f"campaign {campaign}{f', rater {rater}' if rater else ''}"
            yield f"Tallies: {whose}: {what} differs from the rows by {more:+}"
