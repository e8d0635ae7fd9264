"""The methods paragraph of a paper, from the report of measures: what was computed, and how."""

from __future__ import annotations

from analysis.evaluation.inputs import JOINT_EVALUATORS, JUDGE
from tandem.document import Section, computed_by, count
from tandem.labels.reference import HUMAN
from tandem.scores.options import PRESETS
from tandem.sections.citations import CITED
from tandem.sections.methods import references
from tandem.types import JSON

PAPERS = {
    "crux": ("CRUX", "ju2025"),
    "long2rag": ("Long²RAG", "qi2024"),
    "garage": ("GaRAGe", "sorodoc2025"),
    "clapnq": ("CLAPnq", "rosenthal2025"),
}
WORKS = {
    "CRUX": "ju2025",
    "Long2RAG": "qi2024",
    "GaRAGe": "sorodoc2025",
    "CLAPnq": "rosenthal2025",
    "Clarke": "clarke2008",
    "Järvelin": "jarvelin2002",
    "Lin": "lin2004",
}
"""Words in a measure's source, and the cited work."""


def methods_section(report: JSON) -> Section:
    """Return the paragraphs, and the works that they cite."""
    paragraphs = methods(report)
    return Section("Methods", (), paragraphs=tuple(paragraphs), points=references(paragraphs))


def methods(report: JSON) -> list[str]:
    """Return paragraphs of plain text, each a few sentences, on what the report contains."""
    parts = (
        _describe_data(report),
        _describe_measures(report),
        _describe_declared(report),
        _describe_options(report),
        describe_ties(report),
        _describe_evaluators(report),
        _describe_tests(report),
    )
    return [part for part in parts if part]


def _describe_data(report: JSON) -> str:
    kinds = [rater["kind"] for rater in report["raters"] if not rater["excluded"]]
    people = count(kinds.count(HUMAN), "person", "people")
    judges = count(kinds.count(JUDGE), "judge") if JUDGE in kinds else "no judge"
    systems = count(len(report["leaderboard"]["letters"]), "system")
    queries = count(report["queries"], "query", "queries")
    out = [f"{r['name']} ({r['excluded']})" for r in report["raters"] if r["excluded"]]
    left = f" Excluded by a researcher: {'; '.join(out)}." if out else ""
    fakes = [r["name"] for r in report["raters"] if r.get("scripted")]
    left += f" Fakes, whose answers come from a file: {', '.join(fakes)}." if fakes else ""
    return (
        f"{systems} on {queries} of {report['batch']} were measured from the labels of {people} "
        f"and {judges} ({report['protocol']}), by {computed_by(report)}.{left}"
        f"{_describe_joint(report)}{_describe_slices(report)}"
    )


def _describe_joint(report: JSON) -> str:
    """Name the judges that count as one evaluator."""
    return "".join(
        f" Judges that count as one evaluator: {', '.join(each['judges'])}."
        for each in report.get("evaluators", ())
    )


def _describe_slices(report: JSON) -> str:
    """Describe the labels by which the queries were sliced."""
    strata = report["strata"].values()
    if not strata:
        return ""
    named = dict.fromkeys(each["campaign"] for each in strata)
    whose = "people's most frequent one, without ties"
    if decided := sum(each["decided"] for each in strata):
        whose += f", or the reference's if it decided one ({count(decided, 'label')})"
    return f" Queries were sliced by the labels of {', '.join(named)}: {whose}."


def _describe_measures(report: JSON) -> str:
    """Name each measure with its works, grouped by source."""
    by_source: dict[tuple[str, ...], list[str]] = {}
    for name, of in report["measures"].items():
        if not of["cut"] and "reports" not in of:
            keys = tuple(key for word, key in WORKS.items() if word in of["citation"])
            by_source.setdefault(keys, []).append(name)
    sentences = [
        f"{', '.join(names)}{''.join(f' {CITED[key]}' for key in keys)}"
        for keys, names in by_source.items()
    ]
    return f"The measures are {'; '.join(sentences)}." if sentences else ""


def _describe_declared(report: JSON) -> str:
    """Name the measures that the protocol declares, each with what it is."""
    declared = {n: of for n, of in report["measures"].items() if "reports" in of}
    if not declared:
        return ""
    source = next(iter(declared.values()))["citation"]
    verb = "is" if len(declared) == 1 else "are"
    parts = [f"{name}: {of['summary']}" for name, of in declared.items()]
    return (
        f"{', '.join(declared)} {verb} declared by the protocol {source}, of each report and then "
        "of a system as the mean over its reports. A set of codes has the sum of their points. "
        f"{' '.join(parts)}"
    )


def _describe_options(report: JSON) -> str:
    """Describe the preset, the options that the measures read, and their differences from it."""
    preset = report["preset"]
    paper, key = PAPERS.get(preset, ("", ""))
    named = f"{paper} {CITED[key]}" if paper else "Tandem's own defaults"
    read = dict.fromkeys(name for of in report["measures"].values() for name in of["options"])
    read |= {name: None for name, there in _options_of_report(report).items() if there}
    if unfiltered := report["protocol"] == "report-coverage" and not report["passages"]:
        read.pop("filtered", None)
    values = [f"{name} {_format_value(report['options'][name]['value'])}" for name in read]
    own = PRESETS[preset]
    changed = [
        name
        for name in read
        if name != "tokenizer" and report["options"][name]["value"] != getattr(own, name)
    ]
    but = f", except {', '.join(changed)}" if changed else ""
    stated = f" Options: {'; '.join(values)}." if values else ""
    passages = report["passages"]
    beside = f" Only sub-questions that {passages} finds answered count." if passages else ""
    beside += " All sub-questions of reports count." if unfiltered else ""
    if points := report["points"]:
        beside += f" KPP and KPF rest on the labels of {points}, by the same evaluator as KPR."
    return f"Choices that the papers leave open follow {named}{but}.{stated}{beside}"


def describe_ties(report: JSON) -> str:
    """Say how much orders of tied passages change a measure, if they do."""
    widest: dict[str, float] = {}
    for name, of in report["measures"].items():
        for row in of["systems"].values():
            by = [row[joint] for joint in JOINT_EVALUATORS if row.get(joint)]
            for each in (*by, *row["raters"].values()):
                if ties := each.get("ties"):
                    widest[name] = max(widest.get(name, 0.0), ties[1] - ties[0])
    if not widest:
        return ""
    sizes = ", ".join(f"{name} {size:.2g}" for name, size in widest.items())
    return (
        "Where passages have equal gains, the best order is not unique. As in ndeval, the passage "
        "with the last identifier comes first; among ten orders of such passages, the value of a "
        f"system differs by at most {sizes}."
    )


def _options_of_report(report: JSON) -> dict[str, bool]:
    """Return the options that no measure reads, and whether the report uses each."""
    scored = report["key_point_scores"] is not None
    return {"score_cut": scored, "samples": _ordered(report["sampled"])}


def _ordered(by_rater: JSON) -> bool:
    """Return whether any measures could be compared with each other."""
    return any(each["kendall"]["value"] is not None for of in by_rater.values() for each in of)


def _format_value(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _describe_evaluators(report: JSON) -> str:
    kinds = {board["kind"] for board in report["leaderboard"]["boards"]}
    parts = []
    if "people" in kinds:
        parts.append(
            "People together are the most frequent label of a unit, without ties, or the mean of "
            "their ratings. The mean of people averages the values from each person's own labels."
        )
    if JUDGE in kinds:
        parts.append("A judge's own figures are uncorrected.")
    if any(_powered_means(report)):
        parts.append(
            "People and a judge together give the prediction-powered mean (PPI++) "
            f"{CITED['angelopoulos2023']} over {report['evaluation_queries']} evaluation "
            "queries, with the query as the unit and the probabilities of the stored sample."
        )
    if any("chances unequal" in each["method"] for each in _powered_means(report)):
        parts.append(f"Queries were weighted by their inverse probabilities {CITED['zrnic2024']}.")
    return " ".join(parts)


def _powered_means(report: JSON) -> list[JSON]:
    """Return the existing prediction-powered means."""
    return [
        cell
        for board in report["leaderboard"]["boards"]
        if board["kind"] == "powered"
        for row in board["systems"].values()
        for cell in row.values()
        if cell["value"] is not None
    ]


def _describe_tests(report: JSON) -> str:
    measures = report["measures"].values()
    parts = []
    if any(pairs for of in measures for pairs in of["settings"].values()):
        parts.append(
            "Systems were compared in pairs on the queries that both answered by the paired t test "
            "on values of queries, two-sided, which is the method of the intervals; p and the "
            "interval's level were adjusted over all pairs of a measure and evaluator "
            f"{CITED['holm1979']}. Also given is Wilcoxon's signed-rank test "
            f"{CITED['wilcoxon1945']}."
        )
    if any(each["pairs"] for of in measures for each in of["powered"].values()):
        parts.append(
            "Prediction-powered differences were tested by t on the differences of queries, from "
            f"the intervals' own standard error, adjusted likewise {CITED['holm1979']}."
        )
    pairs = [pair for of in measures for pair in (*of["evaluators"], *of["forms"])]
    if any(pair["kendall"]["value"] is not None for pair in pairs):
        parts.append(
            "Orders of systems, without the oracle, were compared by Kendall's tau-b "
            f"{CITED['kendall1945']}."
        )
    if any(pair.get("tau_ap", {}).get("value") is not None for pair in pairs):
        parts.append(
            f"tau_AP {CITED['yilmaz2008']} takes people's order as the reference; for systems that "
            f"a judge ties it is the mean over their orders {CITED['urbano2017']}, and pairs that "
            "people tie do not count."
        )
    if any(pair.get("kendall_within", {}).get("value") is not None for pair in pairs):
        parts.append(
            "Within queries, each query has its own correlation, of the systems that both score; "
            "given is the mean over the queries where it is defined, with an interval by queries."
        )
    over = {"metrics": "the systems", "sampled": "random contexts"}
    if compared := [words for key, words in over.items() if _ordered(report[key])]:
        parts.append(
            "Measures of contexts were compared with each other by Kendall's tau-b of the means of "
            f"{' and of '.join(compared)} {CITED['kendall1945']}."
        )
    parts.append(
        f"Intervals are 95 %: of shares and grades, Wilson's {CITED['wilson1927']} with the size "
        "p(1−p)/s² for the squared standard error s² of the means of queries, and t as quantile "
        f"{CITED['korn1998']}; of lengths, t; or {report['resamples']} resamples of whole queries "
        f"(seed {report['seed']}), BCa {CITED['efron1987']} at the level 2Φ(√(n/(n−1)) t) − 1 for "
        f"n queries {CITED['hesterberg2015']}, of sizes s no more than (Σs)²/Σs². There are none "
        "below ten queries, and none of a difference if the two differ on fewer than five."
    )
    return " ".join(parts)
