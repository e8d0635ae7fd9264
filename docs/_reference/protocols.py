"""Reference pages of the protocols, and a page that lists them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from itertools import takewhile

from annotation.protocols import PROTOCOLS
from annotation.protocols.base import Protocol
from annotation.protocols.declared import FileProtocol
from docs._reference.words import code, codes, page, plain, table
from tandem.protocols.base import Conditions, Variable

LIST = """\
For researchers who choose what to ask: the protocols, each with its units, variables and codes.
`tandem campaign create NAME --protocol PROTOCOL --batch BATCH` creates a campaign with one of them.
"""
COLUMNS = """\
An *escape* is a legitimate answer that is not a category. It is counted separately and left out of
agreement. *Optional* variables are asked only in campaigns that name them with
`--option variables=…`. If its condition is not met, a variable has no label.
"""
WHERE = {
    "questions": "sub-questions",
    "passages": "passages",
    "key_points": "key points",
    "nuggets": "nuggets",
    "reports": "reports",
}


def write_list() -> str:
    rows = [
        (f"[{p.name}]({p.name}.md)", p.title, codes(_kinds(p)), codes(_names(p)))
        for p in PROTOCOLS.values()
    ]
    return page("Protocols", LIST, table(("protocol", "title", "units", "variables"), rows))


def write(protocol: Protocol) -> str:
    opening = f"For researchers and annotators: what `{protocol.name}` asks, of what, and how."
    return page(
        protocol.title,
        f"{opening} Version {protocol.version}.",
        plain(_module_docstring(protocol)),
        _facts(protocol),
        f"## Variables\n\n{COLUMNS}\n{table(_HEAD, map(_row, protocol.variables))}",
        f"## Guideline\n\nWhat people read beside every item, and judges in their prompt.\n\n"
        f"{_demoted(protocol.guideline)}",
        _prompt(protocol),
        *(part for reading in protocol.readings.values() for part in _reading(reading)),
    )


def _reading(protocol: Protocol) -> Iterator[str]:
    """Describe how the option `points` changes a protocol."""
    yield f"## With `--option points={protocol.reading}`"
    yield f"{protocol.title}.\n\n{_facts(protocol)}"
    yield table(_HEAD, map(_row, protocol.variables))
    yield f"### Guideline of this reading\n\n{_demoted(_demoted(protocol.guideline))}"
    yield _prompt(protocol).replace("## Prompt", "### Prompt of this reading", 1)


_HEAD = ("variable", "unit", "question", "codes", "level", "asked if")


def _row(variable: Variable) -> tuple[str, ...]:
    answers = codes(variable.answers_in_brief[: 1 if variable.scale else len(variable.codes)])
    answers = f"any of {answers}" if variable.several else answers
    if variable.escapes:
        answers += f"; escape: {codes(variable.escapes)}"
    name = code(variable.name) + (" (optional)" if variable.optional else "")
    condition = _condition(variable.asked_if)
    return name, variable.kind, variable.question, answers, variable.level, condition


def _condition(conditions: Conditions) -> str:
    return " and ".join(f"`{name}` is {' or '.join(held)}" for name, held in conditions.items())


def _facts(protocol: Protocol) -> str:
    return "\n".join(f"- {fact}" for fact in _describe(protocol))


def _describe(protocol: Protocol) -> Iterator[str]:
    yield f"Units: {codes(_kinds(protocol))}."
    needs = ", ".join(WHERE[part] for part in protocol.needs) or "the query alone"
    yield f"Reads of the batch: {needs}."
    if rule := protocol.evidence:
        owed = (
            f"required if `{rule.variable}` is {' or '.join(rule.owed_if)}"
            if rule.owed_if
            else "optional"
        )
        texts = f"{rule.field}s" if rule.several else rule.field
        yield f"Evidence: highlights of the {texts} for `{rule.variable}`, {owed}."
        if rule.several:
            yield f"A quote names its text as `{rule.field}:ID`."
    if written := protocol.written:
        held = _condition(written.asked_if)
        yield f"Written by the rater: {code(written.name)}, a text" + (
            f" where {held}." if held else "."
        )
    for each in protocol.contradictions:
        yield f"Refused together, from people, judges and files: {_condition(each)}."
    if listed := protocol.listed:
        held = _condition(listed.asked_if)
        yield (
            f"Listed by the rater: {code(listed.name)} of the {listed.kind}, each with quotes of "
            f"the {listed.field}" + (f", where {held}." if held else ".")
        )
        yield (
            f"Matched to that list: each {listed.match_kind}, by {code(listed.matches)}, where "
            f"`{listed.match}` is {listed.match_code}."
        )
    if protocol.sampled:
        yield "Unless told otherwise, a seeded draw of an item's units is asked (`per_passage`)."
    if protocol.shuffled:
        yield "Unless told otherwise, units are shown in a random order, recorded for each rater."


def _kinds(protocol: Protocol) -> list[str]:
    return list(dict.fromkeys(variable.kind for variable in protocol.variables))


def _names(protocol: Protocol) -> list[str]:
    return list(dict.fromkeys(variable.name for variable in protocol.variables))


def _module_docstring(protocol: Protocol) -> str:
    if isinstance(protocol, FileProtocol):
        lines = takewhile(lambda line: line.startswith("#"), protocol.file.text.splitlines())
        return "\n".join(line.removeprefix("#").removeprefix(" ") for line in lines)
    declared = import_module(f"tandem.protocols.{protocol.name.replace('-', '_')}")
    return declared.__doc__ or ""


def _demoted(markdown: str) -> str:
    """Return Markdown without its title, with other headings one level lower."""
    body = re.sub(r"\A# .*\n", "", markdown)
    return re.sub(r"^#", "##", body, flags=re.MULTILINE)


def _prompt(protocol: Protocol) -> str:
    own = protocol.prompt_name == protocol.slug
    whose = "A prompt of its own" if own else "The prompt that all protocols share"
    whose += f", version {protocol.prompt_version}."
    text = "\n".join(f"    {line}" for line in ["````text", *protocol.prompt.splitlines(), "````"])
    opening = f"## Prompt\n\n{whose} The words in braces are filled in."
    return f'{opening}\n\n??? note "The prompt"\n\n{text}'
