"""Mark the scripted judges of a report, and the juries in which one votes: they are fakes."""

from __future__ import annotations

from judging.answer_files import FAKE, scripted_among
from judging.jury import voting_judges
from tandem.labels.frame import Warning
from tandem.types import JSON

JURY = (
    "A scripted judge, which replays a file, votes in it, so its figures do not describe a "
    "real jury."
)


def mark_raters(raters: list[JSON]) -> dict[str, str]:
    """Mark each fake judge among a report's raters. Return a warning text for each, by name."""
    judges = [rater["name"] for rater in raters if rater["kind"] == "judge"]
    fakes = dict.fromkeys(scripted_among(judges), FAKE)
    fakes |= {name: JURY for name in judges if scripted_among(voting_judges(name))}
    for rater in raters:
        if rater["name"] in fakes:
            rater["scripted"] = True
    return fakes


def mark_fakes(report: JSON) -> None:
    """Mark each fake judge among the report's raters, and add a warning."""
    fakes = mark_raters(report["raters"])
    report["warnings"] += [
        Warning("scripted_judge", None, name, text)._asdict() for name, text in fakes.items()
    ]
