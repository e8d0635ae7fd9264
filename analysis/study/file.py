"""Read a study file: TOML with the batches, campaigns and judges of a study, in their order.

Everything that does not need the database is checked here. An error names the file, the line, the
problem and its remedy.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any, NoReturn

from analysis.study.keys import (
    Options,
    Refuse,
    check_keys,
    has_command,
    keys_of,
    read_options,
)
from analysis.study.names import campaigns_named, campaigns_of, relevant_by, table_options
from analysis.study.protocols import ENDING, ProtocolBeside, read_beside
from annotation.campaigns.design import DesignError, design_of
from annotation.campaigns.settings import OPTIONS
from annotation.derivation.base import make_options
from annotation.derivation.base import read_options as read_options_of_rule
from annotation.derivation.decisions import MODES
from annotation.derivation.rules import RULES
from annotation.derivation.service import rule_called
from annotation.management.base import read_settings
from datasets.derivation import DerivationError
from tandem.files.jsonl import excerpt
from tandem.files.rows import InputError, Place
from tandem.files.toml import Lines, TomlError, read_toml
from tandem.similar import did_you_mean

FILE_NAME = "study.toml"
MAX_LENGTH = 1_000_000
KINDS = ("batch", "campaign", "judge")
EVALUATOR = "evaluator"
"""The kind of a table that is no part: it names judges that count as one."""
STUDY_KEYS = ("name", "preset", "option", "title", "description", "licence", "creators", "contact")
PRESETS = ("crux", "long2rag", "garage", "clapnq", "trec-nuggets")
LONGEST_NAME = 200
OWN_KEYS = ("labels", "judges")
"""Keys of a campaign in addition to those of its command."""


@dataclass(frozen=True, order=True)
class Key:
    """The identity of a part within its study."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


@dataclass(frozen=True)
class LabelsFile:
    """Labels to import into a campaign, with the options of `import_labels`."""

    path: Path
    options: Mapping[str, Any]


@dataclass(frozen=True)
class JudgeRequest:
    """A judge to run over a campaign, with the limits of its run, as options of `run_judge`."""

    judge: str
    terms: Mapping[str, Any]


@dataclass(frozen=True)
class Part:
    """A table of the file: a batch, campaign or judge, with the options of its command.

    `needs` has the parts that come first. Of those, the campaigns in `awaits` have to be finished,
    not just created. `protocol` is the file that a campaign names as its protocol.
    """

    key: Key
    command: str
    options: Options
    needs: tuple[Key, ...]
    line: int | None
    awaits: tuple[Key, ...] = ()
    labels: tuple[LabelsFile, ...] = ()
    judges: tuple[JudgeRequest, ...] = ()
    protocol: ProtocolBeside | None = None

    @property
    def name(self) -> str:
        return self.key.name

    @property
    def awaits_people(self) -> bool:
        """Whether it waits for all people, not just for one rater."""
        return self.options.get("decided_by", MODES[0]) in MODES


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
        line = Lines(self.text).of(_table(part.key), key) or part.line
        return InputError(Place(self.path, line), wrong, remedy)

    def evaluator_error(self, name: str, wrong: str, remedy: str) -> InputError:
        """Return an error about an evaluator of the file, or about all of them."""
        line = Lines(self.text).of(_table(Key(EVALUATOR, name)))
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


def _table(key: Key) -> str:
    return re.sub(r"[\s\"']", "", f"{key.kind}.{key.name}")


class _Reader:
    def __init__(
        self, path: str, folder: Path | None, document: Mapping[str, Any], lines: Lines
    ) -> None:
        self.path, self.folder, self.document, self.lines = path, folder, document, lines

    def wrong(self, table: str, key: str, wrong: str, remedy: str) -> InputError:
        line = self.lines.of(table, key)
        return InputError(Place(self.path, line), wrong, remedy)

    def refuser(self, table: str, within: str = "") -> Refuse:
        """Return the function that rejects a key of a table. `within` is the key of that table."""

        def refuse(key: str, wrong: str, remedy: str) -> NoReturn:
            raise self.wrong(table, within or key, wrong, remedy)

        return refuse

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
            refuse = self.refuser(_table(Key(EVALUATOR, name)))
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
            table = _table(Key(EVALUATOR, name))
            raise self.wrong(table, "judges", wrong, "name judges of one model")

    @property
    def imports_labels(self) -> bool:
        """Whether campaigns import labels, which may be of judges without a table."""
        tables = self.document.get("campaign", {}).values()
        return any(isinstance(table, Mapping) and table.get("labels") for table in tables)

    def parts(self) -> tuple[Part, ...]:
        found = {part.key: part for part in self._tables()}
        for part in found.values():
            self._check_needs(part, found)
            self._check_sources(part, found)
        return tuple(self._ordered(found))

    def _tables(self) -> Iterator[Part]:
        for kind in KINDS:
            for name, table in self.document.get(kind, {}).items():
                if not isinstance(table, Mapping):
                    remedy = f"write [{kind}.{name}], and its keys below"
                    raise self.wrong(kind, name, f"{kind}.{name} is not a table", remedy)
                if not name.strip() or len(name) > LONGEST_NAME or "\0" in name:
                    raise self.wrong(kind, name, f"{kind} has a blank or long name", "name it")
                yield getattr(self, f"_{kind}")(Key(kind, name), table)

    def _batch(self, key: Key, table: Mapping[str, Any]) -> Part:
        refuse = self.refuser(_table(key))
        if ("files" in table) == ("rule" in table):
            both = "both files and a rule" if "files" in table else "neither files nor a rule"
            refuse("rule", f"batch {key.name} has {both}", 'give files = ["…"], or rule = "…"')
        command = "load_batch" if "files" in table else "derive_batch"
        if not has_command(command):
            refuse("rule", "batches cannot be derived by this version", "give files")
        check_keys(table, keys_of(command), refuse)
        options = read_options(command, self._with_batch(table, command), refuse, key.name)
        needs = [Key("batch", options[k]) for k in ("batch", "extends") if options.get(k)]
        if command == "derive_batch":
            self._check_rule(key, options)
        sources = [Key("campaign", name) for name in campaigns_of(command, options)]
        options = self._with_paths(key, options, ("paths",))
        line = self.lines.of(_table(key))
        return Part(key, command, options, (*needs, *sources), line, tuple(sources))

    def _check_rule(self, key: Key, options: Options) -> None:
        refuse = self.refuser(_table(key))
        try:
            rule = rule_called(options["rule"])
            make_options(rule, read_options_of_rule(rule, options["set"]))
        except DerivationError as error:
            wrong, _, remedy = str(error).partition("; ")
            refuse(error.field or "rule", wrong, remedy or "correct it")
        if bool(rule.protocols) != bool(campaigns_of("derive_batch", options)):
            known = " or ".join(rule.protocols)
            remedy = f"name one of {known}: from = […]" if known else "leave from out"
            reads = "reads a campaign" if known else "reads no campaign"
            refuse("from", f"rule {rule.name} {reads}", remedy)

    def _with_batch(self, table: Mapping[str, Any], command: str) -> Mapping[str, Any]:
        """Set the batch of a rule without one to the batch of its first campaign."""
        if command != "derive_batch" or "batch" in table:
            return table
        names = table.get("from")
        first = names[0] if isinstance(names, list) and names else names
        campaigns = self.document.get("campaign", {})
        campaign = campaigns.get(first) if isinstance(first, str) else None
        over = campaign.get("batch") if isinstance(campaign, Mapping) else None
        # An unknown campaign is reported as such, not as a missing batch.
        return {**table, "batch": over} if over else {**table, **({"batch": ""} if first else {})}

    def _campaign(self, key: Key, table: Mapping[str, Any]) -> Part:
        refuse = self.refuser(_table(key))
        check_keys(table, (*keys_of("create_campaign"), *OWN_KEYS), refuse)
        options = read_options("create_campaign", table, refuse, key.name)
        self._check_design(key, options)
        options = self._with_paths(key, options, [each.name for each in OPTIONS if each.lines])
        protocol = self._protocol(key, options["protocol"])
        if protocol is not None:
            options["protocol"] = protocol.name
        judges = tuple(self._judges(key, table.get("judges", [])))
        labels = tuple(self._labels(key, table.get("labels", [])))
        needs = [Key("batch", options["batch"])]
        needs += [Key("campaign", name) for name in campaigns_named(options)]
        needs += [Key("judge", asked.judge) for asked in judges]
        line = self.lines.of(_table(key))
        awaits = tuple(Key("campaign", name) for name in relevant_by(options))
        command = "create_campaign"
        return Part(key, command, options, tuple(needs), line, awaits, labels, judges, protocol)

    def _protocol(self, key: Key, name: str) -> ProtocolBeside | None:
        """Return the protocol's file that a campaign names, if it names one that can be read."""
        if self.folder is None or not name.endswith(ENDING):
            return None
        return read_beside(self._path(_table(key), "protocol", name), self.refuser(_table(key)))

    def _check_design(self, key: Key, options: Options) -> None:
        refuse = self.refuser(_table(key))
        try:
            design_of(
                options["raters_per_item"],
                options["overlap"],
                options["human_share"],
                options["option"],
            )
            read_settings(options, reads_files=False)
        except DesignError as error:
            wrong, _, remedy = str(error).partition("; ")
            name = error.field if error.field in options else "option"
            refuse(name, wrong, remedy or "correct it")

    def _labels(self, key: Key, given: Any) -> Iterator[LabelsFile]:
        refuse = self.refuser(_table(key), "labels")
        for each in given if isinstance(given, list) else [given]:
            table = {"file": each} if isinstance(each, str) else each
            if not isinstance(table, Mapping) or not isinstance(table.get("file"), str):
                refuse("labels", "labels name no file", 'write labels = ["FILE"]')
            check_keys(table, keys_of("import_labels"), refuse)
            options = read_options("import_labels", {**table, "file": [table["file"]]}, refuse)
            path = self._path(_table(key), "labels", options["paths"][0])
            yield LabelsFile(path, options)

    def _judges(self, key: Key, given: Any) -> Iterator[JudgeRequest]:
        refuse = self.refuser(_table(key), "judges")
        for each in given if isinstance(given, list) else [given]:
            table = {"judge": each} if isinstance(each, str) else each
            if not isinstance(table, Mapping):
                refuse("judges", "judges name no judge", 'write judges = ["NAME"]')
            check_keys(table, keys_of("run_judge"), refuse)
            options = read_options("run_judge", table, refuse)
            yield JudgeRequest(options["judge"], options)

    def _judge(self, key: Key, table: Mapping[str, Any]) -> Part:
        refuse = self.refuser(_table(key))
        check_keys(table, keys_of("create_judge"), refuse)
        options = read_options("create_judge", table, refuse, key.name)
        if not options["backend"]:
            refuse("backend", "backend is missing", 'add backend = "…"')
        options = self._with_paths(key, options, ("answers",))
        for name in ("file", "prompt"):
            # Both may also name a file that comes with Tandem.
            if options[name] and self.folder and (self.folder / options[name]).is_file():
                options[name] = str(self.folder / options[name])
        return Part(key, "create_judge", options, (), self.lines.of(_table(key)))

    def _with_paths(self, key: Key, options: Options, names: Iterable[str]) -> Options:
        found = dict(options)
        for name in names:
            shown = "files" if name == "paths" else name
            if isinstance(value := options.get(name), list):
                found[name] = [self._path(_table(key), shown, each) for each in value]
            elif value:
                path = self._path(_table(key), shown, value)
                found[name] = path if isinstance(value, Path) else str(path)
        return found

    def _path(self, table: str, key: str, given: str | Path) -> Path:
        if self.folder is None:
            return Path(given)
        path = self.folder / given
        if not path.exists():
            raise self.wrong(
                table,
                key,
                f"there is no file {excerpt(str(given), 300)[1:-1]}",
                "correct the path",
            )
        return path

    def _check_needs(self, part: Part, found: Mapping[Key, Part]) -> None:
        for need in part.needs:
            if need in found:
                continue
            names = [key.name for key in found if key.kind == need.kind]
            remedy = did_you_mean(need.name, names, f"add [{need.kind}.{need.name}]")
            where = self._where(part, need)
            raise self.wrong(
                _table(part.key), where, f"there is no {need.kind} {need.name!r} here", remedy
            )

    def _where(self, part: Part, need: Key) -> str:
        """Return the key in which a part names another part that it needs."""
        table = self.document[part.key.kind][part.name]
        if need.kind == "judge":
            return "judges"
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
                _table(first), "", f"{chain}, which is a cycle", "let one of them need another"
            ) from error
        ordered: list[Part] = []
        while graph.is_active():
            # Parts that are ready are taken in the order of the file.
            ready = sorted(graph.get_ready(), key=places.__getitem__)
            ordered += [found[key] for key in ready]
            graph.done(*ready)
        return ordered

    def _line(self, key: Key) -> int:
        return self.lines.of(_table(key)) or 0

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
                raise self.wrong(_table(part.key), "from", wrong, remedy)
            if other != over:
                wrong = f"campaign {name!r} is over batch {other!r}, and not over {over!r}"
                raise self.wrong(_table(part.key), "from", wrong, "name campaigns of one batch")
