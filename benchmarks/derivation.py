"""Derive a batch from a large campaign: verified key points of three people.

`python -m benchmarks --only derivation [--database …]`. The labels are written inside the database,
since their import would take ten times as long as the whole measurement.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db import connection
from django.utils import timezone

from benchmarks.processes import Cost, manage, python
from benchmarks.site import production
from benchmarks.suite import Say, server_of, temporary_folder

Figures = dict[str, Any]
PEOPLE = ("ada", "ben", "cleo")
MOST_SECONDS, MOST_MEMORY = 20.0, 300.0


@dataclass(frozen=True)
class Size:
    queries: int
    points: int


FULL, QUICK = Size(10_000, 20), Size(20, 4)


def run_derivation(databases: Sequence[str], size: Size, say: Say) -> dict[str, Figures]:
    return {name: measure_derivation(name, size, say) for name in databases}


def measure_derivation(database: str, size: Size, say: Say) -> Figures:
    """Measure one database, which is created for this and deleted."""
    with temporary_folder() as folder, server_of(database) as url:
        env = production(folder, url)
        manage("migrate", "--verbosity", "0", env=env)
        batch = _write(folder / "batch.jsonl", _queries(size))
        say(f"{database}: loading, and writing labels …")
        loaded = manage("load_batch", batch, "--name", "b", env=env)
        protocol = ("--protocol", "key-point-verification", "--raters-per-item", "3")
        manage("create_campaign", "c", "--batch", "b", *protocol, env=env)
        python("-m", "benchmarks.inside", "verified", "c", env=env)
        say(f"{database}: deriving …")
        rule = ("--rule", "verified-key-points", "--from", "c", "--ties", "drop")
        derived = manage("derive_batch", "d", "--batch", "b", *rule, env=env)
        shown = manage("batch_lineage", "d", env=env)
    figures = {"load": _cost(loaded), "derive": _cost(derived), "behind": _cost(shown)}
    return {"key_points": size.queries * size.points, **figures}


def _cost(cost: Cost) -> Figures:
    return {"wall": cost.wall, "processor": cost.processor, "peak_mb": cost.peak_mb}


def _write(path: Path, lines: Iterator[dict[str, Any]]) -> Path:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    return path


def _queries(size: Size) -> Iterator[dict[str, Any]]:
    text = " ".join(f"word{number}" for number in range(200))
    for q in range(size.queries):
        yield {
            "id": f"q{q}",
            "text": f"What of {q}?",
            "passages": [{"id": f"q{q}p{n}", "text": f"{n} of {q} {text}"} for n in range(2)],
            "key_points": [
                {"id": f"q{q}k{n}", "text": f"Point {n} of {q}.", "passage": f"q{q}p{n % 2}"}
                for n in range(size.points)
            ],
        }


def verify_points(name: str) -> dict[str, int]:
    """Let three people verify every key point of a campaign. Most say that it is grounded and key.

    A label depends on its point and person alone: four in five are yes, and three in four agree.
    """
    from annotation.models import Assignment, Campaign, Item, Label, Rater, Response
    from benchmarks.many_items import UID, as_json, fill, refresh

    campaign = Campaign.objects.get(name=name).pk
    now = f"'{timezone.now():%Y-%m-%d %H:%M:%S}+00:00'"
    people = [each.pk for each in Rater.objects.bulk_create(Rater(name=name) for name in PEOPLE)]
    who = " UNION ALL ".join(f"SELECT {pk} AS id, {n} AS n" for n, pk in enumerate(people))
    of_campaign = f"JOIN annotation_item i ON i.campaign_id = {campaign} AND i.id = u.item_id"
    fill(Assignment, f"FROM annotation_unit u {of_campaign} CROSS JOIN ({who}) p", {
        "uid": UID[connection.vendor], "item_id": "i.id", "slot": "p.n + 1", "replicate": 0,
        "rater_id": "p.id", "scope": "''", "asked": as_json("'[\"' || u.name || '\"]'"),
        "shown": as_json("'[]'"), "status": "'done'", "reason": "''", "missing": as_json("'{}'"),
        "attempts": 0, "seconds": 30, "assisted_by": "''", "created_at": now,
    })  # fmt: skip
    answered = "annotation_assignment a JOIN annotation_unit u ON u.item_id = a.item_id"
    done = f"FROM {answered} {of_campaign}"
    key = f"""CASE WHEN {_GROUNDED} = 'yes' THEN ', "key": "' || {_KEY} || '"' ELSE '' END"""
    unit = f"""'{{"grounded": "' || {_GROUNDED} || '"' || {key} || '}}'"""
    said = f"""'{{"comment": null, "units": {{"' || u.name || '": ' || {unit} || '}}}}'"""
    fill(Response, done, {
        "assignment_id": "a.id", "revision": 1, "current": "true",
        "payload": as_json(said),
        "comment": "''", "door": "'page'", "created_at": now,
    })  # fmt: skip
    given = f"{done} JOIN annotation_response r ON r.assignment_id = a.id"
    label = {"response_id": "r.id", "unit_id": "u.id"}
    fill(Label, given, {**label, "variable": "'grounded'", "value": _GROUNDED})
    is_grounded = f"{given} WHERE {_GROUNDED} = 'yes'"
    fill(Label, is_grounded, {**label, "variable": "'key'", "value": _KEY})
    Item.objects.filter(campaign=campaign).update(taken=len(PEOPLE))
    refresh()
    return {"labels": Label.objects.filter(unit__item__campaign=campaign).count()}


_OF = "(i.position * {} + a.slot * {} + i.position / {})"
_GROUNDED = f"CASE WHEN {_OF.format(37, 61, 7)} % 5 = 0 THEN 'no' ELSE 'yes' END"
_KEY = f"CASE WHEN {_OF.format(13, 29, 11)} % 4 = 0 THEN 'disagree' ELSE 'agree' END"


def lines(figures: dict[str, Figures]) -> str:
    """Return the figures with their bars as lines of text."""
    head = f"bars of derive: {MOST_SECONDS:g} s, {MOST_MEMORY:g} MB"
    return "\n".join([head, *(_line(name, of) for name, of in figures.items())])


def _line(database: str, figures: Figures) -> str:
    costs = (
        f"{name} {figures[name]['wall']:.1f} s ({figures[name]['processor']:.1f} s of processor, "
        f"{figures[name]['peak_mb']:.0f} MB)"
        for name in ("load", "derive", "behind")
    )
    return f"{database}, {figures['key_points']:,} key points: {', '.join(costs)}"
