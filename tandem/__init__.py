"""Tandem from Python: reports, agreement, tests of judges and scores over any table of labels.

`report`, `agreement`, `alternative_test` and `measures` take a frame of pandas, polars or pyarrow,
mappings, or the path of a labels file. `tandem.statistics` has the underlying functions of arrays.
All arithmetic is in `analysis`. Nothing here needs Django. Names are imported when they are first
used, so that the program starts at once.

`tables` turns a table into a frame, `reports` holds the functions, `results` the objects that they
return, and `program` the command line.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from analysis.version import VERSION

if TYPE_CHECKING:
    from tandem.reports import agreement, alternative_test, measures, report
    from tandem.results import AltTest, Comparison, Estimate, Judge, Report, Score, Variable
    from tandem.tables import TableError

__all__ = [
    "AltTest",
    "Comparison",
    "Estimate",
    "Judge",
    "Report",
    "Score",
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


def __getattr__(name: str) -> Any:
    if name == "statistics":
        return import_module("tandem.statistics")
    if name not in __all__:
        raise AttributeError(f"module 'tandem' has no attribute {name!r}")
    home = "reports" if name in _FUNCTIONS else "tables" if name == "TableError" else "results"
    return getattr(import_module(f"tandem.{home}"), name)


def __dir__() -> list[str]:
    return [*__all__, "statistics"]
