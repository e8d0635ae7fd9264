"""The data kit as any user would import it: campaigns of CRUX's two tasks, and labels files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

from tests.analysis.conftest import PEOPLE, run
from tests.cast import write_lines

JSON = dict[str, Any]
TASK_TWO = PEOPLE[:2]
NOT_RATED = -1
HIGH = 3


class Kit:
    """The commands' reports and exports of the kit, each created once.

    The campaigns `crux-t1` and `crux-t2` must exist. Values do not depend on the number of
    resamples, so that reports take two.
    """

    def __init__(self, data: Path, folder: Path) -> None:
        self.data, self.folder = data, folder
        self.report = cache(self._report)
        self.export = cache(self._export)

    def _report(self, source: str, *options: str) -> JSON:
        """The report of a campaign, or of a labels file by its name here."""
        made = self._file(source)
        where = ("--labels", str(made)) if made else ("--campaign", source)
        found: JSON = json.loads(run("report", *where, "--resamples", "2", *options))
        return found

    def _file(self, source: str) -> Path | None:
        """The labels file of that name, or None if the name is a campaign's."""
        files: dict[str, Callable[[], Path]] = {
            "cebab": self.cebab,
            "prompts": self.prompts,
            "all ratings": self.all_ratings,
            "both": self.both_rated,
            "both, asked": self.both_rated_and_asked,
            "judge": self.second_as_judge,
            "judge, asked": self.second_as_judge_and_asked,
            **{f"own labels of {p}": partial(self.own_labels, p) for p in TASK_TWO},
        }
        return files[source]() if source in files else None

    def _export(self, campaign: str, what: str) -> list[JSON]:
        text = run("export", "--campaign", campaign, "--what", what, "--format", "jsonl")
        return [json.loads(line) for line in text.split("\n") if line]

    def lines(self, path: str) -> list[JSON]:
        """The records of a file of the kit."""
        text = (self.data / path).read_text("utf-8")
        return [json.loads(line) for line in text.split("\n") if line]

    def cebab(self) -> Path:
        """Four aspects of a review are four items of one query."""
        lines = (
            {**line, "query": line["item"].split("__")[0]}
            for line in self._alternative("cebab_aspects")
        )
        return write_lines(self.folder / "cebab.jsonl", lines)

    def prompts(self) -> Path:
        return write_lines(self.folder / "prompts.jsonl", self._alternative("10k_prompts"))

    def _alternative(self, name: str) -> Iterator[JSON]:
        for kind, file in (("human", "human_annotations"), ("judge", "llm_annotations")):
            text = (self.data / "alttest" / name / f"{file}.json").read_text("utf-8")
            for rater, labels in json.loads(text).items():
                for item, value in labels.items():
                    yield line_of(item, item, value, rater, kind)

    def all_ratings(self) -> Path:
        """Every rating of task two, including those of null questions."""
        return write_lines(self.folder / "all_ratings.jsonl", self.ratings())

    def both_rated(self) -> Path:
        """The ratings of units that both annotators rated."""
        return write_lines(self.folder / "both.jsonl", self._shared(self.ratings()))

    def both_rated_and_asked(self) -> Path:
        asked = (line for line in self.ratings() if line["meta"]["asked"])
        return write_lines(self.folder / "asked.jsonl", self._shared(asked))

    def second_as_judge(self) -> Path:
        """The ratings of the same units, with annotator2 as a judge compared with annotator1."""
        return write_lines(self.folder / "judge.jsonl", as_judge(self._shared(self.ratings())))

    def second_as_judge_and_asked(self) -> Path:
        asked = (line for line in self.ratings() if line["meta"]["asked"])
        return write_lines(self.folder / "judge_asked.jsonl", as_judge(self._shared(asked)))

    def own_labels(self, person: str) -> Path:
        """A person's answers on the oracle reports, and their ratings, cut at 3, as a judge."""
        answers = {
            row["id"]: row["answerability"]
            for row in self.lines(f"crux/annotations/{person}/qlabels.jsonl")
        }
        lines = []
        for line in self.ratings():
            if line["rater"] == person and line["meta"]["asked"]:
                answer = answers[line["query"]][int(line["unit"])]
                lines += [
                    {**line, "value": str(answer)},
                    {
                        **line,
                        "value": str(int(int(line["value"]) >= HIGH)),
                        "rater": "cut",
                        "rater_kind": "judge",
                    },
                ]
        return write_lines(self.folder / f"own_{person}.jsonl", lines)

    def rationales(self, person: str) -> list[tuple[str, str]]:
        """The rationale of each of a person's ratings, and the rated passage."""
        return [
            (str(row["rationales"].get(question) or ""), row["document"])
            for row in self.lines(f"crux/annotations/{person}/qrels.jsonl")
            for question, rating in row["relevances"].items()
            if rating != NOT_RATED
        ]

    def _shared(self, lines: Iterable[JSON]) -> list[JSON]:
        read = list(lines)
        units = [{(x["item"], x["unit"]) for x in read if x["rater"] == p} for p in TASK_TWO]
        return [line for line in read if (line["item"], line["unit"]) in units[0] & units[1]]

    def ratings(self) -> Iterator[JSON]:
        """The lines of task two; `asked` is False for null questions."""
        asked = {row["qid"]: row["questions"] for row in self.lines("crux/crux_testb/oracle.jsonl")}
        for person in TASK_TWO:
            for row in self.lines(f"crux/annotations/{person}/qrels.jsonl"):
                for question, rating in row["relevances"].items():
                    if rating != NOT_RATED:
                        made = line_of(row["document"], question, rating, person, "human")
                        there = asked[row["id"]][int(question)] is not None
                        yield {**made, "query": row["id"], "meta": {"asked": there}}


def line_of(item: str, unit: str, value: object, rater: str, kind: str) -> JSON:
    return {
        "item": item,
        "unit": unit,
        "variable": "rating",
        "value": str(value),
        "rater": rater,
        "rater_kind": kind,
    }


def as_judge(lines: Iterable[JSON]) -> Iterator[JSON]:
    for line in lines:
        yield {**line, "rater_kind": "judge"} if line["rater"] == TASK_TWO[1] else line
