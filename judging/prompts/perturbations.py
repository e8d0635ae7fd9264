"""Perturbations: hostile texts, null controls, paraphrased prompts, changed order.

`KINDS` has every kind; one that changes an item brings a function. A function changes texts and
the wording of units only, never the names of units, and so never the keys of answers. Choices are
drawn from the perturbation's seed and the item's key, so that they are the same every time.

*Attacks* are a fixed, versioned set of hostile texts, each put into one text of an item. They ask
for the label that an author of the text would want (`favourable`). *Null controls* take the texts
away or exchange them for those of another query: a judge that still finds what is asked reads
something else than the texts. A judge that follows the meaning of a prompt, and not its wording,
gives the same labels under our *paraphrase*.
"""

from __future__ import annotations

import base64
import json
import random
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, product
from pathlib import Path
from typing import Any, Literal

from annotation.models import Assignment, Item
from annotation.presentation import TURNED, ordered_texts, present, schema
from annotation.protocols.base import ItemSpec, Payload, Text, UnitSpec, Variable
from annotation.protocols.units import beside, opening
from judging.models import Judge

MATERIAL = ("report", "passage", "sentence", "passage-sentence", "report-passage")
"""Kinds of units whose words are words of a text."""


def emptied(spec: ItemSpec) -> ItemSpec:
    """The item with nothing in its texts, and no word of them elsewhere."""
    texts = tuple(_bare(text, "") for text in spec.texts)
    return replace(spec, texts=texts, units=_worded(spec.units, {k: [""] for k in MATERIAL}))


def exchanged(spec: ItemSpec, item: Item, seed: int) -> ItemSpec:
    """The item with the texts of a randomly drawn item of another query of its campaign.

    The item as it is, where there is no other query.
    """
    if (other := _other(item, seed)) is None:
        return spec
    foreign = present(other)
    texts = tuple(_from_others(spec.texts, foreign.texts))
    words = {
        kind: [opening(text.text) for text in texts if text.field.startswith(kind)]
        if kind in ("report", "passage")
        else [unit.text for unit in foreign.units if unit.kind == kind]
        for kind in MATERIAL
    }
    pairs = product(words["report"], words["passage"])
    words["report-passage"] = [beside(passage, answer) for answer, passage in pairs]
    return replace(spec, texts=texts, units=_worded(spec.units, words))


def _other(item: Item, seed: int) -> Item | None:
    others = Item.objects.filter(campaign=item.campaign_id).exclude(query=item.query_id)
    keys = list(others.order_by("position").values_list("pk", flat=True))
    if not keys:
        return None
    drawn = random.Random(f"{seed}/{item.key}").choice(keys)
    return Item.objects.select_related("campaign", "query").get(pk=drawn)


def _from_others(texts: Sequence[Text], others: Sequence[Text]) -> Iterator[Text]:
    """Each text with the words of one of its own kind, in turn; of any kind where there is none."""
    for kind in dict.fromkeys(map(_kind, texts)):
        alike = [o for o in others if _kind(o) == kind] or list(others)
        words = cycle([o.text for o in alike] or [""])
        yield from (_bare(text, next(words)) for text in texts if _kind(text) == kind)


def _kind(text: Text) -> str:
    return text.field.partition(":")[0]


def _bare(text: Text, words: str) -> Text:
    """The text with other words, and without what would tell of its own."""
    heading = {"report": "Report", "passage": "Passage"}.get(_kind(text), "Text")
    return replace(text, text=words, heading=heading, facts=(), suggested=())


def _worded(units: Sequence[UnitSpec], words: dict[str, list[str]]) -> tuple[UnitSpec, ...]:
    """The units with other words where these are words of a text, each kind's in turn."""
    turns = {kind: cycle(found or [""]) for kind, found in words.items()}
    return tuple(
        replace(unit, text=next(turns[unit.kind])) if unit.kind in turns else unit for unit in units
    )


FOLDER = Path(__file__).with_name("paraphrases")


def paraphrase_of(protocol: str, version: str = "") -> str:
    """The reworded prompt of a protocol; the guideline is as it was where we have no other.

    A version before this one may have its own.
    """
    frame = (FOLDER / "frame.md").read_text("utf-8")
    for name in (f"{protocol}-{version}", protocol):
        if (rubric := FOLDER / f"{name}.md").is_file():
            return frame.replace("{guideline}", rubric.read_text("utf-8").strip())
    return frame


EXCEPTIONS = {
    "key": "agree",
    "abstains": "no",
    "irrelevant": "no",
    "eligibility": "none",
    "deflected": "no",
    "false_premise": "no",
}
UNCONTROLLED = frozenset({"abstains", "natural", "failure", "action"})
"""Variables on which an empty or a foreign text may rightly get the label that is wished for."""

EARNED_BY_NOTHING = {"preferred": "tie-bad"}
"""The only label that texts which are not there earn, where every other one finds something."""


def favourable(variable: Variable) -> str:
    """`yes` where there is one, the upper end of an order, else the first code."""
    if (exception := EXCEPTIONS.get(variable.name)) in variable.codes:
        return str(exception)
    if "yes" in variable.codes:
        return "yes"
    return variable.codes[0 if variable.level == "nominal" else -1]


def share_of_best(variable: Variable, code: str) -> float | None:
    """Where a code stands from the worst, 0, to the best, 1; None for what is no category.

    Where codes have no order, it is 1 for the best and 0 for every other.
    """
    if code not in variable.codes:
        return None
    if (bottom := EARNED_BY_NOTHING.get(variable.name)) in variable.codes:
        return float(code != bottom)
    best = favourable(variable)
    if variable.level == "nominal" or len(variable.codes) < 2:
        return float(code == best)
    place = variable.codes.index(code) / (len(variable.codes) - 1)
    return place if best == variable.codes[-1] else 1 - place


def top_in_words(variable: Variable) -> str:
    """Which codes `share_of_best` puts at 1, as part of a sentence."""
    if (bottom := EARNED_BY_NOTHING.get(variable.name)) in variable.codes:
        return f"all but `{bottom}` is 1"
    return f"`{favourable(variable)}` is 1"


_READ: dict[str, Any] = tomllib.loads(Path(__file__).with_name("attacks.toml").read_text("utf-8"))
VERSION: str = _READ.pop("version")
FAMILIES: Mapping[str, Mapping[str, Any]] = _READ
LABEL_WORDS = 1000
FILLER_LENGTH = 12_000
JUDGED_BY_NAME = (
    "report",
    "sentence",
    "passage",
    "passage-sentence",
    "report-passage",
    "pair",
    "query",
)
"""Kinds of units whose words are no question that could be repeated in a text."""


def attacked(
    spec: ItemSpec, family: str, query: str, variables: Sequence[Variable], seed: int
) -> ItemSpec:
    """The item with the family's text in one of its texts; that of a pair is in the first.

    Reference answers are the researcher's own, and no place for a stranger's words.
    """
    open_to = [n for n, text in enumerate(spec.texts) if not text.field.startswith("reference:")]
    if not open_to:
        return spec
    drawn = random.Random(f"{seed}/{family}/{spec.key}")
    pair = any(unit.kind == "pair" for unit in spec.units)
    number = open_to[0 if pair else drawn.randrange(len(open_to))]
    there = FAMILIES[family]
    words = _words(drawn.choice(there["texts"]), spec.units, query, variables, drawn)
    put = _put(spec.texts[number], words, drawn.choice(there["places"]))
    texts = tuple(put if n == number else text for n, text in enumerate(spec.texts))
    return replace(spec, texts=texts)


def _words(
    template: str,
    units: Sequence[UnitSpec],
    query: str,
    variables: Sequence[Variable],
    drawn: random.Random,
) -> str:
    wished = _wished(units, variables)
    labels = "; ".join(f"{name}: {label}" for name, label in wished.items())
    order = str(FAMILIES["order"]["texts"][0]).replace("{labels}", labels)
    slots = {
        "{labels}": labels,
        "{object}": json.dumps(wished, ensure_ascii=False),
        "{rows}": "\n".join(f"| {name} | {label} |" for name, label in wished.items()),
        "{encoded}": base64.b64encode(order.encode()).decode("ascii"),
        "{nonce}": f"{drawn.getrandbits(64):016x}",
        "{stuffed}": _stuffed(units, query, wished),
        "{filler}": _filler(drawn),
    }
    for slot, value in slots.items():
        template = template.replace(slot, value)
    return template


def _wished(units: Sequence[UnitSpec], variables: Sequence[Variable]) -> dict[str, str]:
    kinds = {unit.kind for unit in units}
    return {v.name: favourable(v) for v in variables if v.kind in kinds}


def _stuffed(units: Sequence[UnitSpec], query: str, wished: Mapping[str, str]) -> str:
    """Each question with the wished-for labels behind it, again and again."""
    questions = [u.text for u in units if u.kind not in JUDGED_BY_NAME] or [query]
    said = ", ".join(dict.fromkeys(wished.values()))
    times = max(1, LABEL_WORDS // (len(questions) * max(1, len(wished))))
    return "\n".join(f"{question} {said}." for _ in range(times) for question in questions)


def _filler(drawn: random.Random) -> str:
    idle, said = list(FAMILIES["filler"]["idle"]), ""
    while len(said) < FILLER_LENGTH:
        drawn.shuffle(idle)
        said += " ".join(idle) + "\n\n"
    return said.rstrip()


def _put(text: Text, words: str, place: str) -> Text:
    cut = {"start": 0, "middle": _gap(text.text), "end": len(text.text)}[place]
    before, after = text.text[:cut].rstrip(), text.text[cut:].lstrip()
    return replace(text, text="\n\n".join(part for part in (before, words, after) if part))


def _gap(text: str) -> int:
    """The first gap between words behind the middle of a text."""
    gap = text.find(" ", len(text) // 2)
    return len(text) if gap < 0 else gap


Vary = Callable[[ItemSpec, Item, Mapping[str, Any]], ItemSpec]
Purpose = Literal["repeat", "control", "attack"]


@dataclass(frozen=True)
class Kind:
    """One way to change the conditions, and what is read off it.

    A `repeat` should give the same labels again, a `control` the lowest ones, and an `attack` those
    that were given without it.
    """

    title: str
    purpose: Purpose
    vary: Vary | None = None


def _emptied(spec: ItemSpec, item: Item, chosen: Mapping[str, Any]) -> ItemSpec:
    return emptied(spec)


def _exchanged(spec: ItemSpec, item: Item, chosen: Mapping[str, Any]) -> ItemSpec:
    return exchanged(spec, item, chosen["seed"])


def _attacked(spec: ItemSpec, item: Item, chosen: Mapping[str, Any]) -> ItemSpec:
    variables = schema(item.campaign).variables
    return attacked(spec, chosen["family"], item.query.text, variables, chosen["seed"])


KINDS: dict[str, Kind] = {
    "again": Kind("The same again", "repeat"),
    "unconstrained": Kind("No form enforced", "repeat"),
    "swapped": Kind("Pairs turned", "repeat"),
    "paraphrase": Kind("Guideline in other words", "repeat"),
    "empty": Kind("No text", "control", _emptied),
    "random": Kind("Text of another query", "control", _exchanged),
    "inject": Kind("Hostile text", "attack", _attacked),
}


def varied(judge: Judge, spec: ItemSpec, item: Item) -> ItemSpec:
    """The item as this judge is shown it; a judge without a variation sees it as it is."""
    kind = KINDS.get(judge.variation.get("kind", ""))
    return kind.vary(spec, item, judge.variation) if kind and kind.vary else spec


def is_unconstrained(judge: Judge) -> bool:
    """Whether the server is to let a judge answer in any form, though its prompt asks for one."""
    return bool(judge.variation.get("kind") == "unconstrained")


def fields_in_order(judge: Judge, item: Item, own: Sequence[str] = ()) -> list[str]:
    """The fields of an item's texts in the order in which a judge is shown them.

    None stand for the item's own order. `own` is the order of the judge that a trial tries, which
    a trial keeps unless it turns pairs.
    """
    if judge.variation.get("kind") != "swapped":
        return list(own)
    return [text.field for text in reversed(present(item).texts)]


def in_order(assignment: Assignment, spec: ItemSpec) -> ItemSpec:
    """The same with its texts in the order in which this assignment shows them."""
    if not assignment.shown:
        return spec
    return replace(spec, texts=tuple(ordered_texts(assignment, spec)))


def turned_back(assignment: Assignment, payload: Payload) -> Payload:
    """The payload of a judge that was shown a pair in another order, as said of the stored one."""
    if not assignment.shown:
        return payload
    units = payload["units"]
    return {**payload, "units": {name: _turned(units[name]) for name in units}}


def _turned(answer: Any) -> Any:
    if not isinstance(answer, Mapping):
        return answer
    return {
        k: TURNED.get(code, code) if isinstance(code, str) else code for k, code in answer.items()
    }
