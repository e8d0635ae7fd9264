"""A plan and a look at it in plain sentences, for the command and the pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from analysis.trust.looks import Look
from annotation.models import TrustPlan
from tandem.document import count, join_words
from tandem.sections.system_decisions import standing_words
from tandem.trust.certificate import NOT_CLAIMED
from tandem.trust.plan import plan_of
from tandem.trust.state import State
from tandem.trust.truth import IN_WORDS
from tandem.types import JSON


def plan_sentences(plan: TrustPlan) -> Iterator[str]:
    """Yield what a plan certifies, how, and over what."""
    document = plan.document
    of = plan_of(document)
    queries, cells = document["population"]["queries"], int(of.cells.sum())
    yield f"Plan {document['number']} of {document['campaign']}: SHA-256 {plan.digest}"
    yield (
        f"Of the {cells} cells of {count(len(queries), 'query', 'queries')}, "
        f"{document['judge']['name']} may decide a share on {document['variable']}, of which at "
        f"most {of.risk:.0%} are wrong, with confidence {1 - document['delta']:.0%}. "
        f"{NOT_CLAIMED}"
    )
    yield f"The truth is set by {IN_WORDS[document['truth']]}."
    for reason, number in document["population"]["excluded"].items():
        yield f"{count(number, 'query is', 'queries are')} left out: {reason}."
    shares = ", ".join(f"{cut['share']:.0%}" for cut in document["cuts"])
    yield (
        f"Tested is the surest {shares} of the cells."
        if of.cuts == 1
        else f"Tested one after the other, surest first: {shares} of the cells."
    )
    if of.k is not None:
        yield (
            "A query may be drawn again, and of each draw "
            f"{count(of.k, 'random cell of the share counts', 'random cells of the share count')}. "
            "People are asked about the whole item of a drawn cell, and once."
        )
    if own := document.get("by_system"):
        names = join_words(sorted(own["accepted"]))
        yield (
            f"{names} have bounds of their own, which hold together with this: they have "
            f"{own['part']:.0%} of the plan's level."
        )


def comparison_sentences(plan: TrustPlan) -> Iterator[str]:
    """Yield what a plan decides about systems, and how."""
    document = plan.document
    queries = count(len(document["population"]["queries"]), "query", "queries")
    yield f"Plan {document['number']} of {document['campaign']}: SHA-256 {plan.digest}"
    yield (
        f"People's {document['score']['name']} ({document['score']['meaning']}) decides which of "
        f"{join_words(document['systems'])} is better over {queries}, with confidence "
        f"{1 - document['delta']:.0%}. Whoever looks may stop."
    )
    for reason, number in document["population"]["excluded"].items():
        yield f"{count(number, 'query is', 'queries are')} left out: {reason}."
    if registered := document["registered"]:
        yield f"People and judges together are read at {count(registered, 'query', 'queries')}."


def look_sentences(look: Look) -> Iterator[str]:
    state, document = look.state, look.plan.document
    noun, drawn = noun_of(look.plan), len(look.answers.drawn)
    if state.plan.k is None:
        yield f"{count(len(state.labelled), *noun)} labelled of {drawn} drawn."
    else:
        queries = len({state.query_of(key) for key in state.labelled})
        of = count(queries, "query", "queries")
        yield f"{count(len(state.labelled), *noun)} labelled of {drawn}, from {of}."
    if look.stale:
        yield f"Stale: {'; '.join(look.stale)}. Nothing is certified any more."
        return
    if state.certified:
        yield (
            f"{document['judge']['name']} may decide {state.share:.0%} of the cells on "
            f"{document['variable']}: of these at most {state.plan.risk:.0%} are wrong, with "
            f"confidence {1 - document['delta']:.0%}. {NOT_CLAIMED}"
        )
    if state.cannot_be_met:
        yield (
            f"Even of the surest {document['cuts'][0]['share']:.0%} of the cells more than "
            f"{state.plan.risk:.0%} are wrong: the plan cannot be met."
        )
    elif state.certified < state.plan.cuts and (bound := state.bound()) < 1:
        share = document["cuts"][state.certified]["share"]
        yield f"Of the surest {share:.0%} at most {bound:.0%} are wrong, by the labels so far."
    if said := of_systems(look.bounds(shown_cut(state))):
        share = document["cuts"][shown_cut(state)]["share"]
        yield f"By system, of the surest {share:.0%} at most these shares are wrong: {said}."
    if state.likely_more:
        one, several = noun
        more = count(state.likely_more, f"more {one} certifies", f"more {several} certify")
        yield f"About {more} them if the next ones are like those so far."
    if look.waiting and state.certified == state.plan.cuts:
        more = count(look.waiting, "more draw does", "more draws do")
        yield f"{more} not count: everything was certified before."
    elif look.waiting:
        drawn_nouns = ("drawn query does", "drawn queries do")
        waiting = count(
            look.waiting, *(drawn_nouns if state.plan.k is None else ("draw does", "draws do"))
        )
        yield f"{waiting} not count yet: answers are missing, or one before it has to count first."


def noun_of(plan: TrustPlan) -> tuple[str, str]:
    """Return what a plan counts, in the singular and the plural: queries, or draws of cells."""
    return ("draw", "draws") if plan.document.get("form") == "cells" else ("query", "queries")


def shown_cut(state: State) -> int:
    """Return the cut for which systems' bounds are shown: the loosest certified, else the first."""
    return max(state.certified - 1, 0)


def of_systems(bounds: Mapping[str, float | None] | None) -> str:
    """Return the bounds of systems in words; empty if there are none below 1."""
    known = {name: bound for name, bound in (bounds or {}).items() if bound is not None}
    return ", ".join(
        f"{name} {bound:.0%}" if bound < 1 else f"{name} not known yet"
        for name, bound in known.items()
        if min(known.values()) < 1
    )


def brief(plan: TrustPlan, found: JSON) -> str:
    """Return what a look (`looks.as_json` or a comparison's) shows, for a line among others.

    An empty look is one that nobody has taken yet.
    """
    if not found:
        return "nobody has looked yet"
    if found["stale"]:
        return f"stale, {'; '.join(found['stale'])}"
    if plan.kind == TrustPlan.Kind.COMPARE:
        pairs = (f"{each['a']} and {each['b']} {standing_words(each)}" for each in found["pairs"])
        return "; ".join(pairs)
    said = [f"{found['share']:.0%} of the cells certified" if found["certified"] else ""]
    if found["verdict"] == "cannot be met":
        said.append("the plan cannot be met")
    elif found["certified"] < len(found["cuts"]):
        cut = found["cuts"][found["certified"]]
        bound = cut["bound"]
        known = bound is not None and bound < 1
        at_most = f": at most {bound:.0%} of them wrong" if known else ""
        said.append(f"the surest {cut['share']:.0%} not yet{at_most}")
        if more := found["likely_more"]:
            one, several = noun_of(plan)
            said.append(f"about {count(more, f'more {one}', f'more {several}')} likely")
    at = found["cuts"][max(found["certified"] - 1, 0)]
    if by_system := of_systems(at.get("systems")):
        said.append(f"by system at most {by_system} wrong of the surest {at['share']:.0%}")
    return "; ".join(filter(None, said))
