"""The schema of a campaign, which also knows what the guideline says of each code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from annotation.protocols.base import Protocol
from annotation.protocols.criteria import criteria
from tandem.protocols.schema import Schema, by_kind


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
