"""Which units the figures of a frame reveal, for the ledger of looks.

A figure over many units says next to nothing about one of them. If a stratum, a variable, or the
score of a single report covers few units, the look exposes their items.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from annotation.exposure.ledger import FEWEST_UNITS, MOST_NAMED, is_collecting, saw_figures
from annotation.models import Campaign, Item
from tandem.labels.frame import Frame, VariableFrame
from tandem.labels.selection import OWN_STRATA, Strata
from tandem.sections.systems import MEASURES


def saw_frame(kind: str, campaign: Campaign, frame: Frame) -> None:
    """Record a look at the figures of a frame. `kind` says which figures.

    A report lists the scores of single items, too, where the frame has any.
    """
    if not is_collecting():
        return
    number = max((len(of.units.names) for of in frame.variables.values()), default=0)
    keys = {key for name in frame.variables for key in _in_small_figures(frame, name, kind)}
    if len(keys) > MOST_NAMED:
        saw_figures(kind, campaign, number, items=range(MOST_NAMED + 1))
        return
    items = Item.objects.filter(campaign=campaign, key__in=keys) if keys else Item.objects.none()
    saw_figures(kind, campaign, number, items=list(items.values_list("pk", flat=True)))


def _in_small_figures(frame: Frame, name: str, kind: str) -> Iterator[str]:
    """Yield the keys of items in figures that cover too few units."""
    variable = frame.variables[name]
    items = [item for item, _, _ in variable.units.names]
    if len(items) < FEWEST_UNITS:
        yield from items
        return
    yield from _of_raters(variable, items)
    for of in _values(variable, items, frame.strata):
        sizes = Counter(value for value in of if value is not None)
        small = {value for value, units in sizes.items() if units < FEWEST_UNITS}
        yield from (item for item, value in zip(items, of, strict=True) if value in small)
    if kind == "report" and name in {variable for variable, _ in MEASURES.values()}:
        yield from (item for item, units in Counter(items).items() if units < FEWEST_UNITS)


def _of_raters(variable: VariableFrame, items: list[str]) -> Iterator[str]:
    """Yield the items of raters with few labels, since their agreement covers few units."""
    for column in range(variable.codes.shape[1]):
        units = (variable.codes[:, column] >= 0).nonzero()[0]
        if len(units) < FEWEST_UNITS:
            yield from (items[unit] for unit in units)


def _values(
    variable: VariableFrame, items: list[str], strata: Strata
) -> Iterator[list[str | None]]:
    """Yield the value of each unit, stratum by stratum."""
    for name in OWN_STRATA:
        yield list(getattr(variable.units, name))
    for of in strata.values():
        yield [of.get(item) for item in items]
