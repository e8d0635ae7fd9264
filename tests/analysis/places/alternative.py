"""The alternative annotator test's two sets of labels, each a labels file with six judges."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tests.analysis.kit import Kit
from tests.analysis.places.base import JSON, gives, value, values

LLMS = ("gemini_flash", "gemini_pro", "gpt-4o", "llama-31", "gpt-4o-mini", "mistral-v03")
OPTIONS = {
    "cebab_aspects": ("cebab", "--epsilon", "0.1"),
    "10k_prompts": ("prompts", "--epsilon", "0.15", "--level", "rating=interval"),
}
"""Each set's file, the epsilon of the paper, and the level of its labels."""


def rating(kit: Kit, name: str) -> JSON:
    found: JSON = kit.report(*OPTIONS[name])["variables"]["rating"]
    return found


def at_level(kit: Kit, level: str) -> JSON:
    """The agreement of the skilled annotators, with their labels read at another level."""
    found: JSON = kit.report("prompts", "--rater", "human", "--level", f"rating={level}")
    block: JSON = found["variables"]["rating"]["agreement"]
    return block


def _declare(name: str) -> None:
    gives(f"alttest.{name}.design")(lambda kit: design(kit, name))
    gives(f"alttest.{name}.alt_test", *LLMS)(lambda kit, llm: alt_test(kit, name, llm))


def design(kit: Kit, name: str) -> JSON:
    raters = kit.report(*OPTIONS[name])["raters"]
    labels = [rater["labels"] for rater in raters if rater["kind"] == "human"]
    per_unit = rating(kit, name)["distribution"]["labels_per_unit"]
    judges = {rater["name"] for rater in raters if rater["kind"] == "judge"}
    return {
        "annotators": len(labels),
        "items": sum(per_unit.values()),
        "labels": sum(labels),
        "labels_per_annotator_mean": np.mean(labels),
        "labels_per_annotator_min": min(labels),
        "labels_per_item_mean": sum(labels) / sum(per_unit.values()),
        "items_by_number_of_labels": per_unit,
        "llms": [llm for llm in LLMS if llm in judges],
    }


def alt_test(kit: Kit, name: str, llm: str) -> JSON:
    """The result by items, as in the paper; in the report queries decide if they can."""
    test = rating(kit, name)["judges"][llm]["alt_test"]
    return {
        "omega": test["winning_rate"],
        "rho": test["advantage_probability"],
        "passed": test["winning_rate"] >= 0.5,
        "annotators_tested": len(test["annotators"]),
    }


def annotators(kit: Kit, name: str, llm: str) -> JSON:
    """The same for each annotator who was left out, as the tables of the kit have it."""
    return {
        each["name"]: {
            "n": each["n"],
            "p": each["p_value"],
            "rho": each["advantage_probability"],
            "rejected": each["wins"],
        }
        for each in rating(kit, name)["judges"][llm]["alt_test"]["annotators"]
    }


for each in OPTIONS:
    _declare(each)


@gives("alttest.cebab_aspects.agreement")
def agreement_of_workers(kit: Kit) -> JSON:
    variable = rating(kit, "cebab_aspects")
    return values(
        variable["agreement"],
        {
            "percent_agreement_pooled": "percent_pooled",
            "percent_agreement_item_mean": "percent",
            "fleiss_kappa_item_mean": "fleiss_kappa",
            "fleiss_kappa_pooled": "fleiss_kappa_pooled",
            "krippendorff_alpha_nominal": "krippendorff_alpha",
            "gwet_ac1": "gwet_ac",
        },
    ) | {"categories": len(variable["categories"])}


@gives("alttest.10k_prompts.agreement")
def agreement_of_annotators(kit: Kit) -> JSON:
    people = rating(kit, "10k_prompts")["agreement"]
    pairs = [pair for pair in people["pairs"] if pair["units"]]
    pearson = [value(pair["pearson"]) for pair in pairs]
    distances, sizes = (
        [value(pair["mean_absolute_error"]) for pair in pairs],
        [pair["units"] for pair in pairs],
    )
    return {
        "mae_mean_over_annotator_pairs": mean(distances),
        "mae_pooled": np.average(np.array(distances, float), weights=sizes),
        "pearson_mean_over_annotator_pairs": mean(pearson),
        "annotator_pairs": len(pairs),
        "annotator_pairs_with_defined_pearson": sum(r is not None for r in pearson),
        "krippendorff_alpha_interval": value(people["krippendorff_alpha"]),
        "krippendorff_alpha_ordinal": value(at_level(kit, "ordinal")["krippendorff_alpha"]),
        "gwet_ac1": value(at_level(kit, "nominal")["gwet_ac"]),
        "gwet_ac2_quadratic": value(people["gwet_ac"]),
        "percent_agreement_pooled": value(people["percent_pooled"]),
    }


def mean(numbers: Iterable[float | None]) -> float:
    return float(np.mean([number for number in numbers if number is not None]))


@gives("alttest.cebab_aspects.llm_vs_majority", *LLMS)
def against_the_majority(kit: Kit, llm: str) -> JSON:
    judge = rating(kit, "cebab_aspects")["judges"][llm]
    measures = {name: name for name in ("precision", "recall", "f1")}
    return {
        **values(
            judge["agreement"],
            {
                "accuracy": "percent",
                "cohen_kappa": "cohen_kappa",
                "krippendorff_alpha_nominal": "krippendorff_alpha",
            },
        ),
        "classes": {
            category: values(of, measures) | {"support": of["support"]}
            for category, of in judge["classes"].items()
        },
        "items": judge["units"],
        "ties_left_out": judge["ties"],
    }


@gives("alttest.10k_prompts.llm_vs_mean", *LLMS)
def against_the_mean(kit: Kit, llm: str) -> JSON:
    judge = rating(kit, "10k_prompts")["judges"][llm]
    keys = {"spearman": "spearman", "kendall_tau_b": "kendall", "pearson": "pearson"}
    error = value(judge["overall"]["mean_absolute_error"])
    return values(judge["correlation"], keys) | {"mae": error}
