"""The verdict: the main questions of a reader, each with a sentence as its answer.

A sentence is a template filled with numbers of the report, and its first words come from fixed
bands (`sentence.HINTS`). Nothing is computed here, so a verdict can be checked against its report.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..document import Section, count, rounded
from ..statistics import ORDERED, Coefficient
from ..statistics.planning import more_queries as planned_queries
from ..types import JSON
from .base import SectionPart, coefficient_of, noun_of, people_of
from .replacement import replacement
from .score_sentences import score_sentences
from .sentence import (
    AGREEMENT,
    ALIKE,
    BANDS,
    BELOW_CHANCE,
    DIGITS,
    ERROR_BANDS,
    ERRORS,
    GAP,
    NO_ERRORS,
    SURE,
    Part,
    Path,
    Sentence,
    Tone,
    band_of,
    more_queries,
    number,
    p_value,
    question_of,
    share,
    short,
    words_between,
)
from .trust import trust_sentence
from .words import Words, words_of

YES, NO = "yes", "no"
MOST_CELLS = 2
ALIKE_WITHIN = 0.1
"""Shares of errors in both directions that differ by less are alike."""
THIN = 30
WHOLE = ("interim", "sample")
"""The keys of the sentences about the whole report."""


def verdict(raters: Sequence[JSON], variables: JSON, scores: JSON, chosen: int = 0) -> JSON:
    """Return the key `verdict` of a report with these keys.

    Each variable has sentences about people, the judges among themselves, and each judge. Each
    score has sentences about the systems and each judge. Sentences about single judges need
    people's labels. If items were `chosen` instead of sampled, a sentence about that comes first.
    """
    labelled = any(rater["kind"] == "human" and rater["labels"] for rater in raters)
    of_variables = {
        name: {
            "people": _people(block, name, labelled).as_json(),
            "among_judges": {
                what: each.as_json() for what, each in _among_judges(block, name, labelled)
            },
            "judges": {
                judge: {what: each.as_json() for what, each in _judge(block, name, judge)}
                for judge in (block["judges"] if labelled else ())
            },
        }
        for name, block in variables.items()
    }
    of_scores = {
        name: found
        for name, of in scores.items()
        if labelled and any((found := score_sentences(of, name)).values())
    }
    sample = {"sample": _about_chosen_items(chosen).as_json()} if chosen else {}
    return {**sample, "variables": of_variables, "scores": of_scores}


def _about_chosen_items(items: int) -> Sentence:
    """Say that the figures hold for chosen items alone."""
    text = (
        f"{count(items, 'item')} were chosen, not sampled at random, so that no figure below is an "
        "estimate for other items"
    )
    if items == 1:
        text = text.replace("were", "was", 1)
    return Sentence("What do the figures hold for?", "These items alone", "open", (Part(text),))


def _people(block: JSON, name: str, labelled: bool) -> Sentence:
    question = "Can people agree?"
    of = block["agreement"]
    shown, found, within = people_of(block)
    path = ("variables", name, *within)
    if found["value"] is None:
        why = found["reason"] if labelled else "nobody has labelled yet"
        return Sentence(question, "Not known", "open", (Part(why, path),))
    words, tone = band_of(found, BANDS, BELOW_CHANCE)
    thin = _thin(of)
    aside = f"; {thin} of them with under {THIN} shared {noun_of(block)[1]}" if thin else ""
    whole = ("variables", name, "agreement")
    parts = [
        Part(f"{shown.sign} {number(found)}", path),
        Part(" ("),
        Part(count(of["raters"], "person", "people"), whole),
        Part(", "),
        Part(_units(block, of["units"]), whole, show="several"),
        Part(f"{aside})"),
    ]
    if differ := of["units"] - block.get("distribution", {}).get("unanimous", of["units"]):
        parts.append(Part("; they differ on "))
        parts.append(
            Part(_units(block, differ), ("variables", name, "distribution"), show="people")
        )
    parts += _planned(block, name, found)
    return Sentence(question, words, tone, parts, AGREEMENT)


def _planned(block: JSON, name: str, shown: JSON) -> Iterator[Part]:
    """State how many queries give people's agreement an interval, or one of the planned width.

    Nothing in snapshots of older reports, which have no planning.
    """
    planning, key = block.get("planning"), ("variables", name, "planning", "agreement")
    if not planning:
        return
    found, target = planning["agreement"], planning["width"]
    first, needed = found.get("for_an_interval"), found["queries"]["needed"]
    if first:
        purpose = " for an interval"
        yield more_queries(first["needed"], first["more"], key, at_least=True, purpose=purpose)
    elif needed and shown["low"] is not None and shown["high"] > shown["low"]:
        # The plan of the section is for alpha; this one is for the coefficient of the sentence.
        now = needed - found["queries"]["more"]
        plan = planned_queries(shown["high"] - shown["low"], now, target)
        if plan.needed and plan.more:
            purpose = f" for an interval {target:g} wide"
            yield more_queries(plan.needed, plan.more, key, purpose=purpose)


def _units(block: JSON, number: int) -> str:
    return count(number, *noun_of(block))


def _thin(agreement: JSON) -> int:
    """Count the people whose largest overlap with others is below `THIN`, if some have more."""
    most: dict[str, int] = {}
    for pair in agreement.get("pairs", ()):
        for who in (pair["a"], pair["b"]):
            most[who] = max(most.get(who, 0), pair["units"])
    thin = sum(units < THIN for units in most.values())
    return thin if thin < len(most) else 0


def _among_judges(block: JSON, name: str, labelled: bool) -> Iterator[tuple[str, Sentence]]:
    """Yield sentences on agreement between judges, the similarity of errors, and units to label."""
    found, path = block.get("between_judges"), ("variables", name, "between_judges")
    if not found:
        return
    yield "agreement", _between(block, path)
    errors = found["errors"] or {}
    if "effective_judges" in errors and errors["effective_judges"]["value"] is not None:
        yield "errors", _alike(errors, len(found["judges"]), (*path, "errors"))
    if not labelled and found["label_first"]:
        units = _units(block, len(found["label_first"]))
        reason = (
            Part(f"these {units}", (*path, "label_first")),
            Part(", as the judges differ most"),
        )
        question = "What should people label first?"
        yield "label_first", Sentence(question, "The hard ones", "open", reason)


def _between(block: JSON, path: Path) -> Sentence:
    question, found = "Do the judges agree with each other?", block["between_judges"]
    shown = coefficient_of(block)
    key, sign = shown.key, shown.sign
    known = [pair for pair in found["pairs"] if pair[key]["value"] is not None]
    if not known:
        why = found["pairs"][0][key]["reason"]
        return Sentence(question, "Not known", "open", (Part(why, path),))
    known.sort(key=lambda pair: pair[key]["value"])
    mean = {"value": sum(pair[key]["value"] for pair in known) / len(known)}
    words, tone = band_of(known[0][key], BANDS, BELOW_CHANCE)
    parts = [Part(f"{sign} {short(mean)} on average of {count(len(known), 'pair')}", path)]
    if len(known) > 1:
        ends = (known[0], known[-1])
        low, high = (pair[key]["value"] for pair in ends)
        words, tone = words_between(low, high, BANDS, BELOW_CHANCE)
        least, most = (f"{p['a']} and {p['b']} {short(p[key])}" for p in ends)
        parts.append(Part(f", from {least} to {most}", path))
    else:
        parts = [Part(f"{sign} {number(known[0][key])}", path)]
    if differ := found.get("differ"):
        parts += [Part("; they differ on "), Part(_units(block, differ), path, show="judges")]
    return Sentence(question, words, tone, parts, AGREEMENT)


def _alike(errors: JSON, judges: int, path: Path) -> Sentence:
    mean, worth = errors["mean_correlation"], errors["effective_judges"]
    words, tone = band_of(mean, ERROR_BANDS, NO_ERRORS)
    parts = [
        Part(f"their errors correlate by {number(mean)}", (*path, "mean_correlation")),
        Part(f", so that {judges} judges are worth as many as "),
        Part(number(worth), (*path, "effective_judges")),
        Part(" judges whose errors are independent, if their votes are averaged"),
    ]
    if judges > 2 and (two := _most_alike(errors)):
        # A mean hides two judges that make the same errors.
        parts.append(Part(f"; most alike are {two}", (*path, "matrix")))
    return Sentence("Do the judges err alike?", words, tone, parts, ALIKE)


def _most_alike(errors: JSON) -> str:
    """Name the two judges whose errors correlate most, empty if no two have a correlation."""
    pairs = [
        (estimate["value"], number(estimate), errors["judges"][a], errors["judges"][b])
        for a, row in enumerate(errors["matrix"])
        for b, estimate in enumerate(row[:a])
        if estimate["value"] is not None
    ]
    if not pairs:
        return ""
    _, shown, later, earlier = max(pairs, key=lambda pair: pair[0])
    return f"{earlier} and {later}, {shown}"


def _judge(block: JSON, name: str, judge: str) -> Iterator[tuple[str, Sentence]]:
    of, path = block["judges"][judge], ("variables", name, "judges", judge)
    yield "agreement", _agreement(of, coefficient_of(block), judge, path)
    yield "replacement", replacement(block, judge, path)
    yield "errors", _errors(block, of, judge, path)
    yield from trust_sentence(of, judge, path, noun_of(block)[1])


def _agreement(of: JSON, shown: Coefficient, judge: str, path: Path) -> Sentence:
    """Compare the judge's mean kappa with people to people's mean kappa with each other."""
    question = question_of("agreement", judge)
    name, sign = shown.key, shown.sign
    gap, own, people = of["gap"][name], of["with_people"][name], of["human_ceiling"][name]
    majority = of["agreement"][name]
    if gap["value"] is None:
        if majority["value"] is None:
            return Sentence(question, "Not known", "open", (Part(gap["reason"], (*path, "gap")),))
        detail = f"{sign} {number(majority)} with people together; {gap['reason']}"
        key = (*path, "agreement", name)
        return Sentence(question, "Cannot be compared", "open", (Part(detail, key),))
    tests = of["gap_tests"][name]
    words, tone = _compared(gap, tests["adjusted_p_value"])
    with_majority = "" if majority["value"] is None else f" ({short(majority)} with the majority)"
    return Sentence(
        question,
        words,
        tone,
        (
            Part(f"{sign} with each person {number(own)}", (*path, "with_people", name)),
            Part(f", people {short(people)}", (*path, "human_ceiling", name)),
            Part(f"; gap {number(gap)}", (*path, "gap", name)),
            Part(with_majority, (*path, "agreement", name) if with_majority else ()),
            *_adjusted(tests, (*path, "gap_tests", name)),
            *_equivalent(of["equivalence"], name, path),
        ),
        GAP,
    )


def _adjusted(tests: JSON, key: Path) -> Iterator[Part]:
    """State the p-value of a gap, if several judges are tested."""
    if tests["judges"] > 1:
        p = p_value(tests["adjusted_p_value"]) if tests["adjusted_p_value"] is not None else None
        if p is not None:
            yield Part(f"; p {p} after Holm over {count(tests['judges'], 'judge')}", key)


def _equivalent(equivalence: JSON, name: str, path: Path) -> Iterator[Part]:
    """State that judge and people are equivalent, if the tests show it."""
    if equivalence[name]["equivalent"]:
        text = f"; equivalent within {equivalence['margin']:g}"
        yield Part(text, (*path, "equivalence", name))


def _compared(gap: JSON, p: float | None = None) -> tuple[str, Tone]:
    """Describe how a judge compares with people by its gap, and p after Holm over the judges."""
    if gap["low"] is None:
        if float(rounded(gap["value"], DIGITS)) == 0:
            return "As much as people do at this precision, by the value alone", "open"
        less = gap["value"] < 0
        return f"{'Less than' if less else 'As much as'} people do, by the value alone", "open"
    if p is not None and p >= SURE:
        return "No difference from people can be shown", "fair"
    if (gap["high"] < 0 or gap["low"] > 0) and float(rounded(gap["value"], DIGITS)) == 0:
        return "As much as people do, at this precision", "fair"
    if gap["high"] < 0:
        return "Less than people do", "poor"
    if gap["low"] > 0:
        return "More than people do", "good"
    return "No difference from people can be shown", "fair"


def _errors(block: JSON, of: JSON, judge: str, path: Path) -> Sentence:
    question = question_of("errors", judge)
    key, confusion = (*path, "confusion"), of.get("confusion")
    if block.get("by_code"):
        return _of_codes(question, block, judge, path)
    if block["measurement"] in ORDERED and not (confusion or {}).get("matrix"):
        return _of_numbers(question, of, path)
    if not confusion or not confusion.get("matrix"):
        why = "there is no table of its labels and people’s"
        return Sentence(question, "Not known", "open", (Part(why, key),))
    labels, matrix = confusion["labels"], confusion["matrix"]
    cells = {
        (people, own): matrix[row][column]
        for row, people in enumerate(labels)
        for column, own in enumerate(labels)
    }
    whole = sum(cells.values())
    wrong = {cell: n for cell, n in cells.items() if cell[0] != cell[1] and n}
    if not whole:
        return Sentence(
            question, "Not known", "open", (Part(f"no {noun_of(block)[0]} has both labels", key),)
        )
    if not wrong:
        detail = (
            Part("it has people’s label on all "),
            Part(_units(block, whole), key, (), "decided"),
        )
        return Sentence(question, "Nothing", "good", detail)
    if set(labels) == {YES, NO}:
        return _of_yes(question, block, of, cells, path)
    if block["measurement"] in ORDERED:
        return _of_order(question, block, of, labels, wrong, whole, path)
    return _of_categories(question, block, wrong, whole, key)


def _direction(of: JSON, above: str, below: str, alike: str, unsure: str) -> tuple[str, Tone]:
    """Return the words for the direction of a judge's errors, from both ends of its interval."""
    low, high = of["direction"]["low"], of["direction"]["high"]
    if low is None or (low <= 0 <= high and max(-low, high) > ALIKE_WITHIN):
        return f"{unsure} cannot be said", "open"
    if max(-low, high) <= ALIKE_WITHIN:
        return alike, "fair"
    return (above if low > 0 else below), "fair"


def _of_yes(
    question: str, block: JSON, of: JSON, cells: Mapping[tuple[str, str], int], path: Path
) -> Sentence:
    """State the share of people's yes that the judge misses, and of their no that it calls yes."""
    words, key = words_of(block), (*path, "confusion")
    missed, added = cells[YES, NO], cells[NO, YES]
    yes, no = missed + cells[YES, YES], added + cells[NO, NO]
    called = {code: _in_text(code, words) for code in (YES, NO)}
    parts = [
        Part(f"{share(missed, yes)} of people’s “{called[YES]}” missed", key),
        Part(f" ({_units(block, missed)})", key, ((YES, NO),)),
        Part(f", {share(added, no)} of their “{called[NO]}” called “{called[YES]}”", key),
        Part(f" ({_units(block, added)})", key, ((NO, YES),)),
    ]
    first, tone = _direction(
        of, "Too strict", "Too lenient", "Misses and adds alike", "Too strict or too lenient"
    )
    return Sentence(question, first, tone, [*parts, *_difference(of, path)], ERRORS)


def _difference(of: JSON, path: Path) -> Iterator[Part]:
    """State the difference of the two shares, with its interval."""
    if of["direction"]["value"] is not None:
        yield Part(f"; difference {number(of['direction'])}", (*path, "direction"))


def _in_text(code: str, words: Words) -> str:
    """Return a code's word for use within a sentence: yes and no are in lower case."""
    word = words.get(code, code)
    return code if word.lower() == code else word


def _of_order(
    question: str,
    block: JSON,
    of: JSON,
    labels: Sequence[str],
    wrong: Mapping[tuple[str, str], int],
    whole: int,
    path: Path,
) -> Sentence:
    """State how often the judge is above and below people."""
    key = (*path, "confusion")
    ranks = {label: rank for rank, label in enumerate(labels)}
    above = tuple(cell for cell in wrong if ranks[cell[1]] > ranks[cell[0]])
    below = tuple(cell for cell in wrong if ranks[cell[1]] < ranks[cell[0]])
    higher, lower = (sum(wrong[cell] for cell in side) for side in (above, below))
    words, tone = _direction(
        of,
        "Mostly too high",
        "Mostly too low",
        "Too high and too low alike",
        "Too high or too low",
    )
    parts = (
        Part(f"above people on {share(higher, whole)}", key),
        Part(f" ({_units(block, higher)})", key, above, "above"),
        Part(f", below on {share(lower, whole)}", key),
        Part(f" ({_units(block, lower)})", key, below, "below"),
        *_difference(of, path),
    )
    return Sentence(question, words, tone, parts, ERRORS)


def _of_numbers(question: str, of: JSON, path: Path) -> Sentence:
    """State in which direction a judge errs on a scale of many numbers, and by how much."""
    direction, error = of.get("direction"), of.get("overall", {}).get("mean_absolute_error")
    if not direction or direction["value"] is None or not error or error["value"] is None:
        why = "there is no table of its labels and people’s"
        return Sentence(question, "Not known", "open", (Part(why, (*path, "overall")),))
    words, tone = _direction(
        of, "Mostly too high", "Mostly too low", "Too high and too low alike", "Too high or too low"
    )
    parts = [
        Part("share of labels above people’s less below them ", (*path, "direction")),
        Part(number(direction), (*path, "direction")),
        Part(f"; {number(error)} away from them on average", (*path, "overall")),
    ]
    return Sentence(question, words, tone, parts, ERRORS)


def _of_categories(
    question: str, block: JSON, wrong: Mapping[tuple[str, str], int], whole: int, key: Path
) -> Sentence:
    """State the most frequent confusions."""
    words = words_of(block)
    most = sorted(wrong, key=lambda cell: (-wrong[cell], cell))[:MOST_CELLS]
    total = sum(wrong.values())
    parts = [Part(f"{share(total, whole)} of the labels", key), Part(", most often ")]
    for n, (people, own) in enumerate(most):
        said, theirs = _in_text(own, words), _in_text(people, words)
        parts.append(Part(f"{'; then ' if n else ''}“{said}” where people say “{theirs}”"))
        detail = f" ({_units(block, wrong[people, own])})"
        parts.append(Part(detail, key, ((people, own),)))
    return Sentence(question, "Some categories", "fair", parts)


def _of_codes(question: str, block: JSON, judge: str, path: Path) -> Sentence:
    """State the codes that the judge misses most often, and adds most often, in sets of codes."""
    name = path[1]
    found = {code: of["judges"][judge] for code, of in block["by_code"].items()}
    units = max(of["units"] for of in found.values())
    if not units:
        why = f"no {noun_of(block)[0]} has both labels"
        return Sentence(question, "Not known", "open", (Part(why, (*path, "alt_test")),))
    parts: list[Part] = []
    for key, verb, whom in (("missed", "misses", "people"), ("added", "adds", "judge")):
        code = max(found, key=lambda code: (found[code][key], code))
        number = found[code][key]
        if number:
            word = block.get("code_words", {}).get(code, code)
            text = f"{'; ' if parts else ''}{verb} “{word}” most often, on {number} of the "
            text += f"{_units(block, found[code][whom])} with it"
            parts.append(Part(text, ("variables", name, "by_code", code, "judges", judge)))
    if not parts:
        detail = Part(f"it has people’s codes on all {_units(block, units)}", (*path, "agreement"))
        return Sentence(question, "Nothing", "good", (detail,))
    return Sentence(question, "Some codes", "fair", parts)


VERDICT = "Verdict"


def verdict_section(report: JSON) -> list[Section]:
    """Return the questions with their answers, grouped by variable if there are several."""
    found, several = report.get("verdict"), len(report["variables"]) > 1
    if not found:
        return []
    points = [f"{found[key]['question']} {found[key]['text']}" for key in WHOLE if key in found]
    for name, of in found["variables"].items():
        judged = [each for judge in of["judges"].values() for each in judge.values()]
        judged += of.get("among_judges", {}).values()
        before = f"{name}: " if several else ""
        points += [f"{before}{each['question']} {each['text']}" for each in (of["people"], *judged)]
    ranked = [
        each
        for of in found["scores"].values()
        for each in (of.get("best"), *of["judges"].values())
        if each
    ]
    points += [f"{each['question']} {each['text']}" for each in ranked]
    return [Section(VERDICT, (), points=tuple(points))]


PART = SectionPart(section=verdict_section)
