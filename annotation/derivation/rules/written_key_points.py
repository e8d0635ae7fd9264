"""People's own lists of key points, to compare extracted points with (Long²RAG).

The lists become the key points of a query, and the extracted points become a report with a line for
each. A campaign of key-point-recall over the batch then says which of people's points were
extracted. People or judges may match them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from annotation.derivation.answers import people_responses
from annotation.derivation.base import Job, Rule, Work
from annotation.models import Response
from tandem.files import rows

SYSTEM = "extraction"
Extracted = Literal["key-points", "questions"]
POINTS_KEY = "points"


@dataclass(frozen=True)
class Options:
    of: Extracted = field(
        default="key-points",
        metadata={"help": "what was extracted: the query’s key points, or its sub-questions"},
    )


class WrittenKeyPoints(Work):
    plural = "lists"

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self._answers: dict[int, list[Response]] = {}

    def read(self, queries: Sequence[int]) -> None:
        found: dict[int, list[Response]] = defaultdict(list)
        rater = self.job.rater.pk if self.job.rater else None
        for campaign in self.job.campaigns:
            for query, item, response in people_responses(campaign, queries, rater):
                self.digests.add([campaign.name, item, response.payload["units"]])
                found[query].append(response)
        self._answers = found

    def apply(self, pk: int, query: rows.Query) -> rows.Query:
        made = self._points(pk, query)
        self.tally.keep("queries")
        self.tally.keep("key points", len(made))
        if not made:
            self.tally.drop("reports", query.id, "nobody wrote a key point")
            return replace(query, key_points=())
        extracted = query.questions if self.job.options.of == "questions" else query.key_points
        text = "\n".join(each.text for each in extracted) or "Nothing was extracted."
        report = rows.Report(f"{query.id}/{SYSTEM}", text, SYSTEM)
        self.tally.keep("reports")
        return replace(query, key_points=made, reports=(report,))

    def _points(self, pk: int, query: rows.Query) -> tuple[rows.KeyPoint, ...]:
        """Return the points that people wrote, each text of a passage once, in order of writing."""
        passages = {f"{query.id}/{passage.id}": passage.id for passage in query.passages}
        points: dict[tuple[str, str], list[str]] = {}
        for response in self._answers.get(pk, ()):
            for unit, answer in response.payload["units"].items():
                for point in answer.get(POINTS_KEY) or () if unit in passages else ():
                    quotes = points.setdefault((passages[unit], point["text"]), [])
                    quotes += [each["quote"] for each in point.get("evidence") or ()]
        return tuple(
            rows.KeyPoint(f"{query.id}/written/{number}", text, passage, tuple(quotes) or None)
            for number, ((passage, text), quotes) in enumerate(points.items(), start=1)
        )


RULE = Rule(
    "written-key-points",
    "Written key points",
    "People’s own key points in place of the extracted ones, which become a report to be judged.",
    WrittenKeyPoints,
    ("key-point-writing",),
    Options,
    decides=False,
)
