"""The tables of CLAPnq (Rosenthal and others 2025): long answers from one passage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.evaluation.answers import written_parts
from analysis.evaluation.inputs import TEXTS
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
from analysis.papers.material import Material
from analysis.papers.sources import CampaignFacts
from analysis.papers.systems import Spec, grids_by_evaluator
from datasets.readers.clapnq import NO_ANSWER
from tandem.files.rows import Query, Reference
from tandem.labels.frame import VariableFrame
from tandem.scores.answers import TEXT_MEASURES, UNANSWERABLE
from tandem.scores.base import estimate, values_of
from tandem.statistics import SHARE, UNBOUNDED, Bools, Bounds, Ints, mean_by_cluster, rouge_l
from tandem.types import JSON

ALL = "all"
NO_REFERENCES = (
    "no batch of the study has references: derive one by the rule references from a campaign of "
    "grounded-answer"
)
SELECTED, SEEN = "answers with selections", "passages seen by two people"
NO_RANKINGS = "no batch of the study has rankings"
NEEDED = {
    "needed_question": "relevant to the question",
    "needed_answer": "the texts to which an answer is faithful",
}
NEEDED_COLUMNS = (
    percent("Passages"),
    percent("Questions or answers with one"),
    Column("Passages seen by two", digits=0),
)
ROUGE_PAIRS = {
    "selected sentences to passage": "selected sentences with passage",
    "answer to selected sentences": "answer with selected sentences",
    "answer to passage": "answer with passage",
}
"""The pairs of texts of section 3.2.1, as a list of printed figures says them, and ours."""
NO_REPORTS = "no batch of the study has both references and reports of systems"


@dataclass(frozen=True)
class Answers:
    """A batch whose queries have references: CLAPnq's questions with people's answers."""

    name: str
    queries: tuple[Query, ...]

    @property
    def splits(self) -> dict[str, tuple[Query, ...]]:
        """The queries of each split, by `split` in their `meta`, and all of them."""
        named = [str((query.meta or {}).get("split", "")) for query in self.queries]
        found = {
            split: tuple(q for q, own in zip(self.queries, named, strict=True) if own == split)
            for split in dict.fromkeys(named)
            if split
        }
        return {**found, ALL: self.queries}


def usable_references(query: Query) -> list[Reference]:
    """Return the references that answer: neither deflected nor empty, in their order."""
    return [
        reference
        for reference in query.references
        if not reference.deflected and reference.text.strip() not in NO_ANSWER
    ]


def selected_sentences(reference: Reference) -> list[str]:
    """Return the sentences of the passage that an answer draws on."""
    if reference.sentences is not None:
        return list(reference.sentences)
    return [str(each) for each in (reference.meta or {}).get("selected_sentences", ())]


def passage_text(query: Query) -> str:
    """Return the text of a query's gold passages: those marked relevant, or all without marks."""
    marked = [p.text for p in query.passages if p.relevant]
    return " ".join(marked or [p.text for p in query.passages if p.relevant is None])


def answers_of(material: Material) -> list[Answers]:
    """Return for each data set its last batch with references."""
    found: dict[str, Answers] = {}
    for batch in material.batches:
        queries = material.queries(batch)
        if any(query.references for query in queries):
            name = material.data_set(batch)
            found[name] = Answers(name, queries)
    return list(found.values())


def _mean(
    values: Sequence[float], queries: Sequence[int], what: str, bounds: Bounds = UNBOUNDED
) -> JSON:
    if not values:
        return missing(f"no {what}")
    clusters: Ints = np.array(queries, np.int64)
    return as_cell(mean_by_cluster(np.array(values, float), clusters, f"mean of {what}", bounds))


def table_2(material: Material) -> list[Grid]:
    """Statistics of the questions, passages and people's answers, with their agreement."""
    columns = (Column("Mean", digits=2),)
    found = []
    for data in answers_of(material):
        rows = tuple((name, (cell,)) for name, cell in _statistics(data))
        caption, stub = f"{data.name}: means", "Answerable questions"
        found.append(Grid(caption, columns, rows, stub=stub, data=data.name))
    found += _agreement(material)
    return found or [empty("Means", columns, NO_REFERENCES, "Answerable questions")]


def _statistics(data: Answers) -> Iterator[tuple[str, Cell]]:
    queries = [query for query in data.queries if usable_references(query)]
    place = range(len(queries))
    answers = [(n, each) for n, query in enumerate(queries) for each in usable_references(query)]
    at = [n for n, _ in answers]
    questions = {
        "answers per question": [float(len(usable_references(q))) for q in queries],
        "words of the question": [float(len(q.text.split())) for q in queries],
        "words of the passage": [float(len(passage_text(q).split())) for q in queries],
        "sentences of the passage": [
            float(sum(len(p.sentences or ()) for p in q.passages if p.relevant is not False))
            for q in queries
        ],
    }
    for name, values in questions.items():
        yield name, _mean(values, place, name)
    yield (
        "words of the answer",
        _mean([float(len(a.text.split())) for _, a in answers], at, "words"),
    )
    chosen = [(n, len(selected_sentences(a))) for n, a in answers if selected_sentences(a)]
    values = [float(size) for _, size in chosen]
    yield "selected sentences", _mean(values, [n for n, _ in chosen], "selected sentences")


def _agreement(material: Material) -> Iterator[Grid]:
    """Yield the mean pairwise Rouge-L F of people's answers, for differing answers and for all."""
    columns = (Column("Rouge-L F"), Column("Questions", digits=0))
    for campaign in material.campaigns("grounded-answer"):
        written = material.written(campaign)
        rows: list[tuple[str, tuple[Cell, ...]]] = []
        for key, name in (("rounds", "both rounds"), ("between_raters", "all pairs of people")):
            for form, which in (("rouge_l_differing", "differing"), ("rouge_l_all", "all")):
                if cell := written.get(key, {}).get(form):
                    rows.append((f"{name}, {which} answers", (cell, int(cell["n"]))))
        if rows:
            caption = f"{campaign.name}: agreement of people's answers"
            yield Grid(caption, columns, tuple(rows), stub="Pairs")


def table_3(material: Material) -> list[Grid]:
    """Questions of each split, answerable or not."""
    columns = tuple(Column(head, digits=0) for head in ("Answerable", "Unanswerable", "Questions"))
    found = []
    for data in answers_of(material):
        rows: list[tuple[str, tuple[Cell, ...]]] = []
        for split, queries in data.splits.items():
            yes = sum(bool(usable_references(query)) for query in queries)
            rows.append((split, (yes, len(queries) - yes, len(queries))))
        found.append(Grid(data.name, columns, tuple(rows), stub="Split", data=data.name))
    return found or [empty("Splits", columns, NO_REFERENCES, "Split")]


def section_321(material: Material) -> list[Grid]:
    """Rouge-L between selected sentences, answers and passages."""
    columns = tuple(percent(head) for head in ("Precision", "Recall", "F"))
    found = []
    for data in answers_of(material):
        for which, first in (("first answer of a question", True), ("every answer", False)):
            rows = tuple(_rouge_rows(data, first))
            caption = f"{data.name}: {which}"
            found.append(Grid(caption, columns, rows, stub="Pair of texts", data=data.name))
    return found or [empty("Rouge-L", columns, NO_REFERENCES, "Pair of texts")]


def _rouge_rows(data: Answers, first: bool) -> Iterator[tuple[str, tuple[Cell, ...]]]:
    texts = []
    for n, query in enumerate(data.queries):
        chosen = [each for each in usable_references(query) if selected_sentences(each)]
        for answer in chosen[:1] if first else chosen:
            sentences = " ".join(selected_sentences(answer))
            texts.append((n, answer.text, sentences, passage_text(query)))
    for name, left, right in (
        ("selected sentences with passage", 2, 3),
        ("answer with selected sentences", 1, 2),
        ("answer with passage", 1, 3),
    ):
        scores = [rouge_l(str(row[left]), str(row[right])) for row in texts]
        at = [row[0] for row in texts]
        yield (
            name,
            tuple(
                _mean([getattr(score, part) for score in scores], at, SELECTED, SHARE)
                for part in ("precision", "recall", "f1")
            ),
        )


def table_4(material: Material) -> list[Grid]:
    """Retrievers by nDCG and recall."""
    names = ("nDCG@1", "nDCG@3", "nDCG@5", "nDCG@10", "Recall@10")
    columns = tuple(map(percent, names))
    for campaign in material.every_campaign:
        queries = material.queries(campaign.batch)
        ranked = dict.fromkeys(r.system for query in queries for r in query.rankings)
        if not ranked:
            continue
        measures = material.named_measures(campaign, names)
        rows = []
        for system in ranked:
            found = [_of_ranking(measures, name, system) for name in names]
            rows.append((system, tuple(found)))
        data = material.data_set(campaign.batch)
        return [Grid(campaign.batch.name, columns, tuple(rows), stub="Retriever", data=data)]
    return [empty("Retrievers", columns, NO_RANKINGS, "Retriever")]


def _of_ranking(measures: JSON, name: str, system: str) -> JSON:
    systems = measures.get(name, {}).get("systems", {})
    found = systems.get(f"{system} (ranking)") or systems.get(system)
    cell: JSON | None = found and found.get(TEXTS)
    return cell or missing(f"no ranking of {system} has {name}")


def tables_5_6_8(material: Material) -> list[Grid]:
    """Systems by Rouge-L, recall, Rouge-L to the passage, length and unanswerable accuracy."""
    columns = (
        percent("RougeL"),
        percent("R"),
        percent("RougeLp"),
        Column("Len", digits=0),
        percent("RougeL of the answered"),
        percent("Unanswerable"),
    )
    found = []
    for data in answers_of(material):
        for split, queries in data.splits.items():
            if any(query.reports for query in queries):
                rows = tuple(_text_rows(material, queries))
                caption = f"{data.name}, {split}"
                found.append(Grid(caption, columns, rows, data=data.name, split=split))
    return found or [empty("Systems", columns, NO_REPORTS)]


def _text_rows(
    material: Material, queries: tuple[Query, ...]
) -> Iterator[tuple[str, tuple[Cell, ...]]]:
    chosen = material.chosen
    part = next((p for p in written_parts(queries, chosen, {}) if p.family == "texts"), None)
    if part is None:
        return
    options, rows = material.options, part.rows
    values = [(m, values_of(part.compute(m, chosen))) for m in (*TEXT_MEASURES, UNANSWERABLE)]
    for column, system in enumerate(rows.system_names):
        kept: Bools = rows.columns == column
        yield (
            system or "–",
            tuple(
                as_cell(
                    estimate(measure, of[kept], rows.numbers[kept], options.resamples, options.seed)
                )
                for measure, of in values
            ),
        )


def tables_7_9(material: Material) -> list[Grid]:
    """People's and judges' grades of answers, and the share of pairs that each wins."""
    rated = material.campaigns("answer-rating")
    paired = material.campaigns("answer-preference")
    roots = dict.fromkeys(material.data_set(c.batch) for c in (*rated, *paired))
    found: list[Grid] = []
    for root in roots or ("",):
        grades = material.only([c for c in rated if material.data_set(c.batch) == root])
        pairs = material.only([c for c in paired if material.data_set(c.batch) == root])
        found += grids_by_evaluator(material, _graded(grades, pairs), root)
    return [
        *found,
        *_percent_agreement(material, rated, paired),
        *_needed_passages(material, rated),
    ]


def _graded(grades: CampaignFacts | None, pairs: CampaignFacts | None) -> list[Spec]:
    no_grades = "the study has no campaign of answer-rating over these answers"
    no_pairs = "the study has no campaign of answer-preference over these answers"
    return [
        (Column("Faithful", digits=2), "Faithful", grades, no_grades),
        (Column("Appropriate", digits=2), "Appropriate", grades, no_grades),
        (Column("F+A", digits=2), "F+A", grades, no_grades),
        (percent("Win-rate"), "Win-rate", pairs, no_pairs),
    ]


def _percent_agreement(
    material: Material, rated: Sequence[CampaignFacts], paired: Sequence[CampaignFacts]
) -> list[Grid]:
    names = ("appropriate", "faithful", "preferred")
    rows: list[tuple[str, tuple[Cell, ...]]] = []
    for campaign in (*rated, *paired):
        variables = material.agreement(campaign)
        for name in names:
            if name in variables:
                agreement = variables[name]["agreement"]
                cells = (agreement["percent"], agreement["gwet_ac"])
                rows.append((f"{name} ({campaign.name})", cells))
    columns = (percent("Agreement"), Column("Gwet's AC"))
    reason = "the study has no campaign of answer-rating and none of answer-preference"
    if not rows:
        return [empty("Agreement of people", columns, reason, "Variable")]
    return [Grid("Agreement of people", columns, tuple(rows), stub="Variable")]


def _needed_passages(material: Material, rated: Sequence[CampaignFacts]) -> list[Grid]:
    """Return the passages that two or more people call needed, and questions with such passages."""
    rows: list[tuple[str, tuple[Cell, ...]]] = []
    for campaign in rated:
        for name, words in NEEDED.items():
            variable = material.frame(campaign).variables.get(name)
            if variable is not None:
                queries = material.queries(campaign.batch)
                rows.append((f"{words} ({campaign.name})", needed_by_two(variable, queries)))
    reason = "no campaign of answer-rating asks needed_question or needed_answer"
    if not rows:
        return [empty("Passages", NEEDED_COLUMNS, reason, "Share")]
    return [Grid("Passages, by two or more people", NEEDED_COLUMNS, tuple(rows), stub="Share")]


def needed_by_two(variable: VariableFrame, queries: Sequence[Query]) -> tuple[Cell, ...]:
    """Return the share of passages that two people call needed, and of questions with such a one.

    If people were asked about passages for each answer, passages are counted once per answer, and
    the second share is of answers. The last number counts the passages that two people saw.
    """
    codes = variable.codes_of("human")
    categories = variable.scale.categories
    yes = categories.index("yes") if "yes" in categories else len(categories)
    asked: Bools = (codes >= 0).sum(axis=1) >= 2
    needed = ((codes == yes).sum(axis=1) >= 2)[asked].astype(float)
    at = variable.units.query[asked]
    _, first, of = np.unique(
        _about(variable, queries)[asked], return_index=True, return_inverse=True
    )
    has = (np.bincount(of, needed) > 0).astype(float)
    of_passages = _mean(needed.tolist(), at.tolist(), SEEN, SHARE)
    of_those = _mean(has.tolist(), at[first].tolist(), SEEN, SHARE)
    return of_passages, of_those, int(asked.sum())


def _about(variable: VariableFrame, queries: Sequence[Query]) -> NDArray[np.str_]:
    """Return the subject of each unit's passage: an answer, or a question."""
    answers = {f"{r.id}/{p.id}": r.id for q in queries for r in q.reports for p in q.passages}
    return np.array(
        [
            f"answer {answers.get(key, key)}" if kind == "report-passage" else f"question {query}"
            for (_, kind, key), query in zip(
                variable.units.names, variable.units.query.tolist(), strict=True
            )
        ],
        str,
    )


PAPER = Paper(
    "clapnq",
    "CLAPnq",
    "Rosenthal and others 2025",
    (
        PaperTable(
            "table-2",
            "Table 2",
            "Statistics of the answerable questions, and agreement of people's answers: the mean "
            "pairwise Rouge-L F without stemming. Words are split at blanks.",
            table_2,
            (
                PrintedTable(
                    "2",
                    "{dataset}",
                    {
                        "answers per query": "answers per question",
                        "words in question": "words of the question",
                        "words in answer": "words of the answer",
                    },
                    set="dataset",
                    transposed=True,
                ),
            ),
        ),
        PaperTable(
            "table-3",
            "Table 3",
            "Questions per split. A question is answerable if a reference answers it.",
            table_3,
            (PrintedTable("3", "{split}", set="split", of_texts=True),),
        ),
        PaperTable(
            "section-3.2.1",
            "Section 3.2.1",
            "Rouge-L without stemming. The paper does not say which answers it scores.",
            section_321,
            tuple(
                PrintedTable(
                    "text",
                    "{what}",
                    {"value": ours},
                    {f"Rouge-L of {said}, {part}": row for said, row in ROUGE_PAIRS.items()},
                )
                for part, ours in (("precision", "Precision"), ("recall", "Recall"), ("F1", "F"))
            ),
        ),
        PaperTable(
            "table-4",
            "Table 4",
            "Retrieval of the gold passage.",
            table_4,
            (PrintedTable("4", of_texts=True),),
        ),
        PaperTable(
            "tables-5-6-8",
            "Tables 5, 6 and 8",
            "Systems per split, with the setting, such as the retriever, in brackets. "
            "Word overlap is measured on answerable questions: Rouge-L with the closest reference, "
            "recall with the first, and RougeLp with the passage under its title.",
            tables_5_6_8,
            (
                PrintedTable(
                    "5",
                    "{system} ({few-shot})",
                    {"Recall": "R", "Unans%": "Unanswerable"},
                    {"Full Passage": "passage"},
                ),
                PrintedTable(
                    "6",
                    "{generator} ({retriever})",
                    {"Recall": "R", "Unans%": "Unanswerable"},
                ),
            ),
        ),
        PaperTable(
            "tables-7-9",
            "Tables 7 and 9",
            "Grades from 1 to 4, and win rates in which a tie counts as half a win (no simple rule "
            "gives the printed rates). Answers from retrieved passages follow those from gold "
            "passages. The grades behind the printed tables were not released.",
            tables_7_9,
            (
                PrintedTable("7", "{system} ({setup})"),
                PrintedTable("9", set="dataset"),
            ),
        ),
    ),
    "Results on CLAPnq-T5, a model fine-tuned on the data, cannot be computed from labels.",
    ("rankings", "texts", "grades", "preferences"),
)
