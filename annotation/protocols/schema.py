"""The schema of a campaign, and what the guideline says of each code of a variable.

A guideline explains codes in lists: `- **code**: what it means`, under the question that is asked.
A campaign's own guideline counts like the protocol's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Self

from annotation.protocols.base import Protocol
from tandem.protocols.base import Variable
from tandem.protocols.schema import Schema, by_kind

_HEADING = re.compile(r"^#+[ \t]+(.+?)[ \t]*$", re.MULTILINE)
_ENTRY = re.compile(r"^[-*][ \t]+\*\*([^*\n]+)\*\*[^:\n]*:[ \t]*(.+?)[ \t]*$", re.MULTILINE)
_BOLD = re.compile(r"\*\*([^*\n]+)\*\*")
LEAST_DESCRIBED = 2


def criteria(variable: Variable, guideline: str) -> dict[str, str]:
    """Return the descriptions of a variable's answers, for those that have one.

    Descriptions are taken from the guideline's section under the variable's question, or else from
    the only section that describes at least two of its answers. Otherwise the variable's own
    meanings and words are used.
    """
    own = {
        code: variable.meanings.get(code) or variable.words.get(code, "")
        for code in variable.answers
    }
    found = own | _described(variable, guideline)
    return {c: text for c, text in found.items() if text and text.casefold() != c.casefold()}


def _described(variable: Variable, guideline: str) -> dict[str, str]:
    sections = [
        (heading, {code: lines[code] for code in variable.answers if code in lines})
        for heading, lines in _sections(guideline)
    ]
    asked = [lines for heading, lines in sections if heading == variable.question and lines]
    others = [lines for _, lines in sections if len(lines) >= LEAST_DESCRIBED]
    # Codes such as yes and no are explained for each variable separately.
    return next((each[0] for each in (asked, others) if len(each) == 1), {})


@lru_cache(maxsize=64)
def _sections(guideline: str) -> tuple[tuple[str, Mapping[str, str]], ...]:
    return tuple(_each_section(guideline))


def _each_section(guideline: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield each heading with the codes described under it; what comes before one has none."""
    headings = list(_HEADING.finditer(guideline))
    begins = [("", 0), *((heading[1], heading.end()) for heading in headings)]
    ends = [*(heading.start() for heading in headings), len(guideline)]
    for (heading, begin), end in zip(begins, ends, strict=True):
        lines = _ENTRY.findall(guideline[begin:end])
        yield heading, {code: _BOLD.sub(r"\1", text) for code, text in lines}


@dataclass(frozen=True)
class CampaignSchema(Schema):
    """A protocol of the site with the variables that one campaign asks."""

    protocol: Protocol

    def worded_in(self, language: str) -> Self:
        """Return the schema with the texts in a language that the protocol's file has."""
        worded = self.protocol.worded_in(language)
        if worded is self.protocol:
            return self
        found = {(v.name, v.kind): v for v in worded.variables}
        variables = tuple(found[v.name, v.kind] for v in self.variables)
        return replace(self, protocol=worded, variables=variables)

    @by_kind
    def criteria(self, kind: str) -> Mapping[str, Mapping[str, str]]:
        """Return the descriptions of codes, by variable, as the guideline gives them."""
        guideline = self.protocol.guideline
        return {v.name: criteria(v, guideline) for v in self.variables_of(kind)}


def schema_of(
    protocol: Protocol, variables: Sequence[str] = (), categories: Sequence[str] = ()
) -> CampaignSchema:
    """Return the schema of a protocol under a campaign's options, as `Schema.of` does."""
    return CampaignSchema.of(protocol, variables, categories)
