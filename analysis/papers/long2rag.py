"""The tables of Long²RAG (Qi and others 2024): which key points answers make."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from analysis.evaluation.inputs import system_of
from analysis.papers.base import (
    PERCENT,
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
    plain,
)
from analysis.papers.extraction import WRITTEN, extraction
from analysis.papers.material import Material, judges
from analysis.papers.sources import CampaignFacts
from analysis.papers.systems import (
    all_evaluators,
    by_evaluator,
    cell_of,
    length_bins,
    sliced,
    slices,
    systems_of,
)
from tandem.scores.options import tokenizer
from tandem.statistics import EQUAL, KAPPA, mean_by_cluster
from tandem.types import JSON

KPR = "KPR"
FAILURES = ("incomplete", "general", "missing")
NO_RECALL = "the study has no campaign of key-point-recall"
NO_VERIFICATION = "the study has no campaign of key-point-verification over key points of queries"
NO_POINTS = (
    "the study has no campaign of key-point-verification with points=answers over these answers"
)
TAU_ROW = "Kendall's τ between the orders"


def recall_campaigns(material: Material) -> list[CampaignFacts]:
    """Return the campaigns that compare answers, not extractions, with key points."""
    return [
        campaign
        for campaign in material.campaigns("key-point-recall")
        if not material.is_derived_by(campaign.batch, WRITTEN)
    ]


def verifications(material: Material, of_answers: bool) -> list[CampaignFacts]:
    """Return the campaigns that verify points of queries, or of answers."""
    return [
        campaign
        for campaign in material.campaigns("key-point-verification")
        if (campaign.task.reading == "answers") == of_answers
    ]


def table_1(material: Material) -> list[Grid]:
    """KPR of systems by category of the question, and by domain."""
    found: list[Grid] = []
    for campaign in (*recall_campaigns(material),) or (None,):
        strata = ("kind", "category", "domain")
        found += sliced(material, campaign, KPR, strata, percent, NO_RECALL)
    return found


def table_2(material: Material) -> list[Grid]:
    """KPR of systems by document setting: a setting of reports, or a batch of its own."""
    campaigns = recall_campaigns(material)
    if not campaigns:
        return [empty("By people", [percent("setting")], NO_RECALL)]
    several = len(campaigns) > 1
    found = []
    for by in all_evaluators(material, campaigns):
        cells: dict[tuple[str, str], JSON] = {}
        for campaign in campaigns:
            report = material.measures(campaign)
            for name, (system, setting) in _settings(material, campaign).items():
                place = f"{campaign.batch.name}: {setting}" if several and setting else setting
                place = place or campaign.batch.name
                cells[system, place] = cell_of(report, KPR, name, by, "")
        systems = list(dict.fromkeys(system for system, _ in cells))
        places = list(dict.fromkeys(place for _, place in cells))
        none = missing("no answer of this system in this setting")
        rows = tuple(
            (system or "–", tuple(cells.get((system, place), none) for place in places))
            for system in systems
        )
        data = material.data_set(campaigns[0].batch)
        found.append(Grid(f"By {by}", tuple(map(percent, places)), rows, by=by, data=data))
    return found


def _settings(material: Material, campaign: CampaignFacts) -> dict[str, tuple[str, str]]:
    """Map the names used in tables to system and setting."""
    return {
        system_of(report): (report.system or "", report.setting or "")
        for query in material.queries(campaign.batch)
        for report in query.reports
    }


def table_3(material: Material) -> list[Grid]:
    """KPR under two judges side by side, and how similarly they order the systems."""
    found = []
    for campaign in recall_campaigns(material):
        named = judges(material.joint_frame(campaign))
        if len(named) < 2:
            reason = f"campaign {campaign.name} has labels of fewer than two judges"
            found.append(empty(campaign.name, [percent("KPR by a second judge")], reason))
        found += [
            _side_by_side(material, campaign, one, other)
            for n, one in enumerate(named)
            for other in named[n + 1 :]
        ]
    return found or [empty("Two judges", [percent("KPR by a second judge")], NO_RECALL)]


def _side_by_side(material: Material, campaign: CampaignFacts, one: str, other: str) -> Grid:
    report = material.measures(campaign)
    rows = [
        (system or "–", tuple(cell_of(report, KPR, system, by, "") for by in (one, other)))
        for system in systems_of(report, KPR)
    ]
    rows.sort(key=lambda row: -(row[1][0]["value"] or 0.0))
    pairs = material.orders(campaign, KPR)
    tau = next((p["kendall"] for p in pairs if {p["a"], p["b"]} == {one, other}), None)
    last = {**(tau or missing("the judges labelled other systems")), "scale": 1.0, "digits": 3}
    columns = (percent(f"KPR by {one}"), percent(f"KPR by {other}"))
    whole: list[tuple[str, tuple[Cell, ...]]] = [(name, (*cells,)) for name, cells in rows]
    whole.append((TAU_ROW, ("", last)))
    data = material.data_set(campaign.batch)
    return Grid(campaign.name, columns, tuple(whole), apart=1, data=data)


def table_4(material: Material) -> list[Grid]:
    """KPP, KPR, KPF and mean length of each system's answers."""
    columns = (percent("KPP"), percent(KPR), percent("KPF"), Column("Words", digits=0))
    found = []
    for campaign in recall_campaigns(material):
        points = next((c for c in verifications(material, True) if c.batch == campaign.batch), None)
        report = material.measures(campaign, points=points)
        words = _words(material, campaign)
        for by in all_evaluators(material, [campaign]):
            rows = []
            for system in systems_of(report, KPR):
                cells = [cell_of(report, name, system, by, "") for name in ("KPP", KPR, "KPF")]
                if points is None:
                    cells = [missing(NO_POINTS), cells[1], missing(NO_POINTS)]
                rows.append((system or "–", (*cells, words[system])))
            caption, data = f"{campaign.name}, by {by}", material.data_set(campaign.batch)
            found.append(Grid(caption, columns, tuple(rows), by=by, data=data))
    return found or [empty("By people", columns, NO_RECALL)]


def _words(material: Material, campaign: CampaignFacts) -> dict[str, JSON]:
    """Return the mean length of each system's answers in words."""
    queries = material.queries(campaign.batch)
    by_system: dict[str, list[tuple[int, int]]] = {}
    for n, query in enumerate(queries):
        for report in query.reports:
            lengths = by_system.setdefault(system_of(report), [])
            lengths.append((n, len(report.text.split())))
    return {
        system: as_cell(
            mean_by_cluster(
                np.array([words for _, words in of], float),
                np.array([n for n, _ in of], np.int64),
                "mean length in words",
            )
        )
        for system, of in by_system.items()
    }


def figures_6_7(material: Material) -> list[Grid]:
    """KPR by the tokens of all documents of the question, and of the answer."""
    found: list[Grid] = []
    for campaign in recall_campaigns(material):
        counted = tokenizer(material.chosen.tokenizer)
        bins = length_bins(material.queries(campaign.batch), counted.count)
        of = material.named_measures(campaign, (KPR,), bins).get(KPR)
        if of is None:
            reason = f"campaign {campaign.name} has no {KPR}"
            found.append(empty(campaign.name, [percent("all")], reason))
            continue
        grids = slices(
            of, [each.name for each in bins], all_evaluators(material, [campaign]), percent
        )
        found += [replace(g, caption=f"{g.caption} ({counted.name})") for g in grids]
    return found or [empty("By the number of tokens", [percent("all")], NO_RECALL)]


def section_6(material: Material) -> list[Grid]:
    """Kinds of failure per system, and the evaluator against people."""
    columns = tuple(map(percent, FAILURES))
    found: list[Grid] = []
    for campaign in recall_campaigns(material):
        report = material.measures(campaign)
        names = [f"Failure:{kind}" for kind in FAILURES]
        for by in all_evaluators(material, [campaign]):
            rows = []
            for system in systems_of(report, names[0]):
                made = [cell_of(report, name, system, by, "") for name in names]
                if any(cell["value"] is not None for cell in made):
                    rows.append((system or "–", tuple(made)))
            if rows:
                found.append(Grid(f"{campaign.name}: failures by {by}", columns, tuple(rows)))
        found.append(_accuracy(material, campaign))
    return found or [empty("Failures", columns, NO_RECALL)]


def _accuracy(material: Material, campaign: CampaignFacts) -> Grid:
    columns = (percent("Accuracy"), Column("Cohen's κ"))
    entailed = material.agreement(campaign).get("entailed")
    caption = f"{campaign.name}: evaluators against people"
    if entailed is None:
        reason = f"campaign {campaign.name} does not ask for entailed"
        return empty(caption, columns, reason, "Evaluator")
    rows: list[tuple[str, tuple[Cell, ...]]] = [
        (judge, (of["agreement"][EQUAL.key], of["agreement"][KAPPA.key]))
        for judge, of in entailed["judges"].items()
    ]
    rows += [
        (f"{pair['a']} and {pair['b']}", (pair[EQUAL.key], pair[KAPPA.key]))
        for pair in entailed["agreement"].get("pairs") or ()
    ]
    if not rows:
        reason = f"campaign {campaign.name} has no judge, and no two people on one unit"
        return empty(caption, columns, reason, "Evaluator")
    return Grid(caption, columns, tuple(rows), stub="Evaluator")


def figure_13(material: Material) -> list[Grid]:
    """Calibration of extraction scores, false positives by threshold, agreement of verification."""
    found: list[Grid] = []
    for campaign in verifications(material, False):
        found += _scores(material, campaign)
        found.append(_retained(material, campaign))
        found.append(_verified(material, campaign))
    return found or [empty("Scores", (Column("Mean score"),), NO_VERIFICATION, "Bin")]


def _scores(material: Material, campaign: CampaignFacts) -> Iterator[Grid]:
    scores = material.key_point_scores(campaign)
    columns = (Column("Mean score"), Column("Points", digits=0), percent("Called key"))
    if scores is None:
        reason = f"the key points of {campaign.batch.name} have no score, or nobody verified them"
        yield empty(f"{campaign.name}: calibration", columns, reason, "Bin")
        return
    rows: list[tuple[str, tuple[Cell, ...]]] = []
    for n, each in enumerate(scores["reliability"], start=1):
        mean = plain(each["probability"], each["units"], "mean score")
        rows.append((f"bin {n}", (mean, int(each["units"]), each["share"])))
    yield Grid(f"{campaign.name}: calibration", columns, tuple(rows), stub="Bin")
    yield _false_positives(campaign, scores)


def _false_positives(campaign: CampaignFacts, scores: JSON) -> Grid:
    """Return the share of kept points that people call not key, per person and on average."""
    names = list(scores["raters"])
    columns = (*map(percent, names), percent("Mean of people"), percent("People together"))
    rows = []
    for n, cut in enumerate(scores["cuts"]):
        own = [scores["raters"][name]["cuts"][n]["false_discovery_rate"] for name in names]
        known = [each["value"] for each in own if each["value"] is not None]
        mean = plain(
            float(np.mean(known)) if known else None,
            len(known),
            "mean of people's shares",
            "no person has a verdict on a kept point",
        )
        cells = (*own, mean, cut["false_discovery_rate"])
        rows.append((f"score from {cut['threshold']:g}", cells))
    caption = (
        f"{campaign.name}: kept points that people call not key (the paper's FPR, 1 − precision)"
    )
    return Grid(caption, columns, tuple(rows), stub="Threshold")


def _retained(material: Material, campaign: CampaignFacts) -> Grid:
    measures = material.measures(campaign)["measures"]
    names = ("Retention-micro", "Retention")
    columns = (percent("Of all points"), percent("Mean over questions"))
    rows = []
    for by in all_evaluators(material, [campaign]):
        cells = []
        for name in names:
            found = measures.get(name, {}).get("systems", {}).get("")
            cell = found and by_evaluator(found, by)
            cells.append(cell or missing(f"{by} verified nothing in campaign {campaign.name}"))
        rows.append((by, tuple(cells)))
    if not rows:
        reason = f"nobody verified anything in campaign {campaign.name}"
        return empty(f"{campaign.name}: points kept", columns, reason, "By")
    return Grid(f"{campaign.name}: points kept", columns, tuple(rows), stub="By")


def _verified(material: Material, campaign: CampaignFacts) -> Grid:
    """Return the free-marginal agreement of all people, then of the pair that agrees best."""
    columns = (Column("Units", digits=0), percent("Agreement"), Column("Free-marginal κ"))
    rows: list[tuple[str, tuple[Cell, ...]]] = []
    for name, of in material.agreement(campaign).items():
        agreement, categories = of["agreement"], len(of["categories"])
        cells = (int(agreement["units"]), agreement["percent"], agreement["randolph_kappa"])
        rows.append((f"{name}, all people", cells))
        known = [p for p in agreement.get("pairs") or () if p[EQUAL.key]["value"] is not None]
        if len(known) > 1:
            best = max(known, key=lambda pair: pair[EQUAL.key]["value"])
            own = (int(best["units"]), best[EQUAL.key], free_marginal(best[EQUAL.key], categories))
            rows.append((f"{name}, {best['a']} and {best['b']}", own))
    caption = f"{campaign.name}: agreement of verification"
    return Grid(caption, columns, tuple(rows), stub="Variable")


def free_marginal(percent_of_pair: JSON, categories: int) -> JSON:
    """Return Randolph's κ = (P_o − 1/k) / (1 − 1/k) of a pair, from its agreement P_o."""

    def kappa(share: float | None) -> float | None:
        return None if share is None else (share - 1 / categories) / (1 - 1 / categories)

    ends = {name: kappa(percent_of_pair[name]) for name in ("value", "low", "high")}
    return {**percent_of_pair, **ends, "method": "Randolph's free-marginal kappa of a pair"}


PAPER = Paper(
    "long2rag",
    "Long²RAG",
    "Qi and others 2024",
    (
        PaperTable(
            "table-1",
            "Table 1 and Figure 4",
            "KPR by kind or category, and by domain, from the queries' meta; the average "
            "is over all questions.",
            table_1,
            (PrintedTable("1", "{system} {size}", factor=PERCENT),),
        ),
        PaperTable(
            "table-2",
            "Table 2",
            "KPR by document setting: the setting of reports, or a batch for each.",
            table_2,
            (PrintedTable("2", factor=PERCENT),),
        ),
        PaperTable(
            "table-3",
            "Table 3",
            "KPR under two judges, ordered by the first.",
            table_3,
            (PrintedTable("3", factor=PERCENT),),
        ),
        PaperTable(
            "table-4",
            "Table 4",
            "Key point precision, recall and F; F is averaged answer by answer.",
            table_4,
            (PrintedTable("4", columns={"KPP": "", "KPF": ""}, factor=PERCENT),),
        ),
        PaperTable(
            "figures-6-7",
            "Figures 6 and 7",
            "KPR by the tokens of all documents of the question, and of the answer. The bins of "
            "answers are Figure 7's. Of Figure 6's bins the text names 8K–16K and 16K–25K only; "
            "those below and above are ours, and so is that a bin holds its lower edge.",
            figures_6_7,
        ),
        PaperTable(
            "section-6",
            "Sections 6.1 and 6.2",
            "Kinds of failure, and how the evaluator agrees with people.",
            section_6,
        ),
        PaperTable(
            "figure-13",
            "Figure 13, sections A.2 and A.3",
            "Extraction scores against people's verification.",
            figure_13,
        ),
        PaperTable(
            "extraction",
            "Recall of extraction",
            "Points that raters wrote unaided and that were extracted as well.",
            extraction,
        ),
    ),
    "Section 6.3 (embeddings) and results on training cannot be computed from labels.",
    ("points", "answer-points", "both-points", "failures", "verified"),
    ("score_cut", "tokenizer"),
)
