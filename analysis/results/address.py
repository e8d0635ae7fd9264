"""The address of Results: options of the report, options of the measures, and what is shown."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest, QueryDict

from analysis.evaluation.selection import CHOSEN, NAMES
from analysis.evaluation.shown import SHOWN
from analysis.forms import OPTIONS
from datasets.jobs import pages as jobs

MEASURES = "measures"
OWN, ALL = "own", "all"
LIVE = ("since", "opened", "shown")
OF_REPORT = {option.name for option in OPTIONS}
OF_MEASURES = {option.name for option in (*CHOSEN, *SHOWN)} | set(NAMES)
SYSTEMS = "#section-systems"


@dataclass(frozen=True)
class Address:
    """The parameters of the page.

    `report` and `measures` are the options of each, without empty ones; those that both have are in
    both, and unknown ones in the report's. `shown` says whether the page shows measures from the
    beginning: the protocol's own ones, or all; empty if not.
    """

    report: QueryDict
    measures: QueryDict
    shown: str

    @property
    def whole(self) -> QueryDict:
        """All parameters again."""
        found = self.report.copy()
        for name, values in self.measures.lists():
            found.setlist(name, values)
        if self.shown:
            found[MEASURES] = self.shown
        return found


def address_of(request: HttpRequest) -> Address:
    """Divide the parameters of a request."""
    given = jobs.options_of(request, *LIVE)
    report, measures = QueryDict(mutable=True), QueryDict(mutable=True)
    wanted = given.pop(MEASURES, [""])[-1]
    for name, values in given.lists():
        kept = [value for value in values if value]
        if not kept:
            continue
        if name in OF_MEASURES:
            measures.setlist(name, kept)
        if name in OF_REPORT or name not in OF_MEASURES:
            report.setlist(name, kept)
    shown = wanted if wanted in (OWN, ALL) else ""
    if set(measures) - OF_REPORT:
        shown = shown or OWN
    return Address(report, measures, shown)
