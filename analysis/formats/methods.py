"""The methods paragraph of a paper, from the report's JSON: what was computed, and by whose method.

Statistics and intervals are read from the `method` of the estimates, so that the text tells of
nothing that is not there. One that is not known here is named without a citation.
"""

from __future__ import annotations

import re
from typing import Any

from analysis.formats.cited import CITED, REFERENCES
from analysis.formats.document import Section, count
from analysis.formats.floor import floor_methods
from analysis.formats.methods_beside import beside, other_rules
from analysis.formats.methods_people import among_people, held_against
from analysis.formats.wording import joined, methods_of, named
from analysis.statistics import PEOPLE_ALONE, expanded_level

JSON = dict[str, Any]
ALT_TEST = "calderon2025"


def methods_section(report: JSON) -> Section:
    """The paragraphs, and the references that they cite."""
    paragraphs = methods(report)
    return Section("Methods", (), "", paragraphs=tuple(paragraphs), points=references(paragraphs))


def methods(report: JSON) -> list[str]:
    """Paragraphs of plain text, each a few sentences."""
    parts = [_data(report), among_people(report), _judges(report), _scores(report), beside(report)]
    parts += [_intervals(report), report.get("check", {}).get("line", "")]
    return [part for part in parts if part]


def references(paragraphs: list[str]) -> tuple[str, ...]:
    """The works that paragraphs cite, by author."""
    told = " ".join(paragraphs)
    return tuple(sorted(whole for mark, whole in REFERENCES.values() if mark in told))


def _data(report: JSON) -> str:
    kinds = [rater["kind"] for rater in report["raters"] if not rater["excluded"]]
    people = count(kinds.count("human"), "person", "people")
    judges = count(kinds.count("judge"), "judge") if "judge" in kinds else "no judge"
    missing = report["inputs"]["missing"]
    parts = [
        f"From {report['inputs']['labels']} labels ({missing} more are missing; SHA-256 "
        f"{report['inputs']['sha256'][:12]}…) those of {people} and {judges} on "
        f"{count(report['queries'], 'query', 'queries')} entered, computed by Tandem "
        f"{report['version']}."
    ]
    parts += _excluded(report["raters"])
    parts += _chosen(report["choices"])
    if report["assisted_labels"]:
        how = "taken like all others" if report["assisted"]["included"] else "left out"
        parts.append(
            f"{count(report['assisted_labels'], 'label')} made with a judge's verdict in view "
            f"{'was' if report['assisted_labels'] == 1 else 'were'} {how}."
        )
    return " ".join(parts)


def _excluded(raters: list[JSON]) -> list[str]:
    """Whom a researcher left out, and why."""
    out = [f"{rater['name']} ({rater['excluded']})" for rater in raters if rater["excluded"]]
    return [f"Left out by a researcher: {'; '.join(out)}."] if out else []


def _chosen(choices: JSON) -> list[str]:
    words = {"variables": "variables", "raters": "raters", "judges": "judges"}
    parts = [f"the {word} {', '.join(choices[n])}" for n, word in words.items() if choices[n]]
    parts += [f"items of {name} {' or '.join(of)}" for name, of in choices["strata"].items()]
    return [f"Only these were taken: {'; '.join(parts)}."] if parts else []


def _judges(report: JSON) -> str:
    blocks = [b for v in report["variables"].values() for b in v["judges"].values()]
    if not blocks:
        return ""
    parts = held_against(report)
    if ordered := named(b["correlation"] for b in blocks):
        parts.append(f"Ratings were correlated with the mean human rating: {joined(ordered)}.")
    if any(b["thresholds"] for b in blocks):
        parts.append(
            "Ratings were also cut at each threshold, both sides alike, with precision and recall "
            "of reaching it and of staying below it."
        )
    if areas := named(b.get("curves") for b in blocks):
        parts.append(f"Scores were held against people over all thresholds: {joined(areas)}.")
    parts += _alternative([b["alt_test"] for b in blocks])
    parts += floor_methods(blocks)
    parts += _roles(report.get("roles"))
    missing = sum(sum(block["missing"].values()) for block in blocks)
    parts.append(
        f"Missing labels of judges ({missing}) stand in no agreement, are counted by reason, and "
        "are losses in the alternative annotator test."
    )
    return " ".join(parts)


def _roles(roles: JSON | None) -> list[str]:
    if not roles:
        return []
    if roles["compared"] == "chosen":
        return ["The queries' roles were chosen by the reader; see what was taken."]
    others = [f"{roles[name]} of {name}" for name in ("development", "audit") if roles[name]]
    return [
        f"Judges and people were compared, and estimates made of both, on the "
        f"{count(roles['evaluation'], 'item')} of evaluation queries only; {joined(others)} stayed "
        "out, by a draw made when the campaign was."
    ]


def _alternative(tests: list[JSON]) -> list[str]:
    if all(test.get("reason") for test in tests):
        return []
    units = joined(sorted({test["decides"].replace("by_query", "queries") for test in tests}))
    return [
        f"The alternative annotator test {CITED[ALT_TEST]} was run with epsilon "
        f"{tests[0]['epsilon']:g}, one-sided t tests over {units}, and the false discovery rate of "
        f"0.05 held over annotators under any dependence {CITED['benjamini2001']}.",
        *_few_queries(tests),
        *other_rules(tests),
    ]


def _few_queries(tests: list[JSON]) -> list[str]:
    needed = {test["queries_needed"] for test in tests if test.get("queries_needed")}
    if not needed:
        return []
    return [
        "Over queries a p-value is never below ((1 - epsilon) / (1 - d))^n, with d the mean "
        "difference over n queries, which bounds it by Markov's inequality; with fewer than "
        f"{joined(sorted(map(str, needed)))} queries only a judge that wins more often than people "
        "can pass, and none fails."
    ]


def _scores(report: JSON) -> str:
    parts = []
    for name, block in report["scores"].items():
        cited = f" {CITED['ju2025']}" if name == "coverage" else ""
        parts.append(
            f"{name.capitalize()}{cited} was averaged by system; rankings of reports were compared "
            f"by {joined(named([block.get('pairs', []), block['correlation']])) or 'nothing'}."
        )
        if block.get("comparisons"):
            parts.append(
                "Systems were compared in pairs on the queries that both answered, by the mean of "
                "people's scores: t test of the differences of query means and Wilcoxon's "
                f"signed-rank test {CITED['wilcoxon1945']}, two-sided, each adjusted over all "
                f"pairs {CITED['holm1979']}."
            )
        if any("PPI++" in each for each in methods_of(block["estimate"], defined=True)):
            parts.append(
                f"People and judge together give the prediction-powered mean (PPI++) "
                f"{CITED['angelopoulos2023']}, with the query as the unit."
            )
        powered = [of["prediction_powered"] for of in block["estimate"].values()]
        if any(each.get("reason") == PEOPLE_ALONE for each in powered):
            parts.append(
                f"No prediction-powered mean (PPI++) {CITED['angelopoulos2023']} stands where no "
                "query is judged without people's labels: it would be people's own."
            )
    if "written" in report:
        parts.append(f"Written answers were compared by ROUGE-L F1 {CITED['lin2004']}.")
    return " ".join(parts)


def _intervals(report: JSON) -> str:
    every = [m.partition("; ")[2] for m in methods_of(report)]
    kinds = {_kind(each) for each in every if each.startswith("95 %")}
    parts = []
    if kinds:
        parts.append(
            f"Intervals are 95 %: {joined(sorted(kinds))}. Seed {report['seed']}. Queries, not "
            "labels, are taken as independent."
        )
        parts.append(_for_whom(report))
    if any(kind.startswith("BCa") for kind in kinds):
        parts.append(_level(every))
    if any(each.endswith("at least 5 must") for each in every):
        parts.append(
            "Where fewer than 5 queries differ from the rest in what they hold, there is none."
        )
    if any("at least 10 are needed" in each for each in every):
        parts.append("Where fewer than 10 queries stand behind a number, it has no interval.")
    strata = {name for v in report["variables"].values() for name in v["strata"]}
    if strata:
        parts.append(f"All of it was repeated within each {' and each '.join(sorted(strata))}.")
    return " ".join(parts)


def _level(methods: list[str]) -> str:
    """At which level the bootstrap's quantiles are taken, for the fewest and the most queries."""
    found = [re.match(r"95 % BCa bootstrap of (\d+) queries", each) for each in methods]
    queries = sorted({int(each[1]) for each in found if each})
    ends = dict.fromkeys((queries[0], queries[-1]))
    levels = joined([f"{100 * expanded_level(n):.2f} % with {n} queries" for n in ends])
    return (
        f"The bootstrap is BCa {CITED['efron1987']} at the level 2Φ(√(n/(n−1)) t) − 1 for n "
        f"queries, t being Student's with n−1 degrees of freedom at .975 "
        f"{CITED['hesterberg2015']}: {levels}."
    )


def _for_whom(report: JSON) -> str:
    """Whether intervals hold for these raters or for others, too."""
    if report["choices"].get("bootstrap", "queries") == "two-way":
        return (
            "In the two-way bootstrap queries and raters were drawn anew, each with replacement "
            f"{CITED['owen2007']}, pairs of one rater with itself left out, so that its intervals "
            "hold for other raters of this kind, too; with few raters, roughly. All other "
            "intervals draw queries alone, and hold for these raters."
        )
    return (
        "Queries stand for others of their kind and people for themselves: intervals hold for "
        "these raters."
    )


def _kind(interval: str) -> str:
    """An interval's method without what differs between estimates."""
    text = re.sub(r" (of|clustered by) \d+ (queries|query)", r" \1 whole queries", interval[5:])
    text = re.sub(r" and \d+ raters?", " and raters", text)
    text = re.sub(r", \d+ labelled quer(y|ies)", " on query means", text)
    return text.strip().rstrip(",")
