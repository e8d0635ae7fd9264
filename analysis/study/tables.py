"""Read the tables of a study file: each as a part, by the options of the commands behind it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

from analysis.study.keys import Options, Refuse, check_keys, has_command, keys_of, read_options
from analysis.study.names import campaigns_named, campaigns_of, relevant_by
from analysis.study.parts import JudgeRequest, Key, LabelsFile, Part, table_of
from analysis.study.protocols import ENDING, ProtocolBeside, read_beside
from annotation.campaigns.design import DesignError, design_of
from annotation.campaigns.settings import OPTIONS
from annotation.derivation.base import make_options
from annotation.derivation.base import read_options as read_options_of_rule
from annotation.derivation.service import rule_called
from annotation.management.base import read_settings
from datasets.derivation import DerivationError
from tandem.files.jsonl import excerpt
from tandem.files.rows import InputError, Place
from tandem.files.toml import Lines

KINDS = ("batch", "campaign", "judge")
LONGEST_NAME = 200
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
        line = self.lines.of(table_of(key))
        return Part(key, command, options, (*needs, *sources), line, tuple(sources))

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
        labels = tuple(self._labels(key, table.get("labels", [])))
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

    def _labels(self, key: Key, given: Any) -> Iterator[LabelsFile]:
        refuse = self.refuser(table_of(key), "labels")
        for each in given if isinstance(given, list) else [given]:
            table = {"file": each} if isinstance(each, str) else each
            if not isinstance(table, Mapping) or not isinstance(table.get("file"), str):
                refuse("labels", "labels name no file", 'write labels = ["FILE"]')
            check_keys(table, keys_of("import_labels"), refuse)
            options = read_options("import_labels", {**table, "file": [table["file"]]}, refuse)
            path = self._path(table_of(key), "labels", options["paths"][0])
            yield LabelsFile(path, options)

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
