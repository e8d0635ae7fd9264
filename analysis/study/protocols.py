"""The protocols of a study's campaigns that teams declare: in a file beside it, or stored."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from analysis.study.keys import Options, Refuse
from annotation.models import Campaign
from annotation.protocol_files import VERSION, ProtocolError, find_task, store, stored_version
from annotation.protocols.base import Protocol
from annotation.protocols.declared import protocol_of
from annotation.registry import DECLARED
from datasets.console import team_option
from datasets.models import Team
from tandem.document import count
from tandem.files.rows import InputError, Place
from tandem.files.toml import Lines, TomlError, read_toml
from tandem.protocols.file_structure import LONGEST, ProtocolFileError
from tandem.protocols.protocol_file import ProtocolFile, read_path

ENDING = ".toml"
"""The end of a protocol's name that is the path of its file, relative to the study."""


@dataclass(frozen=True)
class ProtocolBeside:
    """A checked protocol file that a campaign of a study names."""

    path: Path
    file: ProtocolFile

    @property
    def name(self) -> str:
        """The protocol with its version, as campaigns name it."""
        return f"{self.file.declaration.name}{VERSION}{self.file.declaration.version}"

    @property
    def place(self) -> Place:
        """The line of its version."""
        return Place(str(self.path), Lines(self.file.text).of("", "version"))

    @property
    def summary(self) -> str:
        """What storing it would add, in words that can follow "to"."""
        declared = self.file.declaration
        counted = [count(len(declared.variables), "variable")]
        if declared.measures:
            counted.append(count(len(declared.measures), "measure"))
        return f"store the protocol {self.name} of {self.path.name} ({', '.join(counted)})"

    def is_named_by(self, judge: Options) -> bool:
        """Whether a judge's file or prompt, in the options of its command, is about it."""
        about = judge["prompt"]
        if judge["file"] and Path(judge["file"]).is_file():
            about = _protocol_in(Path(judge["file"]).read_bytes())
        return about in (self.name, self.file.declaration.name)

    def is_stored(self, team: Team) -> bool:
        """Whether the team has it as it is. Raises InputError if it cannot be stored."""
        try:
            return stored_version(self.file, team) is not None
        except ProtocolError as error:
            raise self._refused(error) from error

    def store(self, team: Team) -> list[str]:
        """Store it, and return what was done. Raises InputError."""
        try:
            store(self.file, team)
        except ProtocolError as error:
            raise self._refused(error) from error
        return [f"Stored the protocol {self.name}."]

    def _refused(self, error: ProtocolError) -> InputError:
        wrong, _, remedy = str(error).partition("; ")
        return InputError(self.place, wrong, remedy)


def read_beside(path: Path, refuse: Refuse) -> ProtocolBeside:
    """Read a protocol's file beside a study. Calls `refuse` for one that cannot be used."""
    try:
        return ProtocolBeside(path, read_path(path))
    except ProtocolFileError as error:
        refuse("protocol", "its protocol has errors", f"correct them:\n{error}")
    except OSError as error:
        refuse("protocol", f"{path.name} cannot be read ({error.strerror})", "correct the path")


def task_of(name: str, beside: ProtocolBeside | None, options: Options) -> Protocol | None:
    """Return the task of a campaign by its name in a study; None for a file that was not read.

    `options` are those of the campaign's command, which may name its team. Raises ProtocolError and
    CommandError.
    """
    if beside is not None:
        return protocol_of(beside.file)
    if name in DECLARED:
        return DECLARED[name]
    return None if name.endswith(ENDING) else find_task(name, team_option(options))


def _protocol_in(judge_file: bytes) -> str:
    """Return the protocol that a judge file names, in whose place its reader reports errors."""
    try:
        judge = read_toml(judge_file[:LONGEST].decode(errors="replace")).get("judge")
    except TomlError:
        return ""
    return str(judge.get("protocol")) if isinstance(judge, dict) else ""


def named_in(campaign: Campaign, name: str) -> str:
    """Return a campaign's protocol in the form of the name that a study gives it.

    A file that was not read is taken to be the one that the campaign was created with.
    """
    if name.endswith(ENDING):
        return name
    version = f"{VERSION}{campaign.protocol_version}" if VERSION in name else ""
    return f"{campaign.protocol}{version}"
