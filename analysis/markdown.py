"""The report as Markdown: for the terminal, a repository, a paper's appendix."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

JSON = dict[str, Any]

COEFFICIENTS = {
    "percent": "Percent agreement",
    "fleiss_kappa": "Fleiss' kappa",
    "fleiss_kappa_pooled": "Fleiss' kappa, pooled",
    "randolph_kappa": "Randolph's kappa",
    "krippendorff_alpha": "Krippendorff's alpha",
    "gwet_ac": "Gwet's AC",
}


def as_markdown(report: JSON) -> str:
    """The report's numbers as tables, with their intervals and reasons."""
    parts = [*_head(report)]
    for name, variable in report["variables"].items():
        parts += _variable(name, variable)
    for name, block in report["scores"].items():
        parts += _scores(name, block)
    return "\n\n".join(parts) + "\n"


def number(estimate: JSON, digits: int = 3) -> str:
    """An estimate in a cell: `0.516 [0.40, 0.60]`, or a dash."""
    if estimate["value"] is None:
        return "–"
    value, low, high = (
        None if estimate[name] is None else rounded(estimate[name], digits)
        for name in ("value", "low", "high")
    )
    return str(value) if low is None else f"{value} [{low}, {high}]"


def rounded(value: float, digits: int) -> str:
    """A number to so many digits, without the sign of a zero."""
    return f"{round(value, digits) + 0.0:.{digits}f}"


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table, its columns padded so that it reads in a terminal too."""
    cells = [[_cell(c) for c in row] for row in (header, *rows)]
    widths = [max(len(row[n]) for row in cells) for n in range(len(header))]
    lines = ["| " + " | ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) + " |"
             for row in cells]  # fmt: skip
    rule = "|" + "|".join("-" * (w + 2) for w in widths) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])


def _cell(value: object) -> str:
    return " ".join(str(value).split()).replace("|", "\\|")


def _head(report: JSON) -> list[str]:
    title = report["campaign"] or "Labels file"
    raters = [(r["name"], r["kind"], r["responses"], r["labels"], r["excluded"] or "")
              for r in report["raters"]]  # fmt: skip
    about = [x for x in (report["protocol"], report["batch"]) if x]
    facts = f"{report['queries']} queries; {report['resamples']} resamples, seed {report['seed']}"
    return [
        f"# Agreement: {title}",
        " · ".join([*about, facts, f"Tandem {report['version']}"]),
        table(("Rater", "Kind", "Responses", "Labels", "Excluded because"), raters),
    ]


def _variable(name: str, variable: JSON) -> list[str]:
    escapes = ", ".join(f"{code} {count}" for code, count in variable["escapes"].items())
    facts = f"{variable['measurement']}; categories {', '.join(variable['categories'])}"
    parts = [f"## {name}", facts + (f"; escapes {escapes}" if escapes else "")]
    parts += _agreement(variable["agreement"])
    for judge, block in variable["judges"].items():
        parts += _judge(judge, block)
    for stratum, groups in variable["strata"].items():
        parts += _stratum(stratum, groups)
    return parts


def _agreement(block: JSON) -> list[str]:
    rows = [(label, number(block[key]), block[key]["n"], block[key].get("reason", ""))
            for key, label in COEFFICIENTS.items()]  # fmt: skip
    pairs = [(f"{p['a']} – {p['b']}", p["units"], number(p["percent"]), number(p["cohen_kappa"]))
             for p in block["pairs"]]  # fmt: skip
    parts = [
        f"### Among people ({block['raters']} raters, {block['units']} units)",
        table(("Coefficient", "Value [95 %]", "Units", "Undefined because"), rows),
    ]
    header = ("Pair", "Units", "Percent", "Cohen's kappa")
    return [*parts, table(header, pairs)] if pairs else parts


def _judge(name: str, block: JSON) -> list[str]:
    missing = ", ".join(f"{n} {reason}" for reason, n in block["missing"].items()) or "none"
    alt = block["alt_test"]
    rows = [
        ("Cohen's kappa against the majority", number(block["agreement"]["cohen_kappa"])),
        ("Percent agreement with the majority", number(block["agreement"]["percent"])),
        ("Cohen's kappa, people with each other", number(block["human_ceiling"]["cohen_kappa"])),
        ("Percent, people with each other", number(block["human_ceiling"]["percent"])),
        *((f"Cohen's kappa with {rater}", number(pair["cohen_kappa"]))
          for rater, pair in block["pairs"].items()),
        ("Winning rate over annotators", _alternative(alt)),
    ]  # fmt: skip
    classes = [(c, number(s["precision"]), number(s["recall"]), number(s["f1"]), s["support"])
               for c, s in block["classes"].items()]  # fmt: skip
    return [
        f"### Judge {name}: {block['units']} units, {block['ties']} ties, missing: {missing}",
        table(("Against people", "Value [95 %]"), rows),
        table(("Category", "Precision", "Recall", "F1", "Support"), classes),
        _confusion(block["confusion"]),
    ]


def _alternative(test: JSON) -> str:
    if test["winning_rate"] is None:
        return f"– ({test['reason']})"
    by_query = test["by_query"]["winning_rate"]
    return (
        f"{test['winning_rate']:.2f} by items, {by_query:.2f} by queries "
        f"(epsilon {test['epsilon']}, {test['decides'].replace('_', ' ')} decides)"
    )


def _confusion(block: JSON) -> str:
    header = ("People \\ judge", *block["labels"])
    rows = [(label, *row) for label, row in zip(block["labels"], block["matrix"], strict=True)]
    return table(header, rows)


def _stratum(name: str, groups: JSON) -> list[str]:
    judges = list(dict.fromkeys(j for g in groups.values() for j in g["judges"]))
    rows = [
        (
            group,
            block["agreement"]["units"],
            number(block["agreement"]["fleiss_kappa"]),
            number(block["agreement"]["krippendorff_alpha"]),
            *(number(block["judges"][j]["agreement"]["cohen_kappa"])
              if j in block["judges"] else "–" for j in judges),
        )
        for group, block in groups.items()
    ]  # fmt: skip
    header = (name.capitalize(), "Units", "Fleiss' kappa", "Krippendorff's alpha")
    against = tuple(f"{judge}: Cohen's kappa" for judge in judges)
    return [f"### By {name}", table((*header, *against), rows)]


def _scores(name: str, block: JSON) -> list[str]:
    raters = list(dict.fromkeys(r for system in block["systems"].values() for r in system))
    systems = [(system or "–", *(number(values[r]) for r in raters))
               for system, values in block["systems"].items()]  # fmt: skip
    pairs = [(f"{p['a']} – {p['b']}", number(p["spearman"]), number(p["kendall"]))
             for p in block["pairs"]]  # fmt: skip
    pairs += [(f"{judge} – {rater}", number(c["spearman"]), number(c["kendall"]))
              for judge, of in block["correlation"].items() for rater, c in of.items()]  # fmt: skip
    parts = [f"## {name.capitalize()}", table(("System", *raters), systems)]
    if pairs:
        parts.append(table(("Ranking of reports", "Spearman", "Kendall"), pairs))
    if block["estimate"]:
        parts.append(_estimates(block["estimate"]))
    return parts


def _estimates(block: JSON) -> str:
    rows = [
        (system or "–", number(e["humans"]), number(e["judge"]), number(e["prediction_powered"]),
         "–" if e["effective_labels"] is None else f"{e['effective_labels']:.0f}")
        for system, e in block.items()
    ]  # fmt: skip
    header = ("System", "People", "Judge, uncorrected", "Prediction-powered", "Effective labels")
    return table(header, rows)
