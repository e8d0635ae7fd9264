"""Archives that are damaged, or made to do harm, are refused before a byte is written."""

from __future__ import annotations

import hashlib
import json
import re
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from datasets.backup import BackupError, back_up, databases, restore
from datasets.backup.archive import DATABASES, MANIFEST, is_member_name
from tests.databases import FILE
from tests.datasets.backup.conftest import Place

pytestmark = pytest.mark.once
DATABASE = DATABASES["sqlite"]
Members = list[tuple[zipfile.ZipInfo, bytes]]


@pytest.fixture
def members(place: Place, tmp_path: Path) -> Members:
    """The members of a good archive."""
    with place("old") as folder:
        (folder / "uploads/KEY").mkdir(parents=True)
        (folder / "uploads/KEY/0.jsonl").write_text("{}\n" * 100)
        path, _ = back_up(tmp_path / "good.zip")
    with zipfile.ZipFile(path) as found:
        return [(info, found.read(info)) for info in found.infolist()]


@pytest.mark.every_case
@pytest.mark.parametrize("kind", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_another_compression_is_refused(
    kind: int, members: Members, place: Place, tmp_path: Path
) -> None:
    path = tmp_path / "other.zip"
    with zipfile.ZipFile(path, "w") as made:
        for info, data in members:
            made.writestr(info.filename, data, kind)
    assert "is packed in another way" in refusal(path, place)


def written(members: Members, to: Path) -> Path:
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as made:
        for info, data in members:
            made.writestr(info, data)
    return to


def replaced(members: Members, name: str, data: bytes) -> Members:
    return [(info, data if info.filename == name else old) for info, old in members]


def manifest_of(members: Members) -> dict[str, Any]:
    return dict(json.loads(next(data for info, data in members if info.filename == MANIFEST)))


def with_manifest(members: Members, change: Callable[[dict[str, Any]], object]) -> Members:
    manifest = manifest_of(members)
    change(manifest)
    return replaced(members, MANIFEST, json.dumps(manifest).encode())


def with_member(members: Members, name: str, mode: int = stat.S_IFREG | 0o600) -> Members:
    """Add a member that the manifest lists with its right size and checksum."""
    data = b"../../etc/passwd"
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    listed = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    known = with_manifest(members, lambda m: m["members"].update({name: listed}))
    return [*known, (info, data)]


def refusal(path: Path, place: Place) -> str:
    """Return why an archive is refused, after which nothing of it may lie in the place."""
    with place("new") as folder:
        before = {each.name for each in folder.iterdir()}
        with pytest.raises(BackupError) as caught:
            restore(path)
        assert databases.is_empty()
        after = {each.name for each in folder.iterdir()}
        assert {name for name in after - before if not name.startswith(FILE)} == set()
    return str(caught.value)


def test_the_unchanged_members_are_restored(members: Members, place: Place, tmp_path: Path) -> None:
    with place("new"):
        restore(written(members, tmp_path / "same.zip"))


@pytest.mark.every_case
@pytest.mark.parametrize(
    "name",
    [
        "../evil", "data/../../evil", "data/uploads/../../evil", "/etc/evil", "data//etc/evil",
        "data/uploads/KEY/..", "data/uploads/a\\..\\b", "data/static/evil.js",
        "data/tandem.sqlite3", "data/uploads/KEY/\nline", "data/uploads/.hidden", "evil",
        "data/uploads/",
    ],
)  # fmt: skip
def test_a_name_that_no_backup_has_is_refused(
    name: str, members: Members, place: Place, tmp_path: Path
) -> None:
    crafted = written(with_member(members, name), tmp_path / "crafted.zip")
    assert re.search("is no file of a backup|is no regular file|not both", refusal(crafted, place))


def test_a_link_is_refused(members: Members, place: Place, tmp_path: Path) -> None:
    linked = with_member(members, "data/uploads/link", stat.S_IFLNK | 0o777)
    assert "'data/uploads/link' is no regular file" in refusal(
        written(linked, tmp_path / "link.zip"), place
    )


def test_an_unlisted_member_is_refused(members: Members, place: Place, tmp_path: Path) -> None:
    extra = [*members, (zipfile.ZipInfo("data/uploads/KEY/9.jsonl"), b"{}")]
    assert "not both in the archive and in its" in refusal(
        written(extra, tmp_path / "extra.zip"), place
    )


def test_a_missing_member_is_refused(members: Members, place: Place, tmp_path: Path) -> None:
    fewer = [each for each in members if each[0].filename != "data/uploads/KEY/0.jsonl"]
    assert "not both in the archive and in its" in refusal(
        written(fewer, tmp_path / "fewer.zip"), place
    )


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_that_occurs_twice_is_refused(
    members: Members, place: Place, tmp_path: Path
) -> None:
    assert "occurs twice" in refusal(written([*members, members[0]], tmp_path / "twice.zip"), place)


def test_changed_bytes_are_refused(members: Members, place: Place, tmp_path: Path) -> None:
    other = replaced(members, "data/uploads/KEY/0.jsonl", b"[]\n" * 100)
    assert "differs from its checksum" in refusal(written(other, tmp_path / "changed.zip"), place)


def test_a_file_that_is_larger_than_listed_is_refused(
    members: Members, place: Place, tmp_path: Path
) -> None:
    other = replaced(members, "data/uploads/KEY/0.jsonl", b"0" * 10_000_000)
    assert "has another size than its manifest" in refusal(
        written(other, tmp_path / "bomb.zip"), place
    )


def test_a_listed_size_beyond_the_disk_is_refused(
    members: Members, place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(members, tmp_path / "large.zip")
    monkeypatch.setattr("datasets.backup.restoring.ROOM", 1 << 60)
    assert "MB free, and the restore needs" in refusal(path, place)


def test_members_that_share_their_bytes_are_refused(
    members: Members, place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("datasets.backup.archive.MOST_RATIO", 1)
    assert "larger than they can be" in refusal(written(members, tmp_path / "overlap.zip"), place)


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("format", 2, "has format 2"),
        ("members", [], "lacks a key"),
        ("members", {DATABASE: {"bytes": -1, "sha256": "0" * 64}}, "lacks a key"),
        ("members", {DATABASE: {"bytes": True, "sha256": "0" * 64}}, "lacks a key"),
        ("tables", {"annotation_user": 7}, "has other rows than its manifest"),
        ("engine", "mysql", "unknown database"),
        ("engine", "postgresql", "does not have one database"),
        ("version", "99.0.0", "newer than this code"),
        ("at", "yesterday", "lacks a key"),
    ],
)
def test_an_unusable_manifest_is_refused(
    key: str, value: object, why: str, members: Members, place: Place, tmp_path: Path
) -> None:
    changed = with_manifest(members, lambda manifest: manifest.update({key: value}))
    assert re.search(why, refusal(written(changed, tmp_path / "manifest.zip"), place))


@pytest.mark.every_case
@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"no archive at all", b"\0" * 1000])
def test_a_file_that_is_no_archive_is_refused(data: bytes, place: Place, tmp_path: Path) -> None:
    path = tmp_path / "odd.zip"
    path.write_bytes(data)
    assert "is no backup of Tandem, or damaged" in refusal(path, place)


def test_a_cut_archive_is_refused(members: Members, place: Place, tmp_path: Path) -> None:
    path = written(members, tmp_path / "cut.zip")
    path.write_bytes(path.read_bytes()[:-200])
    assert "is no backup of Tandem, or damaged" in refusal(path, place)


def test_a_flipped_bit_is_refused(members: Members, place: Place, tmp_path: Path) -> None:
    path = written(members, tmp_path / "flipped.zip")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    assert "damaged" in refusal(path, place)


def test_a_missing_archive_is_named(place: Place, tmp_path: Path) -> None:
    with place("new"), pytest.raises(CommandError, match=r"nothing\.zip cannot be read"):
        call_command("restore", tmp_path / "nothing.zip")


def test_the_names_of_real_uploads_are_names_of_a_backup() -> None:
    assert is_member_name("data/uploads/Ab3-_x9/0.jsonl")
    assert is_member_name("data/imports/" + "a" * 64 + ".csv")
