"""Mark the scripted judges of a report, and the juries in which one votes: they are fakes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from judging.answer_files import FAKE, scripted_among
from judging.jury import voting_judges
from tandem.labels.frame import Warning
from tandem.types import JSON

JURY = (
    "A scripted judge, which replays a file, votes in it, so its figures do not describe a "
    "real jury."
)


def fakes_among(judges: Sequence[str]) -> dict[str, str]:
    """Return a warning text for each fake judge, by name."""
    fakes = dict.fromkeys(scripted_among(judges), FAKE)
    return fakes | {name: JURY for name in judges if scripted_among(voting_judges(name))}


def mark_raters(raters: list[JSON]) -> None:
    """Mark each fake judge among the raters of a report or of measures."""
    _mark(raters, fakes_among([rater["name"] for rater in raters if rater["kind"] == "judge"]))


def _mark(raters: list[JSON], fakes: Collection[str]) -> None:
    for rater in raters:
        if rater["name"] in fakes:
            rater["scripted"] = True


def mark_fakes(report: JSON, fakes: Mapping[str, str]) -> None:
    """Mark each fake judge among the report's raters, and add a warning."""
    _mark(report["raters"], fakes)
    report["warnings"] += [
        Warning("scripted_judge", None, name, text)._asdict() for name, text in fakes.items()
    ]
