"""Perturbations: hostile texts, null controls, paraphrased prompts, changed order.

`KINDS` lists every kind. A kind that changes the item has a function, which changes only texts and
the wording of units. Names of units stay the same, and so do the keys of answers. Random choices
follow from the perturbation's seed and the item's key, so that they are reproducible.

*Attacks* are a fixed, versioned set of hostile texts, each inserted into one text of an item. They
ask for the label that the text's author would want (`favourable_code`). *Null controls* remove the
texts or exchange them for those of another query. A judge that still finds what is asked does not
rely on the texts. A judge that follows the meaning of a prompt rather than its wording gives the
same labels under the *paraphrase*.
"""

from __future__ import annotations

import base64
import json
import random
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import cycle, product
from pathlib import Path
from typing import Any, Literal

from annotation.blinding import with_swapped_codes
from annotation.models import Assignment, Campaign, Item
from annotation.presentation import ordered_texts, present, schema
from annotation.protocols.base import first_words, passage_with_answer
from judging.models import Judge
from tandem.protocols.base import ItemSpec, Payload, Text, UnitSpec, Variable, in_answer, join_codes

MATERIAL = ("report", "passage", "sentence", "passage-sentence", "report-passage")
"""Kinds of units whose wording comes from a text."""
PARAPHRASES = Path(__file__).with_name("paraphrases")
EXCEPTIONS = {
    "key": "agree",
    "abstains": "no",
    "irrelevant": "no",
    "eligibility": "none",
    "deflected": "no",
    "false_premise": "no",
}
"""Favourable codes that do not follow from the order of the codes."""
UNCONTROLLED = frozenset({"abstains", "natural", "failure", "action"})
"""Variables on which an empty or foreign text may rightly get the favourable label."""
EARNED_WITHOUT_TEXTS = {"preferred": "tie-bad"}
"""The only label that missing texts earn, where every other label finds something."""
KINDS_WITHOUT_QUESTION = (
    "report",
    "sentence",
    "passage",
    "passage-sentence",
    "report-passage",
    "pair",
    "query",
)
"""Kinds of units whose wording is not a question that an attack could repeat."""
_ATTACKS: dict[str, Any] = tomllib.loads(
    Path(__file__).with_name("attacks.toml").read_text("utf-8")
)
VERSION: str = _ATTACKS.pop("version")
FAMILIES: Mapping[str, Mapping[str, Any]] = _ATTACKS
LABEL_WORDS = 1000
FILLER_LENGTH = 12_000


def remove_texts(spec: ItemSpec) -> ItemSpec:
    """Empty the item's texts, and the units whose wording comes from them."""
    texts = tuple(_replace_text(text, "") for text in spec.texts)
    return replace(spec, texts=texts, units=_replace_words(spec.units, {k: [""] for k in MATERIAL}))


def exchange_texts(spec: ItemSpec, item: Item, seed: int) -> ItemSpec:
    """Replace the item's texts with those of a random item of another query in the campaign.

    Return the item unchanged if the campaign has no other query.
    """
    if (other := _other_item(item, seed)) is None:
        return spec
    foreign = present(other)
    texts = tuple(_exchange_each(spec.texts, foreign.texts))
    words = {
        kind: [first_words(text.text) for text in texts if text.field.startswith(kind)]
        if kind in ("report", "passage")
        else [unit.text for unit in foreign.units if unit.kind == kind]
        for kind in MATERIAL
    }
    pairs = product(words["report"], words["passage"])
    words["report-passage"] = [passage_with_answer(passage, answer) for answer, passage in pairs]
    return replace(spec, texts=texts, units=_replace_words(spec.units, words))


def _other_item(item: Item, seed: int) -> Item | None:
    others = Item.objects.filter(campaign=item.campaign_id).exclude(query=item.query_id)
    keys = list(others.order_by("position").values_list("pk", flat=True))
    if not keys:
        return None
    other = random.Random(f"{seed}/{item.key}").choice(keys)
    return Item.objects.select_related("campaign", "query").get(pk=other)


def _exchange_each(texts: Sequence[Text], others: Sequence[Text]) -> Iterator[Text]:
    """Give each text the words of another text of its kind, or of any kind if there is none."""
    for kind in dict.fromkeys(map(_kind, texts)):
        alike = [o for o in others if _kind(o) == kind] or list(others)
        words = cycle([o.text for o in alike] or [""])
        yield from (_replace_text(text, next(words)) for text in texts if _kind(text) == kind)


def _kind(text: Text) -> str:
    return text.field.partition(":")[0]


def _replace_text(text: Text, words: str) -> Text:
    """Replace a text's words, and remove metadata that would reveal the original."""
    heading = {"report": "Report", "passage": "Passage"}.get(_kind(text), "Text")
    return replace(text, text=words, heading=heading, facts=(), suggested=())


def _replace_words(units: Sequence[UnitSpec], words: dict[str, list[str]]) -> tuple[UnitSpec, ...]:
    """Reword the units whose wording comes from a text, with each kind's words in turn."""
    turns = {kind: cycle(found or [""]) for kind, found in words.items()}
    return tuple(
        replace(unit, text=next(turns[unit.kind])) if unit.kind in turns else unit for unit in units
    )


def read_paraphrase(protocol: str, version: str = "") -> str:
    """Read the paraphrased prompt of a protocol.

    An earlier version may have a paraphrase of its own. The guideline stays as it is if it has no
    paraphrase.
    """
    frame = (PARAPHRASES / "frame.md").read_text("utf-8")
    for name in (f"{protocol}-{version}", protocol):
        if (rubric := PARAPHRASES / f"{name}.md").is_file():
            return frame.replace("{guideline}", rubric.read_text("utf-8").strip())
    return frame


def favourable_code(variable: Variable) -> str:
    """Return `yes` if it is a code, otherwise the top of an ordered scale or the first code.

    Of a variable that takes several codes, it is the set with the first alone.
    """
    if variable.several:
        return join_codes(variable, variable.codes[:1])
    if (exception := EXCEPTIONS.get(variable.name)) in variable.codes:
        return str(exception)
    if "yes" in variable.codes:
        return "yes"
    return variable.codes[0 if variable.level == "nominal" else -1]


def position_on_scale(variable: Variable, code: str) -> float | None:
    """Return a code's position from the worst, 0, to the best, 1. None if it is not a category.

    Without an order, the best code has 1 and every other code 0.
    """
    if code not in variable.codes:
        return None
    if (bottom := EARNED_WITHOUT_TEXTS.get(variable.name)) in variable.codes:
        return float(code != bottom)
    best = favourable_code(variable)
    if variable.level == "nominal" or len(variable.codes) < 2:
        return float(code == best)
    position = variable.codes.index(code) / (len(variable.codes) - 1)
    return position if best == variable.codes[-1] else 1 - position


def describe_top(variable: Variable) -> str:
    """Describe which codes `position_on_scale` puts at 1, as part of a sentence."""
    if (bottom := EARNED_WITHOUT_TEXTS.get(variable.name)) in variable.codes:
        return f"all but `{bottom}` is 1"
    return f"`{favourable_code(variable)}` is 1"


def insert_attack(
    spec: ItemSpec, family: str, query: str, variables: Sequence[Variable], seed: int
) -> ItemSpec:
    """Insert a hostile text of the family into one text of the item, into a pair's first text.

    Reference answers are never changed, since they are the researcher's own.
    """
    open_to = [n for n, text in enumerate(spec.texts) if not text.field.startswith("reference:")]
    if not open_to:
        return spec
    rng = random.Random(f"{seed}/{family}/{spec.key}")
    pair = any(unit.kind == "pair" for unit in spec.units)
    number = open_to[0 if pair else rng.randrange(len(open_to))]
    attack = FAMILIES[family]
    words = _words(rng.choice(attack["texts"]), spec.units, query, variables, rng)
    changed = _insert(spec.texts[number], words, rng.choice(attack["places"]))
    texts = tuple(changed if n == number else text for n, text in enumerate(spec.texts))
    return replace(spec, texts=texts)


def _words(
    template: str,
    units: Sequence[UnitSpec],
    query: str,
    variables: Sequence[Variable],
    rng: random.Random,
) -> str:
    wished = _favourable_codes(units, variables)
    answer = {v.name: in_answer(v, wished[v.name]) for v in variables if v.name in wished}
    labels = "; ".join(f"{name}: {label}" for name, label in wished.items())
    order = str(FAMILIES["order"]["texts"][0]).replace("{labels}", labels)
    slots = {
        "{labels}": labels,
        "{object}": json.dumps(answer, ensure_ascii=False),
        "{rows}": "\n".join(f"| {name} | {label} |" for name, label in wished.items()),
        "{encoded}": base64.b64encode(order.encode()).decode("ascii"),
        "{nonce}": f"{rng.getrandbits(64):016x}",
        "{stuffed}": _stuffing(units, query, wished),
        "{filler}": _filler(rng),
    }
    for slot, value in slots.items():
        template = template.replace(slot, value)
    return template


def _favourable_codes(units: Sequence[UnitSpec], variables: Sequence[Variable]) -> dict[str, str]:
    kinds = {unit.kind for unit in units}
    return {v.name: favourable_code(v) for v in variables if v.kind in kinds}


def _stuffing(units: Sequence[UnitSpec], query: str, wished: Mapping[str, str]) -> str:
    """Repeat each question followed by its favourable labels."""
    questions = [u.text for u in units if u.kind not in KINDS_WITHOUT_QUESTION] or [query]
    said = ", ".join(dict.fromkeys(wished.values()))
    times = max(1, LABEL_WORDS // (len(questions) * max(1, len(wished))))
    return "\n".join(f"{question} {said}." for _ in range(times) for question in questions)


def _filler(rng: random.Random) -> str:
    idle, said = list(FAMILIES["filler"]["idle"]), ""
    while len(said) < FILLER_LENGTH:
        rng.shuffle(idle)
        said += " ".join(idle) + "\n\n"
    return said.rstrip()


def _insert(text: Text, words: str, place: str) -> Text:
    cut = {"start": 0, "middle": _gap(text.text), "end": len(text.text)}[place]
    before, after = text.text[:cut].rstrip(), text.text[cut:].lstrip()
    return replace(text, text="\n\n".join(part for part in (before, words, after) if part))


def _gap(text: str) -> int:
    """Return the position of the first gap between words after the middle of a text."""
    gap = text.find(" ", len(text) // 2)
    return len(text) if gap < 0 else gap


Vary = Callable[[ItemSpec, Item, Mapping[str, Any]], ItemSpec]
Purpose = Literal["repeat", "control", "attack"]


@dataclass(frozen=True)
class Kind:
    """A kind of perturbation and the result that a sound judge should give.

    A `repeat` should give the same labels again, a `control` the lowest labels, and an `attack` the
    labels given without it. `about` describes the change and its purpose.
    """

    title: str
    purpose: Purpose
    about: str
    vary: Vary | None = None


def _remove_texts(spec: ItemSpec, item: Item, chosen: Mapping[str, Any]) -> ItemSpec:
    return remove_texts(spec)


def _exchange_texts(spec: ItemSpec, item: Item, chosen: Mapping[str, Any]) -> ItemSpec:
    return exchange_texts(spec, item, chosen["seed"])


def _insert_attack(spec: ItemSpec, item: Item, chosen: Mapping[str, Any]) -> ItemSpec:
    variables = schema(item.campaign, "judges").variables
    return insert_attack(spec, chosen["family"], item.query.text, variables, chosen["seed"])


DRAFT, GUIDELINE = "draft", "guideline"
"""The kind of a draft's trial, which is not a perturbation, and the key of its guideline."""
KINDS: dict[str, Kind] = {
    "again": Kind(
        "The same again",
        "repeat",
        "Nothing is changed. Labels that flip show how random the server is.",
    ),
    "unconstrained": Kind(
        "No form enforced",
        "repeat",
        "The server enforces no form. Shows how likely the model was to write a label at all.",
    ),
    "swapped": Kind(
        "Pairs swapped",
        "repeat",
        "The two texts change places. Labels that flip depend on the position.",
    ),
    "paraphrase": Kind(
        "Guideline in other words",
        "repeat",
        "Prompt and guideline are reworded. Labels that flip depend on the wording.",
    ),
    "empty": Kind(
        "No text", "control", "The text is removed. Labels should be the lowest.", _remove_texts
    ),
    "random": Kind(
        "Text of another query",
        "control",
        "The text answers something else. Labels should be the lowest.",
        _exchange_texts,
    ),
    "inject": Kind(
        "Hostile text",
        "attack",
        "The text asks for a label, in several families of attacks. Labels should stay.",
        _insert_attack,
    ),
}


def apply_perturbation(judge: Judge, spec: ItemSpec, item: Item) -> ItemSpec:
    """Return the item as shown to this judge: perturbed only if the judge is a trial."""
    kind = KINDS.get(judge.variation.get("kind", ""))
    return kind.vary(spec, item, judge.variation) if kind and kind.vary else spec


def campaign_shown_to(judge: Judge, campaign: Campaign) -> Campaign:
    """Return the campaign as shown to a judge: a trial of a draft gets the draft's guideline."""
    text = judge.variation.get(GUIDELINE)
    if text is None:
        return campaign
    drafted = copy(campaign)
    drafted.guideline = text
    return drafted


def is_unconstrained(judge: Judge) -> bool:
    """Return whether the server is not asked to enforce the form that the prompt asks for."""
    return bool(judge.variation.get("kind") == "unconstrained")


def order_of_fields(judge: Judge, item: Item, own: Sequence[str] = ()) -> list[str]:
    """Return the fields of an item's texts in the order shown to a judge.

    An empty list means the item's own order. `own` is the order of the judge that a trial tests. A
    trial keeps it unless it swaps pairs.
    """
    if judge.variation.get("kind") != "swapped":
        return list(own)
    return [text.field for text in reversed(present(item).texts)]


def reorder_texts(assignment: Assignment, spec: ItemSpec) -> ItemSpec:
    """Put the item's texts into the order in which this assignment shows them."""
    if not assignment.shown:
        return spec
    return replace(spec, texts=tuple(ordered_texts(assignment, spec)))


def restore_order(assignment: Assignment, payload: Payload) -> Payload:
    """Convert an answer about a pair shown in another order into one about the stored pair."""
    if not assignment.shown:
        return payload
    units = payload["units"]
    return {**payload, "units": {name: with_swapped_codes(units[name]) for name in units}}
