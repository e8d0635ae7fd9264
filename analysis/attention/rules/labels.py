"""Rules about labels and their basis: agreement, disputes, guideline and batch."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.attention.base import Action, Facts, Finding, count
from analysis.disagreements.choose import add_up, counts_in
from annotation.exposure.ledger import FEWEST_UNITS
from annotation.presentation import schema
from tandem.document import join_words, rounded
from tandem.types import JSON

BEHIND = "batch_behind"


def low_agreement(facts: Facts) -> Iterator[Finding]:
    """Find variables on which people agree too little."""
    campaign, variables = facts.campaign, (facts.report or {}).get("variables", ())
    for variable in variables:
        if variable["tone"] != "poor" or variable["units"] < FEWEST_UNITS:
            continue
        of = f" on {variable['name']}" if len(variables) > 1 else ""
        words = variable["answer"][:1].lower() + variable["answer"][1:]
        shown = rounded(variable["value"]["value"], 2).replace("-", "−")
        text = f"People agree {words}{of} ({variable['sign']} {shown})."
        query = {"show": "people", "variable": variable["name"]}
        units = Action("Disagreements", "disagreements", (campaign.pk,), query=query)
        guideline = Action("Guideline", "campaign-settings", (campaign.pk,), anchor="terms-head")
        yield Finding("warning", text, (units, guideline))


def disputes(facts: Facts) -> Iterator[Finding]:
    """Find disagreements, and the units that an adjudicator has to decide.

    The two are different numbers: a disagreement stays one after a decision, and an escape differs
    from a category only for an adjudicator.
    """
    checks = facts.checks
    if checks is None or checks["units"] < FEWEST_UNITS or not checks["disputes"]["open"]:
        return
    found, pk = checks["disputes"], facts.campaign.pk
    decided = f"{found['decided']:,} decided" if found["decided"] else "none decided"
    units = count(found["open"], *schema(facts.campaign).noun)
    text = f"To adjudicate: {units}, {decided}."
    if (counts := counts_in(checks)) and (total := add_up(counts.values()).total):
        text = f"{count(total, 'disagreement')}. {text}"
    whom = {"add": 1, "role": "adjudicator"}
    ask = Action("Ask an adjudicator", "campaign-people", (pk,), whom, changes=True)
    look = Action("Look", "disagreements", (pk,))
    yield Finding("hint" if facts.places.open else "warning", text, (look, ask))


def guideline_changed(facts: Facts) -> Iterator[Finding]:
    """Find a guideline that changed while people answered."""
    versions = (facts.checks or {}).get("guidelines", ())
    if len(versions) > 1:
        by_version = join_words(
            [f"{count(v['answers'], 'answer')} under {_version(v)}" for v in versions]
        )
        pk = facts.campaign.pk
        look = Action("Versions", "campaign-settings", (pk,), anchor="versions-head")
        # Checks of earlier releases have no digest.
        query = {"show": "people", "guideline": versions[-1].get("digest", "")}
        since = Action("Disagreements since", "disagreements", (pk,), query=query)
        compare = Action("Before and after", "results", (pk,), anchor="section-guideline")
        actions = (compare, look, since) if query["guideline"] else (compare, look)
        yield Finding("hint", f"The guideline changed midway: {by_version}.", actions)


def _version(row: JSON) -> str:
    return "the protocol's own" if row["version"] is None else f"version {row['version']}"


def batch_behind(facts: Facts) -> Iterator[Finding]:
    """Find batches of the lineage that are behind people's labels."""
    for warning in (facts.report or {}).get("warnings", ()):
        if warning["code"] == BEHIND:
            batch = Action("Batch", "batch", (facts.campaign.batch_id,))
            yield Finding("warning", warning["text"].partition(" Figures are")[0], (batch,))
