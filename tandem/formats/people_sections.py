"""Agreement among people in words; crowds, the baseline, the sources of noise in a score."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..document import UNIT, UNITS, UNITS_HEAD, Block, Cell, Number, RaterName, Table, UnitCount
from ..statistics.coefficients import ALPHA, EQUAL, KAPPA, WEIGHTED
from ..types import JSON
from ..unit_counts import of_several
from .citations import CITED, cited_statistics
from .nouns import joined, slotted

AIMS = {
    "system_mean": "One system's mean",
    "difference": "Difference of two systems",
    "overall_mean": "Mean over systems",
}
FACETS = ("query", "system", "rater")
MOST_ROWS = 30
"""Above this number of people, tables show only a few of them."""
_QUANTILES = {
    "min": "Least",
    "q05": "5 %",
    "q25": "25 %",
    "median": "Median",
    "q75": "75 %",
    "q95": "95 %",
    "max": "Most",
}
_BY_BACKGROUND = {
    EQUAL.key: EQUAL.head,
    ALPHA.key: ALPHA.name,
    "with_others": "Percent with the others",
    "difference": "Percent above the others'",
}
_OF = {KAPPA.key: KAPPA.name, EQUAL.key: EQUAL.head}
ANY = "*"
"""The filter of the list of disagreements for any grade, or any label of the baseline."""
OF_LABELS = "labels from all people together; the list shows each unit only once"
GAP = (
    "Gap to people, in pairs. A majority is less noisy than a single person, so it is not compared "
    "with pairs"
)


def components_tables(score: JSON) -> list[Table]:
    """Return the tables; none in snapshots of older reports, or if nothing is known."""
    found = score.get("components")
    if not found:
        return []
    raters: list[tuple[str | RaterName, JSON]] = [
        ("people", found["humans"]),
        *((RaterName(n, "judge"), of) for n, of in _judges(found)),
    ]
    known = [(who, of) for who, of in raters if of["sources"]]
    return [_sources(known), _decisions(found["humans"])] if known else []


def _judges(found: JSON) -> Iterator[tuple[str, JSON]]:
    for name, of in found["judges"].items():
        yield f"{name} less people", of


def _sources(known: list[tuple[str | RaterName, JSON]]) -> Table:
    names = list(dict.fromkeys(each["source"] for _, of in known for each in of["sources"]))
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (name, *(_variance(of, name) for _, of in known)) for name in names
    )
    caption = "Variance of a single score by source"
    return Table(caption, ("Source", *(who for who, _ in known)), rows)


def _variance(of: JSON, name: str) -> Number:
    found = next((each for each in of["sources"] if each["source"] == name), None)
    if found is None:
        pooled = "part of the residual" if name in of["pooled"] else "not in this design"
        return Number(None, reason=pooled)
    ends = found.get("low"), found.get("high")
    return Number(found["variance"], *ends, found.get("method", ""), digits=4)


def _decisions(people: JSON) -> Table:
    rows = tuple(_decision(each) for each in people["decisions"])
    header = ("Of", "Width now", "Queries", "Systems", "Raters per report")
    caption = f"What an interval of width {people['width']:g} needs by these components"
    return Table(caption, header, rows)


def _decision(of: JSON) -> tuple[Cell, ...]:
    plans = {each["facet"]: each for each in of["plans"]}
    cells = (plans.get(facet) for facet in FACETS)
    return (
        AIMS[of["aim"]],
        Number(of["interval_width"]),
        *(
            _plan(each) if each else Number(None, reason="it does not depend on it")
            for each in cells
        ),
    )


def _plan(of: JSON) -> Number:
    return Number(of["needed"], reason=of.get("reason", ""), digits=0)


def distribution_tables(found: JSON) -> list[Table]:
    """Return the agreement of people with each other."""
    fewest, rows = found["fewest_units"], []
    for label, of in (("of a person with the others", found["with_others"]), ("of a pair", found)):
        rows += [_quantiles(f"{name} {label}", of[key]) for key, name in _OF.items()]
    caption = f"Distribution over people, and over pairs, who share {fewest} {UNITS}"
    tables = [Table(caption, ("Agreement", "Number", *_QUANTILES.values()), tuple(rows))]
    outside: tuple[tuple[Cell, ...], ...] = tuple(
        (
            RaterName(each["name"], "human"),
            of_several(each["units"], each["name"]),
            Number(each[KAPPA.key]),
            Number(each["others"]),
            Number(each[EQUAL.key]),
        )
        for each in found["stand_out"]
    )
    if outside:
        header = ("Person", UNITS_HEAD, "Kappa with the others", "The others' kappa", "Percent")
        tables.append(Table("People who agree far less than the others do", header, outside))
    return tables


def judge_with_people_table(found: JSON) -> Table:
    """Return the agreement of a judge with each person."""
    rows = tuple(_quantiles(name, found[key]) for key, name in _OF.items())
    caption = f"Distribution over people who share {found['fewest_units']} {UNITS} with the judge"
    return Table(caption, ("Agreement", "People", *_QUANTILES.values()), rows)


def background_blocks(variable: JSON) -> list[Block]:
    """Return agreement by people's background, if the report's options include it."""
    asked = variable.get("backgrounds")
    if not asked:
        return []
    fewest = max(of["fewest_people"] for of in asked.values())
    tables = tuple(_background(of) for of in asked.values() if of["groups"])
    about = (
        f"Groups of fewer than {fewest} people, or that leave as few others, are not shown. There "
        f"is no list of a group’s {UNITS}: it would tell who is in the group."
    )
    return [Block("By background", tables, about if tables else f"{about} None is larger.")]


def _background(of: JSON) -> Table:
    header = ("Answer", "People", UNITS_HEAD, *_BY_BACKGROUND.values())
    rows = tuple(
        (
            value,
            group["people"],
            group["units"],
            *(Number.from_estimate(group[key]) for key in _BY_BACKGROUND),
        )
        for value, group in of["groups"].items()
    )
    return Table(of["question"], header, rows)


def ranking_table(found: JSON) -> Table:
    """Return the agreement of a crowd's people on the ranking of reports."""
    row = _quantiles("Spearman of a pair", found["spearman"])
    caption = (
        "People in pairs: scores over all answers, query difficulty included; pairs who share "
        f"{found['fewest_items']} items"
    )
    return Table(caption, ("Agreement", "Pairs", *_QUANTILES.values()), (row,))


def _quantiles(name: str, of: JSON) -> tuple[Cell, ...]:
    reason = of.get("reason", "")
    return (name, of["n"], *(Number(of[key], reason=reason) for key in _QUANTILES))


def counted_rows(
    counts: Mapping[str, Mapping[str, int]], kinds: Mapping[str, str], codes: Sequence[str]
) -> list[tuple[Cell, ...]]:
    """Return labels by category, with a row for each rater, or one row for a crowd."""
    people = [name for name in counts if kinds.get(name) == "human"]
    rows: list[tuple[Cell, ...]] = []
    if len(people) > MOST_ROWS:
        sums = [sum_of_people([counts[name][code] for name in people]) for code in codes]
        rows.append((f"All {len(people)} people", *sums))
        counts = {name: of for name, of in counts.items() if name not in people}
    for name, of in counts.items():
        rows.append((RaterName(name, kinds.get(name, "")), *(of[code] for code in codes)))
    return rows


def sum_of_people(counts: Sequence[int]) -> int:
    """Return the sum of people's counts of one label, linked to its units."""
    label = next((of.filters["label"] for of in counts if isinstance(of, UnitCount)), "")
    whole = sum(counts)
    return UnitCount.of(whole, show="all", label=label).counting(OF_LABELS) if label else whole


def first_rows(
    caption: str, rows: Sequence[tuple[Cell, ...]], order: Sequence[float], what: str
) -> tuple[str, tuple[tuple[Cell, ...], ...]]:
    """Return a table's caption and rows, limited to those with the highest `order`."""
    if len(rows) <= MOST_ROWS:
        return caption, tuple(rows)
    ranked = sorted(range(len(rows)), key=lambda n: -order[n])[:MOST_ROWS]
    return f"{caption}: of {len(rows)} the {MOST_ROWS} {what}", tuple(rows[n] for n in ranked)


def pair_columns(block: JSON) -> dict[str, str]:
    """Return the coefficients of a judge with single people, with weights on an ordered scale."""
    weighted = {WEIGHTED.key: WEIGHTED.head} if WEIGHTED.key in block.get("gap", {}) else {}
    return {KAPPA.key: KAPPA.name, **weighted, EQUAL.key: EQUAL.head}


def gap_tables(block: JSON, judge: str) -> list[Table]:
    """Return the tables of a judge's gap and baseline; none in snapshots of older reports."""
    if "gap" not in block:
        return []
    floor = block["floor"]
    header: tuple[str, ...] = (
        "Judge with each person, less people with each other",
        "Value",
        UNITS_HEAD,
    )
    names = pair_columns(block)
    gap: list[tuple[Cell, ...]] = [
        (
            label,
            Number.from_estimate(block["gap"][name]),
            of_several(block["gap"][name]["n"], judge),
            *_gap_tests(block, name),
        )
        for name, label in names.items()
    ]
    if "gap_tests" in block:
        margin = f"Within {block['equivalence']['margin']:g}"
        header = (*header, "p after Holm", "90 % interval", margin)
    tables = [Table(GAP, header, tuple(gap))]
    if not _has_values(floor):
        return tables
    mean = block["reference"] == "mean"
    rows = (
        _of_floor(
            "With the majority",
            floor["agreement"][KAPPA.key],
            show="labelled" if mean else "decided",
        ),
        _of_floor(
            "Gap: with each person, less people with each other", floor["gap"], show="several"
        ),
        _of_floor(
            "Judge with each person, less word overlap with each",
            floor["judge_minus_floor"],
            show="labelled",
            one=judge,
        ),
    )
    caption = f"Word overlap, the baseline; alternative annotator test: {_describe_passes(floor)}"
    return [*tables, Table(caption, ("Cohen's kappa", "Value", UNITS_HEAD), rows)]


def _gap_tests(block: JSON, name: str) -> tuple[Cell, ...]:
    """Return the tests of a gap: p after Holm over the judges, and equivalence."""
    if "gap_tests" not in block:
        return ()
    p, found = block["gap_tests"][name]["adjusted_p_value"], block["equivalence"][name]
    narrow = Number.from_estimate(found["estimate"])
    words = {True: "yes", False: "not shown", None: "not known"}
    p_value = Number(None) if p is None else Number.p(p)
    return p_value, narrow, words[found["equivalent"]]


def no_floor(block: JSON) -> list[str]:
    """Explain why a judge has no baseline; empty if it has one, or in older snapshots."""
    floor = block.get("floor")
    return (
        [] if floor is None or _has_values(floor) else [f"no baseline: {slotted(floor['reason'])}"]
    )


def _has_values(floor: JSON) -> bool:
    estimates = (floor["gap"], floor["judge_minus_floor"], *floor["agreement"].values())
    return any(each["value"] is not None for each in estimates)


def _describe_passes(floor: JSON) -> str:
    if floor["passes"] is None:
        return slotted(floor["reason"])
    return "shown" if floor["passes"] else "not shown"


def floor_methods(blocks: list[JSON]) -> list[str]:
    """Describe the gap of judges and the baseline, for the methods text."""
    said = []
    if any(of["value"] is not None for block in blocks for of in block.get("gap", {}).values()):
        said.append(
            "The gap of a judge is its mean kappa with each person less the mean kappa of people "
            "with each other, and likewise for the share of equal labels. Both means are over "
            f"the same {UNITS}, each pair is weighted by the {UNITS} that it shares, and both are "
            "resampled together. Kappa with the majority is not compared with pairs, since a "
            "majority is less noisy than a person."
        )
    if any(WEIGHTED.key in block.get("gap", {}) for block in blocks):
        said.append(
            "Where categories have an order, the kappa of people and judges that is stated first "
            f"has quadratic weights {CITED['cohen1968']}."
        )
    if any("gap_tests" in block for block in blocks):
        said += _gap_methods(blocks)
    floors = [block["floor"] for block in blocks if "floor" in block]
    if any(floor["gap"]["value"] is not None for floor in floors):
        said.append(
            "The baseline is a lexical rule that only compares words, run on the same items. Each "
            "judge is compared with it by the difference of their mean kappas with the same people."
        )
    if any(floor["passes"] is not None for floor in floors):
        said.append("It stands beside the alternative annotator test, and decides nothing there.")
    return said


def _gap_methods(blocks: list[JSON]) -> list[str]:
    """Describe the tests of gaps, their families, and equivalence."""
    margin = next(b["equivalence"]["margin"] for b in blocks if "equivalence" in b)
    families = max(t["judges"] for b in blocks for t in b.get("gap_tests", {}).values())
    said = []
    if families > 1:
        said.append(
            "A gap counts as a difference from people at p below .05, from its interval, after "
            f"Holm's adjustment over the judges of a variable {CITED['holm1979']}."
        )
    said.append(
        f"Judge and people are called equivalent if the 90 % interval of the gap lies within "
        f"{margin:g} of 0, by two one-sided tests {CITED['schuirmann1987']}."
    )
    return said


def _of_floor(label: str, estimate: JSON, **filters: str) -> tuple[Cell, ...]:
    """Return the baseline's row, with its count linked to the labelled units."""
    units = UnitCount.of(estimate["n"], baseline=ANY, **filters)
    return label, Number.from_estimate(estimate), units


def numbers(block: JSON, names: dict[str, str]) -> tuple[Number, ...]:
    """Return the named estimates of a block as cells."""
    return tuple(Number.from_estimate(block[name]) for name in names)


def among_people(report: JSON) -> str:
    """Name the coefficients of agreement among people, or the reason why there are none."""
    variables = report["variables"]
    alone = {n: _why_not_compared(v["agreement"]) for n, v in variables.items()}
    sentences = []
    for level in ("nominal", "ordinal", "interval"):
        of = [n for n, v in variables.items() if v["measurement"] == level and not alone[n]]
        if of:
            found = cited_statistics(variables[n]["agreement"] for n in of)
            sentences.append(
                f"Agreement among people on {joined(of)} ({level}) is given as {joined(found)}."
            )
    if sentences:
        sentences.append("A statistic that is undefined on these labels is reported as undefined.")
    for why in dict.fromkeys(filter(None, alone.values())):
        of = [n for n in variables if alone[n] == why]
        sentences.append(f"There is no agreement among people on {joined(of)}: {why}.")
    return " ".join(sentences)


DISTANCES = {
    ("numbers", True): "their numbers on the declared scale",
    ("numbers", False): "their numbers; no scale is declared, so the values that occur are it",
    ("ranks", True): "their ranks on the declared scale",
    ("ranks", False): "their ranks among the values that occur, since no scale is declared",
}


def scales(report: JSON) -> str:
    """Say from what the weights of coefficients are computed, and which categories are unused."""
    used = {name: of["scale"] for name, of in report["variables"].items() if "scale" in of}
    parts = []
    for (distances, declared), words in DISTANCES.items():
        same = (distances, declared)
        of = [n for n, each in used.items() if (each["distances"], each["declared"]) == same]
        if of:
            parts.append(
                "The distances between categories in weighted kappas, Gwet's AC2, interval alpha "
                f"and errors of {joined(of)} are differences of {words}."
            )
    unused = [f"{joined(of['unused'])} of {name}" for name, of in used.items() if of["unused"]]
    if unused:
        parts.append(
            f"Nobody used {'; '.join(unused)}. Such categories count in Randolph's kappa and in "
            "Gwet's coefficients."
        )
    return " ".join(parts)


def _why_not_compared(agreement: JSON) -> str:
    """Explain why people could not be compared; empty if they were."""
    if agreement["units"] and cited_statistics([agreement]):
        return ""
    people = agreement["raters"]
    if people < 2:
        return "one person labelled" if people else "no person labelled"
    return (
        f"no two people labelled the same {UNIT}" if not agreement["units"] else "none is defined"
    )
