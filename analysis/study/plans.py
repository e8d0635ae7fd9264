"""What a plan of a study file may say: the declared options of the command that commits to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analysis.trust.cells import TrustError
from analysis.trust.comparisons import check_systems
from analysis.trust.options import COMPARISON_OPTIONS, PLAN_OPTIONS, ComparisonOptions, PlanOptions
from tandem.options import Option, values_of

DECLARED: dict[str, tuple[Option, ...]] = {
    "trust": PLAN_OPTIONS,
    "compare_systems": COMPARISON_OPTIONS,
}
"""By command, the options that describe its plan."""
ALSO = {"trust": ("campaign", "queries"), "compare_systems": ("systems", "campaign")}
"""By command, what a table says of the plan in addition."""


def options_of_plan(command: str) -> tuple[str, ...]:
    """Return the options of a command that describe its plan; none for other commands."""
    return (*ALSO.get(command, ()), *(option.name for option in DECLARED.get(command, ())))


def declared_plan(command: str, options: Mapping[str, Any]) -> PlanOptions | ComparisonOptions:
    """Return what a table declares. Raises TrustError for a value that no plan takes."""
    for option in DECLARED[command]:
        if option.required and not options[option.name]:
            raise TrustError(f"{option.flag} is missing: add {option.name} = …")
    values = values_of(DECLARED[command], options)
    if command == "trust":
        return PlanOptions(**values)
    check_systems(options["systems"])
    return ComparisonOptions(**values)
