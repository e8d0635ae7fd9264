"""The section on written answers: how alike they are, and how many were kept."""

from __future__ import annotations

from typing import Any

from analysis.formats.document import Block, Number, Section, Table, count

JSON = dict[str, Any]

_SIMILARITY = {
    "rouge_l_differing": "ROUGE-L F1, differing answers only",
    "rouge_l_all": "ROUGE-L F1, identical answers as 1",
}


def written_section(report: JSON) -> Section:
    """Everything that is said of what people wrote."""
    block = report["written"]
    about = [count(block["answers"], "usable answer")]
    if block["unusable"]:
        about.append(f"{block['unusable']} without words left out")
    blocks = []
    if rounds := block.get("rounds"):
        blocks.append(_rounds(rounds))
    if between := block.get("between_raters"):
        table = _written_table("Answers to the same question", between, _SIMILARITY)
        blocks.append(Block("Between people", (table,), count(between["questions"], "question")))
    return Section("Written answers", tuple(blocks), "; ".join(about))


def _rounds(block: JSON) -> Block:
    facts = (
        f"{count(block['questions'], 'question')} with an answer of each round: "
        f"{block['kept']} kept, {block['modified']} modified; {block['skipped']} skipped; "
        "the second person saw the first answer"
    )
    table = _written_table(
        "Second answer against first", block, {"keep_rate": "Keep rate", **_SIMILARITY}
    )
    return Block("Two rounds", (table,), facts)


def _written_table(caption: str, block: JSON, names: dict[str, str]) -> Table:
    rows = tuple((label, Number.of(block[key]), block[key]["n"]) for key, label in names.items())
    return Table(caption, ("Measure", "Value", "Questions"), rows)
