"""Read the tables of a study file: each as a part, by the options of the commands behind it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

from analysis.study.keys import (
    Options,
    Refuse,
    campaigns_named,
    campaigns_of,
    check_keys,
    keys_of,
    read_options,
    relevant_by,
)
from analysis.study.parts import ImportedFile, JudgeRequest, Key, Part, table_of
from analysis.study.plans import declared_plan
from analysis.study.protocols import ENDING, ProtocolBeside, read_beside
from analysis.trust.cells import TrustError
from annotation.campaigns.design import DesignError, design_of
from annotation.campaigns.settings import OPTIONS
from annotation.derivation.base import make_options
from annotation.derivation.base import read_options as read_options_of_rule
from annotation.derivation.service import rule_called
from annotation.management.base import read_settings
from annotation.registry import STEPS
from datasets.derivation import DerivationError
from judging.preparation.build import given_thresholds
from tandem.files.jsonl import excerpt
from tandem.files.rows import InputError, Place
from tandem.files.toml import Lines
from tandem.options import FLAG, named_options

KINDS = ("batch", "campaign", "judge", "trust")
LONGEST_NAME = 200
ORIGINS = {"files": "load_batch", "rule": "derive_batch", "step": "build_batch"}
"""The keys that say where a batch comes from, each with the command that creates it."""
PLANS = {"judge": "trust", "systems": "compare_systems"}
"""The keys that say what a plan is about, each with the command that commits to it."""
REVIEWS = "reviews"
"""The key of a step, in addition to those of its commands: files with reviews of its answers."""
OWN_KEYS = ("labels", "judges")
"""Keys of a campaign in addition to those of its command."""


class Tables:
    """The tables of a file. Without a `folder`, the files that they name are not checked."""

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

    def read(self) -> Iterator[Part]:
        """Yield a part for each table, by kind. Raises InputError."""
        for kind in KINDS:
            for name, table in self.document.get(kind, {}).items():
                if not isinstance(table, Mapping):
                    remedy = f"write [{kind}.{name}], and its keys below"
                    raise self.wrong(kind, name, f"{kind}.{name} is not a table", remedy)
                if not name.strip() or len(name) > LONGEST_NAME or "\0" in name:
                    raise self.wrong(kind, name, f"{kind} has a blank or long name", "name it")
                yield getattr(self, f"_{kind}")(Key(kind, name), table)

    def _batch(self, key: Key, table: Mapping[str, Any]) -> Part:
        refuse = self.refuser(table_of(key))
        given = [each for each in ORIGINS if each in table]
        if len(given) != 1:
            has = f"both {given[0]} and {given[1]}" if given else "neither files nor a rule or step"
            remedy = 'give files = ["…"], rule = "…" or step = "…"'
            refuse(given[-1] if given else "", f"batch {key.name} has {has}", remedy)
        command = ORIGINS[given[0]]
        if command == "build_batch":
            return self._step(key, table)
        check_keys(table, keys_of(command), refuse)
        options = read_options(command, self._with_batch(table, command), refuse, key.name)
        needs = [Key("batch", options[k]) for k in ("batch", "extends") if options.get(k)]
        if command == "derive_batch":
            self._check_rule(key, options)
        sources = [Key("campaign", name) for name in campaigns_of(command, options)]
        options = self._with_paths(key, options, ("paths",))
        line = self.lines.of(table_of(key))
        return Part(key, command, options, (*needs, *sources), line, tuple(sources))

    def _step(self, key: Key, table: Mapping[str, Any]) -> Part:
        """Return a batch that a step of the preparation builds, with the step's judge."""
        refuse, of_build = self.refuser(table_of(key)), keys_of("build_batch")
        of_judge = keys_of("prepare_batch")
        check_keys(table, dict.fromkeys((*of_build, *of_judge, REVIEWS)), refuse)
        options = read_options("build_batch", table, refuse, key.name)
        step, line = STEPS[options["step"]], self.lines.of(table_of(key))
        try:
            given_thresholds(step, options["set"])
        except ValueError as error:
            wrong, _, remedy = str(error).rpartition("; ")
            refuse("set", wrong, remedy)
        batch = Key("batch", options["batch"])
        if not step.protocol:
            asks = {*of_judge, REVIEWS} - {"step", "batch"}
            for each in (name for name in table if name in asks):
                refuse(each, f"step {step.name} asks no judge", f"leave {each} out")
            return Part(key, "build_batch", options, (batch,), line)
        terms = read_options("prepare_batch", table, refuse)
        judge = JudgeRequest(terms["judge"], terms)
        reviews = tuple(self._imported(key, REVIEWS, table.get(REVIEWS, []), "review_batch"))
        needs = batch, Key("judge", judge.judge)
        return Part(key, "build_batch", options, needs, line, judges=(judge,), reviews=reviews)

    def _check_rule(self, key: Key, options: Options) -> None:
        refuse = self.refuser(table_of(key))
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
        refuse = self.refuser(table_of(key))
        check_keys(table, (*keys_of("create_campaign"), *OWN_KEYS), refuse)
        options = read_options("create_campaign", table, refuse, key.name)
        self._check_design(key, options)
        options = self._with_paths(key, options, [each.name for each in OPTIONS if each.lines])
        protocol = self._protocol(key, options["protocol"])
        if protocol is not None:
            options["protocol"] = protocol.name
        judges = tuple(self._judges(key, table.get("judges", [])))
        labels = tuple(self._imported(key, "labels", table.get("labels", []), "import_labels"))
        needs = [Key("batch", options["batch"])]
        needs += [Key("campaign", name) for name in campaigns_named(options)]
        needs += [Key("judge", asked.judge) for asked in judges]
        line = self.lines.of(table_of(key))
        awaits = tuple(Key("campaign", name) for name in relevant_by(options))
        command = "create_campaign"
        return Part(key, command, options, tuple(needs), line, awaits, labels, judges, protocol)

    def _protocol(self, key: Key, name: str) -> ProtocolBeside | None:
        """Return the protocol's file that a campaign names, if it names one that can be read."""
        if self.folder is None or not name.endswith(ENDING):
            return None
        return read_beside(self._path(table_of(key), "protocol", name), self.refuser(table_of(key)))

    def _check_design(self, key: Key, options: Options) -> None:
        refuse = self.refuser(table_of(key))
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

    def _imported(self, key: Key, name: str, given: Any, command: str) -> Iterator[ImportedFile]:
        """Yield the files under a key that is named for what they hold."""
        refuse = self.refuser(table_of(key), name)
        for each in given if isinstance(given, list) else [given]:
            table = {"file": each} if isinstance(each, str) else each
            if not isinstance(table, Mapping) or not isinstance(table.get("file"), str):
                refuse(name, f"{name} name no file", f'write {name} = ["FILE"]')
            file = keys_of(command)["file"]
            check_keys(table, keys_of(command), refuse)
            value = [table["file"]] if file.nargs else table["file"]
            options = read_options(command, {**table, "file": value}, refuse)
            found = options[file.dest]
            path = self._path(table_of(key), name, found[0] if file.nargs else found)
            yield ImportedFile(path, options)

    def _judges(self, key: Key, given: Any) -> Iterator[JudgeRequest]:
        refuse = self.refuser(table_of(key), "judges")
        for each in given if isinstance(given, list) else [given]:
            table = {"judge": each} if isinstance(each, str) else each
            if not isinstance(table, Mapping):
                refuse("judges", "judges name no judge", 'write judges = ["NAME"]')
            check_keys(table, keys_of("run_judge"), refuse)
            options = read_options("run_judge", table, refuse)
            yield JudgeRequest(options["judge"], options)

    def _judge(self, key: Key, table: Mapping[str, Any]) -> Part:
        refuse = self.refuser(table_of(key))
        check_keys(table, keys_of("create_judge"), refuse)
        options = read_options("create_judge", table, refuse, key.name)
        if not options["backend"]:
            refuse("backend", "backend is missing", 'add backend = "…"')
        options = self._with_paths(key, options, ("answers",))
        for name in ("file", "prompt"):
            # Both may also name a file that comes with Tandem.
            if options[name] and self.folder and (self.folder / options[name]).is_file():
                options[name] = str(self.folder / options[name])
        return Part(key, "create_judge", options, (), self.lines.of(table_of(key)))

    def _trust(self, key: Key, table: Mapping[str, Any]) -> Part:
        """Return a plan that certifies a judge, or one that compares systems."""
        refuse = self.refuser(table_of(key))
        given = [each for each in PLANS if each in table]
        if len(given) != 1:
            has = "both a judge and systems" if given else "neither a judge nor systems"
            refuse(
                given[-1] if given else "",
                f"trust {key.name} has {has}",
                'give judge = "…" to certify it, or systems = ["…", "…"] to compare them',
            )
        command = PLANS[given[0]]
        drawn = {"campaign": table.get("campaign"), "queries": table.get("queries")}
        check_keys(table, dict.fromkeys((*keys_of(command), *drawn)), refuse)
        own = {name: value for name, value in table.items() if name in keys_of(command)}
        options = read_options(
            PLANS["judge"], {name: each for name, each in drawn.items() if each is not None}, refuse
        ) | read_options(command, own, refuse)
        if options["queries"] < 1:
            refuse("queries", "queries is below 1", "write how many queries to draw in all")
        try:
            declared_plan(command, options)
        except TrustError as error:
            at_fault = FLAG.search(str(error))
            name = at_fault["name"].replace("-", "_") if at_fault else ""
            wrong, _, remedy = named_options(str(error)).rstrip(".").partition(": ")
            refuse(name, wrong, remedy or "correct it")
        campaign = Key("campaign", options["campaign"])
        line = self.lines.of(table_of(key))
        return Part(key, command, options, (campaign,), line, awaits=(campaign,))

    def _with_paths(self, key: Key, options: Options, names: Iterable[str]) -> Options:
        found = dict(options)
        for name in names:
            shown = "files" if name == "paths" else name
            if isinstance(value := options.get(name), list):
                found[name] = [self._path(table_of(key), shown, each) for each in value]
            elif value:
                path = self._path(table_of(key), shown, value)
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
