"""The triggers' SQL, for PostgreSQL and for SQLite.

On PostgreSQL people write side by side, and a row that all of them count up would make them wait
for each other. So each change is a row of its own there, and now and then the rows that are there
are folded into one; rows that somebody else is folding are passed by. SQLite has one writer, who
counts up the row that is there. An index of its own finds it, as every answer of a judge waits
for that.
"""

# What is put together here are names and expressions of `counts`, and nothing that came from
# outside.
# ruff: noqa: S608

from __future__ import annotations

from collections.abc import Iterator

from annotation.tallies.counts import COUNTS, USE, Count, answers_of_item

TABLE = "annotation_tally"
PREFIX = "tandem_tally_"
INTO = f"INSERT INTO {TABLE} (campaign_id, rater_id, what, number)"
ONCE = "(campaign_id, what, coalesce(rater_id, 0))"
ADDED = f"ON CONFLICT {ONCE} DO UPDATE SET number = number + excluded.number"
OF_USE = f"{PREFIX}use"
EVENTS = ("insert", "update", "delete")
FOLDED_ONE_IN = 50
"""After so many changes, on average, the rows of a campaign become few again."""

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


def names() -> dict[str, str]:
    """Every trigger with its table."""
    found = {f"{PREFIX}{c.name}_{event}": c.table for c in COUNTS for event in EVENTS}
    return found | {OF_USE: "annotation_item"}


def recounting() -> Iterator[str]:
    """Statements that count everything anew."""
    yield f"DELETE FROM {TABLE}"
    for count in COUNTS:
        yield f"{INTO} {counted(count)}"


def counted(count: Count, rows: str = "", number: str = "") -> str:
    """The sums of some rows, or of the whole table."""
    columns = f"{count.campaign}, {count.rater}, {count.what}, sum({number or count.number})"
    return f"SELECT {columns} FROM {rows or count.table} r {count.joins} GROUP BY 1, 2, 3"


def postgresql() -> Iterator[str]:
    yield FOLD
    for count in COUNTS:
        yield _function(count.name + "_insert", f"{INTO} {counted(count, 'new_rows')};")
        less = counted(count, "old_rows", f"-({count.number})")
        yield _function(count.name + "_delete", f"{INTO} {less};")
        yield _function(count.name + "_update", _moved(count))
        yield _trigger(count, "insert", "REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT")
        yield _trigger(count, "delete", "REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT")
        yield _trigger(count, "update", _looked_at(count))
    yield _function("use", "".join(f"{each};\n" for each in _under_another_use()))
    yield (
        f"CREATE TRIGGER {OF_USE} AFTER UPDATE ON annotation_item FOR EACH ROW "
        f"WHEN ({_changed((USE,))}) EXECUTE FUNCTION {OF_USE}()"
    )


def _function(name: str, body: str) -> str:
    return f"""
CREATE OR REPLACE FUNCTION {PREFIX}{name}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  {body}
  RETURN NULL;
END $$"""


def _looked_at(count: Count) -> str:
    if count.many:
        return "REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT"
    return f"FOR EACH ROW WHEN ({_changed(count.watched)})"


def _moved(count: Count) -> str:
    """Rows count no more as what they were; now and then their campaign's tallies are folded."""
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


def _changed(watched: tuple[str, ...]) -> str:
    return " OR ".join(
        f"({_of(each, 'OLD')}) IS DISTINCT FROM ({_of(each, 'NEW')})" for each in watched
    )


def _trigger(count: Count, event: str, how: str) -> str:
    name = f"{PREFIX}{count.name}_{event}"
    return (
        f"CREATE TRIGGER {name} AFTER {event.upper()} ON {count.table} {how} "
        f"EXECUTE FUNCTION {name}()"
    )


def _under_another_use() -> Iterator[str]:
    """When an item becomes a gold one, say, its assignments go along."""
    rows = "FROM annotation_assignment r WHERE r.item_id = NEW.id GROUP BY 1, 2, 3"
    yield f"""{INTO} SELECT {answers_of_item('OLD."use"')}, -count(*) {rows}"""
    yield f"""{INTO} SELECT {answers_of_item('NEW."use"')}, count(*) {rows}"""


def sqlite() -> Iterator[str]:
    yield f"DELETE FROM {TABLE}"
    yield f"CREATE UNIQUE INDEX IF NOT EXISTS {PREFIX}once ON {TABLE} {ONCE}"
    for count in COUNTS:
        for event in EVENTS:
            body = [_counted_up(count, "OLD", "-")] if event != "insert" else []
            body += [_counted_up(count, "NEW", "")] if event != "delete" else []
            changed = " OR ".join(
                f"({_of(each, 'OLD')}) IS NOT ({_of(each, 'NEW')})" for each in count.watched
            )
            yield (
                f"CREATE TRIGGER {PREFIX}{count.name}_{event} AFTER {event.upper()} "
                f"ON {count.table} FOR EACH ROW {f'WHEN {changed}' if event == 'update' else ''} "
                f"BEGIN {' '.join(body)} END"
            )
    yield (
        f"CREATE TRIGGER {OF_USE} AFTER UPDATE ON annotation_item FOR EACH ROW "
        f'WHEN OLD."use" IS NOT NEW."use" BEGIN '
        f"{' '.join(f'{each} {ADDED};' for each in _under_another_use())} END"
    )


def _of(expression: str, row: str) -> str:
    return expression.replace("r.", f"{row}.")


def _counted_up(count: Count, row: str, sign: str) -> str:
    """The row that is there is counted up or down, or made at first need."""
    campaign, rater, what, number = (
        _of(each, row) for each in (count.campaign, count.rater, count.what, count.number)
    )
    change = f"{campaign}, {rater}, {what}, {sign}({number})"
    if count.joins:
        return f"{INTO} SELECT {change} FROM annotation_item i WHERE i.id = {row}.item_id {ADDED};"
    return f"{INTO} VALUES ({change}) {ADDED};"
