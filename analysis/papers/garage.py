"""The tables of GaRAGe (Sorodoc and others 2025): answers from graded passages, or none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from analysis.evaluation.inputs import PEOPLE, EvaluatorLabels, evaluator_labels
from analysis.papers.base import (
    Cell,
    Column,
    Grid,
    Paper,
    PaperTable,
    PrintedTable,
    as_cell,
    empty,
    missing,
    percent,
)
from analysis.papers.long2rag import verifications
from analysis.papers.material import JUDGE, Material
from analysis.papers.sources import CampaignFacts
from analysis.papers.systems import (
    Spec,
    all_evaluators,
    grids_by_evaluator,
    sliced,
    systems_of,
    with_origin,
)
from tandem.files.rows import Query
from tandem.labels.frame import VariableFrame
from tandem.statistics import SHARE, Ints, majority, mean_by_cluster
from tandem.types import JSON

TYPED = ("sensitivity", "complexity", "popularity", "category")
COLUMNS = (percent("Share"), Column("Number", digits=0))
PARTS = ("P", "R", "F1")
ATTRIBUTION = {
    "Deflection:TP": "Deflection TP",
    "Deflection:FP": "Deflection FP",
    "Attribution:P": "Attribution P",
    "Attribution:R": "Attribution R",
    "Attribution:F1-of-means": "Attribution F1",
    **{f"Attribution:{part}-micro": f"Attribution {part}, micro" for part in PARTS},
    "Attribution:F1": "Attribution F1, mean of the responses'",
}
"""The measures of tables 3 and 4 with their headings."""
NO_TYPING = "the study has no campaign of question-typing"
NO_GROUNDING = "the study has no campaign of grounding-relevance"
NO_RATINGS = "the study has no campaign of answer-rating in which all passages are shown"
NO_RELEVANT = "the study has no campaign of answer-rating with passages=relevant"
NO_ANSWERS = "the study has no campaign over a batch with references and reports"
CLAIMS = (
    percent("Supported by a passage"),
    Column("Claims", digits=0),
    Column("Answers", digits=0),
)
NO_CLAIMS = (
    "the study has no campaign of key-point-verification with points=answers, and no validation of "
    "grounded-answer"
)


def _is_relevant(campaign: CampaignFacts) -> bool:
    return bool(campaign.options.get("passages", "all") != "all")


def _rated(material: Material, relevant: bool) -> list[CampaignFacts]:
    return [c for c in material.campaigns("answer-rating") if _is_relevant(c) == relevant]


def _shares(
    labels: Sequence[str],
    queries: Sequence[int],
    caption: str,
    what: str,
    by: str = "",
    data: str = "",
) -> Grid:
    """Return the share of each label, with an interval over queries, and its number."""
    values = np.array(labels, dtype=str)
    clusters: Ints = np.array(queries, np.int64)
    rows: list[tuple[str, tuple[Cell, ...]]] = []
    for label in sorted(set(labels), key=lambda each: (-labels.count(each), each)):
        own = values == label
        made = mean_by_cluster(own.astype(float), clusters, f"share of {what}", SHARE)
        share = as_cell(made)
        rows.append((label, (share, int(own.sum()))))
    if not rows:
        return empty(caption, COLUMNS, f"no {what}", "Label")
    return Grid(caption, COLUMNS, tuple(rows), stub="Label", by=by, data=data)


def _decided(variable: VariableFrame) -> tuple[list[str], list[int], int]:
    """Return people's most frequent label of each unit, its query, and the number of ties."""
    together, ties = majority(variable.codes_of("human"))
    known = [n for n, code in enumerate(together.tolist()) if code >= 0]
    labels = [variable.scale.categories[together[n]] for n in known]
    return labels, [int(variable.units.query[n]) for n in known], int(np.sum(ties))


def figure_3(material: Material) -> list[Grid]:
    """Return the shares of the kinds of questions, by people's majority."""
    found = []
    for campaign in material.campaigns("question-typing"):
        variables = material.frame(campaign).variables
        for name in TYPED:
            if name in variables:
                labels, queries, _ = _decided(variables[name])
                caption, data = f"{campaign.name}: {name}", material.data_set(campaign.batch)
                found.append(_shares(labels, queries, caption, "questions", PEOPLE, data))
    return found or [empty("Kinds of questions", COLUMNS, NO_TYPING, "Label")]


def figure_4(material: Material) -> list[Grid]:
    """Return the shares of sources, of grounding labels, and of deflections."""
    return [*_sources(material), *_grounding(material), *_deflections(material)]


def _first_batch(
    material: Material, there: Callable[[Query], object]
) -> tuple[str, str, tuple[Query, ...]]:
    """Return the first batch with such a query: its name, its data set, and all of its queries."""
    for batch in material.batches:
        queries = material.queries(batch)
        if any(there(query) for query in queries):
            return batch.name, material.data_set(batch), queries
    return "", "", ()


def _sources(material: Material) -> Iterator[Grid]:
    name, data, queries = _first_batch(
        material, lambda query: any(p.source for p in query.passages)
    )
    pairs = [(p.source, n) for n, q in enumerate(queries) for p in q.passages if p.source]
    sources = [str(source) for source, _ in pairs]
    if not sources:
        yield empty("Sources of passages", COLUMNS, "no passage of the study has a source", "Label")
        return
    caption = f"{name}: sources of passages"
    yield _shares(sources, [n for _, n in pairs], caption, "passages", data=data)


def _grounding(material: Material) -> Iterator[Grid]:
    campaigns = material.campaigns("grounding-relevance")
    if not campaigns:
        yield empty("Grounding labels", COLUMNS, NO_GROUNDING, "Label")
    for campaign in campaigns:
        variables = material.frame(campaign).variables
        for name in ("relevant", "use"):
            if name in variables:
                labels, queries, _ = _decided(variables[name])
                caption, data = f"{campaign.name}: {name}", material.data_set(campaign.batch)
                yield _shares(labels, queries, caption, "passages", PEOPLE, data)


def _deflections(material: Material) -> Iterator[Grid]:
    name, data, queries = _first_batch(material, lambda query: query.references)
    kept = [query for query in queries if query.references]
    labels = [
        "deflected" if all(r.deflected for r in query.references) else "answered" for query in kept
    ]
    if not labels:
        yield empty("Deflections", COLUMNS, "no batch of the study has references", "Label")
        return
    caption = f"{name}: people's answers"
    yield _shares(labels, range(len(labels)), caption, "questions", PEOPLE, data)


def table_2(material: Material) -> list[Grid]:
    """Return eligibility and factuality, by all passages and by the relevant ones."""
    whole = material.only(_rated(material, False))
    relevant = material.only(_rated(material, True))
    specs: list[Spec] = [
        (percent("Eligibility"), "Eligibility", whole or relevant, NO_RATINGS),
        (percent("Unadj. factuality"), "uFactuality", whole, NO_RATINGS),
        (percent("Factuality"), "Factuality", whole, NO_RATINGS),
        (percent("uRAF"), "uRAF", relevant, NO_RELEVANT),
        (percent("RAF"), "RAF", relevant, NO_RELEVANT),
    ]
    return grids_by_evaluator(material, specs)


def tables_3_4(material: Material) -> list[Grid]:
    """Return deflection where people deflected and where not, and attribution to their passages."""
    columns = tuple(percent(head) for head in ATTRIBUTION.values())
    campaign = _with_answers(material)
    if campaign is None:
        return [empty("By the texts", columns, NO_ANSWERS)]
    report = material.measures(campaign)
    found = []
    for by in ("texts", *all_evaluators(material, [campaign])):
        # Citations come from the texts; no rater is asked about them.
        names = [name for name in ATTRIBUTION if by == "texts" or name.startswith("Deflection")]
        cells = {
            (system, name): _own_cell(report, name, system, by)
            for name in names
            for system in systems_of(report, name)
        }
        rows = []
        for system in dict.fromkeys(system for system, _ in cells):
            row = [
                cells.get((system, name)) or missing(f"{by} says nothing of {name}")
                for name in names
            ]
            if any(cell["value"] is not None for cell in row):
                rows.append((system or "–", tuple(row)))
        if rows:
            heads = tuple(percent(ATTRIBUTION[name]) for name in names)
            caption = f"By {'the texts' if by == 'texts' else by}"
            data = material.data_set(campaign.batch)
            found.append(Grid(caption, heads, tuple(rows), by=by, data=data))
    reason = f"campaign {campaign.name} gives neither deflection nor attribution"
    return found or [empty("By the texts", columns, reason)]


def _own_cell(report: JSON, name: str, system: str, by: str) -> JSON | None:
    """Return an evaluator's own estimate, never the one from texts as a substitute."""
    found = report["measures"][name]["systems"].get(system)
    if found is None:
        return None
    own: JSON | None = found.get(by) if by in ("texts", "people") else found["raters"].get(by)
    return own and with_origin(own, system, by, report=report, name=name)


def _with_answers(material: Material) -> CampaignFacts | None:
    """Return the campaign that rates answers whose queries have references.

    Without one, citations are taken from the texts of any campaign that has both.
    """
    for rated in (_rated(material, False), _rated(material, True)):
        if there := [each for each in rated if _has_answers(material, each)]:
            return material.only(there)
    return next((c for c in material.every_campaign if _has_answers(material, c)), None)


def _has_answers(material: Material, campaign: CampaignFacts) -> bool:
    return any(q.references and q.reports for q in material.queries(campaign.batch))


def figures_5_6(material: Material) -> list[Grid]:
    """Return RAF by sensitivity, source, share of relevant passages, and popularity."""
    relevant = material.only(_rated(material, True))
    strata = ("sensitivity", "source", "grounding", "popularity")
    return sliced(material, relevant, "RAF", strata, percent, NO_RELEVANT)


def section_2(material: Material) -> list[Grid]:
    """Return the share of checked claims that at least one passage supports.

    Validation passes add the share of grounded sentences in people's answers.
    """
    found = []
    for campaign in verifications(material, True):
        variable = material.joint_frame(campaign).variables.get("grounded")
        for labels in evaluator_labels(variable) if variable is not None else ():
            if labels.kind in (PEOPLE, JUDGE):
                assert variable is not None
                rows = tuple(_claims(variable, labels))
                caption = f"{campaign.name}: claims, by {labels.rater}"
                found.append(Grid(caption, CLAIMS, rows))
    return [*found, *_validated(material)] or [empty("Claims", CLAIMS, NO_CLAIMS)]


def _claims(
    variable: VariableFrame, labels: EvaluatorLabels
) -> Iterator[tuple[str, tuple[Cell, ...]]]:
    """Yield the supported share of each system's claims, and the numbers of claims and answers."""
    units = variable.units
    known = np.isfinite(labels.values)
    supported = labels.values == variable.scale.categories.index("yes")
    systems = np.array([system or "–" for system in units.system], str)
    for system in dict.fromkeys(systems[known].tolist()):
        own = known & (systems == system)
        yes, queries = supported[own].astype(float), units.query[own]
        share = as_cell(mean_by_cluster(yes, queries, "share of claims", SHARE))
        yield system, (share, int(own.sum()), len(np.unique(units.item[own])))


def _validated(material: Material) -> Iterator[Grid]:
    """Yield the share of grounded sentences in people's answers, from validation passes."""
    for campaign in material.campaigns("grounded-answer"):
        variable = material.frame(campaign).variables.get("grounded")
        if variable is None:
            continue
        labels, queries, _ = _decided(variable)
        share = np.array([label == "yes" for label in labels], float)
        made = mean_by_cluster(share, np.array(queries, np.int64), "share of sentences", SHARE)
        columns = (percent("Supported by a passage"), Column("Sentences", digits=0))
        rows: tuple[tuple[str, tuple[Cell, ...]], ...] = (
            ("people's answers", (as_cell(made), len(labels))),
        )
        yield Grid(f"{campaign.name}: sentences", columns, rows)


PAPER = Paper(
    "garage",
    "GaRAGe",
    "Sorodoc and others 2025",
    (
        PaperTable(
            "figure-3",
            "Figure 3",
            "Kinds of questions, by what most people said; ties are left out.",
            figure_3,
            (
                PrintedTable(
                    "F3",
                    "{class}",
                    {"percent": "Share"},
                    caption="{dimension}",
                    captions={"time-sensitivity": "sensitivity", "popularity": "popularity"},
                ),
            ),
        ),
        PaperTable(
            "figure-4",
            "Figure 4",
            "Sources of passages, grounding labels by most people, and deflections.",
            figure_4,
            (
                PrintedTable(
                    "F4",
                    "{class}",
                    {"percent": "Share"},
                    caption="{dimension}",
                    captions={"source": "sources of passages"},
                    of_texts=True,
                ),
                PrintedTable(
                    "F4",
                    "{class}",
                    {"percent": "Share"},
                    {"Irrelevant": "no"},
                    "{dimension}",
                    {"quality": ": relevant"},
                ),
                PrintedTable(
                    "text", "{what}", {"value": "Number"}, {"deflected questions": "deflected"}
                ),
            ),
        ),
        PaperTable(
            "table-2",
            "Table 2",
            "Eligible answers, and answers whose every sentence is supported: by all passages, and "
            "by those that people call relevant.",
            table_2,
            (PrintedTable("2", columns={"Unadjusted Factuality": "Unadj. factuality"}),),
            data_released=False,
        ),
        PaperTable(
            "tables-3-4",
            "Tables 3 and 4",
            "Deflection where people deflected (TP) and where they answered (FP), and cited "
            "passages against people's. Attribution F1 is the harmonic mean of P and R, as in 10 "
            "of the 11 printed rows. The paper does not say whether they are micro or macro.",
            tables_3_4,
            (
                PrintedTable(
                    "3",
                    columns={
                        f"{each} positive": f"Deflection {each[0].upper()}P"
                        for each in ("true", "false")
                    },
                ),
                PrintedTable(
                    "4",
                    columns={
                        "Precision": "Attribution P",
                        "Recall": "Attribution R",
                        "F1": "Attribution F1",
                    },
                ),
            ),
            data_released=False,
        ),
        PaperTable(
            "figures-5-6",
            "Figures 5 and 6, section 4.2",
            "RAF in parts of the questions. The share of relevant passages is low below 33 %, and "
            "high above 66 %.",
            figures_5_6,
            (PrintedTable("F5"), PrintedTable("F6")),
            data_released=False,
        ),
        PaperTable(
            "section-2",
            "Section 2",
            "Claims that at least one passage supports, of the sample that was checked.",
            section_2,
        ),
    ),
    "Results on retrieval before grounding, or on training, cannot be computed from labels.",
    ("responses", "all-passages", "relevant-passages", "deflections", "citations"),
)
