"""Protocols that teams declare in files: store a version, and find a task by its name."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from functools import lru_cache

from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from annotation.models import ProtocolFile, User
from annotation.protocols.base import Protocol
from annotation.protocols.declared import FileProtocol, protocol_of
from annotation.registry import DECLARED, stored_protocol
from audit.recording import record
from datasets.access import visible_teams
from datasets.models import Team
from tandem.protocols import protocol_file
from tandem.similar import did_you_mean

MOST_FILES = 500
VERSION = "@"
"""Separates the name of a protocol from a version of it, as in `citation-support@2`."""


class ProtocolError(ValueError):
    """A protocol cannot be stored or found: what is wrong, and the mend."""


def store(file: protocol_file.ProtocolFile, team: Team, by: User | None = None) -> ProtocolFile:
    """Store a version of a protocol for a team, or return the one that is there and equal.

    A version that nothing uses is replaced. Raises ProtocolError for the name of a protocol of
    the site, and for a used version whose file has changed.
    """
    with transaction.atomic():
        existing = _version(file, team).select_for_update().first()
        if (stored := stored_version(file, team)) is not None:
            return stored
        if existing is not None:
            existing.delete()
        elif ProtocolFile.objects.filter(team=team).count() >= MOST_FILES:
            raise ProtocolError(f"the team has {MOST_FILES} protocols; delete one that is unused")
        stored = _create(file, team, by)
        facts = {"name": stored.name, "version": stored.version, "digest": stored.digest}
        record("protocol.made", of=stored, after=facts)
    return stored


def stored_version(file: protocol_file.ProtocolFile, team: Team) -> ProtocolFile | None:
    """Return the stored version of a protocol that is equal to a file, or None.

    Raises ProtocolError if the file cannot be stored, as for `store`.
    """
    declared = file.declaration
    if declared.name in DECLARED:
        raise ProtocolError(f"{declared.name} is a protocol of the site; give yours another name")
    existing = _version(file, team).first()
    if existing is None or existing.digest == file.digest:
        return existing
    if used_by := describe_use(existing):
        raise ProtocolError(
            f"version {declared.version} of {declared.name} is used by {used_by}, and the file "
            "has changed since; give it a new version"
        )
    return None


def _version(file: protocol_file.ProtocolFile, team: Team) -> QuerySet[ProtocolFile]:
    declared = file.declaration
    return ProtocolFile.objects.filter(team=team, name=declared.name, version=declared.version)


def _create(file: protocol_file.ProtocolFile, team: Team, by: User | None) -> ProtocolFile:
    declared = file.declaration
    try:
        with transaction.atomic():
            return ProtocolFile.objects.create(
                team=team,
                made_by=by,
                name=declared.name,
                version=declared.version,
                title=declared.title,
                text=file.text,
                parts=dict(file.parts),
                digest=file.digest,
            )
    except IntegrityError as error:
        raise ProtocolError(
            f"version {declared.version} of {declared.name} was stored meanwhile; look at it first"
        ) from error


def find_task(name: str, team: Team) -> Protocol:
    """Return a task by its name: one of the site, or the team's, of the newest version.

    `NAME@VERSION` is a version of the team's. Raises ProtocolError.
    """
    if name in DECLARED:
        return DECLARED[name]
    bare, _, version = name.partition(VERSION)
    files = ProtocolFile.objects.filter(team=team, name=bare)
    if version:
        files = files.filter(version=version)
    found = files.order_by("created_at", "pk").last()
    if found is None:
        known = [*DECLARED, *ProtocolFile.objects.filter(team=team).values_list("name", flat=True)]
        advice = did_you_mean(name, known, "see the list of protocols")
        raise ProtocolError(f"no protocol is called {name!r}; {advice}")
    return stored_protocol(found.uid)


def task_called(name: str, team: Team | None) -> Protocol | None:
    """Return a task as `find_task` does, or None. Without a team, only the site's are known."""
    if name in DECLARED or team is None:
        return DECLARED.get(name)
    try:
        return find_task(name, team)
    except ProtocolError:
        return None


def task_name(task: Protocol) -> str:
    """Return the name by which `find_task` finds a task: of a team's, with its version."""
    return task.name if task.stored is None else f"{task.name}{VERSION}{task.version}"


def visible_files(user: User) -> QuerySet[ProtocolFile]:
    """Return the protocols that an account may read: those of its teams, or all for an admin."""
    files = ProtocolFile.objects.select_related("team", "made_by")
    return files.filter(team__in=visible_teams(user))


def newest_first(files: QuerySet[ProtocolFile]) -> QuerySet[ProtocolFile]:
    """Order protocols by name, and the versions of each from the newest."""
    return files.order_by("name", "team__name", "-created_at", "pk")


def delete(file: ProtocolFile) -> None:
    """Delete a version that nothing uses. Raises ProtocolError."""
    if used_by := describe_use(file):
        version = f"version {file.version} of {file.name}"
        raise ProtocolError(f"{version} is used by {used_by}, and stays as long as that does")
    record("protocol.deleted", of=file)
    file.delete()


def describe_use(file: ProtocolFile) -> str:
    """Name something that depends on a version, such as a campaign; empty if nothing does."""
    for relation in file._meta.related_objects:
        model = relation.related_model
        user = model._default_manager.filter(**{relation.field.name: file}).first()
        if user is not None:
            return f"{model._meta.verbose_name} {str(user)!r}"
    return ""


def protocols_of(team: Team) -> list[FileProtocol]:
    """Return the protocols of a team, each in its newest version, by name."""
    newest = {row.name: row.uid for row in _in_order(ProtocolFile.objects.filter(team=team))}
    return [stored_protocol(newest[name]) for name in sorted(newest)]


@lru_cache(maxsize=64)
def read_stored(stored: uuid.UUID) -> FileProtocol:
    """Return the protocol of a stored file, which never changes."""
    row = ProtocolFile.objects.get(uid=stored)
    file = protocol_file.read_protocol(row.text, f"{row.name}.toml", row.parts.__getitem__)
    return protocol_of(file, stored)


def _in_order(files: Iterable[ProtocolFile]) -> list[ProtocolFile]:
    return sorted(files, key=lambda row: (row.created_at, row.pk))
