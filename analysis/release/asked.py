"""What a campaign asked, its labels in the wide form, and the study's names, as files.

Only admins may see who is behind a pseudonym, and a release is public.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

from analysis.campaigns.people_sample import unfinished_queries
from analysis.evaluation.build import sampled_queries
from analysis.release.layout import WIDE_FACTS
from analysis.study import StudyFile
from annotation.exports.rows import label_rows, places_of, present_items, shown_items
from annotation.models import Campaign, Item, Rater, Response, Unit
from annotation.people.shares import read_shares
from tandem.files.rows import InputError, Place
from tandem.files.spreadsheet import write_rows
from tandem.labels.file.rows import LabelRow
from tandem.labels.file.wide import graded, wide_column
from tandem.types import JSON


def item_lines(campaign: Campaign) -> Iterator[bytes]:
    """Yield a line for each item: its query, its units in order, and who answered.

    The raters are in the order in which they were asked. Items with another use than study have it.
    A unit has in `also` the equal units that take its labels.
    """
    also = _also(campaign) if campaign.options.get("same") else {}
    raters = _raters(campaign)
    units = Unit.objects.filter(item__campaign=campaign).order_by("item__position", "position")
    rows = units.values_list("item_id", "kind", "key").iterator(chunk_size=5000)
    of_items = {pk: list(of) for pk, of in groupby(rows, lambda row: row[0])}
    items = Item.objects.filter(campaign=campaign).order_by("position")
    for pk, key, query, use in items.values_list("pk", "key", "query__key", "use"):
        line = {
            "item": key,
            "query": query,
            "units": [
                {"kind": kind, "unit": unit, **also.get((pk, kind, unit), {})}
                for _, kind, unit in of_items.get(pk, ())
            ],
            "raters": raters.get(pk, []),
        }
        yield _line(line | ({} if use == Item.Use.STUDY else {"use": use}))


def _also(campaign: Campaign) -> dict[tuple[int, str, str], JSON]:
    """Return the key `also` of units with equal ones, by the item's primary key, kind and key."""
    return {
        (item.pk, unit.kind, unit.key): {"also": places_of(unit)}
        for chunk in shown_items(campaign)
        for item, spec in present_items(campaign, chunk)
        for unit in spec.units
        if unit.also
    }


def _raters(campaign: Campaign) -> dict[int, list[str]]:
    """Return the raters with a current answer by item, in the order of their assignments."""
    current = Response.objects.filter(current=True, assignment__item__campaign=campaign).exclude(
        assignment__rater__kind=Rater.Kind.TRIAL
    )
    found: dict[int, list[str]] = {}
    columns = ("assignment__item_id", "assignment__rater__name")
    for item, rater in current.order_by("assignment_id").values_list(*columns):
        if rater not in (raters := found.setdefault(item, [])):
            raters.append(rater)
    return found


def sampling_lines(campaign: Campaign) -> Iterator[bytes]:
    """Yield a line for each query: whether people are asked about it, its split, and the chances.

    `finished` says whether people gave all answers that the design asks of the query.
    """
    unfinished = unfinished_queries(campaign)
    for row in sampled_queries(campaign):
        yield _line({**row._asdict(), "finished": row.query not in unfinished})


def _line(of: JSON) -> bytes:
    return json.dumps(of, ensure_ascii=False).encode() + b"\n"


def wide_pieces(campaign: Campaign) -> Iterator[bytes]:
    """Yield the wide labels as CSV. Labels are read twice: first for the columns, then for rows."""
    columns = _columns(campaign)
    rows = (row for _, of in groupby(label_rows(campaign), _item) for row in _rows(list(of)))
    for line in write_rows((*WIDE_FACTS, *columns), rows):
        yield line.encode("utf-8")


def _columns(campaign: Campaign) -> list[str]:
    """Return the raters' columns by variable, rater and replicate. Columns of grades come last."""
    labels, grades = set[tuple[str, str, int]](), set[tuple[str, str, int]]()
    for row in label_rows(campaign):
        if row.value is not None:
            labels.add((row.variable, row.rater, row.replicate))
        if row.grade is not None:
            grades.add((graded(row.variable), row.rater, row.replicate))
    return [wide_column(*each) for each in (*sorted(labels), *sorted(grades))]


def _item(row: LabelRow) -> str:
    return row.item


def _rows(of_item: list[LabelRow]) -> Iterator[dict[str, str | None]]:
    rows: dict[tuple[str | None, str], dict[str, str | None]] = {}
    for label in of_item:
        if label.value is None:
            continue
        row = rows.setdefault(
            (label.kind, label.unit), {name: getattr(label, name) for name in WIDE_FACTS}
        )
        row[wide_column(label.variable, label.rater, label.replicate)] = label.value
        if label.grade is not None:
            column = wide_column(graded(label.variable), label.rater, label.replicate)
            row[column] = label.grade
    yield from rows.values()


def published_text(file: StudyFile) -> str:
    """Return the text of a study file with pseudonyms in its shares and for `by`.

    Raises InputError if a name cannot be replaced without changing something else.
    """
    shares = [part.options["share"] for part in file.parts if part.options.get("share")]
    in_shares = dict.fromkeys(name for each in shares for name in read_shares(each))
    by = dict.fromkeys(_named_by(file))
    accounts = list({**in_shares, **by})
    if not accounts:
        return file.text
    raters = Rater.objects.filter(user__username__in=accounts)
    known = dict(raters.values_list("user__username", "name"))
    names = {name: known.get(name, f"person-{n}") for n, name in enumerate(accounts, start=1)}
    # In a share, a name precedes an equals sign, bare or in quotation marks.
    share, value = rf"(?<![\w.-])(?:{_any_of(in_shares)})(?=[\"']?\s*=)", _any_of(by)
    text = re.sub(share, lambda found: names[found[0]], file.text) if in_shares else file.text
    if by:
        quoted = rf"((?<![\w.-])by\s*=\s*[\"'])({value})(?=[\"'])"
        text = re.sub(quoted, lambda found: f"{found[1]}{names[found[2]]}", text)
    if tomllib.loads(text) != _renamed(tomllib.loads(file.text), names):
        wrong = "an account in a share has the name of a key, and a release hides accounts"
        raise InputError(Place(file.path), wrong, "take the shares out of the file")
    return text


def _named_by(file: StudyFile) -> Iterator[str]:
    """Yield the accounts that own or review what a part creates."""
    for part in file.parts:
        terms = (part.options, *(j.terms for j in part.judges), *(r.options for r in part.reviews))
        yield from (options["by"] for options in terms if options.get("by"))


def _any_of(names: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, names), key=len, reverse=True))


def _renamed(document: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return the tables of a study file with other names of accounts."""
    for table in document.get("campaign", {}).values():
        given = table.get("share")
        if isinstance(given, Mapping):
            table["share"] = {names.get(name, name): share for name, share in given.items()}
        elif isinstance(given, list):
            pairs = ((pair, pair.rpartition("=")[0].strip()) for pair in given)
            table["share"] = [pair.replace(name, names[name], 1) for pair, name in pairs]
    for table in (*document.get("batch", {}).values(), *document.get("campaign", {}).values()):
        reviews = table.get("reviews", [])
        files = reviews if isinstance(reviews, list) else [reviews]
        for each in (table, *(file for file in files if isinstance(file, dict))):
            if "by" in each:
                each["by"] = names[each["by"]]
    return document
