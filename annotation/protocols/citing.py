"""What a written answer may cite: passages of its item of which something was selected."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from annotation.protocols.base import ItemSpec
from annotation.protocols.checking import Door, Entry, Problem, RefusedError
from annotation.protocols.schema import Schema

PASSAGE = "passage:"


def check_citations(
    schema: Schema, spec: ItemSpec, entries: Sequence[Entry], door: Door
) -> list[Problem]:
    """Warnings about passages that are cited and not selected; at page and API they are problems.

    Where the campaign does not ask what is selected, every passage of the item may be cited.
    Raises RefusedError.
    """
    rule = schema.protocol.written
    if rule is None or not any(schema.variable("selected", unit.kind) for unit in spec.units):
        return []
    found = list(_problems(spec, entries))
    if found and door in ("page", "api"):
        raise RefusedError(found)
    return found


def _problems(spec: ItemSpec, entries: Sequence[Entry]) -> Iterator[Problem]:
    shown = {text.field for text in spec.texts}
    chosen = selected_passages(spec.key, entries)
    for entry in entries:
        for cited in dict.fromkeys(entry.written.citations if entry.written else ()):
            if f"{PASSAGE}{cited}" in shown and cited not in chosen:
                wrong = "is cited, and nothing of it is selected; select it, or do not cite it"
                yield Problem(entry.name, "citations", f"{cited!r} {wrong}")


def selected_passages(item: str, entries: Iterable[Entry]) -> set[str]:
    """The ids of the passages that were selected, or of which a sentence was."""
    chosen = (e.unit for e in entries if e.values.get("selected") == "yes")
    return {passage_of(item, unit.kind, unit.key) for unit in chosen}


def passage_of(item: str, kind: str, key: str) -> str:
    """The id of the passage that a unit is, or that a sentence of it stands in."""
    passage = key.removeprefix(f"{item}/")
    return passage.rpartition("#")[0] if kind == "passage-sentence" else passage
