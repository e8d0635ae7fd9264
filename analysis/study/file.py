"""Read a study file: TOML with the batches, campaigns and judges of a study, in their order.

Everything that does not need the database is checked here. An error names the file, the line, the
problem and its remedy.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

from analysis.study.keys import campaigns_of, check_keys, table_options
from analysis.study.parts import Key, Part, table_of
from analysis.study.tables import KINDS, LONGEST_NAME, PLANS, Tables
from annotation.derivation.rules import RULES
from tandem.files.rows import InputError, Place
from tandem.files.toml import Lines, TomlError, read_toml
from tandem.similar import did_you_mean

FILE_NAME = "study.toml"
MAX_LENGTH = 1_000_000
EVALUATOR = "evaluator"
"""The kind of a table that is no part: it names judges that count as one."""
STUDY_KEYS = ("name", "preset", "option", "title", "description", "licence", "creators", "contact")
PRESETS = ("crux", "long2rag", "garage", "clapnq", "trec-nuggets")
OF_A_TEAM = ("load_batch", "create_judge", "create_campaign")
"""The commands whose tables may name a team. A derived batch belongs to its source's team."""


@dataclass(frozen=True)
class StudyFile:
    """A checked study file. `parts` is sorted so that each part follows the parts that it needs.

    `evaluators` has the judges of each evaluator that it declares.
    """

    path: str
    text: str
    about: Mapping[str, Any]
    parts: tuple[Part, ...]
    evaluators: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return str(self.about["name"])

    @property
    def preset(self) -> str:
        return str(self.about.get("preset", ""))

    @property
    def options(self) -> dict[str, str]:
        """The options of the papers' tables as text, with absolute paths of files."""
        return dict(self.about.get("option", {}))

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    def for_team(self, team: str | None) -> StudyFile:
        """Return the study with this team in all tables that name none. None changes nothing."""
        parts = (
            replace(part, options={**part.options, "team": team})
            if team and part.command in OF_A_TEAM and not part.options.get("team")
            else part
            for part in self.parts
        )
        return replace(self, parts=tuple(parts))

    def part(self, kind: str, name: str) -> Part:
        return next(part for part in self.parts if part.key == Key(kind, name))

    def error(self, part: Part, wrong: str, remedy: str, key: str = "") -> InputError:
        """Return an error about a part, or about one of its keys."""
        line = Lines(self.text).of(table_of(part.key), key) or part.line
        return InputError(Place(self.path, line), wrong, remedy)

    def evaluator_error(self, name: str, wrong: str, remedy: str) -> InputError:
        """Return an error about an evaluator of the file, or about all of them."""
        line = Lines(self.text).of(table_of(Key(EVALUATOR, name)))
        return InputError(Place(self.path, line), wrong, remedy)


def read_study(path: Path) -> StudyFile:
    """Read a study file, or the one in a folder. Raises InputError."""
    place = path / FILE_NAME if path.is_dir() else path
    try:
        text = place.read_bytes().decode("utf-8")
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        remedy = "name the study file, or its folder"
        raise InputError(Place(str(place)), f"cannot be read ({why})", remedy) from error
    except UnicodeDecodeError as error:
        raise InputError(Place(str(place)), "is not UTF-8", "save it as UTF-8") from error
    return parse_study(text, str(place), place.parent)


def parse_study(text: str, path: str = FILE_NAME, folder: Path | None = None) -> StudyFile:
    """Read the text of a study file. Raises InputError.

    Files named in it are looked up in `folder`. Without a folder, they are not checked.
    """
    if len(text) > MAX_LENGTH:
        raise InputError(Place(path), f"has over {MAX_LENGTH:,} characters", "shorten it")
    try:
        document = read_toml(text)
    except TomlError as error:
        raise InputError(Place(path, error.line), str(error), "correct it") from error
    reader = _Reader(path, folder, document, Lines(text))
    return StudyFile(path, text, reader.about(), reader.parts(), dict(reader.evaluators()))


class _Reader(Tables):
    def about(self) -> Mapping[str, Any]:
        known = ("study", *KINDS, EVALUATOR)
        for name, table in self.document.items():
            if name not in known:
                remedy = did_you_mean(name, known, f"there are {', '.join(known)}")
                first = next(iter(table), "") if isinstance(table, Mapping) else name
                where = f"{name}.{first}" if self.lines.of(name) is None else name
                raise self.wrong(where, "", f"{name!r} is not a table of a study file", remedy)
            if not isinstance(table, Mapping):
                raise self.wrong("", name, f"{name} is not a table", f"write [{name}]")
        about: Mapping[str, Any] = self.document.get("study", {})
        refuse = self.refuser("study")
        check_keys(about, STUDY_KEYS, refuse)
        called = about.get("name")
        if not isinstance(called, str) or not called.strip() or len(called) > LONGEST_NAME:
            refuse("name", "the study has no name", 'write name = "…" in [study]')
        if (preset := about.get("preset", "")) and preset not in PRESETS:
            refuse("preset", f"{preset!r} is not a preset", f"give one of {', '.join(PRESETS)}")
        if "option" in about:
            found = table_options(about["option"], preset, refuse, partial(self._path, "study"))
            about = {**about, "option": found}
        for key, value in about.items():
            if key == "option":
                continue
            texts = value if key == "creators" and isinstance(value, list) else [value]
            if not all(isinstance(text, str) for text in texts):
                refuse(key, f"{key} is not text", "put it in quotation marks")
        return about

    def evaluators(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield the judges of each evaluator."""
        known = self.document.get("judge", {})
        for name, table in self.document.get(EVALUATOR, {}).items():
            if not isinstance(table, Mapping):
                remedy = f"write [{EVALUATOR}.{name}], and judges = […] below"
                raise self.wrong(EVALUATOR, name, f"{EVALUATOR}.{name} is not a table", remedy)
            refuse = self.refuser(table_of(Key(EVALUATOR, name)))
            check_keys(table, ("judges",), refuse)
            judges = table.get("judges")
            if not isinstance(judges, list) or not all(isinstance(each, str) for each in judges):
                refuse("judges", f"evaluator {name} names no judges", 'write judges = ["NAME"]')
            for judge in judges:
                if judge not in known and not self.imports_labels:
                    remedy = did_you_mean(judge, known, f"add [judge.{judge}]")
                    refuse("judges", f"there is no judge {judge!r} here", remedy)
            self._check_one_model(name, [known[judge] for judge in judges if judge in known])
            yield name, tuple(judges)

    def _check_one_model(self, name: str, judges: Iterable[Any]) -> None:
        tables = [table for table in judges if isinstance(table, Mapping)]
        models = {table.get("model") or table.get("family") for table in tables} - {None, ""}
        if len(models) > 1:
            wrong = f"evaluator {name!r} has judges of {' and '.join(sorted(map(str, models)))}"
            table = table_of(Key(EVALUATOR, name))
            raise self.wrong(table, "judges", wrong, "name judges of one model")

    @property
    def imports_labels(self) -> bool:
        """Whether campaigns import labels, which may be of judges without a table."""
        tables = self.document.get("campaign", {}).values()
        return any(isinstance(table, Mapping) and table.get("labels") for table in tables)

    def parts(self) -> tuple[Part, ...]:
        found = {part.key: part for part in self.read()}
        for part in found.values():
            self._check_needs(part, found)
            self._check_sources(part, found)
            self._check_judge_of_plan(part, found)
        return tuple(self._ordered(found))

    def _check_needs(self, part: Part, found: Mapping[Key, Part]) -> None:
        for need in part.needs:
            if need in found:
                continue
            names = [key.name for key in found if key.kind == need.kind]
            remedy = did_you_mean(need.name, names, f"add [{need.kind}.{need.name}]")
            where = self._where(part, need)
            raise self.wrong(
                table_of(part.key), where, f"there is no {need.kind} {need.name!r} here", remedy
            )

    def _where(self, part: Part, need: Key) -> str:
        """Return the key in which a part names another part that it needs."""
        table = self.document[part.key.kind][part.name]
        if need.kind == "judge":
            return "judges" if "judges" in table else "judge"
        return next((k for k, v in table.items() if need.name in str(v)), "")

    def _ordered(self, found: Mapping[Key, Part]) -> list[Part]:
        places = {key: number for number, key in enumerate(sorted(found, key=self._line))}
        graph = TopologicalSorter({part.key: part.needs for part in found.values()})
        try:
            graph.prepare()
        except CycleError as error:
            ring: list[Key] = error.args[1]
            first = min(ring, key=self._line)
            chain = " needs ".join(map(str, reversed(ring)))
            raise self.wrong(
                table_of(first), "", f"{chain}, which is a cycle", "let one of them need another"
            ) from error
        ordered: list[Part] = []
        while graph.is_active():
            # Parts that are ready are taken in the order of the file.
            ready = sorted(graph.get_ready(), key=places.__getitem__)
            ordered += [found[key] for key in ready]
            graph.done(*ready)
        return ordered

    def _line(self, key: Key) -> int:
        return self.lines.of(table_of(key)) or 0

    def _check_judge_of_plan(self, part: Part, found: Mapping[Key, Part]) -> None:
        """Check that a plan's campaign has the verdicts of its judge."""
        if part.command != PLANS["judge"]:
            return
        judge, campaign = part.options["judge"], found[part.awaits[0]]
        judges = [asked.judge for asked in campaign.judges]
        if judge not in judges and not campaign.labels:
            remedy = did_you_mean(judge, judges, f"add it to judges of {campaign.key}")
            wrong = f"{campaign.key} does not run judge {judge!r}"
            raise self.wrong(table_of(part.key), "judge", wrong, remedy)

    def _check_sources(self, part: Part, found: Mapping[Key, Part]) -> None:
        """Check that a derived batch's campaigns are over its source."""
        over = part.options.get("batch")
        for name in campaigns_of(part.command, part.options):
            campaign = found[Key("campaign", name)].options
            other, rule = campaign["batch"], RULES[part.options["rule"]]
            if not rule.names(campaign["protocol"]):
                wrong = (
                    f"campaign {name!r} is of {campaign['protocol']}, which the rule cannot read"
                )
                remedy = f"name one of {' or '.join(rule.protocols)}"
                raise self.wrong(table_of(part.key), "from", wrong, remedy)
            if other != over:
                wrong = f"campaign {name!r} is over batch {other!r}, and not over {over!r}"
                raise self.wrong(table_of(part.key), "from", wrong, "name campaigns of one batch")
