"""A protocol of the site: a declaration of the library, with its items, guideline and prompt.

A protocol is one folder: `__init__.py` makes its items, `guideline.md` is for people and judges,
and `prompt.md` is there where the generic prompt does not fit. It imports neither Django nor any
database model. The first line of a prompt file is its version, `version: 2`, and the prompt itself
begins after it.
"""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self, get_args

from tandem.protocols import material
from tandem.protocols.base import Declaration, ItemSpec, Variable

SHARED_PROMPT = "shared"
MakeItems = Callable[[material.Query, Sequence[Variable]], Iterable[ItemSpec]]

Needs = Literal["questions", "passages", "key_points", "nuggets", "reports"]
NEEDS: tuple[Needs, ...] = get_args(Needs)


@dataclass(frozen=True, kw_only=True)
class Protocol(Declaration):
    """One annotation task: what it declares, and how its items, guideline and prompt are made.

    `make_items(query, variables)` returns the items of a query with every unit that may be asked. A
    campaign's sampling may ask fewer. `needs` are the parts of the material that it reads. Unless
    the campaign's options say otherwise, `sampled` protocols ask a seeded sample of the units of
    each item, and `shuffled` protocols show the units in a random order, recorded for each rater.
    `readings` are protocols of the same name that ask about other points, by the value of the
    option `points`. `earlier` are the declarations of earlier versions. A campaign keeps the
    declaration under which it was created. `sections` maps headings of the guideline to the
    variables that the section is about, unless the heading is a variable's question. `lacks` says
    why a batch with all `needs` may still give no items. `stored` is the `uid` of a team's
    file that declares it.
    """

    make_items: MakeItems
    needs: tuple[Needs, ...]
    sampled: bool = False
    shuffled: bool = False
    folder: Path = Path(__file__).parent
    sections: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    own_guideline: str = ""
    readings: Mapping[str, Protocol] = dataclasses.field(default_factory=dict)
    earlier: Mapping[str, Protocol] = dataclasses.field(default_factory=dict)
    lacks: str = ""
    stored: uuid.UUID | None = None

    @classmethod
    def of(cls, declaration: Declaration, **own: Any) -> Self:
        """Return the protocol of a declaration: `own` are the fields that are the site's."""
        declared = {f.name: getattr(declaration, f.name) for f in dataclasses.fields(Declaration)}
        return cls(**{**declared, "readings": {}, "earlier": {}, **own})

    def read_as(self, points: str) -> Protocol:
        """Return the reading for the option `points`. Raises KeyError if there is none."""
        return self.readings[points] if points else self

    def as_of(self, version: str) -> Protocol:
        """Return the declaration of a version: this one, unless an earlier one differs."""
        return self.earlier.get(version, self)

    @property
    def guideline(self) -> str:
        """The campaign's own guideline, if it has one, or the protocol's."""
        return self.own_guideline or (self.folder / "guideline.md").read_text("utf-8")

    def guideline_in(self, language: str) -> str:
        """Return the guideline as people read it in a language, if there is a translation.

        A campaign's own guideline is not translated, and judges read the original.
        """
        translated = self.folder / f"guideline.{language}.md"
        if self.own_guideline or not translated.exists():
            return self.guideline
        return translated.read_text("utf-8")

    def worded_in(self, language: str) -> Self:
        """Return the protocol with the texts in a language that its file has.

        Texts of the site's own protocols are in its catalogues.
        """
        return self

    @property
    def prompt(self) -> str:
        return self._versioned_prompt[1]

    @property
    def prompt_name(self) -> str:
        """The slug of the protocol that the prompt belongs to, or `shared`."""
        return self.slug if self._prompt_folder == self.folder else SHARED_PROMPT

    @property
    def prompt_version(self) -> str:
        """The version in the prompt's file, or an empty string."""
        return self._versioned_prompt[0]

    @property
    def _prompt_folder(self) -> Path:
        own = (self.folder / "prompt.md").exists()
        return self.folder if own else Path(__file__).parent

    @property
    def _versioned_prompt(self) -> tuple[str, str]:
        return split_version((self._prompt_folder / "prompt.md").read_text("utf-8"))


def split_version(text: str) -> tuple[str, str]:
    """Return the version of a prompt, or an empty text, and the prompt itself."""
    first, _, rest = text.partition("\n")
    if not first.startswith("version:"):
        return "", text
    return first.removeprefix("version:").strip(), rest.lstrip("\n")
