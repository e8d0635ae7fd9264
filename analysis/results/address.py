"""The address of Results: options of the report, options of the measures, and display options."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest, QueryDict

from analysis.evaluation.display import DISPLAY_OPTIONS
from analysis.evaluation.selection import MEASURES_OPTIONS, NAMES
from analysis.forms import KIND_NAMES, OPTIONS
from datasets.work import pages as jobs
from tandem.grouping import grouped

MEASURES = "measures"
OWN, ALL = "own", "all"
LIVE = ("since", "opened", "shown")
SORT, VARIABLE, EVERY = BY_QUERY = ("by_query", "of", "every_query")
"""The parameters of the table of queries: the column that sorts it, the variable, and all rows."""
OF_REPORT = {option.name for option in OPTIONS}
OF_MEASURES = {option.name for option in (*MEASURES_OPTIONS, *DISPLAY_OPTIONS)} | set(NAMES)
SYSTEMS = "#section-systems"
STRATUM = "stratum"
FILTERS = {"variable": "variable", "rater": "people", "judge": "judges"}
"""Options of a report, besides strata, that leave labels out, with the page's names for them."""


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
    given = jobs.options_of(request, *LIVE, *BY_QUERY)
    report, measures = QueryDict(mutable=True), QueryDict(mutable=True)
    measures_shown = given.pop(MEASURES, [""])[-1]
    for name, values in given.lists():
        kept = [value for value in values if value]
        if not kept:
            continue
        if name in OF_MEASURES:
            measures.setlist(name, kept)
        if name in OF_REPORT or name not in OF_MEASURES:
            report.setlist(name, kept)
    shown = measures_shown if measures_shown in (OWN, ALL) else ""
    if set(measures) - OF_REPORT:
        shown = shown or OWN
    return Address(report, measures, shown)


@dataclass(frozen=True)
class Filter:
    """A filter in an address: its text, and the remaining options without it."""

    words: str
    query: str


def filters_of(report: QueryDict) -> list[Filter]:
    """Return the filters among a report's options. Each stratum is one filter."""
    found = []
    for name, called in FILTERS.items():
        if values := report.getlist(name):
            words = ", ".join(KIND_NAMES.get(value, value) for value in values)
            found.append(Filter(f"{called}: {words}", _without(report, name, values)))
    divisions = grouped((value.partition(":")[0], value) for value in report.getlist(STRATUM))
    for division, values in divisions.items():
        words = ", ".join(value.partition(":")[2] for value in values)
        found.append(Filter(f"{division}: {words}", _without(report, STRATUM, values)))
    return found


def _without(report: QueryDict, name: str, values: list[str]) -> str:
    rest = report.copy()
    rest.setlist(name, [value for value in report.getlist(name) if value not in values])
    return rest.urlencode()
