"""CRUX's second task: how well does a passage answer a question? Two people, 0 to 5."""

from __future__ import annotations

import numpy as np

from tests.analysis.kit import HIGH, TASK_TWO, Kit
from tests.analysis.places.base import JSON, gives, value, values
from tests.analysis.places.task_one import folded

LEVELS = ("nominal", "ordinal", "interval")


def rating(kit: Kit, source: str, level: str) -> JSON:
    found: JSON = kit.report(source, "--level", f"rating={level}")["variables"]["rating"]
    return found


@gives("crux.t2.ratings")
def ratings(kit: Kit) -> JSON:
    given = rating(kit, "all ratings", "ordinal")["distribution"]["counts"]
    raters = {
        r["name"]: r for r in kit.report("all ratings", "--level", "rating=ordinal")["raters"]
    }
    asked = {r["name"]: r["labels"] for r in kit.report("crux-t2")["raters"]}
    found: JSON = {}
    for person in TASK_TWO:
        counts = {int(code): n for code, n in given[person].items()}
        total = raters[person]["labels"]
        found[person] = {
            "ratings": total,
            "passages": raters[person]["responses"],
            "on_null_questions": total - asked[person],
            "distribution": given[person],
            "share_ge_3": sum(n for code, n in counts.items() if code >= HIGH) / total,
            "mean": sum(code * n for code, n in counts.items()) / total,
        }
    return found


@gives("crux.t2.pairs_asked")
def pairs_asked(kit: Kit) -> JSON:
    per_unit = rating(kit, "all ratings", "ordinal")["distribution"]["labels_per_unit"]
    both = rating(kit, "all ratings", "ordinal")["agreement"]["units"]
    asked = kit.report("crux-t2")["variables"]["rating"]["agreement"]["units"]
    return {
        **{person: of["ratings"] for person, of in ratings(kit).items()},
        "both": both,
        "either": sum(per_unit.values()),
        "both_on_null_questions": both - asked,
    }


@gives("crux.t2.agreement")
def agreement(kit: Kit) -> JSON:
    return _agreement(kit, "both", "judge")


@gives("crux.t2.agreement_without_null_questions")
def agreement_without_null_questions(kit: Kit) -> JSON:
    return _agreement(kit, "both, asked", "judge, asked")


def _agreement(kit: Kit, source: str, judged: str) -> JSON:
    """Labels at the three levels, and cut at 3, with the second annotator as a judge."""
    of = {level: rating(kit, source, level)["agreement"] for level in LEVELS}
    (pair,) = of["ordinal"]["pairs"]
    judge = rating(kit, judged, "ordinal")["judges"][TASK_TWO[1]]
    table = np.array(judge["confusion"]["matrix"])
    near = np.abs(np.subtract.outer(*2 * [[int(c) for c in judge["confusion"]["labels"]]])) <= 1
    (cut,) = (each for each in judge["thresholds"] if each["threshold"] == HIGH)
    return {
        "n": pair["units"],
        "within_1": float(table[near].sum() / table.sum()),
        **values(
            pair,
            {
                "exact": "percent",
                "cohen_kappa": "cohen_kappa",
                "cohen_kappa_linear": "cohen_kappa_linear",
                "cohen_kappa_quadratic": "cohen_kappa_quadratic",
                "spearman": "spearman",
                "kendall_tau_b": "kendall",
            },
        ),
        "gwet_ac1": value(of["nominal"]["gwet_ac"]),
        "gwet_ac2_quadratic": value(of["ordinal"]["gwet_ac"]),
        **{f"krippendorff_alpha_{each}": value(of[each]["krippendorff_alpha"]) for each in LEVELS},
        "binary_ge3_agreement": _cut_agreement(judge["confusion"]),
        "binary_ge3_cohen_kappa": value(cut["cohen_kappa"]),
    }


def _cut_agreement(confusion: JSON) -> float:
    """Return the share of units that both raters put on the same side of 3, from their table."""
    table = np.array(confusion["matrix"])
    high = np.array([int(code) >= HIGH for code in confusion["labels"]])
    return float(table[np.equal.outer(high, high)].sum() / table.sum())


@gives("crux.t2.rating_vs_own_task1_label")
def rating_against_own_label(kit: Kit) -> JSON:
    """A person's answers on the oracle report, compared with their ratings, cut at 3, as a judge.

    A rating of a null question has no answer to be compared with, and is counted separately.
    """
    found: JSON = {}
    for person in TASK_TWO:
        report = kit.report(f"own labels of {person}")["variables"]["rating"]["judges"]["cut"]
        counts = _null_ratings(kit, person) | {
            f"task1 {answer}, rating {side}": report["confusion"]["matrix"][row][column]
            for row, answer in enumerate(report["confusion"]["labels"])
            for column, side in enumerate(("<3", ">=3"))
        }
        found[person] = {
            "table": {name: n for name, n in counts.items() if n},
            "cohen_kappa_task1_label_vs_rating_ge_3": value(report["agreement"]["cohen_kappa"]),
            "n": report["units"],
        }
    return found


def _null_ratings(kit: Kit, person: str) -> dict[str, int]:
    null = [
        int(line["value"]) >= HIGH
        for line in kit.ratings()
        if line["rater"] == person and not line["meta"]["asked"]
    ]
    return {"task1 -2, rating <3": null.count(False), "task1 -2, rating >=3": null.count(True)}


@gives("crux.t2.rationales")
def rationales(kit: Kit) -> JSON:
    """Counts of rationales from the files, and of those quoted from the report from its hints.

    An import also looks for near matches, so it finds more of them in the passage.
    """
    passages = {line["id"]: folded(line["text"]) for line in kit.lines("crux/passages.jsonl")}
    hints = {hint["name"]: hint["elsewhere"]["report"] for hint in kit.report("crux-t2")["hints"]}
    found: JSON = {}
    for person in TASK_TWO:
        texts = [(folded(text), passages[passage]) for text, passage in kit.rationales(person)]
        counts = {
            "empty": sum(not text for text, _ in texts),
            "verbatim in the passage": sum(bool(text) and text in of for text, of in texts),
            "verbatim in the report, not in the passage": hints.get(person, 0),
        }
        counts["neither"] = len(texts) - sum(counts.values())
        found[person] = {name: n for name, n in counts.items() if n}
    return found
