"""The rules between the parts of a protocol's file: names, codes, conditions, what a page shows."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from tandem.protocols.base import (
    Conditions,
    Declaration,
    DeclaredMeasure,
    Evidence,
    ItemForm,
    Scale,
    Variable,
    WrittenText,
)
from tandem.protocols.file_structure import FIELDS, JSON, KINDS, QUOTED, SHOWN, Problems
from tandem.similar import most_similar

MOST_STEPS = 1_000
LONGEST_SET = 255
RESERVED = ("evidence", "written", "comment", "units")

OF_REPORTS = ("report", "report-nugget", "report-passage", "sentence", "sentence-citation")
"""The kinds of items and units that are about one report."""

Wrong = Callable[[str, str, str], None]
"""Adds a problem: what is wrong, the mend, and the key."""


def declare(document: JSON, problems: Problems) -> Declaration:
    """Return what a file declares. Problems are added, and what they touch may be incomplete."""
    return _Declaring(document, problems).declaration()


class _Declaring:
    def __init__(self, document: JSON, problems: Problems) -> None:
        self.document, self.wrong = document, problems.add

    def declaration(self) -> Declaration:
        self._check_names()
        variables = tuple(
            self._variable(number, row) for number, row in enumerate(self.document["variable"])
        )
        declaration = Declaration(
            name=self.document["name"],
            version=self.document["version"],
            title=self.document["title"],
            summary=self.document.get("summary", ""),
            variables=variables,
            evidence=self._evidence(variables),
            written=self._written(variables),
            items=self._items(),
            measures=tuple(self._measures(variables)),
        )
        self._check_german(declaration)
        return declaration

    def _check_names(self) -> None:
        seen: set[tuple[str, str]] = set()
        for number, row in enumerate(self.document["variable"]):
            if (row["name"], row["unit"]) in seen:
                self.wrong(
                    f"the variable {row['name']} is asked twice of a {row['unit']}",
                    "give it another name", "variable", "name", number,
                )  # fmt: skip
            if row["name"] in RESERVED:
                self.wrong(
                    f"{row['name']} is a word of its own in answers", "give it another name",
                    "variable", "name", number,
                )  # fmt: skip
            seen.add((row["name"], row["unit"]))

    def _variable(self, number: int, row: JSON) -> Variable:
        def wrong(what: str, remedy: str, key: str) -> None:
            self.wrong(f"{row['name']}: {what}", remedy, "variable", key, number)

        scale = self._scale(row, wrong)
        codes = scale.codes if scale else tuple(row.get("codes", ()))
        if not codes:
            wrong("it has no codes", "add codes, or a scale", "name")
        elif scale and "codes" in row:
            wrong("it has codes and a scale", "leave one out", "codes")
        level = row.get("level", "interval" if scale else "nominal")
        if scale and level != "interval":
            wrong(f"a scale is not {level}", "leave the level out", "level")
        if level == "interval" and not scale and not all(map(_is_number, codes)):
            wrong("the codes of an interval scale are numbers", "give a scale", "level")
        escapes = tuple(row.get("escapes", ()))
        if both := sorted(set(codes) & set(escapes)):
            wrong(f"{both[0]!r} is a code and an escape", "leave one out", "escapes")
        several = bool(row.get("several"))
        if several and (scale or level != "nominal"):
            wrong("several codes have no order", "leave scale and level out", "several")
        if several and len(json.dumps(list(codes), ensure_ascii=False)) > LONGEST_SET:
            wrong(
                f"its codes together have over {LONGEST_SET} characters",
                "shorten codes, and say the rest in words", "codes",
            )  # fmt: skip
        for key in ("words", "meanings"):
            for code in row.get(key, {}):
                if code not in (*codes, *escapes):
                    wrong(f"{key} names {code!r}", _meant(code, (*codes, *escapes)), key)
        return Variable(
            row["name"],
            row["unit"],
            row["question"],
            codes,
            level,
            escapes,
            self._conditions(row.get("asked_if", {}), row, number),
            row.get("words", {}),
            row.get("meanings", {}),
            bool(row.get("optional")),
            scale,
            several,
        )

    def _scale(self, row: JSON, wrong: Wrong) -> Scale | None:
        if "scale" not in row:
            return None
        first, last, step = (
            Decimal(str(row["scale"].get(key, 1))) for key in ("from", "to", "step")
        )
        if not all(each.is_finite() for each in (first, last, step)) or first >= last:
            wrong("its scale has no numbers", "give from, and to above it", "scale")
        elif (last - first) / step > MOST_STEPS:
            wrong(f"its scale has over {MOST_STEPS:,} steps", "give a larger step", "scale")
        elif (last - first) % step:
            wrong("its steps do not end at to", "give a step that divides the scale", "scale")
        else:
            return Scale(first, last, step)
        return Scale(Decimal(0), Decimal(1))

    def _conditions(self, conditions: JSON, row: JSON, number: int) -> Conditions:
        """Return conditions on variables before this one, of the same kind of unit."""
        before = {
            each["name"]: each
            for each in self.document["variable"][:number]
            if each["unit"] == row["unit"]
        }
        return self._checked(conditions, before, row["name"], "variable", number)

    def _checked(
        self, conditions: JSON, known: Mapping[str, JSON], of: str, table: str, number: int = 0
    ) -> Conditions:
        for name, codes in conditions.items():
            if name not in known:
                later = any(each["name"] == name for each in self.document["variable"])
                why = "is not asked of the unit before it" if later else "is not a variable"
                self.wrong(
                    f"{of}: asked_if names {name!r}, which {why}", _meant(name, known),
                    table, "asked_if", number,
                )  # fmt: skip
                continue
            answers = [*known[name].get("codes", ()), *known[name].get("escapes", ())]
            for code in codes:
                if code not in answers and "scale" not in known[name]:
                    self.wrong(
                        f"{of}: {code!r} is not a code of {name}", _meant(code, answers),
                        table, "asked_if", number,
                    )  # fmt: skip
        return {name: tuple(codes) for name, codes in conditions.items()}

    def _items(self) -> ItemForm:
        item = self.document["item"]
        each, shows, fields = item["each"], item.get("shows", []), item.get("fields", [])
        for shown in shows:
            if shown not in SHOWN[each] and not shown.startswith("meta."):
                able = ", ".join(SHOWN[each])
                self.wrong(
                    f"a page for each {each} cannot show {shown}", f"give some of {able}",
                    "item", "shows",
                )  # fmt: skip
        kinds = [row["unit"] for row in self.document["variable"]]
        for number, kind in enumerate(kinds):
            if kind not in KINDS[each]:
                able = ", ".join(KINDS[each])
                self.wrong(
                    f"a page for each {each} has no {kind}", f"give one of {able}",
                    "variable", "unit", number,
                )  # fmt: skip
        known = {name for kind in kinds for name in FIELDS.get(kind, ())}
        for name in fields:
            if name not in known:
                having = ", ".join(kind for kind, names in FIELDS.items() if name in names)
                self.wrong(
                    f"no unit that is asked has {name}", f"only {having} have it", "item", "fields"
                )
        return ItemForm(
            each, tuple(shows), bool(item.get("shuffled")), bool(item.get("sampled")), tuple(fields)
        )

    def _evidence(self, variables: Sequence[Variable]) -> Evidence | None:
        rows = self.document.get("evidence", [])
        each, shows = self.document["item"]["each"], self.document["item"].get("shows", [])
        known = {v.name: v for v in variables}
        found: list[Evidence] = []
        for number, row in enumerate(rows):
            variable = known.get(row["variable"])
            if variable is None:
                self.wrong(
                    f"evidence names {row['variable']!r}", _meant(row["variable"], known),
                    "evidence", "variable", number,
                )  # fmt: skip
                continue
            if row["variable"] != rows[0]["variable"]:
                self.wrong(
                    "evidence is for two variables", f"keep that for {rows[0]['variable']}",
                    "evidence", "variable", number,
                )  # fmt: skip
            text = row["in"]
            if not set(QUOTED[text]) & set(shows):
                able = " or ".join(QUOTED[text])
                self.wrong(
                    f"the page does not show the {text}", f"add {able} to shows",
                    "evidence", "in", number,
                )  # fmt: skip
            if text == "sentence" and not variable.kind.startswith("sentence"):
                self.wrong(
                    f"a {variable.kind} has no sentence of its own", "quote the report",
                    "evidence", "in", number,
                )  # fmt: skip
            for code in row.get("owed_if", ()):
                if code not in variable.answers:
                    self.wrong(
                        f"owed_if names {code!r}", _meant(code, variable.answers),
                        "evidence", "owed_if", number,
                    )  # fmt: skip
            found.append(_evidence(variable, text, tuple(row.get("owed_if", ())), each, shows))
        if len(found) > 2 or len({rule.field for rule in found}) < len(found):
            self.wrong("evidence is in more texts than two", "keep one for each text", "evidence")
        if not found:
            return None
        first, *others = found
        return dataclasses.replace(first, beside=others[0]) if others else first

    def _written(self, variables: Sequence[Variable]) -> WrittenText | None:
        row = self.document.get("written")
        if row is None:
            return None
        asked_if = row.get("asked_if", {})
        kinds = [v.kind for v in variables if v.name in asked_if] or [variables[0].kind]
        kind = row.get("unit", kinds[0])
        known = {each["name"]: each for each in self.document["variable"] if each["unit"] == kind}
        if not known:
            self.wrong(f"nothing is asked of a {kind}", "give its unit", "written", "unit")
        conditions = self._checked(asked_if, known, "written", "written")
        return WrittenText("written", kind, row["question"], conditions)

    def _measures(self, variables: Sequence[Variable]) -> Iterator[DeclaredMeasure]:
        known = {v.name: v for v in variables}
        names: set[str] = set()
        for number, row in enumerate(self.document.get("measure", [])):

            def wrong(what: str, remedy: str, key: str, number: int = number) -> None:
                self.wrong(what, remedy, "measure", key, number)

            name, points = next(iter(row["scores"].items()))
            variable = known.get(name)
            if variable is None:
                wrong(f"{row['name']} scores {name!r}", _meant(name, known), "scores")
                continue
            if row["name"] in names:
                wrong(f"{row['name']} is measured twice", "give it another name", "name")
            names.add(row["name"])
            if not points and variable.scale is None:
                wrong(f"{row['name']} gives no points", f"give those of {name}", "scores")
            for code in points:
                if code not in variable.codes:
                    wrong(f"scores names {code!r}", _meant(code, variable.codes), "scores")
            able = FIELDS.get(variable.kind, ())
            for key in ("where", "weight"):
                for attribute in row.get(key, {}):
                    if attribute not in able:
                        wrong(f"a {variable.kind} has no {attribute}", _meant(attribute, able), key)
            self._check_sentences(row, variable, wrong)
            yield DeclaredMeasure(
                row["name"],
                name,
                dict(points),
                {each: tuple(values) for each, values in row.get("where", {}).items()},
                {each: dict(weights) for each, weights in row.get("weight", {}).items()},
                row.get("over", "units"),
                row.get("denominator", "units"),
                row.get("escape", "missing"),
                row.get("empty", "null"),
            )

    def _check_sentences(self, row: JSON, variable: Variable, wrong: Wrong) -> None:
        by_sentence = row.get("over", "units") != "units"
        if by_sentence and not variable.kind.startswith("sentence"):
            wrong(f"a {variable.kind} is not of a sentence", 'write over = "units"', "over")
        if row.get("denominator") == "sentences" and not variable.kind.startswith("sentence"):
            wrong(f"a {variable.kind} is not of a sentence", "leave it out", "denominator")
        if variable.kind not in OF_REPORTS and self.document["item"]["each"] not in OF_REPORTS:
            wrong("a measure is per report, and its units have none", "leave it out", "name")

    def _check_german(self, declaration: Declaration) -> None:
        known = {declaration.title, declaration.summary}
        known |= {declaration.written.question} if declaration.written else set()
        for v in declaration.variables:
            known |= {v.question, *map(v.word, v.answers), *v.meanings.values()}
        for text in self.document.get("german", {}):
            if text not in known:
                self.wrong(
                    f"german translates {text[:60]!r}, which the file does not say",
                    _meant(text, known), "german", text,
                )  # fmt: skip


def _evidence(
    variable: Variable, text: str, owed_if: tuple[str, ...], each: str, shows: Sequence[str]
) -> Evidence:
    field = {"sentence": "report", "passages": "passage"}.get(text, text)
    plural = {"report": "reports", "passage": "passages"}.get(field)
    several = field == "reference" or plural in shows or (field == "passage" and "cited" in shows)
    return Evidence(
        variable.name,
        field,
        owed_if,
        several=several,
        within=text == "sentence",
    )


def _is_number(code: str) -> bool:
    try:
        return Decimal(code).is_finite()
    except ArithmeticError:
        return False


def _meant(name: str, known: Mapping[str, Any] | Sequence[str] | set[str]) -> str:
    near = most_similar(name, known)
    if near:
        return f"did you mean {near}?"
    return f"give one of {', '.join(list(known)[:20])}" if known else "leave it out"
