"""CRUX's first task: is a question answered by a report? Three people, 30 reports."""

from __future__ import annotations

import re
from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np

from tandem.statistics import kendall, pearson, spearman
from tests.analysis.conftest import PEOPLE
from tests.analysis.kit import Kit
from tests.analysis.places.base import JSON, gives, of_pairs, value, values

SYSTEMS = ("oracle", "bm25", "dr_rankfirst")
COEFFICIENTS = {
    "fleiss_kappa": "fleiss_kappa",
    "randolph_kappa": "randolph_kappa",
    "krippendorff_alpha_nominal": "krippendorff_alpha",
    "gwet_ac1": "gwet_ac",
    "percent_agreement_mean": "percent",
}
RANKINGS = {"spearman": "spearman", "kendall_tau_b": "kendall", "pearson": "pearson"}
FUNCTIONS = {"spearman": spearman, "kendall_tau_b": kendall, "pearson": pearson}
QUESTIONS = 15
"""Questions of a report in the release, null ones among them."""


def answerable(kit: Kit) -> JSON:
    found: JSON = kit.report("crux-t1")["variables"]["answerable"]
    return found


def coverage(kit: Kit) -> JSON:
    found: JSON = kit.report("crux-t1")["scores"]["coverage"]
    return found


@gives("crux.t1", *COEFFICIENTS)
def coefficient(kit: Kit, name: str) -> float | None:
    return value(answerable(kit)["agreement"][COEFFICIENTS[name]])


@gives("crux.t1.pairs")
def cells(kit: Kit) -> JSON:
    reports, asked = len(coverage(kit)["items"]), answerable(kit)["agreement"]["units"]
    units = kit.export("crux-t1", "units")
    questions = 1 + max(int(unit["unit"].rpartition("q")[2]) for unit in units)
    return {
        "reports": reports,
        "questions_per_report": questions,
        "cells": reports * questions,
        "asked": asked,
        "not_asked": reports * questions - asked,
    }


@gives("crux.t1.label_counts")
def label_counts(kit: Kit) -> JSON:
    """A question that was never asked is not a unit, so it has no label."""
    not_asked, given = cells(kit)["not_asked"], answerable(kit)["distribution"]["counts"]
    return {p: {"-2": not_asked, "0": given[p]["no"], "1": given[p]["yes"]} for p in PEOPLE}


@gives("crux.t1.positive_share")
def positive_share(kit: Kit) -> JSON:
    given = answerable(kit)["distribution"]["counts"]
    return {p: given[p]["yes"] / sum(given[p].values()) for p in PEOPLE}


@gives("crux.t1.unanimous_share")
def unanimous_share(kit: Kit) -> float:
    share: float = (
        answerable(kit)["distribution"]["unanimous"] / answerable(kit)["agreement"]["units"]
    )
    return share


@gives("crux.t1.cohen_kappa")
def kappas(kit: Kit) -> JSON:
    return of_pairs(answerable(kit)["agreement"]["pairs"], "cohen_kappa")


@gives("crux.t1.cohen_kappa_mean")
def kappas_mean(kit: Kit) -> float:
    return float(np.mean(list(kappas(kit).values())))


@gives("crux.t1.percent_agreement")
def percents(kit: Kit) -> JSON:
    return of_pairs(answerable(kit)["agreement"]["pairs"], "percent")


@gives("crux.t1.by_setting", *SYSTEMS)
def by_setting(kit: Kit, system: str) -> JSON:
    block = answerable(kit)["strata"]["setting"][system]["agreement"]
    keys = ("fleiss_kappa", "krippendorff_alpha_nominal", "percent_agreement_mean")
    return {"n": block["units"], **values(block, {key: COEFFICIENTS[key] for key in keys})}


@gives("crux.t1.coverage_mean", *SYSTEMS)
def coverage_mean(kit: Kit, system: str) -> JSON:
    return values(coverage(kit)["systems"][system], {p: p for p in PEOPLE} | {"all": "mean"})


@gives("crux.t1.majority_coverage_mean")
def majority_coverage(kit: Kit) -> JSON:
    return values(coverage(kit)["majority"], {system: system for system in SYSTEMS})


@gives("crux.t1", *(f"coverage_{name}" for name in RANKINGS))
def rankings(kit: Kit, name: str) -> JSON:
    return of_pairs(coverage(kit)["pairs"], RANKINGS[name.removeprefix("coverage_")])


@gives("crux.t1.setting_difference")
def setting_difference(kit: Kit) -> JSON:
    found = {(each["a"], each["b"]): each for each in coverage(kit)["comparisons"]}
    return {
        system: {
            "mean_difference": value(found["oracle", system]["difference"]),
            "wilcoxon_p_two_sided": found["oracle", system]["wilcoxon"]["p_value"],
            "oracle_higher_in": found["oracle", system]["higher"],
        }
        for system in SYSTEMS[1:]
    }


def over_fifteen(kit: Kit) -> dict[str, Any]:
    """Coverage as the released tool stored it, null questions in the denominator: (30, 3)."""
    asked = Counter(unit["item"] for unit in kit.export("crux-t1", "units"))
    items = coverage(kit)["items"]
    rows = [[i["values"][p] * asked[i["item"]] / QUESTIONS for p in PEOPLE] for i in items]
    return {
        "items": [i["item"] for i in items],
        "systems": np.array([i["system"] for i in items]),
        "values": np.array(rows),
    }


@gives("crux.t1.coverage_mean_over15", *SYSTEMS)
def coverage_mean_over_fifteen(kit: Kit, system: str) -> JSON:
    over = over_fifteen(kit)
    rows = over["values"][over["systems"] == system]
    return {**dict(zip(PEOPLE, rows.mean(axis=0), strict=True)), "all": rows.mean()}


@gives("crux.t1", *(f"coverage_{name}_over15" for name in FUNCTIONS))
def rankings_over_fifteen(kit: Kit, name: str) -> JSON:
    rows = over_fifteen(kit)["values"]
    function = FUNCTIONS[name.removeprefix("coverage_").removesuffix("_over15")]
    return {
        f"{PEOPLE[a]}-{PEOPLE[b]}": function(rows[:, a], rows[:, b])
        for a, b in combinations(range(3), 2)
    }


@gives("crux.t1.stored_coverage_differs_count")
def stored_coverage_differs(kit: Kit) -> int:
    over = over_fifteen(kit)
    ours = dict(zip(over["items"], over["values"], strict=True))
    return sum(
        abs(row["coverage"] - ours[row["id"]][n]) > 1e-6
        for n, person in enumerate(PEOPLE)
        for row in kit.lines(f"crux/annotations/{person}/qlabels.jsonl")
    )


@gives("crux.t1.nuggets")
def nuggets(kit: Kit) -> JSON:
    """A highlight that is one span of the report, spaces folded, is stored as one located span.

    Spaces are folded as in the kit. Several spans that the kit's text joins are separate here.
    """
    texts = {unit["item"]: unit["texts"]["report"] for unit in kit.export("crux-t1", "units")}
    labels = [line for line in kit.export("crux-t1", "labels") if line["value"] == "yes"]
    found: JSON = {}
    for person in PEOPLE:
        own = [line for line in labels if line["rater"] == person]
        quotes = [
            (" ".join(span["text"] for span in line["spans"]), texts[line["item"]])
            for line in own
            if line.get("spans")
        ]
        whole = sum(folded(quote) in folded(text) for quote, text in quotes)
        counts = {
            "nuggets": len(quotes),
            "one verbatim span of the report": whole,
            "not one verbatim span": len(quotes) - whole,
            "label 1 without nugget": len(own) - len(quotes),
        }
        found[person] = {name: n for name, n in counts.items() if n}
    return found


def folded(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()
