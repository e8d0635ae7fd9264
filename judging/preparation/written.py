"""What authors wrote for a step: the standing answers, what is wrong with them, and the reviews."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import QuerySet

from annotation.models import Assignment, Campaign, Rater, Response
from annotation.preparation.base import Result, Step
from annotation.presenting import asked_units, present, schema, shown_texts
from annotation.protocols.base import ItemSpec, UnitSpec
from annotation.protocols.checking import Door, RefusedError
from judging.models import JudgeCall, Review
from judging.preparation.checking import Units, doubts_about


class AuthorError(ValueError):
    """It cannot be told whose answers are meant: what is wrong, and what to do."""


@dataclass(frozen=True)
class Written:
    """A standing answer with its review, if there is one yet."""

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
    def own(self) -> Units:
        """What the author wrote, by unit name."""
        units: Units = self.response.payload["units"]
        return units

    @property
    def standing(self) -> Units:
        """What holds: the reviewer's words where these changed it."""
        review = self.review
        return review.answer if review is not None and review.answer else self.own

    def problems(self, units: Units, door: Door = "judge") -> list[str]:
        """Why an answer cannot become part of a batch, in words; none where it can."""
        asked = schema(self.assignment.item.campaign)
        try:
            return doubts_about(asked, self.spec, self.units, units, door)
        except RefusedError as error:
            return [str(problem) for problem in error.problems]

    def result(self, units: Units | None = None) -> Result:
        """The answer for the step. Probabilities stand only beside the words that they are of."""
        given = self.standing if units is None else units
        passage = self.assignment.item.passage
        return Result(
            item=self.assignment.item.key,
            answers={(self.units[n].kind, self.units[n].key): given[n] for n in given},
            scores=dict(self._scores(given)),
            provenance=self.provenance,
            passage=passage.key if passage else None,
            texts=shown_texts(self.spec),
        )

    def _scores(self, given: Units) -> Iterator[tuple[tuple[str, str], float]]:
        for label in self.response.labels.all():
            name = label.unit.name
            if label.score is not None and given.get(name) == self.own[name]:
                yield (label.unit.key, label.variable), label.score

    @property
    def provenance(self) -> dict[str, Any]:
        """Who wrote it, how, and who let it through."""
        told: dict[str, Any] = {"author": self.assignment.rater.name, **self._of_run}
        if (review := self.review) is not None:
            told |= {"verdict": review.verdict, "by": review.by.name}
        return told

    @property
    def _of_run(self) -> dict[str, Any]:
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


def author_of(campaign: Campaign, name: str = "") -> Rater:
    """Whose answers are meant: the one that is named, or the only one there is."""
    raters = Rater.objects.filter(assignments__item__campaign=campaign).distinct()
    found = list(raters.filter(name=name) if name else raters)
    if len(found) == 1:
        return found[0]
    if name:
        raise AuthorError(f"{name} has written nothing for {campaign}; name another")
    if not found:
        raise AuthorError(f"nobody has written anything for {campaign}; run prepare_batch first")
    names = ", ".join(rater.name for rater in found)
    raise AuthorError(f"several wrote for {campaign}: {names}; name one with --judge")


def written(step: Step, campaign: Campaign, author: Rater) -> Iterator[Written]:
    """The standing answers of an author, in the order of the items."""
    responses = with_all(
        Response.objects.filter(
            current=True,
            assignment__item__campaign=campaign,
            assignment__rater=author,
            assignment__replicate=0,
        )
    ).order_by("assignment__item__position", "assignment__scope", "id")
    for response in responses.iterator(chunk_size=200):
        yield Written(step, response)


def with_all(responses: QuerySet[Response]) -> QuerySet[Response]:
    """Responses with all that is told of them."""
    return responses.select_related(
        "assignment__item__campaign__batch",
        "assignment__item__query",
        "assignment__item__passage",
        "assignment__rater",
        "review__by",
    ).prefetch_related("labels__unit", "assignment__judge_calls__run__judge__rater")


def unanswered(campaign: Campaign, author: Rater) -> dict[str, int]:
    """How many parts of the work have no answer, by the reason."""
    found: dict[str, int] = {}
    rows = Assignment.objects.filter(item__campaign=campaign, rater=author, replicate=0)
    for status, reason in rows.exclude(status="done").values_list("status", "reason"):
        found[reason or status] = found.get(reason or status, 0) + 1
    asked = campaign.items.filter(assignments__rater=author).distinct().count()
    if not_begun := campaign.items.count() - asked:
        found["not begun"] = not_begun
    return found
