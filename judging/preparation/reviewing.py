"""Reviews of what authors wrote: as lines of a file that people work through, or all at once."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from django.db import transaction
from django.utils import timezone

from annotation.models import Campaign, Rater
from audit.recording import record
from datasets.rows import InputError, Place
from judging.models import Review
from judging.preparation.checking import Units
from judging.preparation.written import Written

Line = dict[str, Any]
VERDICTS = tuple(Review.Verdict.values)


class ProblemsError(ValueError):
    """A review that cannot be kept: what is wrong, how to mend it, and the answer's problems."""

    def __init__(self, wrong: str, mend: str = "mend it", problems: Sequence[str] = ()) -> None:
        super().__init__(wrong)
        self.mend, self.problems = mend, tuple(problems)


def review_line(each: Written) -> Line:
    """One answer as people review it: what it was given to, what was written, what is wrong."""
    review = each.review
    return {
        "id": str(each.assignment.uid),
        "step": each.step.name,
        "item": each.assignment.item.key,
        "query": each.assignment.item.query.text,
        "author": each.assignment.rater.name,
        "texts": [{"heading": t.heading, "text": t.text} for t in each.spec.texts],
        "units": {name: unit.text for name, unit in each.units.items()},
        "answer": each.standing,
        "problems": each.problems(each.standing),
        "verdict": review.verdict if review else None,
        "note": review.note if review else "",
    }


def accept_all(campaign: Campaign, found: Iterable[Written], by: Rater) -> Counter[str]:
    """Accepts what nobody has reviewed yet, but for what has a problem; the counts by outcome."""
    counts: Counter[str] = Counter()
    with transaction.atomic():
        for each in found:
            if each.review is not None:
                counts["reviewed before"] += 1
            elif each.problems(each.own):
                counts["left, with a problem"] += 1
            else:
                _keep(each, Review.Verdict.ACCEPTED, None, "", by)
                counts["accepted"] += 1
        _tell(campaign, counts, by)
    return counts


def take_in(campaign: Campaign, path: Path, found: Iterable[Written], by: Rater) -> Counter[str]:
    """Takes in a reviewed file, all or nothing; the counts by outcome. Raises InputError.

    A line without a verdict is left alone. An accepted line whose answer is another than the
    author's is a changed one. The same file again changes nothing.
    """
    known = {str(each.assignment.uid): each for each in found}
    counts: Counter[str] = Counter()
    with transaction.atomic():
        for place, line in _lines(path):
            each = known.get(str(line.get("id")))
            if each is None:
                raise InputError(place, "its id is of no answer", "export the reviews anew")
            counts[_take(place, line, each, by)] += 1
        _tell(campaign, counts, by)
    return counts


def judge_one(
    each: Written, verdict: str, answer: Units | None, note: str, by: Rater
) -> Counter[str]:
    """Keeps what a person says of one answer; the count by outcome. Raises ProblemsError.

    An accepted one whose `answer` is another than the author's is a changed one.
    """
    with transaction.atomic():
        counts = Counter({_judged(each, verdict, answer, note, by): 1})
        _tell(each.assignment.item.campaign, counts, by)
    return counts


def _take(place: Place, line: Line, each: Written, by: Rater) -> str:
    verdict, answer, note = line.get("verdict"), line.get("answer"), line.get("note") or ""
    if verdict is None:
        return "left without a verdict"
    try:
        return _judged(each, verdict, answer, note, by)
    except ProblemsError as error:
        raise InputError(place, str(error), error.mend) from error


def _judged(each: Written, verdict: object, answer: Any, note: object, by: Rater) -> str:
    if verdict not in VERDICTS:
        raise ProblemsError(f"verdict {str(verdict)[:40]!r} is none of {', '.join(VERDICTS)}")
    if not isinstance(note, str) or "\0" in note:
        raise ProblemsError("its note is no text")
    if verdict == Review.Verdict.REJECTED:
        return _keep(each, Review.Verdict.REJECTED, None, note, by)
    changed = answer != each.own
    problems = each.problems(answer or {}, "page" if changed else "judge")
    if problems:
        told = f"cannot be accepted: {'; '.join(problems)}"
        raise ProblemsError(told, "mend the answer, or reject it", problems)
    if changed:
        return _keep(each, Review.Verdict.CHANGED, answer, note, by)
    return _keep(each, Review.Verdict.ACCEPTED, None, note, by)


def _keep(
    each: Written, verdict: Review.Verdict, answer: Units | None, note: str, by: Rater
) -> str:
    before = each.review
    if before and (before.verdict, before.answer, before.note) == (verdict, answer, note):
        return "unchanged"
    Review.objects.update_or_create(
        response=each.response,
        defaults={
            "verdict": verdict,
            "answer": answer,
            "note": note,
            "by": by,
            "made_at": timezone.now(),
        },
    )
    return verdict.value


def _tell(campaign: Campaign, counts: Counter[str], by: Rater) -> None:
    made = {verdict: counts[verdict] for verdict in VERDICTS}
    if any(made.values()):
        record("preparation.reviewed", campaign.pk, campaign, by=by.user_id, **made)


def _lines(path: Path) -> Iterator[tuple[Place, Line]]:
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(Place(str(path)), f"cannot be read ({error})", "give another") from error
    for number, row in enumerate(text.split("\n"), start=1):
        if row.strip():
            yield Place(str(path), number), _line(Place(str(path), number), row)


def _line(place: Place, row: str) -> Line:
    try:
        line = json.loads(row)
    except (ValueError, RecursionError) as error:
        raise InputError(place, "is no JSON", "mend it, one object a line") from error
    if not isinstance(line, dict):
        raise InputError(place, "is no JSON object", "mend it")
    return line
