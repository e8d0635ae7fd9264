"""Check what an item's answers have to agree on, after each was checked by itself (`validation`).

Answers that contradict each other are refused in every channel. A written answer may cite the
passages of its item from which the rater selected something.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tandem.messages import Message, all_of
from tandem.protocols.base import ItemSpec, names_code
from tandem.protocols.schema import Schema
from tandem.protocols.validation import PASSAGE, Channel, Entry, Problem, RefusedError


def check_contradictions(schema: Schema, entries: Iterable[Entry]) -> None:
    """Check that no unit has answers that contradict each other. Raises RefusedError.

    `check` leaves this to what accepts new answers, so that stored ones from before such a rule
    stay readable.
    """
    if problems := list(_contradictions(schema, entries)):
        raise RefusedError(problems)


def _contradictions(schema: Schema, entries: Iterable[Entry]) -> Iterator[Problem]:
    for entry in entries:
        values, kind = entry.values, entry.unit.kind
        for conditions in schema.contradictions(kind):
            if not all(names_code(values.get(name), codes) for name, codes in conditions.items()):
                continue
            *others, last = conditions
            given = {
                name: next(code for code in codes if names_code(values[name], (code,)))
                for name, codes in conditions.items()
            }
            wrong = Message(
                "cannot be %(code)s while %(when)s; change one of them",
                code=schema.coded(last, given[last], kind),
                when=all_of(
                    Message(
                        "%(variable)s is %(code)s",
                        variable=schema.named(name, kind),
                        code=schema.coded(name, given[name], kind),
                    )
                    for name in others
                ),
            )
            yield Problem(entry.name, last, wrong)


def check_citations(
    schema: Schema, spec: ItemSpec, entries: Sequence[Entry], channel: Channel
) -> list[Problem]:
    """Return warnings about passages that are cited but not selected.

    Raises RefusedError with them for answers from a page or the API. If the campaign does not ask
    what is selected, every passage of the item may be cited.
    """
    rule = schema.protocol.written
    if rule is None or not any(schema.variable("selected", unit.kind) for unit in spec.units):
        return []
    found = list(_citation_problems(spec, entries))
    if found and channel in ("page", "api"):
        raise RefusedError(found)
    return found


def _citation_problems(spec: ItemSpec, entries: Sequence[Entry]) -> Iterator[Problem]:
    shown = {text.field for text in spec.texts}
    chosen = selected_passages(spec.key, entries)
    for entry in entries:
        for cited in dict.fromkeys(entry.written.citations if entry.written else ()):
            if f"{PASSAGE}{cited}" in shown and cited not in chosen:
                wrong = Message(
                    "%(cited)s is cited but nothing in it is selected; select it, or do not cite "
                    "it",
                    cited=repr(cited),
                )
                yield Problem(entry.name, "citations", wrong)


def selected_passages(item: str, entries: Iterable[Entry]) -> set[str]:
    """Return the ids of the passages that were selected, whole or in part."""
    chosen = (e.unit for e in entries if e.values.get("selected") == "yes")
    return {passage_of(item, unit.kind, unit.key) for unit in chosen}


def passage_of(item: str, kind: str, key: str) -> str:
    """Return the id of the passage that is the unit, or that contains the unit's sentence."""
    passage = key.removeprefix(f"{item}/")
    return passage.rpartition("#")[0] if kind == "passage-sentence" else passage
