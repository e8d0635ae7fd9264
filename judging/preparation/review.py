"""Authored answers of a step, their problems, and their reviews: one by one, or in a file."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from annotation.models import Assignment, Campaign, Rater, Response
from annotation.preparation.base import Result, Step
from annotation.presentation import asked_units, present, schema, texts_by_field
from annotation.protocols.schema import CampaignSchema
from audit.recording import record
from judging.models import JudgeCall, Review
from judging.prompts.isolation import parser_of
from judging.prompts.repair import Units, find_problems
from tandem.files.jsonl import excerpt
from tandem.files.rows import InputError, Place
from tandem.labels.file.reader import MAX_RATER
from tandem.protocols.base import ItemSpec, UnitSpec
from tandem.protocols.validation import Channel, RefusedError
from tandem.verbs import verb_of


class AuthorError(ValueError):
    """The author is ambiguous or unknown. The message says what to do."""


@dataclass(frozen=True)
class AuthoredAnswer:
    """An author's current answer, with its review if there is one."""

    step: Step
    response: Response

    @property
    def assignment(self) -> Assignment:
        return self.response.assignment

    @property
    def review(self) -> Review | None:
        return getattr(self.response, "review", None)

    @cached_property
    def spec(self) -> ItemSpec:
        return present(self.assignment.item)

    @cached_property
    def units(self) -> dict[str, UnitSpec]:
        return asked_units(self.assignment, self.spec)

    @property
    def original(self) -> Units:
        """The author's answer by unit name."""
        units: Units = self.response.payload["units"]
        return units

    @property
    def final(self) -> Units:
        """The answer that counts: the reviewer's version if the review changed the answer."""
        review = self.review
        return review.answer if review is not None and review.answer else self.original

    @cached_property
    def schema(self) -> CampaignSchema:
        """The form of the answer: of what the campaign asks, what the author's parser reads."""
        asked = schema(self.assignment.item.campaign)
        judge = getattr(self.assignment.rater, "judge", None)
        reads = parser_of(judge).reads if judge is not None else ()
        return asked.only(reads) if reads else asked

    def problems(self, units: Units, channel: Channel = "judge") -> list[str]:
        """Return the problems of an answer that keep it out of a batch."""
        try:
            return find_problems(self.schema, self.spec, self.units, units, channel)
        except RefusedError as error:
            return [str(problem) for problem in error.problems]

    def result(self, units: Units | None = None) -> Result:
        """Return the answer for the step. Scores are kept only for unchanged units."""
        answers = self.final if units is None else units
        passage = self.assignment.item.passage
        return Result(
            item=self.assignment.item.key,
            answers={(self.units[n].kind, self.units[n].key): answers[n] for n in answers},
            scores=dict(self._scores(answers)),
            provenance=self.provenance,
            passage=passage.key if passage else None,
            texts=texts_by_field(self.spec),
        )

    def _scores(self, answers: Units) -> Iterator[tuple[tuple[str, str], float]]:
        for label in self.response.labels.all():
            name = label.unit.name
            if label.score is not None and answers.get(name) == self.original[name]:
                yield (label.unit.key, label.variable), label.score

    @property
    def provenance(self) -> dict[str, Any]:
        """The author, the run and the reviewer of the answer."""
        facts: dict[str, Any] = {"author": self.assignment.rater.name, **self._run_facts}
        if (review := self.review) is not None:
            facts |= {"verdict": review.verdict, "by": review.by.name}
        return facts

    @property
    def _run_facts(self) -> dict[str, Any]:
        calls: list[JudgeCall] = [
            call for call in self.assignment.judge_calls.all() if call.state == "answered"
        ]
        if not calls:
            return {}
        run = calls[-1].run
        return {
            "model": run.judge.model or run.judge.backend,
            "prompt": run.judge.prompt_name or self.step.protocol,
            "prompt_sha256": run.prompt_sha256,
            "run": run.pk,
        }


def find_author(campaign: Campaign, name: str = "") -> Rater:
    """Return the named author, or the only one. Raises AuthorError."""
    raters = Rater.objects.filter(assignments__item__campaign=campaign).distinct()
    found = list(raters.filter(name=name) if name else raters)
    if len(found) == 1:
        return found[0]
    if name:
        raise AuthorError(f"{name} has written nothing for {campaign}; name another")
    if not found:
        raise AuthorError(f"no answers for {campaign} yet; run {verb_of('prepare_batch')} first")
    names = ", ".join(rater.name for rater in found)
    raise AuthorError(f"{campaign} has several authors: {names}; name one with --judge")


def authored_answers(step: Step, campaign: Campaign, author: Rater) -> Iterator[AuthoredAnswer]:
    """Yield the current answers of an author, in the order of the items."""
    responses = with_related(
        Response.objects.filter(
            current=True,
            assignment__item__campaign=campaign,
            assignment__rater=author,
            assignment__replicate=0,
        )
    ).order_by("assignment__item__position", "assignment__scope", "id")
    for response in responses.iterator(chunk_size=200):
        yield AuthoredAnswer(step, response)


def with_related(responses: QuerySet[Response]) -> QuerySet[Response]:
    """Load the related rows of responses with them."""
    return responses.select_related(
        "assignment__item__campaign__batch",
        "assignment__item__query",
        "assignment__item__passage",
        "assignment__rater__judge",
        "review__by",
    ).prefetch_related("labels__unit", "assignment__judge_calls__run__judge__rater")


def count_unanswered(campaign: Campaign, author: Rater) -> dict[str, int]:
    """Count the assignments and items without an answer, by reason."""
    found: dict[str, int] = {}
    rows = Assignment.objects.filter(item__campaign=campaign, rater=author, replicate=0)
    for status, reason in rows.exclude(status="done").values_list("status", "reason"):
        found[reason or status] = found.get(reason or status, 0) + 1
    asked = campaign.items.filter(assignments__rater=author).distinct().count()
    if not_begun := campaign.items.count() - asked:
        found["not begun"] = not_begun
    return found


Line = dict[str, Any]
VERDICTS = tuple(Review.Verdict.values)


class InvalidReviewError(ValueError):
    """A review is invalid: what is wrong, how to correct it, and the answer's problems."""

    def __init__(
        self, wrong: str, remedy: str = "correct it", problems: Sequence[str] = ()
    ) -> None:
        super().__init__(wrong)
        self.remedy, self.problems = remedy, tuple(problems)


def review_line(each: AuthoredAnswer) -> Line:
    """Return an answer as a line for review: its texts, the answer, and its problems."""
    review = each.review
    return {
        "id": str(each.assignment.uid),
        "step": each.step.name,
        "item": each.assignment.item.key,
        "query": each.assignment.item.query.text,
        "author": each.assignment.rater.name,
        "texts": [{"heading": t.heading, "text": t.text} for t in each.spec.texts],
        "units": {name: unit.text for name, unit in each.units.items()},
        "answer": each.final,
        "problems": each.problems(each.final),
        "verdict": review.verdict if review else None,
        "note": review.note if review else "",
    }


def accept_all(campaign: Campaign, found: Iterable[AuthoredAnswer], by: Rater) -> Counter[str]:
    """Accept all answers without a review or a problem. Return the counts by outcome."""
    counts: Counter[str] = Counter()
    with transaction.atomic():
        for each in found:
            if each.review is not None:
                counts["reviewed before"] += 1
            elif each.problems(each.original):
                counts["left, with a problem"] += 1
            else:
                _store(each, Review.Verdict.ACCEPTED, None, "", by)
                counts["accepted"] += 1
        _record_reviews(campaign, counts, by)
    return counts


def import_reviews(
    campaign: Campaign,
    path: Path,
    found: Iterable[AuthoredAnswer],
    by: Rater | None,
    keep: bool = False,
) -> Counter[str]:
    """Load a reviewed file, all or nothing. Return the counts by outcome. Raises InputError.

    A line names its answer by `id`, or by the `item` that it is about. A line without a verdict is
    skipped. An accepted line whose answer differs from the author's counts as changed. `by` is the
    reviewer of lines that name none. Loading the same file again changes nothing. With `keep`,
    answers that have a review are left as they are.
    """
    known = _AnswersByName(found)
    counts: Counter[str] = Counter()
    with transaction.atomic():
        for place, line in _lines(path):
            each = known.named_in(line, place)
            if keep and each.review is not None:
                counts["reviewed before"] += 1
            elif line.get("verdict") is None:
                counts["left without a verdict"] += 1
            else:
                counts[_import_line(place, line, each, _reviewer(place, line, by))] += 1
        _record_reviews(campaign, counts, by)
    return counts


def decides_more(path: Path, found: Iterable[AuthoredAnswer]) -> bool:
    """Whether a reviewed file has a verdict on an answer without a review. Raises InputError."""
    known = _AnswersByName(found)
    return any(
        line.get("verdict") is not None and known.named_in(line, place).review is None
        for place, line in _lines(path)
    )


class _AnswersByName:
    """The answers of an author by what a line of a reviewed file names: an id, or an item."""

    def __init__(self, found: Iterable[AuthoredAnswer]) -> None:
        self.by_id: dict[str, AuthoredAnswer] = {}
        self.by_item: dict[str, list[AuthoredAnswer]] = {}
        for each in found:
            self.by_id[str(each.assignment.uid)] = each
            self.by_item.setdefault(each.assignment.item.key, []).append(each)

    def named_in(self, line: Line, place: Place) -> AuthoredAnswer:
        if "id" in line:
            each = self.by_id.get(str(line["id"]))
            if each is None:
                raise InputError(place, "has the id of no answer", "export the reviews again")
            return each
        item = str(line.get("item"))
        if not (of_item := self.by_item.get(item, [])):
            wrong = f"is about item {excerpt(item)}, of which there is no answer"
            raise InputError(place, wrong, "correct item, or name the answer by id")
        if len(of_item) > 1:
            wrong = f"is about item {excerpt(item)}, of which there are {len(of_item)} answers"
            raise InputError(place, wrong, "name the answer by id, as in the exported file")
        return of_item[0]


def _reviewer(place: Place, line: Line, by: Rater | None) -> Rater:
    """Return who reviewed a line. A person without an account is named as in a labels file."""
    name = line.get("by")
    if name is None:
        if by is None:
            raise InputError(place, "does not say who reviewed", "add by, or give --by NAME")
        return by
    if not isinstance(name, str) or not name.strip() or len(name) > MAX_RATER or "\0" in name:
        raise InputError(place, "by is not a name", "write the reviewer's name")
    rater, _ = Rater.objects.get_or_create(name=name, defaults={"kind": Rater.Kind.HUMAN})
    if rater.kind != Rater.Kind.HUMAN:
        raise InputError(place, f"{name!r} is a {rater.kind}", "name the person who reviewed")
    return rater


def store_review(
    each: AuthoredAnswer, verdict: str, answer: Units | None, note: str, by: Rater
) -> Counter[str]:
    """Store a review of one answer. Return the count by outcome. Raises InvalidReviewError.

    An accepted answer that differs from the author's counts as changed.
    """
    with transaction.atomic():
        counts = Counter({_store_verdict(each, verdict, answer, note, by): 1})
        _record_reviews(each.assignment.item.campaign, counts, by)
    return counts


def _import_line(place: Place, line: Line, each: AuthoredAnswer, by: Rater) -> str:
    answer, note = line.get("answer", each.original), line.get("note") or ""
    try:
        return _store_verdict(each, line["verdict"], answer, note, by)
    except InvalidReviewError as error:
        raise InputError(place, str(error), error.remedy) from error


def _store_verdict(
    each: AuthoredAnswer, verdict: object, answer: Any, note: object, by: Rater
) -> str:
    if verdict not in VERDICTS:
        raise InvalidReviewError(f"verdict {str(verdict)[:40]!r} is none of {', '.join(VERDICTS)}")
    if not isinstance(note, str) or "\0" in note:
        raise InvalidReviewError("the note is not a text")
    if verdict == Review.Verdict.REJECTED:
        return _store(each, Review.Verdict.REJECTED, None, note, by)
    changed = answer != each.original
    problems = each.problems(answer or {}, "page" if changed else "judge")
    if problems:
        message = f"cannot be accepted: {'; '.join(problems)}"
        raise InvalidReviewError(message, "correct the answer, or reject it", problems)
    if changed:
        return _store(each, Review.Verdict.CHANGED, answer, note, by)
    return _store(each, Review.Verdict.ACCEPTED, None, note, by)


def _store(
    each: AuthoredAnswer, verdict: Review.Verdict, answer: Units | None, note: str, by: Rater
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


def _record_reviews(campaign: Campaign, counts: Counter[str], by: Rater | None) -> None:
    numbers = {verdict: counts[verdict] for verdict in VERDICTS}
    if any(numbers.values()):
        account = by.user_id if by is not None else None
        record("preparation.reviewed", campaign.pk, campaign, by=account, **numbers)


def _lines(path: Path) -> Iterator[tuple[Place, Line]]:
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            Place(str(path)), f"cannot be read ({error})", "name another file"
        ) from error
    for number, row in enumerate(text.split("\n"), start=1):
        if row.strip():
            yield Place(str(path), number), _line(Place(str(path), number), row)


def _line(place: Place, row: str) -> Line:
    try:
        line = json.loads(row)
    except (ValueError, RecursionError) as error:
        raise InputError(place, "is not JSON", "correct it; each line is one object") from error
    if not isinstance(line, dict):
        raise InputError(place, "is not a JSON object", "correct it")
    return line


LONGEST_NOTE = 2000


def review_version(each: AuthoredAnswer) -> str:
    """Return a version that changes with each review of an answer, to detect concurrent reviews."""
    return each.review.made_at.isoformat() if each.review else ""
