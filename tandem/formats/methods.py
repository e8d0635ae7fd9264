"""The methods paragraph of a paper from the report's JSON: computed figures and cited methods.

Statistics and intervals are read from the `method` of each estimate, so that the text mentions
nothing that was not computed. A method without a known citation is named without one.
"""

from __future__ import annotations

from ..document import UNIT, UNITS, Section, computed_by, count, in_noun
from ..statistics import PEOPLE_ALONE
from ..types import JSON
from .alternative_methods import alternative_methods
from .citations import CITED, REFERENCES, cited_statistics, methods_of
from .interval_methods import describe_intervals
from .nouns import common_noun, joined
from .people_sections import among_people, floor_methods, scales
from .score_sections import order_methods
from .sections import NOT_EXPOSED, describe_exposed


def describe_further(report: JSON) -> str:
    """Describe adjudicated labels, evidence, soft labels and plans, if the report has them."""
    parts = [_adjudicated(report), _evidence(report), _soft(report), _planning(report)]
    return " ".join(part for part in parts if part)


def _evidence(report: JSON) -> str:
    of = {name: v["spans"] for name, v in report["variables"].items() if v.get("spans")}
    if not of:
        return ""
    blocks = [b for v in of.values() for b in (v["agreement"], *v["judges"].values())]
    chance = any(b["all"]["unitising_alpha"]["value"] is not None for b in blocks)
    corrected = (
        f", and by Krippendorff's alpha of words and for unitising {CITED['krippendorff1995']}"
    )
    return (
        f"The evidence marked for {', '.join(of)} was compared by F1 of exact and of overlapping "
        f"spans and of characters, averaged over pairs{corrected if chance else ''}; a judge was "
        "treated as one more annotator."
    )


def _adjudicated(report: JSON) -> str:
    """Describe comparisons of judges with adjudicated labels, and their number."""
    if report["choices"].get("reference", "majority") != "adjudicated":
        return ""
    units = {
        name: max(
            (j["adjudicated"]["references"]["units"] for j in v["judges"].values()), default=0
        )
        for name, v in report["variables"].items()
    }
    counts = ", ".join(f"{name} {number}" for name, number in units.items() if number)
    if not counts:
        return f"No judge labelled a {UNIT} that an adjudicator decided."
    return (
        "Beside people's majority, judges were compared with the labels that adjudicators decided "
        f"({UNITS}: {counts}), alone and with people's majority on the {UNITS} where none did; the "
        "references are not part of the agreement among people."
    )


def _soft(report: JSON) -> str:
    if not any(v.get("soft_labels", {}).get("raters") for v in report["variables"].values()):
        return ""
    return (
        "Beside the majority, soft labels and each person's errors were estimated "
        f"{CITED['dawid1979']} assuming independent errors; intervals of judges compared with "
        "them treat them as fixed."
    )


def _planning(report: JSON) -> str:
    plans = [v["planning"] for v in report["variables"].values() if v.get("planning")]
    if not plans:
        return ""
    return (
        f"For plans of intervals {plans[0]['width']:g} wide, the width was assumed proportional to "
        f"t/root(n) over n queries, and its square equal to a + b/r with r raters per {UNIT}."
    )


def describe_comparisons(report: JSON) -> list[str]:
    """Describe each judge's reference and coefficients, or say that there was none."""
    judges = list(dict.fromkeys(j for v in report["variables"].values() for j in v["judges"]))
    who = "Each judge" if len(judges) > 1 else f"The judge {judges[0]}"
    held = {n: of for n, v in report["variables"].items() if (of := _compared_blocks(v))}
    rules = {n: of[0]["reference"] for n, of in held.items()}
    raters = {n: report["variables"][n]["agreement"]["raters"] for n in held}
    parts = []
    if most := [n for n in held if rules[n] == "majority" and raters[n] > 1]:
        parts.append(
            f"{who} was compared with the most frequent human label{_on_variables(most, held)}. "
            f"{_ties({n: held[n][0] for n in most})}"
        )
    if alone := [n for n in held if rules[n] == "majority" and raters[n] == 1]:
        parts.append(
            f"{who} was compared with the labels of one person{_on_variables(alone, held)}."
        )
    if mean := [n for n in held if rules[n] == "mean"]:
        parts.append(
            f"{who} was compared with the mean human rating{_on_variables(mean, held)}, so that no "
            f"{UNIT} ties. Errors and Krippendorff's alpha use the mean itself, and coefficients "
            "of categories the category nearest to it, rounding halves up."
        )
    blocks = [block for of in held.values() for block in of]
    if given := cited_statistics([b["agreement"], b["classes"], b.get("overall")] for b in blocks):
        parts.append(
            f"Reported are {joined(given)}; {_describe_pairs(blocks, max(raters.values()))}."
        )
    return [*parts, *_describe_uncompared(report, who)]


def _ties(blocks: dict[str, JSON]) -> str:
    """Say on how many units people tie, by variable; a judge's block has all that people labelled.

    People tie on the same units for every judge.
    """
    tied = {name: block for name, block in blocks.items() if block["ties"]}
    if not tied:
        return f"People tie on no {UNIT}."
    counts = [
        f"{block['ties']}{f' of {of}' if (of := block.get('people_units')) else ''} {UNITS}"
        f"{f' of {name}' if len(blocks) > 1 else ''}"
        for name, block in tied.items()
    ]
    return f"Left out are {joined(counts)}, where people tie."


def _compared_blocks(variable: JSON) -> list[JSON]:
    """Return the blocks of judges that were compared with people."""
    return [block for block in variable["judges"].values() if block["units"]]


def _on_variables(names: list[str], held: JSON) -> str:
    """Name the variables, unless they are all of them."""
    return "" if len(names) == len(held) else f" on {joined(names)}"


def _describe_pairs(blocks: list[JSON], people: int) -> str:
    """Describe the further figures besides the judge's agreement with people's joint labels."""
    if people < 2:
        return "one person alone shows nothing about human agreement"
    said = (
        "kappa and the share of equal labels also with each person, beside those of people with "
        f"each other on the {UNITS} that the judge labelled: the mean over pairs of people, "
        f"weighted by the {UNITS} that a pair shares"
    )
    out = [b["ceiling_pairs"] for b in blocks if b.get("ceiling_pairs", {}).get("left_out")]
    if not out:
        return said
    left = sum(pairs["left_out"] for pairs in out)
    fewer = f"pairs that share fewer than {out[0]['least_shared']} of them were left out"
    return f"{said}; {fewer} ({left} over all variables and judges)"


def _describe_uncompared(report: JSON, who: str) -> list[str]:
    """Name the variables on which no judge could be compared with people."""
    none = {
        n: f"no {UNIT} has both its label and a joint label of people"
        if v["agreement"]["raters"]
        else "no person labelled, so that there is no reference"
        for n, v in report["variables"].items()
        if v["judges"] and not _compared_blocks(v)
    }
    return [
        f"{who} could not be compared with people on "
        f"{joined([n for n in none if none[n] == why])}: {why}."
        for why in dict.fromkeys(none.values())
    ]


def methods_section(report: JSON) -> Section:
    """Return the paragraphs, and the references that they cite."""
    parts = _parts(report)
    paragraphs = list(parts.values())
    return Section(
        "Methods",
        (),
        paragraphs=tuple(paragraphs),
        heads=tuple(parts),
        points=references(paragraphs),
    )


def methods(report: JSON) -> list[str]:
    """Return paragraphs of plain text, each a few sentences."""
    return list(_parts(report).values())


def _parts(report: JSON) -> dict[str, str]:
    """Return the paragraphs by their heads, which pages show but for the first."""
    parts = {
        "Labels": _data(report),
        "Agreement among people": among_people(report),
        "Scales": scales(report),
        "Judges": _judges(report),
        "Scores and systems": _scores(report),
        "Further statistics": describe_further(report),
        "Intervals": describe_intervals(report, [m.partition("; ")[2] for m in methods_of(report)]),
        "Check by other libraries": report.get("check", {}).get("line", ""),
    }
    noun = common_noun(report)
    return {head: in_noun(part, noun) for head, part in parts.items() if part}


def references(paragraphs: list[str]) -> tuple[str, ...]:
    """Return the works that paragraphs cite, by author."""
    text = " ".join(paragraphs)
    return tuple(sorted(whole for mark, whole in REFERENCES.values() if mark in text))


def _data(report: JSON) -> str:
    kinds = [rater["kind"] for rater in report["raters"] if not rater["excluded"]]
    people = count(kinds.count("human"), "person", "people")
    judges = count(kinds.count("judge"), "judge") if "judge" in kinds else "no judge"
    missing = report["inputs"]["missing"]
    parts = [
        f"Of {report['inputs']['labels']:,} labels ({missing} more are missing; SHA-256 "
        f"{report['inputs']['sha256'][:12]}…) those of {people} and {judges} on "
        f"{count(report['queries'], 'query', 'queries')} were used. Numbers were computed by "
        f"{computed_by(report)}."
    ]
    parts += _excluded(report["raters"])
    parts += _describe_selection(report["choices"])
    if report["assisted_labels"]:
        how = "counted like all others" if report["assisted"]["included"] else "left out"
        parts.append(
            f"{count(report['assisted_labels'], 'label')} given with a judge's label in view "
            f"{'was' if report['assisted_labels'] == 1 else 'were'} {how}."
        )
    if (exposed := report.get("exposed", NOT_EXPOSED))["labels"]:
        parts.append(f"{describe_exposed(exposed)}.")
    return " ".join(parts)


def _excluded(raters: list[JSON]) -> list[str]:
    """Name the raters that a researcher excluded, with the reasons."""
    out = [f"{rater['name']} ({rater['excluded']})" for rater in raters if rater["excluded"]]
    return [f"Excluded by a researcher: {'; '.join(out)}."] if out else []


def _describe_selection(options: JSON) -> list[str]:
    words = {"variables": "variables", "raters": "raters", "judges": "judges"}
    parts = [f"the {word} {', '.join(options[n])}" for n, word in words.items() if options[n]]
    parts += [f"items of {name} {' or '.join(of)}" for name, of in options["strata"].items()]
    return [f"Only these were used: {'; '.join(parts)}."] if parts else []


def _judges(report: JSON) -> str:
    blocks = [b for v in report["variables"].values() for b in v["judges"].values()]
    if not blocks:
        return ""
    parts = describe_comparisons(report)
    if ordered := cited_statistics(b["correlation"] for b in blocks):
        parts.append(f"Ratings were correlated with the mean human rating: {joined(ordered)}.")
    if any(b["thresholds"] for b in blocks):
        parts.append(
            "Ratings were also cut at each threshold, with precision and recall "
            "of reaching it and of staying below it."
        )
    if areas := cited_statistics(b.get("curves") for b in blocks):
        parts.append(f"Scores were compared with people over all thresholds: {joined(areas)}.")
    parts += alternative_methods([b["alt_test"] for b in blocks])
    parts += floor_methods(blocks)
    if len(variables := list(report["variables"])) > 1:
        parts.append(
            f"The variables {joined(variables)} are families of their own: no p-value is adjusted "
            "over them."
        )
    parts += _describe_splits(report.get("roles"))
    missing = sum(sum(block["missing"].values()) for block in blocks)
    parts.append(
        f"Missing labels of judges ({missing}) are left out of agreement, are counted by reason, "
        "and are losses in the alternative annotator test."
    )
    return " ".join(parts)


def _describe_splits(roles: JSON | None) -> list[str]:
    if not roles:
        return []
    if roles["compared"] == "chosen":
        return ["The split was selected by the reader; see the labels used."]
    others = [f"{roles[name]} of {name}" for name in ("development", "audit") if roles[name]]
    return [
        "Judges and people were compared, and combined in estimates, on the "
        f"{count(roles['evaluation'], 'item')} of evaluation queries only; {joined(others)} were "
        "left out, by a random split made when the campaign was created."
    ]


def _scores(report: JSON) -> str:
    parts = []
    for name, block in report["scores"].items():
        cited = f" {CITED['ju2025']}" if name == "coverage" else ""
        statistics = cited_statistics([block.get("pairs", []), block["correlation"]])
        parts.append(
            f"{name.capitalize()}{cited} was averaged by system; scores over all answers, "
            f"query difficulty included, were compared by {joined(statistics) or 'nothing'}."
        )
        parts += order_methods(block.get("order", {}))
        if block.get("comparisons"):
            parts.append(
                "Systems were compared in pairs on the queries that both answered, by the mean of "
                "people's scores: t test of the differences of query means and Wilcoxon's "
                f"signed-rank test {CITED['wilcoxon1945']}, two-sided, each adjusted over all "
                f"pairs {CITED['holm1979']}. The interval of a difference has the level of the "
                "adjusted t test."
            )
        if any(each.get("low") is not None for each in _sources_of_noise(block)):
            parts.append(
                "The components of the variance of a score have intervals by the jackknife of "
                f"their logarithms over queries {CITED['arvesen1970']}, which hold for these "
                "systems and raters."
            )
        if any("PPI++" in each for each in methods_of(block["estimate"], defined=True)):
            parts.append(
                "People and judge together give the prediction-powered mean (PPI++) "
                f"{CITED['angelopoulos2023']}, with the query as the unit, about all queries of "
                "this kind, and the mean over exactly these queries by the difference estimator "
                f"{CITED['cochran1977']}."
            )
        powered = [of["prediction_powered"] for of in block["estimate"].values()]
        if any(each.get("reason") == PEOPLE_ALONE for each in powered):
            parts.append(
                f"There is no prediction-powered mean (PPI++) {CITED['angelopoulos2023']} if no "
                "query is judged without people's labels: it would equal people's own mean."
            )
    if "written" in report:
        parts.append(f"Written answers were compared by ROUGE-L F1 {CITED['lin2004']}.")
    return " ".join(parts)


def _sources_of_noise(score: JSON) -> list[JSON]:
    found = score.get("components")
    blocks = [found["humans"], *found["judges"].values()] if found else []
    return [source for block in blocks for source in block["sources"]]
