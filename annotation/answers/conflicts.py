"""Conflicts: somebody saved in between, perhaps the same person in another tab.

Whoever saves says what they had before: the revision of the answer, and the version of the draft
over it. What counts as a conflict is decided here, for drafts, answers and decisions. A page that
gets a conflict takes over what it sent itself (`static/js/saving.js`), and else shows both versions
(`static/js/conflict_dialog.js`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from annotation.models import Draft, Response
from tandem.protocols.base import Payload


class ConflictError(Exception):
    """Another save came in between. `revision` and `version` are what is stored now, 0 for none."""

    def __init__(self, revision: int, version: int = 0) -> None:
        self.revision, self.version = revision, version
        draft = f"draft {version} of " if version else ""
        super().__init__(f"{draft}revision {revision} was saved in between")


@dataclass(frozen=True)
class SavedState:
    """The stored state of an assignment: the newest payload, its draft version, and its revision.

    `version` is 0 without a draft, and `revision` is 0 without a response.
    """

    payload: Payload | None
    version: int
    revision: int
    saved_at: datetime | None


def saved_state(draft: Draft | None, response: Response | None) -> SavedState:
    """Return the state that follows from a draft and a current response."""
    newest = draft or response
    return SavedState(
        payload=newest.payload if newest else None,
        version=draft.version if draft else 0,
        revision=response.revision if response else 0,
        saved_at=draft.saved_at if draft else response.created_at if response else None,
    )


def check_page_save(saved: SavedState, version: int, seen: int, payload: Payload) -> SavedState:
    """Check a draft, or an answer from a page that saves drafts, and return the stored state.

    Raises ConflictError if the stored state is newer and differs.
    """
    if (saved.version, saved.revision) != (version, seen) and saved.payload != payload:
        raise ConflictError(saved.revision, saved.version)
    return saved


def check_revision(current: Response | None, seen: int | None) -> None:
    """Check an answer that differs from the current one. `seen` is None if the writer never reads.

    Raises ConflictError.
    """
    if current and seen not in (None, current.revision):
        raise ConflictError(current.revision)


def check_decision(current: Response | None, seen: int | None) -> None:
    """Check a decision. An unseen one is a conflict even with the same labels.

    Raises ConflictError.
    """
    if current and current.revision != (seen or 0):
        raise ConflictError(current.revision)


def check_correction(draft: Draft | None, current: Response | None) -> None:
    """Check a correction from another page, which would delete the draft. Raises ConflictError."""
    if draft:
        raise ConflictError(current.revision if current else 0, draft.version)
