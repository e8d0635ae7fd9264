"""Build a new batch from accepted answers: its lines in the native format, with their origin.

A batch never changes. Each step creates another batch, whose `meta` says under `prepared`, by step,
who wrote each part, with which prompt and in which run, and who accepted it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from django.db.models import Count, Max

from annotation.models import Campaign, Rater, Response, User
from annotation.preparation.base import Result, Step, keep_highest_numbers
from datasets.derivation import STEP, Origin, Tally, UnitDigests, derive_batch
from datasets.material import as_line, batch_rows
from datasets.models import Batch, Lineage
from datasets.readers.native import QUERY, query_of
from datasets.work.guard import for_workers
from judging.models import Review
from judging.preparation.review import authored_answers, count_unanswered
from tandem.files.fields import Fields
from tandem.files.rows import Place, Query
from tandem.options import read_numbers

AuthorKey = tuple[Campaign, Rater]
"""A step's campaign, and the author whose answers count."""


class UnreviewedError(ValueError):
    """Answers or reviews are missing. The message says which, and what to do."""


class NothingLeftError(ValueError):
    """The step would leave no query."""


@dataclass
class BuildCounts:
    """The number of queries in the new batch, and the queries that were left out."""

    queries: int = 0
    left_out: list[str] = field(default_factory=list)


def read_thresholds(step: Step, numbers: Mapping[str, float]) -> dict[str, float]:
    """Return a step's thresholds. Raises ValueError for one that it does not have."""
    if unknown := sorted(numbers.keys() - step.numbers.keys()):
        known = ", ".join(step.numbers) or "none"
        raise ValueError(f"{step.name} has no threshold {unknown[0]!r}; it has {known}; correct it")
    return {**step.numbers, **numbers}


def given_thresholds(step: Step, pairs: Iterable[str]) -> dict[str, float]:
    """Return a step's thresholds from `K=V`. Raises ValueError."""
    return read_thresholds(step, read_numbers(pairs, _wrong_threshold))


def _wrong_threshold(pair: str) -> ValueError:
    return ValueError(f"threshold {pair!r} is not K=V with V a number; correct it")


def accepted_results(
    step: Step, campaign: Campaign, author: Rater, partial: bool = False
) -> dict[str, list[Result]]:
    """Return the accepted answers of an author by the id of their query.

    Raises UnreviewedError if anything is open, unless the batch may be `partial`.
    """
    found: dict[str, list[Result]] = defaultdict(list)
    open_: Counter[str] = Counter(count_unanswered(campaign, author))
    for each in authored_answers(step, campaign, author):
        if each.review is None:
            open_["not reviewed"] += 1
        elif each.review.verdict != Review.Verdict.REJECTED:
            found[each.assignment.item.query.key].append(each.result())
    if open_ and not partial:
        reasons = ", ".join(f"{count} {what}" for what, count in sorted(open_.items()))
        raise UnreviewedError(
            f"{campaign} has answers that are missing: {reasons}; answer and review them, or build "
            "a partial batch"
        )
    return found


def is_taken(name: str) -> bool:
    """Whether any team has a batch of this name. Reveals nothing else about it."""
    return Batch.objects.filter(name=name).exists()


@for_workers
def build(
    step: Step,
    batch: Batch,
    results: Mapping[str, list[Result]],
    numbers: Mapping[str, float],
    name: str,
    output: Path | None = None,
    written: AuthorKey | None = None,
    by: User | None = None,
) -> tuple[BuildCounts, bool]:
    """Create the new batch with its lineage. Return the counts, and whether it already existed.

    It belongs to the team of the batch that it was built from.
    `written` is the campaign and the author of a step that has one. The batch's file is stored as
    `output` if that is given. Raises NothingLeftError, and DerivationError for another batch of
    this name.
    """
    built, tally = BuildCounts(), Tally()
    version = step.task.version if step.task else "1"
    origin = Origin(
        STEP,
        step.name,
        version,
        batch,
        dict(numbers),
        [{"name": written[0].name, "protocol": written[0].protocol}] if written else [],
        decided_by=written[1].name if written else "",
        by=by.pk if by else None,
    )
    digests = answer_digests(*written) if written else UnitDigests()

    def finish() -> None:
        if not built.queries:
            raise NothingLeftError(
                f"step {step.name} leaves no query of {batch}; no batch was created"
            )

    made = new_queries(step, batch, results, numbers, built, tally)
    derived = derive_batch(name, origin, made, tally, digests, output, finish=finish)
    return built, derived.unchanged


def answer_digests(campaign: Campaign, author: Rater) -> UnitDigests:
    """Digest every answer of an author with its review."""
    rows = Response.objects.filter(
        current=True,
        assignment__item__campaign=campaign,
        assignment__rater=author,
        assignment__replicate=0,
    ).order_by("assignment__item__position", "assignment__scope", "pk")
    found = UnitDigests()
    columns = ("assignment__item__key", "assignment__scope", "payload", "review__verdict")
    for *answer, changed in rows.values_list(*columns, "review__answer").iterator(chunk_size=500):
        found.add([*answer, changed])
    return found


def read_again(lineage: Lineage) -> tuple[str, Callable[[], UnitDigests]]:
    """Return the state of the answers behind a built batch, and a function to read them again."""
    name = lineage.campaigns[0]["name"] if lineage.campaigns else ""
    campaign = Campaign.objects.filter(name=name).first()
    author = Rater.objects.filter(name=lineage.decided_by).first()
    if campaign is None or author is None:
        return "gone", UnitDigests
    answers = Response.objects.filter(current=True, assignment__item__campaign=campaign)
    state = answers.aggregate(
        n=Count("pk"), newest=Max("pk"), reviews=Count("review"), reviewed=Max("review__made_at")
    )
    return sha256(repr(sorted(state.items())).encode()).hexdigest(), lambda: answer_digests(
        campaign, author
    )


def new_queries(
    step: Step,
    batch: Batch,
    results: Mapping[str, list[Result]],
    numbers: Mapping[str, float],
    built: BuildCounts,
    tally: Tally,
) -> Iterator[Query]:
    """Yield the queries of the new batch, and count them."""
    for query in batch_rows(batch):
        prepared = step.apply(query, results.get(query.id, ()), numbers)
        made = [prepared] if isinstance(prepared, Query) else prepared
        if not made:
            built.left_out.append(query.id)
            tally.drop("queries", query.id, "nothing left of it")
        for each in made or ():
            built.queries += 1
            tally.keep("queries")
            # Authors wrote these texts, so they are checked like texts in a file.
            line = as_line(keep_highest_numbers(query, each) if each.id == query.id else each)
            yield query_of(Fields(line, Place(f"query {each.id!r}"), known=QUERY))
