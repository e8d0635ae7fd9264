"""The methods paragraph's sentences on people: whether they agree, and judges with them."""

from __future__ import annotations

from typing import Any

from analysis.formats.wording import joined, named

JSON = dict[str, Any]


def among_people(report: JSON) -> str:
    """By which coefficients people were compared, or why they could not be."""
    variables = report["variables"]
    alone = {n: _why_alone(v["agreement"]) for n, v in variables.items()}
    sentences = []
    for level in ("nominal", "ordinal", "interval"):
        of = [n for n, v in variables.items() if v["measurement"] == level and not alone[n]]
        if of:
            found = named(variables[n]["agreement"] for n in of)
            sentences.append(
                f"Agreement among people on {joined(of)} ({level}) is given as {joined(found)}."
            )
    if sentences:
        sentences.append("A statistic that is undefined on the labels is given as such.")
    for why in dict.fromkeys(filter(None, alone.values())):
        of = [n for n in variables if alone[n] == why]
        sentences.append(f"There is no agreement among people on {joined(of)}: {why}.")
    return " ".join(sentences)


def _why_alone(agreement: JSON) -> str:
    """Why people were not compared; empty where they were."""
    if agreement["units"] and named([agreement]):
        return ""
    people = agreement["raters"]
    if people < 2:
        return "one person labelled" if people else "no person labelled"
    return "no two people labelled the same unit" if not agreement["units"] else "none is defined"


def held_against(report: JSON) -> list[str]:
    """What judges were held against, with the coefficients, or that there was nothing."""
    judges = list(dict.fromkeys(j for v in report["variables"].values() for j in v["judges"]))
    who = "Each judge" if len(judges) > 1 else f"The judge {judges[0]}"
    held = {n: of for n, v in report["variables"].items() if (of := _held(v))}
    rules = {n: of[0]["reference"] for n, of in held.items()}
    raters = {n: report["variables"][n]["agreement"]["raters"] for n in held}
    parts = []
    if most := [n for n in held if rules[n] == "majority" and raters[n] > 1]:
        ties = sum(block["ties"] for n in most for block in held[n])
        parts.append(
            f"{who} was held against the most frequent human label{_on(most, held)}; units whose "
            f"human labels tie ({ties} over all variables and judges) were left out."
        )
    if alone := [n for n in held if rules[n] == "majority" and raters[n] == 1]:
        parts.append(f"{who} was held against the labels of one person{_on(alone, held)}.")
    if mean := [n for n in held if rules[n] == "mean"]:
        parts.append(
            f"{who} was held against the mean human rating{_on(mean, held)}, so that no unit ties: "
            "errors and Krippendorff's alpha are from the mean itself, coefficients of categories "
            "from the category nearest to it, a half going to the higher."
        )
    blocks = [block for of in held.values() for block in of]
    if given := named([b["agreement"], b["classes"], b.get("overall")] for b in blocks):
        parts.append(f"Given are {joined(given)}; {_beside(blocks, max(raters.values()))}.")
    return [*parts, *_not_held(report, who)]


def _held(variable: JSON) -> list[JSON]:
    """The blocks of judges that were held against something."""
    return [block for block in variable["judges"].values() if block["units"]]


def _on(names: list[str], held: JSON) -> str:
    """On which variables, where it is not on all."""
    return "" if len(names) == len(held) else f" on {joined(names)}"


def _beside(blocks: list[JSON], people: int) -> str:
    """What stands beside the judge with people together."""
    if people < 2:
        return "one person alone says nothing of what people reach with each other"
    said = (
        "kappa and the share of equal labels also with each person, beside what people reach with "
        "each other on the units that the judge labelled: the mean over pairs of people, weighted "
        "by the units that a pair shares"
    )
    out = [b["ceiling_pairs"] for b in blocks if b.get("ceiling_pairs", {}).get("left_out")]
    if not out:
        return said
    left = sum(pairs["left_out"] for pairs in out)
    fewer = f"pairs that share fewer than {out[0]['least_shared']} of them were left out"
    return f"{said}; {fewer} ({left} over all variables and judges)"


def _not_held(report: JSON, who: str) -> list[str]:
    """Variables on which no judge could be held against people."""
    none = {
        n: "no unit has both its label and one of people together"
        if v["agreement"]["raters"]
        else "no person labelled, so that there is no reference"
        for n, v in report["variables"].items()
        if v["judges"] and not _held(v)
    }
    return [
        f"{who} could not be held against people on "
        f"{joined([n for n in none if none[n] == why])}: {why}."
        for why in dict.fromkeys(none.values())
    ]
