"""Presets: what each paper chooses, as it states or as its printed figures imply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from tandem.scores.options import LISTED, ZERO, Options, choice

PRESETS: Mapping[str, Options] = {
    "tandem": Options(),
    "crux": Options(missing=ZERO, scope=LISTED),
    "long2rag": Options(missing=ZERO),
    "garage": Options(),
    "clapnq": Options(oracle="relevant", cuts=(1, 3, 5, 10), recall_references="first"),
}
"""The options that each paper states or implies, by its name; `tandem` is our own default."""


@dataclass(frozen=True)
class TableOptions(Options):
    """The options of a paper's tables: those of its measures, and what a single table shows."""

    query: str = choice(
        "",
        "The query that CRUX's Table 5 shows. Without one, it is the first of which a sub-question "
        "is dropped, or else the first.",
    )

    without: str = choice(
        "",
        "The campaigns that are left out where two could serve, separated by commas.",
    )

    @classmethod
    def of(cls, preset: str) -> TableOptions:
        """Return what a paper states or implies."""
        return cls(**vars(PRESETS[preset]))

    @property
    def measures(self) -> Options:
        return Options(**{each.name: getattr(self, each.name) for each in fields(Options)})

    @property
    def left_out(self) -> tuple[str, ...]:
        """The names of the campaigns that are left out."""
        return tuple(filter(None, (name.strip() for name in self.without.split(","))))
