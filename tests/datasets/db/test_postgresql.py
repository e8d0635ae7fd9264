"""PostgreSQL gets its own SQL, recorded by a stand-in for the connection.

Whether PostgreSQL accepts it is tested when the suite runs on PostgreSQL.
"""

from __future__ import annotations

from contextlib import nullcontext
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from django.db import models as db

from annotation.models import Assignment
from audit import append_only, seals
from audit.models import Event
from datasets import models
from datasets.db import bulk, prepared

LOCK = 0x7A6E0A0D


class Cursor:
    def __init__(self, said: list[Any], answers: list[Any]) -> None:
        self.said, self.answers = said, answers

    def __enter__(self) -> Cursor:
        return self

    def __exit__(self, *_: object) -> None:
        self.said.append("closed")

    def execute(self, sql: str, values: list[Any] | None = None) -> None:
        self.said.append((sql, values))

    def fetchall(self) -> Any:
        return self.answers

    def fetchone(self) -> Any:
        return self.answers.pop(0)

    def copy(self, sql: str) -> Any:
        self.said.append(sql)
        return nullcontext(self)

    def write_row(self, row: Any) -> None:
        self.said.append(row)


class StandIn:
    """The part of a connection that is used; `said` records what it received."""

    def __init__(self, vendor: str = "postgresql", *answers: Any) -> None:
        self.vendor, self.answers, self.timezone = vendor, list(answers), UTC
        self.said: list[Any] = []
        self.ops, self.connection = self, "the driver's"
        self.wrap_database_errors = nullcontext()

    def quote_name(self, name: str) -> str:
        return f'"{name}"'

    def cursor(self) -> Cursor:
        return Cursor(self.said, self.answers)

    def ensure_connection(self) -> None:
        self.said.append("connected")

    def _prepare_cursor(self, cursor: Any) -> Any:
        return ("ready", cursor)

    def adapt_datetimefield_value(self, value: Any) -> str:
        return f"adapted {value}"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    made = StandIn()
    monkeypatch.setattr(bulk, "connection", made)
    monkeypatch.setattr(seals, "connection", made)
    return made


def test_rows_are_copied_and_not_inserted(server: StandIn) -> None:
    rows: list[Any] = [(1, "a", {}), (2, "b", None)]
    bulk.bulk_write(models.Query, ("batch_id", "key", "meta"), rows)
    assert server.said == [
        'COPY "datasets_query" ("batch_id", "key", "meta") FROM STDIN',
        [1, "a", "{}"],
        [2, "b", None],
        "closed",
    ]


def test_reserved_keys_are_taken_from_the_tables_sequence(server: StandIn) -> None:
    server.answers = [(7,), (8,)]
    assert list(bulk.reserve(models.Query, 2)) == [7, 8]
    ((sql, values), _) = server.said
    assert "nextval(pg_get_serial_sequence(%s, %s))" in sql
    assert values == ["datasets_query", "id", 2]


def test_reserving_no_keys_runs_no_query(server: StandIn) -> None:
    assert bulk.reserve(models.Query, 0) == ()
    assert server.said == []


@pytest.mark.parametrize(("vendor", "asked"), [("postgresql", True), ("sqlite", False)])
def test_fast_compression_is_requested_from_postgresql_only(
    server: StandIn, vendor: str, asked: bool
) -> None:
    server.vendor = vendor
    bulk.compress_fast()
    assert bool(server.said) is asked
    assert all("lz4" in sql for sql, _ in server.said[:1])


@pytest.mark.parametrize(("vendor", "asked"), [("postgresql", True), ("sqlite", False)])
def test_statistics_are_updated_after_the_commit(
    server: StandIn, monkeypatch: pytest.MonkeyPatch, vendor: str, asked: bool
) -> None:
    """A failure here cannot undo the commit, so it is only logged."""
    server.vendor = vendor
    later: list[tuple[Any, bool]] = []

    class Transactions:
        atomic = nullcontext

        @staticmethod
        def on_commit(act: Any, robust: bool = False) -> None:
            later.append((act, robust))

    monkeypatch.setattr(bulk, "transaction", Transactions)
    bulk.refresh_statistics(models.Ranking, models.Batch)
    assert server.said == []
    assert [robust for _, robust in later] == ([True] if asked else [])
    for act, _ in later:
        act()
    assert [each[0] for each in server.said[:-1]] == (
        [
            "SET LOCAL default_statistics_target = 10",
            'ANALYZE "datasets_ranking" ("id", "query_id", "system", "position")',
            'ANALYZE "datasets_batch" ("id", "team_id", "made_by_id", "name", "format", "digest", '
            '"created_at")',
        ]
        if asked
        else []
    )


def way(model: type[db.Model], name: str) -> Any:
    return bulk._converter(bulk._field(model, name))


@pytest.mark.every_case
@pytest.mark.parametrize("vendor", ["postgresql", "sqlite", "mysql"])
@pytest.mark.parametrize(
    ("model", "name"),
    [(models.Query, "text"), (models.Query, "key"), (models.Query, "position"),
     (models.Question, "weight"), (models.Grounding, "relevant"), (models.Query, "batch_id"),
     (models.Query, "batch")],
)  # fmt: skip
def test_plain_values_are_passed_to_every_driver_unchanged(
    server: StandIn, vendor: str, model: type[db.Model], name: str
) -> None:
    server.vendor = vendor
    assert way(model, name) is None
    rows: list[Any] = []
    assert bulk.converted_values([bulk._field(model, name)], rows) is rows


MOMENT = datetime(2026, 3, 1, 12, 0, 0, 5, UTC)
EAST = MOMENT.astimezone(timezone(timedelta(hours=2)))


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("vendor", "zone", "value", "taken"),
    [("sqlite", UTC, MOMENT, "2026-03-01 12:00:00.000005"),
     ("sqlite", UTC, EAST, f"adapted {EAST}"),
     ("sqlite", timezone(timedelta(hours=1)), MOMENT, f"adapted {MOMENT}"),
     ("mysql", UTC, MOMENT, f"adapted {MOMENT}")],
)  # fmt: skip
def test_timestamps_are_written_in_the_format_of_the_database(
    server: StandIn, vendor: str, zone: Any, value: datetime, taken: str
) -> None:
    server.vendor, server.timezone = vendor, zone
    assert way(models.Batch, "created_at")(value) == taken


def test_timestamps_are_passed_to_postgresqls_driver_unchanged(server: StandIn) -> None:
    assert way(models.Batch, "created_at") is None


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("value", "taken"),
    [({}, "{}"), ([], "[]"), ((), "[]"), ("", '""'), (0, "0"), ({"a": 1}, '{"a": 1}')],
)  # fmt: skip
def test_json_is_encoded_before_it_is_written(server: StandIn, value: object, taken: str) -> None:
    assert way(models.Query, "meta")(value) == taken


def test_any_other_field_is_prepared_by_django(monkeypatch: pytest.MonkeyPatch) -> None:
    uid = Assignment().uid
    assert way(Assignment, "uid")(uid) == uid.hex


class TestPrepared:
    @pytest.mark.parametrize(
        ("make", "where"),
        [(prepared._cursor, "django.db.backends.postgresql.base.ServerBindingCursor"),
         (prepared._cursor_for_rows, "psycopg.RawCursor")],
    )  # fmt: skip
    def test_repeated_queries_are_prepared_on_postgresql(
        self, monkeypatch: pytest.MonkeyPatch, make: Any, where: str
    ) -> None:
        server = StandIn()
        monkeypatch.setattr(where, lambda connection: f"a cursor of {connection}")
        assert make(server) == ("ready", "a cursor of the driver's")
        assert server.said == ["connected"]
        assert isinstance(make(StandIn("sqlite")), Cursor)

    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("vendor", "values"),
        [("postgresql", "($1, $2), ($3, $4)"), ("sqlite", "(%s, %s), (%s, %s)")],
    )  # fmt: skip
    def test_placeholders_follow_the_style_of_the_database(self, vendor: str, values: str) -> None:
        insert = prepared.PreparedInsert(models.Ranking, ("query_id", "system"))
        into = 'INSERT INTO "datasets_ranking" ("query_id", "system") VALUES'
        server: Any = StandIn(vendor)
        assert insert._sql_of(2, server) == f'{into} {values} RETURNING "id"'
        assert insert._sql_of(1, server) != insert._sql_of(2, server)
        assert insert._sql_of(2, server) is insert._sql_of(2, server)
        new = prepared.PreparedInsert(models.Ranking, ("query_id", "system"), new_only=True)
        assert " ON CONFLICT DO NOTHING RETURNING" in new._sql_of(1, server)


class TestAuditTrail:
    @pytest.mark.every_case
    @pytest.mark.parametrize(
        ("vendor", "each", "once"), [("postgresql", 1, 1), ("sqlite", 2, 0), ("mysql", 0, 0)]
    )
    def test_each_database_has_triggers_of_its_own(self, vendor: str, each: int, once: int) -> None:
        on = off = each * len(append_only.TABLES)
        put, taken = (
            list(append_only.create_statements(vendor)),
            list(append_only.drop_statements(vendor)),
        )
        assert (len(put), len(taken)) == (on + once, off)
        for table in append_only.TABLES if on else ():
            assert any(table in sql for sql in put)
            assert any(table in sql for sql in taken)
        assert all(sql.startswith("DROP TRIGGER IF EXISTS") for sql in taken)
        assert all("OR DELETE" in sql for sql in put[1:]) or vendor != "postgresql"
        if vendor == "sqlite":
            triggers = [f"BEFORE {what} ON {table}" for table in append_only.TABLES
                    for what in ("UPDATE", "DELETE")]  # fmt: skip
            assert [any(name in sql for sql in put) for name in triggers] == [True] * on

    @pytest.mark.every_case
    @pytest.mark.parametrize("way", ["migrate", "migrate_back"])
    def test_a_migration_runs_the_triggers_statements(self, way: str) -> None:
        server = StandIn()
        server.connection = server  # type: ignore[assignment]
        said: list[str] = []
        server.execute = said.append  # type: ignore[attr-defined]
        getattr(append_only, way)(None, server)
        statements = (
            append_only.create_statements if way == "migrate" else append_only.drop_statements
        )
        assert said == list(statements("postgresql", append_only.FIRST))

    def test_writers_share_an_advisory_lock_on_postgresql(self, server: StandIn) -> None:
        seals.hold_off_sealing()
        assert server.said[0] == ("SELECT pg_advisory_xact_lock_shared(%s)", [LOCK])
        server.said.clear()
        server.vendor = "sqlite"
        seals.hold_off_sealing()
        assert server.said == []

    @pytest.mark.django_db
    @pytest.mark.every_case
    @pytest.mark.parametrize("tries", [1, 2, 50, 51])
    def test_the_sealer_tries_fifty_times_and_then_gives_up(
        self, server: StandIn, monkeypatch: pytest.MonkeyPatch, tries: int
    ) -> None:
        last = Event.objects.create(event="login").pk
        Event.objects.create(event="logout")
        slept: list[float] = []
        monkeypatch.setattr(seals.time, "sleep", slept.append)
        server.answers = [(False,)] * (tries - 1) + [(True,)]
        assert seals.horizon() == (last + 1 if tries <= 50 else None)
        assert slept == [0.1] * (min(tries, 50) - 1)
        assert server.said[0] == ("SELECT pg_try_advisory_xact_lock(%s)", [LOCK])

    @pytest.mark.django_db
    def test_without_events_the_horizon_is_zero(self) -> None:
        assert seals.horizon() == 0
