"""The form of a protocol, which writes its file and reads it, and what follows from it.

It has fewer keys than the file. Whether it can express a file is decided by writing the file again:
both must declare the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.forms import BaseFormSet, formset_factory

from analysis.evaluation.declared import describe
from annotation.campaign_setup.page_preview import PreviewedItem
from annotation.protocols.base import Protocol
from datasets.option_fields import set_choices
from datasets.text import as_sentence
from judging.backends.base import Message
from judging.judge_backends import build_backend
from judging.judges import Definition, draft
from judging.prompts.request import Preparer
from judging.prompts.template import read_prompt
from tandem.files.rows import InputError
from tandem.files.toml import Lines
from tandem.protocols.base import Declaration, Variable
from tandem.protocols.file_structure import (
    JSON,
    KINDS,
    SHOWN,
    ProtocolFileError,
    schema,
    write_protocol,
)
from tandem.protocols.protocol_file import ProtocolFile, read_protocol
from tandem.statistics import AMONG, KAPPA, WEIGHTED
from tandem.statistics.estimate import Scale

EACH = {
    "query": "each query",
    "report": "each report",
    "passage": "each passage",
    "report-passage": "each report with each passage",
    "key-point": "each key point",
    "pair": "each pair of reports",
}
ANSWERS = {
    "nominal": "One of these answers",
    "ordinal": "One of these answers, from low to high",
    "several": "Any number of these answers",
    "scale": "A number on a scale",
}
MOST_QUESTIONS = 30
UNITS = tuple(dict.fromkeys(kind for kinds in KINDS.values() for kind in kinds))
QUOTED = ("report", "sentence", "passage", "passages", "reference")
SHOWABLE = tuple(dict.fromkeys(each for shown in SHOWN.values() for each in shown))


class ProtocolForm(forms.Form):
    """What a protocol has once: its names, its page, its evidence, its guideline."""

    title = forms.CharField(required=False, max_length=80)
    name = forms.CharField(
        required=False,
        max_length=40,
        help_text="Small letters and hyphens; exports and commands use it.",
    )
    version = forms.CharField(required=False, max_length=20)
    summary = forms.CharField(
        required=False, max_length=500, help_text="One sentence: what people do."
    )
    each = forms.ChoiceField(label="A page for", required=False, choices=tuple(EACH.items()))
    shows = forms.MultipleChoiceField(
        label="It shows the request, and",
        required=False,
        choices=[(each, each.replace("-", " ")) for each in SHOWABLE],
        widget=forms.CheckboxSelectMultiple,
    )
    shuffled = forms.BooleanField(
        label="In a random order, recorded for each annotator", required=False
    )
    about = forms.CharField(
        label="Quotes support", required=False, max_length=40, help_text="The name of a question."
    )
    first_in = forms.ChoiceField(label="A quote from", required=False)
    first_if = forms.CharField(
        label="Needed for",
        required=False,
        max_length=2000,
        help_text="Codes with spaces between; empty: welcome, never needed.",
    )
    second_in = forms.ChoiceField(label="And one from", required=False)
    second_if = forms.CharField(label="Needed for", required=False, max_length=2000)
    guideline = forms.CharField(
        required=False,
        max_length=100_000,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 8}),
        help_text="Markdown. People read it beside each page, and judges get it too.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        texts = [("", "no text"), *((each, f"the {each}") for each in QUOTED)]
        for name in ("first_in", "second_in"):
            set_choices(self, name, texts)


class QuestionForm(forms.Form):
    """One question: a variable of the file."""

    question = forms.CharField(required=False, max_length=500)
    name = forms.CharField(required=False, max_length=40, help_text="Its name in exports.")
    unit = forms.ChoiceField(
        label="Asked of each",
        required=False,
        choices=[(unit, unit.replace("-", " ")) for unit in UNITS],
    )
    kind = forms.ChoiceField(label="Answers", required=False, choices=tuple(ANSWERS.items()))
    codes = forms.CharField(
        label="Answers, one a line",
        required=False,
        max_length=20_000,
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
        help_text="A code, or “code: words on its button”.",
    )
    least = forms.CharField(label="From", required=False, max_length=20)
    most = forms.CharField(label="to", required=False, max_length=20)
    step = forms.CharField(label="in steps of", required=False, max_length=20)
    escapes = forms.CharField(
        label="Or no answer, as",
        required=False,
        max_length=600,
        help_text="Codes such as cannot-tell, with spaces between.",
    )


Questions: Any = formset_factory(QuestionForm, extra=0, max_num=MOST_QUESTIONS, absolute_max=60)
OWN_KEYS: Mapping[str, frozenset[str]] = {
    "item": frozenset({"each", "shows", "shuffled"}),
    "variable": frozenset(
        {"name", "unit", "question", "codes", "scale", "level", "words", "escapes", "several"}
    ),
    "guideline": frozenset({"en"}),
}
"""The keys of tables for which the form has a field."""
START: JSON = {
    "name": "helpfulness",
    "version": "1",
    "title": "Helpfulness",
    "summary": "Say how helpful a report is.",
    "item": {"each": "report", "shows": ["report"]},
    "variable": [
        {
            "name": "helpful",
            "unit": "report",
            "question": "Does the report help the person who asked?",
            "codes": ["no", "partly", "yes"],
            "level": "ordinal",
            "escapes": ["cannot-tell"],
        }
    ],
    "guideline": {"en": "# Helpfulness\n\nRead the request first, then the report.\n"},
}
"""The protocol from which a new one starts."""
FIELDS: Mapping[tuple[str, str], str] = {
    ("variable", "codes"): "codes",
    ("variable", "words"): "codes",
    ("variable", "level"): "kind",
    ("variable", "several"): "kind",
    ("variable", "scale"): "least",
    ("evidence", "variable"): "about",
    ("guideline", "en"): "guideline",
    ("guideline", ""): "guideline",
}
"""The field of a table's key, unless it has the name of the key."""


class Filled:
    """The form as sent or as filled in, and the file that it writes."""

    def __init__(self, data: Any = None, initial: JSON | None = None) -> None:
        once, questions = _values(initial) if initial else ({}, [])
        self.once = ProtocolForm(data, initial=once)
        self.questions: BaseFormSet[Any] = Questions(data, initial=questions, prefix="q")

    def text(self) -> str:
        """Return the file, however incomplete the form is."""
        return write_protocol(_document(_raw(self.once), list(map(_raw, self.questions))))

    def place(self, text: str, problems: tuple[InputError, ...]) -> list[InputError]:
        """Put each problem of the written file at its field, and return the others."""
        places, others = dict(_places(text)), []
        self.once.is_valid()
        self.questions.is_valid()
        for each in problems:
            table, number, key = places.get(each.place.line or 0, ("", 0, ""))
            form = self._form(table, number)
            name = FIELDS.get((table, key), key)
            if table == "evidence" and key != "variable":
                name = ("first_in", "second_in")[number > 0] if key in ("in", "") else (
                    ("first_if", "second_if")[number > 0]
                )  # fmt: skip
            if form is None or name not in form.fields:
                others.append(each)
                continue
            form.add_error(name, sentence_of(each))
        return others

    def _form(self, table: str, number: int) -> forms.Form | None:
        if table != "variable":
            return self.once
        return self.questions.forms[number] if number < len(self.questions.forms) else None


def _raw(form: forms.Form) -> dict[str, Any]:
    """Return the values of a form as they were typed."""
    values = {name: form[name].value() for name in form.fields}
    return {name: "" if value is None else value for name, value in values.items()}


def _places(text: str) -> Iterator[tuple[int, tuple[str, int, str]]]:
    """Yield each line of a table or a key with the table, its number among equals, and the key."""
    return Lines(text).places()


def _document(once: Mapping[str, Any], questions: list[dict[str, Any]]) -> JSON:
    found: JSON = {name: _line(once[name]) for name in ("name", "version", "title")}
    if once["summary"]:
        found["summary"] = _line(once["summary"])
    found["item"] = {"each": once["each"] or "query"}
    if once["shows"]:
        found["item"]["shows"] = [each for each in SHOWABLE if each in once["shows"]]
    if once["shuffled"]:
        found["item"]["shuffled"] = True
    found["variable"] = [_variable(each) for each in questions]
    if evidence := list(_evidence(once)):
        found["evidence"] = evidence
    return {**found, "guideline": {"en": str(once["guideline"]).replace("\r\n", "\n")}}


def _line(text: Any) -> str:
    return " ".join(str(text).split())


def _variable(values: Mapping[str, Any]) -> JSON:
    found: JSON = {
        "name": _line(values["name"]),
        "unit": values["unit"] or UNITS[0],
        "question": _line(values["question"]),
    }
    kind, words = values["kind"], {}
    lines = [line.partition(":") for line in str(values["codes"]).splitlines() if line.strip()]
    if kind == "scale":
        ends = {"from": values["least"], "to": values["most"], "step": values["step"]}
        found["scale"] = {name: _number(text) for name, text in ends.items() if _line(text)}
    else:
        found["codes"] = [_line(code) for code, _, _ in lines]
    words = {_line(code): _line(word) for code, _, word in lines if word.strip()}
    if kind == "ordinal":
        found["level"] = "ordinal"
    if kind == "several":
        found["several"] = True
    if words:
        found["words"] = words
    if escapes := str(values["escapes"]).split():
        found["escapes"] = escapes
    return found


def _number(text: Any) -> int | float | str:
    for read in (int, float):
        try:
            return read(_line(text))
        except ValueError:
            continue
    return _line(text)


def _evidence(once: Mapping[str, Any]) -> Iterator[JSON]:
    for place in ("first", "second"):
        if once[f"{place}_in"]:
            owed = str(once[f"{place}_if"]).split()
            yield {
                "variable": _line(once["about"]),
                "in": once[f"{place}_in"],
                **({"owed_if": owed} if owed else {}),
            }


def _values(document: JSON) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the values of the form for a document, as far as the form has fields for it."""
    item, rules = document["item"], document.get("evidence", [])
    once = {name: document.get(name, "") for name in ("name", "version", "title", "summary")}
    once |= {name: item.get(name, "") for name in ("each", "shows", "shuffled")}
    once["guideline"] = document["guideline"].get("en", "")
    once["about"] = rules[0]["variable"] if rules else ""
    for place, rule in zip(("first", "second"), rules, strict=False):
        once[f"{place}_in"] = rule["in"]
        once[f"{place}_if"] = " ".join(rule.get("owed_if", ()))
    return once, [_question(each) for each in document["variable"]]


def _question(row: JSON) -> dict[str, Any]:
    words, scale = row.get("words", {}), row.get("scale", {})
    kind = "scale" if scale else "several" if row.get("several") else row.get("level", "nominal")
    answers = dict.fromkeys([*row.get("codes", ()), *words])
    return {
        "question": row["question"],
        "name": row["name"],
        "unit": row["unit"],
        "kind": kind,
        "codes": "\n".join(f"{code}: {words[code]}" if code in words else code for code in answers),
        "least": scale.get("from", ""),
        "most": scale.get("to", ""),
        "step": scale.get("step", ""),
        "escapes": " ".join(row.get("escapes", ())),
    }


def filled_from(file: ProtocolFile, document: JSON) -> Filled:
    """Return the form of a file. Raises ValueError, with what it has besides, if it has more."""
    filled = Filled(initial=document)
    try:
        again = read_protocol(filled.text(), "again.toml")
    except ProtocolFileError:
        again = None
    own = file.declaration, file.guidelines, file.german, file.prompt, file.sections
    if again is None or (again.declaration, again.guidelines, {}, "", {}) != own:
        more = ", ".join(_beyond(document, file.declaration)) or "other values"
        raise ValueError(f"the file has more than the form: {more}")
    return filled


def _beyond(document: JSON, declared: Declaration) -> Iterator[str]:
    """Yield the keys of a document for which the form has no field."""
    yield from (key for key in document if key in keys_beyond_the_form())
    keys = {"item": set(document["item"]), "guideline": set(document["guideline"])}
    keys["variable"] = {name for v in document["variable"] for name in v}
    for table, own in OWN_KEYS.items():
        yield from sorted(keys[table] - own)
    if any(each.startswith("meta.") for each in document["item"].get("shows", ())):
        yield "meta"
    if any(_is_other(variable) for variable in declared.variables):
        yield "level"


def _is_other(variable: Variable) -> bool:
    return variable.level == "interval" and variable.scale is None


def sentence_of(problem: InputError) -> str:
    return as_sentence(f"{problem.wrong}; {problem.remedy}")


def keys_beyond_the_form() -> list[str]:
    """Return the tables of the file that the form does not have, for its note."""
    own = {"name", "version", "title", "summary", "item", "variable", "evidence", "guideline"}
    return [name for name in schema()["properties"] if name not in own]


OF_SETS = ("Krippendorff's alpha, MASI distance", "alpha of each code", "share of equal sets")
"""The coefficients of variables with several codes."""


@dataclass(frozen=True)
class Figures:
    """What a report says of one variable: coefficients among people, and how a judge compares."""

    variable: Variable
    coefficients: tuple[str, ...]

    @property
    def answers(self) -> list[tuple[str, str, str, bool]]:
        """Each answer: its code, its word, its meaning, and whether it is an escape."""
        of = self.variable
        return [
            (code, of.word(code), of.meanings.get(code, ""), code in of.escapes)
            for code in of.answers
        ]


def figures_of(declared: Declaration) -> list[Figures]:
    """Return the figures of each variable, which follow from its level."""
    return [Figures(each, tuple(_coefficients(each))) for each in declared.variables]


def _coefficients(variable: Variable) -> Iterator[str]:
    if variable.several:
        yield from OF_SETS
        return
    scale = Scale(len(variable.codes), variable.level)
    named = [
        each for each in (*AMONG.values(), KAPPA) if each.name and (each.rank or each == KAPPA)
    ]
    ordered = [WEIGHTED] if variable.level != "nominal" else []
    for each in sorted(named, key=lambda each: each.rank or len(AMONG)) + ordered:
        if not (variable.scale and each.needs == "categories"):
            yield each.method_on(scale)


def measures_of(declared: Declaration) -> list[tuple[str, str]]:
    """Return each declared measure with a sentence about it."""
    return [(measure.name, describe(measure)) for measure in declared.measures]


def prompt_of(previewed: PreviewedItem, protocol: Protocol) -> tuple[Message, ...]:
    """Return the messages that a judge with the protocol's prompt gets. Raises PromptError."""
    judge = draft(Definition("preview", "lexical", "", ""))
    campaign = previewed.assignment.item.campaign
    preparer = Preparer(campaign, judge, read_prompt(protocol.prompt), build_backend(judge))
    return preparer.prepare(previewed.assignment).request.messages
