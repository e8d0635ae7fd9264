"""Tandem from Python: reports, agreement, tests of judges and scores over any table of labels.

`report`, `agreement`, `alternative_test` and `measures` take a frame of pandas, polars or pyarrow,
mappings, or the path of a labels file. `tandem.statistics` has the underlying functions of arrays.
`Client` works with a site over its API. Nothing here needs Django, and every app may import it.
Names are imported when they are first used, so that the program starts at once.

`labels` turns a table of labels into a frame, `statistics` and `scores` compute numbers, `sections`
join them to a report, and `formats` and `figures` show it. `reports` holds the functions, `results`
the objects that they return, `display` how a notebook shows these, `client` the client of a site,
and `program` the command line, which alone starts Django.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tandem.version import VERSION

if TYPE_CHECKING:
    from tandem.client import Client, SiteError
    from tandem.display import Figure
    from tandem.labels.tables import TableError
    from tandem.reports import agreement, alternative_test, measures, report
    from tandem.results import AltTest, Comparison, Estimate, Judge, Report, Score, Scores, Variable

__all__ = [
    "AltTest",
    "Client",
    "Comparison",
    "Estimate",
    "Figure",
    "Judge",
    "Report",
    "Score",
    "Scores",
    "SiteError",
    "TableError",
    "Variable",
    "__version__",
    "agreement",
    "alternative_test",
    "measures",
    "report",
]
__version__ = VERSION
_FUNCTIONS = ("agreement", "alternative_test", "measures", "report")
_HOMES = {
    "Client": "client",
    "Figure": "display",
    "SiteError": "client",
    "TableError": "labels.tables",
}


def __getattr__(name: str) -> Any:
    if name == "statistics":
        return import_module("tandem.statistics")
    if name not in __all__:
        raise AttributeError(f"module 'tandem' has no attribute {name!r}")
    home = "reports" if name in _FUNCTIONS else _HOMES.get(name, "results")
    return getattr(import_module(f"tandem.{home}"), name)


def __dir__() -> list[str]:
    return [*__all__, "statistics"]
