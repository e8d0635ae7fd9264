"""Section: written answers, and a second round of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ..document import Block, Number, Section, Table, count
from ..statistics import SHARE, Floats, mean_by_cluster
from ..statistics.rouge import rouge_l
from ..types import JSON
from .base import OF_SCORES, SectionPart
from .citations import CITED


@dataclass(frozen=True)
class Rounds:
    """First and second answers: `pairs` has both texts by question; `skipped` counts the others."""

    pairs: Mapping[str, tuple[str, str]]
    skipped: int


@dataclass(frozen=True)
class WrittenAnswers:
    """The usable answers of people: `texts` by question, and the number of unusable answers."""

    texts: Mapping[str, Sequence[str]]
    unusable: int
    rounds: Rounds | None = None


def written(answers: WrittenAnswers) -> JSON:
    """Return the report's block on written answers.

    Agreement is computed twice: over all pairs, where two identical answers count as 1, and under
    `differing` without identical answers. CLAPnq does the latter (Rosenthal and others 2025), since
    its release lists identical answers once. A second person who saw the first answer does not
    agree independently, so neither figure is corrected for chance.
    """
    several = {query: texts for query, texts in answers.texts.items() if len(texts) > 1}
    block: JSON = {
        "answers": sum(map(len, answers.texts.values())),
        "unusable": answers.unusable,
    }
    if answers.rounds is not None:
        block["rounds"] = _rounds(answers.rounds)
    if several:
        block["between_raters"] = _between(several)
    return block


def _rounds(rounds: Rounds) -> JSON:
    kept = {query: float(one == other) for query, (one, other) in rounds.pairs.items()}
    return {
        "questions": len(kept),
        "kept": int(sum(kept.values())),
        "modified": int(len(kept) - sum(kept.values())),
        "skipped": rounds.skipped,
        "keep_rate": _mean(kept, "share of second answers that are the first one"),
        **_similarity({query: [pair] for query, pair in rounds.pairs.items()}, "a question's pair"),
    }


def _between(texts: Mapping[str, Sequence[str]]) -> JSON:
    pairs = {query: list(combinations(of, 2)) for query, of in texts.items()}
    return {"questions": len(texts), **_similarity(pairs, "a question's mean over pairs")}


def _similarity(pairs: Mapping[str, Iterable[tuple[str, str]]], of: str) -> JSON:
    """Return the mean ROUGE-L F1 over questions, of differing pairs and of all pairs."""
    every: dict[str, float] = {}
    differing: dict[str, float] = {}
    for query, texts in pairs.items():
        scores = [(one == other, rouge_l(one, other).f1) for one, other in texts]
        every[query] = float(np.mean([1.0 if same else f1 for same, f1 in scores]))
        if apart := [f1 for same, f1 in scores if not same]:
            differing[query] = float(np.mean(apart))
    return {
        "rouge_l_differing": _mean(differing, f"mean ROUGE-L F1, {of}, differing answers"),
        "rouge_l_all": _mean(every, f"mean ROUGE-L F1, {of}, identical answers as 1"),
    }


def _mean(values: Mapping[str, float], method: str) -> JSON:
    found: Floats = np.array(list(values.values()), dtype=float)
    return mean_by_cluster(found, np.arange(len(found)), method, SHARE).as_json()


_SIMILARITY = {
    "rouge_l_differing": "ROUGE-L F1, differing answers only",
    "rouge_l_all": "ROUGE-L F1, identical answers as 1",
}


def written_section(report: JSON) -> list[Section]:
    """Return the section on written answers, if there are any."""
    if (block := report.get("written")) is None:
        return []
    about = [count(block["answers"], "usable answer")]
    if block["unusable"]:
        about.append(f"{block['unusable']} without words left out")
    blocks = []
    if rounds := block.get("rounds"):
        blocks.append(_rounds_block(rounds))
    if between := block.get("between_raters"):
        table = _written_table("Answers to the same question", between, _SIMILARITY)
        blocks.append(Block("Between people", (table,), count(between["questions"], "question")))
    return [Section("Written answers", tuple(blocks), "; ".join(about))]


def _rounds_block(block: JSON) -> Block:
    facts = (
        f"{count(block['questions'], 'question')} answered in both rounds: "
        f"{block['kept']} kept, {block['modified']} modified; {block['skipped']} skipped; "
        "the second person saw the first answer"
    )
    table = _written_table(
        "Second answer against first", block, {"keep_rate": "Keep rate", **_SIMILARITY}
    )
    return Block("Two rounds", (table,), facts)


def _written_table(caption: str, block: JSON, names: dict[str, str]) -> Table:
    rows = tuple(
        (label, Number.from_estimate(block[key]), block[key]["n"]) for key, label in names.items()
    )
    return Table(caption, ("Measure", "Value", "Questions"), rows)


def written_methods(report: JSON) -> list[str]:
    if "written" not in report:
        return []
    return [f"Written answers were compared by ROUGE-L F1 {CITED['lin2004']}."]


PART = SectionPart(section=written_section)
METHODS = SectionPart(head=OF_SCORES, methods=written_methods)
