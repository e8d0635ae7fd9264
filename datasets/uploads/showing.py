"""An upload in words and numbers, for the page and the API."""

from __future__ import annotations

from typing import Any

from datasets.models import Batch, Upload
from datasets.uploads import quarantine
from datasets.uploads.deciding import is_silent, is_waiting
from datasets.uploads.launching import has_workers
from datasets.uploads.working import AT_WORK, WARNINGS_KEPT

State = Upload.State
WORDS = {
    State.READING: ("Being read", "plain"),
    State.READY: ("Waits for you", "warn"),
    State.REFUSED: ("Refused", "no"),
    State.KEEPING: ("Being loaded", "plain"),
    State.KEPT: ("Kept", "yes"),
    State.DISCARDED: ("Discarded", "other"),
}


def shown(upload: Upload) -> dict[str, Any]:
    """What a page says of an upload."""
    word, kind = WORDS[State(upload.state)]
    found = upload.found
    return {
        "upload": upload,
        "word": word,
        "kind": kind,
        "at_work": upload.state in AT_WORK,
        "progress": quarantine.progress(upload.key) if upload.state in AT_WORK else None,
        "waiting": is_waiting(upload),
        "silent": is_silent(upload),
        "has_workers": has_workers(),
        "bytes": sum(each["bytes"] for each in upload.files),
        "counts": [
            (f"{n:,}", what.replace("_", " ")) for what, n in found.get("counts", {}).items() if n
        ],
        "more_warnings": max(0, found.get("warning_count", 0) - WARNINGS_KEPT),
        "first": [_item(line) for line in found.get("first", ())],
        "twins": twins(upload),
    }


def twins(upload: Upload) -> list[Batch]:
    """Loaded batches with the same content."""
    if upload.state != State.READY:
        return []
    return list(Batch.objects.filter(digest=upload.digest).order_by("name"))


def _item(line: dict[str, Any]) -> dict[str, Any]:
    """A first query with its parts by kind, each kind with how many more there are."""
    more = line.get("more", {})
    parts = [
        {"name": name.replace("_", " "), "shown": value, "more": more.get(name, 0)}
        for name, value in line.items()
        if isinstance(value, list) and value
    ]
    return {"id": line["id"], "text": line["text"], "parts": parts}
