"""The protocols of a release: the site's by their names, and teams' from the files it carries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from analysis.release import layout
from annotation.protocols import PROTOCOLS
from annotation.protocols.base import Protocol
from annotation.protocols.declared import protocol_of
from tandem.files.rows import InputError, Place
from tandem.labels.facts import scale_of
from tandem.protocols.base import Variable
from tandem.protocols.file_structure import ProtocolFileError
from tandem.protocols.protocol_file import read_path
from tandem.types import JSON

Label = tuple[str, str, str, str]
"""Unit, kind, variable and rater of a label."""


def released_task(folder: Path, facts: Mapping[str, Any]) -> Protocol | None:
    """Return the task of a released campaign, or None for one that is not known here.

    A team's is read from the release. Raises InputError if it is not the one that was used.
    """
    name, version = facts["protocol"], facts["protocol_version"]
    if (named := facts.get("protocol_file")) is None:
        points = facts.get("options", {}).get("points") or ""
        return PROTOCOLS[name].as_of(version).read_as(points) if name in PROTOCOLS else None
    place = Place(str(named))
    path = folder / str(named)
    if not path.resolve().is_relative_to(folder.resolve()):
        raise InputError(place, "is not in the release", "name a file of it")
    try:
        file = read_path(path)
    except OSError as error:
        raise InputError(place, "is missing", "restore the file") from error
    except ProtocolFileError as error:
        first = error.problems[0]
        raise InputError(Place(str(named), first.place.line), first.wrong, first.remedy) from error
    declared = file.declaration
    if (declared.name, declared.version) != (name, version):
        wrong = f"declares {declared.name} {declared.version}, and not {name} {version}"
        raise InputError(place, wrong, "restore the file")
    if file.digest != facts.get("protocol_sha256"):
        wrong = "is not the file that the labels were given by, or a text beside it is not"
        raise InputError(place, wrong, "restore both")
    return protocol_of(file)


def contradictions(
    task: Protocol, facts: Mapping[str, Any], report: JSON, labels: Mapping[Label, str]
) -> Iterator[str]:
    """Yield where a release says otherwise than the team's protocol that it carries.

    The codes and levels of each variable are compared, and every label has to be one of the codes.
    """
    declared = {(v.name, v.kind): v for v in task.variables}
    for of in facts["variables"]:
        variable = declared.get((of["name"], of["unit"]))
        if variable is None:
            yield f"{of['name']} of a {of['unit']} is not in {facts['protocol_file']}"
            continue
        for what, now in _stated(variable).items():
            if of[what] != now:
                yield (
                    f"{variable.name}: {what} is {of[what]!r} in {layout.FACTS}, and {now!r} in "
                    f"{facts['protocol_file']}"
                )
    levels = {v.name: scale_of(v).level for v in task.variables}
    for name, of in report["variables"].items():
        if name in levels and of["measurement"] != levels[name]:
            yield (
                f"{name}: measurement is {of['measurement']!r} in {layout.REPORT}, and "
                f"{levels[name]!r} in {facts['protocol_file']}"
            )
    for (unit, kind, name, rater), value in labels.items():
        variable = declared.get((name, kind))
        if variable is not None and not variable.takes(value):
            yield (
                f"{name} of unit {unit!r} by {rater} is {value!r}, which {facts['protocol_file']} "
                "does not allow"
            )


def _stated(variable: Variable) -> JSON:
    return {
        "codes": list(variable.answers),
        "escapes": list(variable.escapes),
        "level": variable.level,
        "several": variable.several,
    }
