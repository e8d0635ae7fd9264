"""The sentence of the verdict on whether a judge could replace a person.

It has three answers, and its words never say more than the test: rejecting that a judge is at least
epsilon behind a person shows that it is at most epsilon behind, and not that it is ahead.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..document import PLAIN, count
from ..messages import percent
from ..statistics.alternative_floors import MOST_TIMES
from ..types import JSON
from .alt_test import FLOORS, OUTCOMES
from .base import coefficient_of
from .sentence import TEST, Part, Path, Sentence, Tone, more_queries, number, question_of

#: Above this chance that a judge ten points worse is shown, too, the answer names its condition.
MOST_WORSE = 0.5
#: The smallest chance that some hundred simulated studies can show, and its counterpart.
LEAST_CHANCE = 0.005


def replacement(block: JSON, judge: str, path: Path) -> Sentence:
    """State what the alternative annotator test shows of a judge of a variable's block."""
    of, question = block["judges"][judge], question_of("replacement", judge)
    test, key = of["alt_test"], (*path, "alt_test")
    answer = test["answer"]
    if answer["outcome"] is None:
        return Sentence(question, "Not known", "open", (Part(answer["reason"], key),))
    words, tone = _words(of, block)
    return Sentence(question, words, tone, tuple(_parts(of, path, coefficient_of(block).key)), TEST)


def _words(of: JSON, block: JSON) -> tuple[str, Tone]:
    test = of["alt_test"]
    answer, power = test["answer"], test.get("power", {})
    if answer["outcome"] == "shown-worse":
        return "Shown worse", "poor"
    if answer["outcome"] == "not-shown":
        by_query = test["decides"] == "by_query"
        noun = ("query", "queries") if by_query else block.get("noun", PLAIN)
        most = max(each["n"] for each in answer["annotators"])
        return f"Not shown with {count(most, *noun)}", "open"
    gap = of["gap"][coefficient_of(block).key]
    is_below = gap["high"] is not None and gap["high"] < 0
    if is_below or (power.get("worse") or 0.0) > MOST_WORSE:
        points = f"{100 * answer['epsilon']:g}"
        return f"Only if up to {points} points behind is good enough", "fair"
    return "Shown", "good"


def _parts(of: JSON, path: Path, name: str) -> Iterator[Part]:
    test, key = of["alt_test"], (*path, "alt_test", "answer")
    answer = test["answer"]
    people = count(len(answer["annotators"]), "person", "people")
    epsilon = test["epsilon"] if answer["epsilon"] is None else answer["epsilon"]
    if answer["outcome"] == "shown-worse":
        yield Part(f"more than {epsilon:g} behind {answer['beyond']} of {people}", key)
    elif answer["epsilon"] is None:
        yield Part(f"at every ε a floor passes, {FLOORS[answer['set_by']]}", key)
    elif answer["outcome"] == "shown":
        yield Part(f"at most {epsilon:g} behind {answer['within']} of {people}", key)
    else:
        least = f"that it is at most {epsilon:g} behind is shown for {answer['within']} of {people}"
        yield Part(least, key)
    if answer["set_by"] and answer["epsilon"] is not None:
        yield Part(f", ε set by the floor: {FLOORS[answer['set_by']]}", (*key, "floors"))
        way = f"; {number(answer['way'])} of the way from the floor to people"
        if answer["way"]["high"] is not None and answer["way"]["high"] < 0:
            way = f"{way}, so farther from people than the floor"
        yield Part(
            f"; share of the way from the floor to people not known: {answer['way']['reason']}"
            if answer["way"]["value"] is None
            else way,
            (*key, "way"),
        )
    if of["gap"][name]["value"] is not None:
        yield Part(f"; gap {number(of['gap'][name])}", (*path, "gap", name))
    if answer["outcome"] == "not-shown":
        yield from _chance(test, path)
    elif answer["outcome"] == "shown":
        yield from _beside(answer, key)
    balanced = test["balanced"]
    if balanced["outcome"] not in (None, answer["outcome"]):
        words = OUTCOMES[balanced["outcome"]]
        at = "" if balanced["epsilon"] is None else f" at ε {balanced['epsilon']:g}"
        yield Part(
            f"; with equal weight for each category: {words}{at}", (*path, "alt_test", "balanced")
        )
    # At the end, since pages show it as a button.
    yield from _needed(answer, (*key, "undecided"))


def _chance(test: JSON, path: Path) -> Iterator[Part]:
    """State how often a judge as good as people would have been shown in a study of this size."""
    power = test.get("power", {})
    if power.get("as_good") is not None:
        # All of some hundred simulated studies are not all studies.
        chance = percent(min(max(power["as_good"], LEAST_CHANCE), 1 - LEAST_CHANCE))
        text = f"; a judge as good as people would have been shown in {chance} of such studies"
        yield Part(text, (*path, "alt_test", "power"))
    elif power.get("reason"):
        text = f"; chance for a judge as good as people not known: {power['reason']}"
        yield Part(text, (*path, "alt_test", "power"))


def _needed(answer: JSON, key: Path) -> Iterator[Part]:
    """State how many queries would decide the test; nothing in snapshots of older reports."""
    found = answer.get("undecided")
    if found and found["queries"] is None:
        now = max(each["n"] for each in answer["annotators"])
        most = count(MOST_TIMES * now, "query", "queries")
        yield Part(f"; even {most} like these would hardly decide it", key)
    elif found:
        yield more_queries(found["queries"], found["more"], key, at_least=found["at_least"])


def _beside(answer: JSON, key: Path) -> Iterator[Part]:
    """State which floors with information pass at the chosen epsilon, and which were not tested."""
    for name, floor in answer["floors"].items():
        if floor["informative"] and floor["passes"]:
            yield Part(f"; {FLOORS[name]} passes, too", (*key, "floors"))
        elif name == "word_overlap" and floor["passes"] is None:
            reason = floor["reason"]
            yield Part(f"; not tested beside word overlap: {reason}", (*key, "floors"))
