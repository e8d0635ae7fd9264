"""Check a folder without a database: a release of a study, or an export with its manifest.

Checksums detect changed files. In addition, the labels are compared across all forms in the
release, and the headline numbers and the measures of systems are recomputed from the labels. So a
changed label is found and named even if the checksums were updated.
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from analysis.papers.index import PAPERS
from analysis.release import headline, measures
from analysis.release.certificates import HOW, Proof, certificate_faults, read_certificate
from analysis.release.headline import released_frame
from analysis.release.layout import (
    FACTS,
    FIRST,
    ITEMS,
    LABELS,
    MEASURES,
    REFUSALS,
    REPORT,
    RESPONSES,
    SAMPLING,
    SUMS,
    WIDE,
    WIDE_FACTS,
)
from analysis.release.material import ReleasedMaterial, contradictions, released_task
from analysis.release.tables import check_cells, check_measures, check_text, fill_again
from annotation.protocols.base import Protocol
from datasets.readers import read
from tandem.files.rows import InputError, Place
from tandem.files.spreadsheet import unescape_formula
from tandem.labels.evaluators import evaluators_from_json
from tandem.labels.file.wide import GRADE, graded, wide_column
from tandem.labels.frame import Frame
from tandem.scores.options import FILE as TOKENIZER
from tandem.scores.options import Options, tokenizer
from tandem.types import JSON

MANIFEST = "manifest.json"
MOST_NAMED = 5
Cell = tuple[str, str, str, str, str, int]
"""Item, unit, kind, variable, rater and replicate of a label, or of a grade."""


@dataclass
class Verified:
    """Descriptions of what was checked and of what is wrong.

    `unproven` says how a certificate that agrees with itself is proven to be genuine.
    """

    what: str
    checked: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    unproven: str = ""

    @property
    def refusal(self) -> str:
        """Why this is not what it shall be; empty if it is."""
        if self.wrong:
            return f"The {self.what} differs from what it was."
        return f"The {self.what} is {self.unproven}." if self.unproven else ""

    @property
    def remark(self) -> str:
        return f"Checked the {self.what}: {'; '.join(self.checked)}. Nothing has changed."


def verify(folder: Path, tokens: str = "", proof: Proof | None = None) -> Verified:
    """Check a folder, or a certificate's file. Raises InputError if it is nothing of the kind.

    `tokens` is the tokenizer that a release's options name, as `file:PATH`. A release lacks it.
    `proof` is what the reader of a certificate has from elsewhere.
    """
    if folder.is_file():
        return _certificate(folder, proof or Proof())
    for name, check in KINDS.items():
        if (folder / name).is_file():
            return check(folder, tokens)
    place = Place(str(folder))
    if not folder.is_dir():
        raise InputError(place, "is not there", "name a folder of a release, or a certificate")
    names = " nor ".join(KINDS)
    raise InputError(place, f"has neither {names}", "name the folder of a release or of an export")


def _certificate(file: Path, proof: Proof) -> Verified:
    verification = proof.of(read_certificate(file))
    found = Verified(f"certificate {file.name}", [verification.statement], verification.wrong)
    if not verification.genuine:
        found.unproven = f"{verification.verdict} (SHA-256 {verification.digest}): {HOW}"
    return found


def tokens_of(path: str | None) -> str:
    """Return the option for a tokenizer's file. Raises InputError if it cannot be read."""
    if path is None:
        return ""
    try:
        tokenizer(f"{TOKENIZER}{path}")
    except ValueError as error:
        wrong = str(error).removeprefix(f"{path}: ")
        raise InputError(Place(path), wrong, "name a tokenizer.json") from error
    return f"{TOKENIZER}{path}"


def _release(folder: Path, tokens: str) -> Verified:
    facts = _read_json(folder / FACTS)
    found = Verified(f"release of study {facts.get('study', '?')!r}")
    _check_sums(folder, found)
    if tokens:
        _check_tokenizer(folder, facts, tokens)
    batches = {batch["name"]: folder / batch["file"] for batch in facts.get("batches", ())}
    for campaign in facts.get("campaigns", ()):
        _check_asked(folder / campaign["folder"], facts, campaign, found)
        try:
            task = released_task(folder, campaign)
        except InputError as error:
            # Without its protocol nothing says in what order the codes are.
            found.wrong.append(f"campaign {campaign['name']}: its protocol {error}")
            continue
        _check_campaign(folder / campaign["folder"], campaign, task, batches, tokens, found)
    for tables in facts.get("tables", ()):
        _check_tables(folder, facts, tables, tokens, found)
    checked, wrong = certificate_faults(folder, facts)
    found.checked += checked
    found.wrong += wrong
    return found


def _form(facts: JSON) -> int:
    """Return the version of a release's layout."""
    return int(facts.get("form", FIRST))


def _check_asked(folder: Path, facts: JSON, campaign: JSON, found: Verified) -> None:
    """Check that a campaign's files of what was asked are there. The first layout has none."""
    missing = [name for name in (ITEMS, SAMPLING) if not (folder / name).is_file()]
    if missing and _form(facts) > FIRST:
        found.wrong.append(f"campaign {campaign['name']}: {', '.join(missing)} is missing")


def _check_tokenizer(folder: Path, facts: JSON, tokens: str) -> None:
    """Raise InputError if tokens were counted by another tokenizer than the one that was given."""
    paths = [folder / each["folder"] / MEASURES for each in facts.get("campaigns", ())]
    paths += [folder / each["file"] for each in facts.get("tables", ())]
    for path in filter(Path.is_file, paths):
        if stated := measures.other_tokenizer(_read_json(path), tokens):
            place = Place(tokens.removeprefix(TOKENIZER))
            raise InputError(place, f"is not the tokenizer {stated!r}", "give that one")


def _check_tables(
    folder: Path, facts: JSON, of: Mapping[str, Any], tokens: str, found: Verified
) -> None:
    """Check a paper's tables against their text, and fill them again."""
    report, text = folder / of["file"], folder / of["text"]
    what = f"tables of {of['paper']}"
    if not report.is_file() or not text.is_file():
        found.wrong.append(f"{what}: a file is missing")
        return
    try:
        tables = _read_json(report)
        _add_wrong(what, check_text(tables, text.read_text("utf-8"), of["text"]), of["text"], found)
        _check_cells(folder, facts, tables, tokens, found)
    except InputError as error:
        found.wrong.append(f"{what} cannot be filled again: {error}")
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        found.wrong.append(f"{what} cannot be compared ({type(error).__name__}: {error})")


def _check_cells(folder: Path, facts: JSON, tables: JSON, tokens: str, found: Verified) -> None:
    """Compare a paper's tables with those that the release's files give."""
    what, file = f"tables of {tables['paper']}", f"tables/{tables['paper']}.json"
    if _form(facts) == FIRST:
        paths = {each["name"]: folder / each["folder"] / MEASURES for each in facts["campaigns"]}
        known = {name: _read_json(path) for name, path in paths.items() if path.is_file()}
        checked = check_measures(tables, known)
        done = "are measures of a campaign (an older version's release has too little for others)"
    else:
        paper = PAPERS[tables["paper"]]
        has_tokenizer = measures.counts_tokens(tables) or bool(tokens)

        def material(name: str) -> ReleasedMaterial:
            return ReleasedMaterial(folder, facts, paper, tables, name or tokens)

        checked = check_cells(tables, fill_again(paper, tables, material, has_tokenizer))
        done = "were computed again"
        if checked.compared < checked.cells:
            done += f" (others need the tokenizer {tables['options']['tokenizer']['value']})"
    _add_wrong(what, checked.wrong, file, found)
    found.checked.append(
        f"the text of the {what}, of whose {checked.cells} cells {checked.compared} {done}"
    )


def _add_wrong(what: str, wrong: Sequence[str], file: str, found: Verified) -> None:
    """Add the first lines of what is wrong, and the number of the others."""
    found.wrong += [f"{what}: {line}" for line in wrong[:MOST_NAMED]]
    if (more := len(wrong) - MOST_NAMED) > 0:
        found.wrong.append(f"{what}: … and {more} more in {file}")


def _check_sums(folder: Path, found: Verified) -> None:
    sums = dict(_sums(folder / SUMS)) if (folder / SUMS).is_file() else {}
    if not sums:
        found.wrong.append(f"{SUMS} is missing or empty")
        return
    there = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    for name, digest in sums.items():
        if name not in there:
            found.wrong.append(f"{name} is missing")
        elif _digest(folder / name) != digest:
            found.wrong.append(f"{name} differs from its checksum")
    found.wrong += [f"{name} has no checksum" for name in sorted(there - {*sums, SUMS})]
    found.checked.append(f"{len(sums)} checksums")


def _sums(path: Path) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        digest, gap, name = line.partition("  ")
        if len(digest) != 64 or not gap:
            place = Place(str(path), number)
            raise InputError(place, "is not a checksum with a name", "restore the line")
        yield name, digest


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _check_campaign(
    folder: Path,
    campaign: Mapping[str, Any],
    task: Protocol | None,
    batches: Mapping[str, Path],
    tokens: str,
    found: Verified,
) -> None:
    name = campaign["name"]
    needed = [folder / each for each in (LABELS, WIDE, RESPONSES, REPORT)]
    if missing := [path.name for path in needed if not path.is_file()]:
        found.wrong.append(f"campaign {name}: {', '.join(missing)} is missing")
        return
    labels = dict(_labels(folder / LABELS))
    wide = dict(_wide(folder / WIDE, labels))
    answered = dict(_answered(folder / RESPONSES, labels))
    for path, others in ((WIDE, wide), (RESPONSES, answered)):
        wrong = list(_contradictions(labels, others, whole=path == WIDE))
        for cell, one, other in wrong[:MOST_NAMED]:
            item, unit, _, variable, rater, _ = cell
            found.wrong.append(
                f"campaign {name}: {variable} of unit {unit!r} of item {item!r} by {rater} is "
                f"{one!r} in {LABELS}, and {other!r} in {path}"
            )
        if more := len(wrong) - MOST_NAMED:
            found.wrong += [f"campaign {name}: … and {more} more in {path}"] if more > 0 else []
    report = _read_json(folder / REPORT)
    own = task if campaign.get("protocol_file") else None
    if own is not None:
        values = {(c[1], c[2], c[3], c[4]): v for c, v in labels.items() if v is not None}
        _add_wrong(
            f"campaign {name}", [*contradictions(own, campaign, report, values)], LABELS, found
        )
        found.checked.append(f"the protocol {own.name} {own.version} of campaign {name}")
    frame = released_frame(folder / LABELS, report, own) if labels else Frame((), (), {}, 0)
    if labels:
        found.wrong += [f"campaign {name}: {line}" for line in headline.differences(frame, report)]
    number = sum(not cell[3].endswith(GRADE) for cell in labels)
    found.checked.append(f"{number} labels of campaign {name} and their numbers")
    if (folder / MEASURES).is_file():
        _check_measures(folder / MEASURES, campaign, task, batches, frame, tokens, found)


def _check_measures(
    path: Path,
    campaign: Mapping[str, Any],
    task: Protocol | None,
    batches: Mapping[str, Path],
    frame: Frame,
    tokens: str,
    found: Verified,
) -> None:
    """Recompute a campaign's measures from its labels and its batch."""
    name, file = campaign["name"], _read_json(path)
    batch = batches.get(campaign["batch"])
    asked = measures.asked_content(dict(campaign), task)
    if asked is None:
        found.checked.append(f"not the measures of campaign {name}, of an older version's release")
        return
    if batch is None or not batch.is_file():
        found.wrong.append(f"campaign {name}: its batch {campaign['batch']} is missing")
        return
    queries = [each.query for each in read([batch], "native")]
    try:
        options = Options(**measures.read_options(file, path.parents[2] / REFUSALS, tokens))
        now = measures.computed(asked, frame, queries, options, evaluators_from_json(file))
        # Only a protocol that is not known here declares measures that cannot be computed here.
        left_out = () if task else tuple(measures.declared_in(file))
        wrong = list(measures.differences(file, now, bool(tokens), left_out))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        why = f"{type(error).__name__}: {error}"
        found.wrong.append(f"campaign {name}: {path.name} cannot be compared ({why})")
        return
    _add_wrong(f"campaign {name}", wrong, path.name, found)
    found.checked.append(f"{len(now)} values of measures of campaign {name}")
    if left_out:
        of = f"{campaign['protocol']}, which is not known here"
        found.checked.append(f"not {', '.join(left_out)} of campaign {name}, declared by {of}")


def _contradictions(
    labels: Mapping[Cell, str | None], others: Mapping[Cell, str | None], whole: bool
) -> Iterator[tuple[Cell, str | None, str | None]]:
    """Yield the cells that differ. Unless `whole`, cells may be missing on either side."""
    for cell, value in labels.items():
        if (whole or cell in others) and others.get(cell) != value:
            yield cell, value, others.get(cell)
    for cell in others if whole else ():
        if cell not in labels:
            yield cell, None, others[cell]


def _labels(path: Path) -> Iterator[tuple[Cell, str | None]]:
    for line in _lines(path):
        if line.get("value") is not None:
            item, unit, kind, variable, rater = (
                line[name] for name in ("item", "unit", "kind", "variable", "rater")
            )
            replicate = line.get("replicate", 0)
            yield (item, unit, kind, variable, rater, replicate), line["value"]
            if (grade := line.get("grade")) is not None:
                yield (item, unit, kind, graded(variable), rater, replicate), grade


def _wide(path: Path, labels: Mapping[Cell, str | None]) -> Iterator[tuple[Cell, str | None]]:
    columns = {wide_column(cell[3], cell[4], cell[5]): cell[3:] for cell in labels}
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file)
        header = [unescape_formula(name) for name in next(rows, [])]
        for row in rows:
            of = dict(zip(header, map(unescape_formula, row), strict=False))
            for name, value in of.items():
                if name in WIDE_FACTS or value == "":
                    continue
                variable, rater, replicate = columns.get(name, (name, "?", 0))
                yield (of["item"], of["unit"], of["kind"], variable, rater, replicate), value


def _answered(path: Path, labels: Mapping[Cell, str | None]) -> Iterator[tuple[Cell, str | None]]:
    """Yield the labels of these cells from the file of whole answers."""
    answers: dict[tuple[str, str, int, str], Mapping[str, Any]] = {}
    for line in _lines(path):
        for name, answer in line["units"].items():
            answers[line["item"], line["rater"], line.get("replicate", 0), name] = answer
    for cell in labels:
        item, unit, kind, variable, rater, replicate = cell
        # A unit is named by its key, and also by its kind if two kinds share a key.
        for name in (f"{kind}:{unit}", unit):
            if (answer := answers.get((item, rater, replicate, name))) is not None:
                if isinstance(value := answer.get(variable), str):
                    yield cell, value
                break


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            try:
                found = json.loads(line)
            except ValueError as error:
                place = Place(str(path), number)
                raise InputError(place, "is no JSON", "restore the line") from error
            yield found


def _read_json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise InputError(Place(str(path)), "is no JSON", "restore the file") from error
    if not isinstance(found, dict):
        raise InputError(Place(str(path)), "is no JSON object", "restore the file")
    return found


def _export(folder: Path, tokens: str) -> Verified:
    """Check an export by its manifest."""
    facts = _read_json(folder / MANIFEST)
    files = facts.get("files")
    if not isinstance(files, list):
        raise InputError(Place(str(folder / MANIFEST)), "lists no files", "restore the file")
    found = Verified(f"export of campaign {facts.get('campaign', {}).get('name', '?')!r}")
    for file in files:
        path = folder / file["path"]
        if not path.is_file():
            found.wrong.append(f"{file['path']} is missing")
        elif _digest(path) != file["sha256"]:
            found.wrong.append(f"{file['path']} differs from its checksum")
    found.checked.append(f"{len(files)} checksums")
    return found


KINDS: dict[str, Callable[[Path, str], Verified]] = {FACTS: _release, MANIFEST: _export}
"""The kinds of folders that can be checked, by their identifying file."""
