"""Stored drafts: begin with the current text, change, discard, and try with a judge."""

from __future__ import annotations

from django.db import transaction

from analysis.models import Draft, digest
from annotation.campaigns.settings import LONGEST_GUIDELINE
from annotation.models import Campaign, User
from annotation.presentation import whole_guideline
from audit.recording import record
from judging.models import Judge
from judging.runs.lifecycle import prompt_for
from judging.trials.drafts import DraftError, DraftText, check_text, ensure_draft_trial

MAX_NOTE = 1000


def present_text(campaign: Campaign, judge: Judge | None) -> str:
    """Return the text that a draft changes: the judge's prompt or file, or the guideline."""
    return whole_guideline(campaign) if judge is None else prompt_for(judge, campaign)


def is_behind(draft: Draft) -> bool:
    """Return whether the text that a draft began from has changed since."""
    return digest(_plain(present_text(draft.campaign, draft.judge))) != draft.base_sha256


def is_adopted(draft: Draft) -> bool:
    """Return whether the draft's text is the campaign's guideline, or the prompt of some judge."""
    if draft.judge is None:
        return _plain(present_text(draft.campaign, None)) == draft.text
    field = "file" if draft.judge.file else "prompt"
    return Judge.objects.filter(base=None, **{field: draft.text}).exists()


def begin(campaign: Campaign, judge: Judge | None, text: str, note: str, by: User | None) -> Draft:
    """Store a new draft of a judge's prompt or, without a judge, of the guideline.

    Raises DraftError.
    """
    base, text = _plain(present_text(campaign, judge)), _plain(text)
    kind = Draft.Kind.GUIDELINE if judge is None else Draft.Kind.PROMPT
    _check(judge, kind, text, note)
    with transaction.atomic():
        draft = Draft.objects.create(
            campaign=campaign, kind=kind, judge=judge, base=base, base_sha256=digest(base),
            text=text, note=note.strip(), by=by,
        )  # fmt: skip
        record("draft.made", campaign.pk, draft, after=digest(text), kind=str(kind))
    return draft


def change(draft: Draft, text: str, note: str, from_present: bool = False) -> None:
    """Store a draft's new text and note. `from_present` takes the current text as its new base.

    Raises DraftError.
    """
    text = _plain(text)
    _check(draft.judge, draft.kind, text, note)
    with transaction.atomic():
        locked = Draft.objects.select_for_update().get(pk=draft.pk)
        before = digest(locked.text)
        locked.text, locked.note = text, note.strip()
        if from_present:
            locked.base = _plain(present_text(draft.campaign, draft.judge))
            locked.base_sha256 = digest(locked.base)
        locked.save()
        record("draft.changed", draft.campaign_id, draft, before=before, after=digest(text))
    draft.refresh_from_db()


def set_state(draft: Draft, state: str) -> None:
    """Discard a draft, or open it again. Raises DraftError for another state."""
    if state not in Draft.State.values:
        states = " or ".join(Draft.State.values)
        raise DraftError(f"there is no state {state!r}; give {states}")
    with transaction.atomic():
        if Draft.objects.filter(pk=draft.pk).exclude(state=state).update(state=state):
            record("draft.changed", draft.campaign_id, draft, state=state)
    draft.refresh_from_db()


def trial_of(draft: Draft, judge: Judge) -> Judge:
    """Return the trial of a draft's current text with a judge, created if needed.

    No request is sent yet. Raises DraftError.
    """
    if draft.text == draft.base:
        raise DraftError("the draft has the same text as before; change it first")
    words = DraftText(draft.pk, draft.kind, draft.text)
    with transaction.atomic():
        trial = ensure_draft_trial(draft.campaign, draft.judge or judge, words)
        record("draft.tried", draft.campaign_id, draft, after=digest(draft.text), trial=trial.pk)
    return trial


def _check(judge: Judge | None, kind: str, text: str, note: str) -> None:
    if not text:
        raise DraftError("the draft has no text; write one")
    if len(text) > LONGEST_GUIDELINE:
        raise DraftError(f"a draft has at most {LONGEST_GUIDELINE:,} characters; shorten it")
    if "\0" in text + note:
        raise DraftError("the draft contains a NUL character; remove it")
    if len(note) > MAX_NOTE:
        raise DraftError(f"a note has at most {MAX_NOTE:,} characters; shorten it")
    if judge is not None:
        check_text(judge, kind, text)


def _plain(text: str) -> str:
    """Return a text with plain line ends and without blanks around it."""
    return text.replace("\r\n", "\n").strip()
