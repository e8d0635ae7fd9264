"""A report with the words of annotators' buttons, for readers. JSON keeps codes.

A campaign's report has these words in `words` of each variable. Without them, codes are kept.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from ..types import JSON

Words = Mapping[str, str]
"""The word of each code of a variable."""


def words_of(block: JSON) -> Words:
    """Return the words of a variable's codes. Words shared by several codes include the code."""
    words: Words = block.get("words", {})
    shared = Counter(words.values())
    return {c: f"{word} ({c})" if shared[word] > 1 else word for c, word in words.items()}


def codes_of(block: JSON) -> dict[str, str]:
    """Return the code of each word of a variable, to find units by code."""
    return {word: code for code, word in words_of(block).items()}


def words_of_sets(sets: Iterable[str], words: Words) -> dict[str, str]:
    """Return the words of sets of codes, which are JSON lists, from those of their codes."""
    found = {}
    for value in sets:
        codes: list[str] = json.loads(value)
        found[value] = " + ".join(words.get(code, code) for code in codes) or "none"
    return found


def replace_codes(report: JSON) -> JSON:
    """Return a report with words instead of codes in variables, warnings and reasons to label."""
    variables = {name: worded_variable(of) for name, of in report["variables"].items()}
    warnings = [_warning(each, report["variables"]) for each in report.get("warnings", ())]
    return {**report, "variables": variables, "warnings": warnings}


def worded_variable(block: JSON) -> JSON:
    """Return a variable's part of a report with words in place of codes."""
    words = words_of(block)
    if not words:
        return block
    made = _compared(block, words)
    made["categories"] = _listed(block.get("categories", []), words)
    made["escapes"] = _keyed(block.get("escapes", {}), words)
    if "distribution" in block:
        counts = block["distribution"]["counts"]
        by_rater = {rater: _keyed(of, words) for rater, of in counts.items()}
        made["distribution"] = {**block["distribution"], "counts": by_rater}
    if first := block.get("between_judges", {}).get("label_first"):
        listed = [{**each, "why": _why(each["why"], words)} for each in first]
        made["between_judges"] = {**block["between_judges"], "label_first": listed}
    made["strata"] = {
        name: {group: _compared(of, words) for group, of in groups.items()}
        for name, groups in block.get("strata", {}).items()
    }
    return made


def worded_slices(slices: JSON, strata: JSON) -> JSON:
    """Return slices of a measure by labels with words in place of codes."""
    return {name: _keyed(groups, words_of(strata.get(name, {}))) for name, groups in slices.items()}


def _compared(block: JSON, words: Words) -> JSON:
    """Return a part that compares judges with people."""
    return {**block, "judges": {name: _judge(of, words) for name, of in block["judges"].items()}}


def _judge(block: JSON, words: Words) -> JSON:
    made = dict(block)
    if labels := block.get("confusion", {}).get("labels"):
        # Links to the units of a cell use codes.
        shown = {"labels": _listed(labels, words), "codes": labels}
        made["confusion"] = {**block["confusion"], **shown}
    for name in ("classes", "escapes"):
        if name in block:
            made[name] = _keyed(block[name], words)
    if "curves" in block:
        made["curves"] = [_finding(each, words) for each in block["curves"]]
    if "graded" in block:
        graded = dict(block["graded"])
        graded["grades"] = [
            {**row, "label": words.get(row["label"], row["label"])} for row in graded["grades"]
        ]
        if "curves" in graded:
            graded["curves"] = [_finding(each, words) for each in graded["curves"]]
        made["graded"] = graded
    return made


def _finding(curve: JSON, words: Words) -> JSON:
    if "category" not in curve:
        return curve
    return {**curve, "category": words.get(curve["category"], curve["category"])}


def _listed(codes: list[str], words: Words) -> list[str]:
    return [words.get(code, code) for code in codes]


def _keyed(found: Mapping[str, Any], words: Words) -> JSON:
    return {words.get(code, code): value for code, value in found.items()}


def _why(text: str, words: Words) -> str:
    """Return the reason to label a unit, with words instead of codes."""
    code = r"(?<= say )(?:\[.*?\]|\S+?)(?=,|$)"
    return re.sub(code, lambda found: words.get(found[0], found[0]), text)


def _warning(warning: JSON, variables: JSON) -> JSON:
    """Return a warning with words in place of the codes between backticks."""
    words = words_of(variables.get(warning["variable"], {}))
    text = re.sub(r"`([^`]+)`", lambda code: _quoted(code, words), warning["text"])
    return {**warning, "text": text}


def _quoted(code: re.Match[str], words: Words) -> str:
    return f"“{words[code[1]]}”" if code[1] in words else code[0]
