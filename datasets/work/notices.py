"""Notices about long work: which of it is under way, and how the rest has ended.

A browser remembers work whose status it has shown on any page, and polls until the work has ended.
A page that updates in place without a status, such as a campaign's first page, needs no notice.

Work is named by the key of its job, or by its kind and key, as in `upload:3f…`. Other kinds are
registered with `register_notices`, in the module `kinds` of their app.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.module_loading import autodiscover_modules

from datasets.models import Job, JobAsker, Upload
from datasets.work import queue, results
from datasets.work.kinds import kind_named, subject_names
from datasets.work.pages import address_with_job

MOST = 20
State = Job.State


@dataclass(frozen=True)
class Work:
    """Work of one name; `text` is empty while it is under way, and then says how it ended."""

    name: str
    text: str = ""
    address: str = ""


Source = Callable[[Any, Sequence[str]], Iterator[Work]]
"""Yields the work with these keys that an account may see."""
_sources: dict[str, Source] = {}


def register_notices(kind: str, source: Source) -> None:
    _sources[kind] = source


def notices(user: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return the names of `active` work, and the messages about work that has `ended`."""
    asked: dict[str, list[str]] = {}
    for name in list(names)[:MOST]:
        kind, _, key = name.rpartition(":")
        asked.setdefault(kind, []).append(key)
    if not asked.keys() <= _sources.keys():
        autodiscover_modules("kinds")
    known = [(_sources[kind], keys) for kind, keys in asked.items() if kind in _sources]
    work = [each for source, keys in known for each in source(user, keys)]
    ended = [{"key": w.name, "text": w.text, "address": w.address} for w in work if w.text]
    return {"active": [each.name for each in work if not each.text], "ended": ended}


def _jobs(user: Any, keys: Sequence[str]) -> Iterator[Work]:
    """Yield a person's jobs, without the parts that pages request by themselves."""
    for asker in JobAsker.objects.filter(user=user.pk, job__key__in=keys).select_related("job"):
        job, kind = asker.job, kind_named(asker.job.kind)
        if not kind.listed:
            continue
        if queue.is_under_way(job):
            yield Work(job.key)
        elif job.state != State.CANCELLED and kind.may_see(user, job.options):
            is_done = results.is_ready(job)
            address = asker.address if asker.address.startswith("/") else ""
            about = "".join(f", {name}" for name in subject_names(job.options))
            text = f"{kind.title}{about}: {'ready' if is_done else 'not computed'}."
            yield Work(
                job.key, text, address_with_job(address, job) if address and is_done else address
            )


UPLOADS = {
    Upload.State.READING: "",
    Upload.State.KEEPING: "",
    Upload.State.READY: "Upload “{}” has been read.",
    Upload.State.REFUSED: "Upload “{}” was refused.",
    Upload.State.KEPT: "Batch “{}” is loaded.",
}
"""The message about an upload in each state; a discarded one has none."""


def _uploads(user: Any, keys: Sequence[str]) -> Iterator[Work]:
    for upload in Upload.objects.filter(user=user.pk, key__in=keys, state__in=UPLOADS):
        text = UPLOADS[Upload.State(upload.state)].format(upload.name)
        yield Work(f"upload:{upload.key}", text, reverse("upload", args=[upload.key]))


register_notices("", _jobs)
register_notices("upload", _uploads)
