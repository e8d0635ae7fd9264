"""A protocol that a file declares: its items, guideline and prompt come from the file."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from functools import cached_property
from typing import Self

from annotation.protocols.base import Protocol, split_version
from annotation.protocols.items import build_items, needs_of
from tandem.protocols.base import ItemForm
from tandem.protocols.protocol_file import ProtocolFile

NOTHING = "Nothing in the batch has what its pages and questions are about."


@dataclass(frozen=True, kw_only=True)
class FileProtocol(Protocol):
    """A protocol of a team, or a draft of one that is not stored."""

    file: ProtocolFile

    @property
    def guideline(self) -> str:
        return self.own_guideline or self.file.guidelines["en"]

    def guideline_in(self, language: str) -> str:
        if self.own_guideline:
            return self.guideline
        return self.file.guidelines.get(language, self.guideline)

    def worded_in(self, language: str) -> Self:
        return self.file.in_german(self) if language == "de" else self

    @property
    def prompt_name(self) -> str:
        return self.slug if self.file.prompt else super().prompt_name

    @cached_property
    def _versioned_prompt(self) -> tuple[str, str]:
        return split_version(self.file.prompt) if self.file.prompt else super()._versioned_prompt


def protocol_of(file: ProtocolFile, stored: uuid.UUID | None = None) -> FileProtocol:
    """Return the protocol that a checked file declares."""
    declared = file.declaration
    form = declared.items or ItemForm("query")
    return FileProtocol.of(
        declared,
        file=file,
        stored=stored,
        make_items=build_items(form),
        needs=needs_of(form, declared.variables),
        sampled=form.sampled,
        shuffled=form.shuffled,
        sections=file.sections,
        lacks=file.lacks or NOTHING,
    )
