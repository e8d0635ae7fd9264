"""Runs and qrels in TREC format, from which TREC's tools compute the report's numbers."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from django.utils.text import slugify

from analysis.campaigns.frames import campaign_frame
from analysis.evaluation.inputs import evaluator_labels
from analysis.evaluation.layout import Layout
from analysis.evaluation.relevance import BY_ORACLE, relevance_of
from annotation.exposure.ledger import saw_answers
from annotation.models import Campaign
from datasets.material import batch_rows
from tandem.labels.frame import VariableFrame
from tandem.labels.selection import ReportOptions
from tandem.scores.contexts import (
    Contexts,
    answerable,
    answers,
    members,
    questions_without_failures,
)
from tandem.scores.options import Options, tokenizer
from tandem.statistics import Bools, Floats

NOTHING = "-nothing-"
ZIP_DATE = (1980, 1, 1, 0, 0, 0)
"""A fixed time for every file, so that the same labels give the same archive."""
ABOUT = """\
Runs and relevance judgements of {campaign}, with the options of the measures as chosen.

runs/        one file a system: query Q0 passage rank score tag
qrels/       NAME.qrels: what counts as relevant, for MAP, Recall and nDCG
             NAME.diversity.qrels: which passage answers which sub-question that counts, at eta

  trec_eval -m map -m map_cut.10 -m recall.10 -m ndcg_cut.10 qrels/NAME.qrels runs/SYSTEM.run
  ir_measures qrels/NAME.qrels runs/SYSTEM.run 'AP AP@10 R@10 nDCG@10'
  ir_measures qrels/NAME.diversity.qrels runs/SYSTEM.run 'alpha_nDCG(alpha={alpha})@10 StRecall@10'

give MAP, MAP@10, Recall@10, nDCG@10, alpha_nDCG@10 and Cov@10. nDCG of whole rankings stops at
the ranking's end here, but not in these tools; cuts at the oracle's size differ by query.
Unrated passages have no line, so these tools count them as a no, as unrated=zero does here.
Queries without a relevant passage have no line, and no value. A query that a system was not given
is missing from its run: trec_eval leaves it out, as Tandem does, and ir_measures counts it as 0.
ir_measures also leaves it out if the qrels hold only the queries of the run:

  awk 'NR == FNR {{given[$1]; next}} $1 in given' runs/SYSTEM.run qrels/NAME.qrels > OWN.qrels

A query for which a system retrieved nothing holds {nothing}, and has 0 everywhere. Blanks and % in
identifiers are percent-encoded.
"""


def trec_archive(campaign: Campaign, options: Options, report_options: ReportOptions) -> bytes:
    """Return a ZIP archive of every system's runs, and of the qrels by the batch and each rater."""
    if campaign.protocol == "rubric-passage":
        saw_answers("export", campaign)
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in trec_files(campaign, options, report_options).items():
            archive.writestr(zipfile.ZipInfo(name, ZIP_DATE), text, zipfile.ZIP_DEFLATED)
    return held.getvalue()


def trec_files(
    campaign: Campaign, options: Options, report_options: ReportOptions
) -> Mapping[str, str]:
    """Return the files by their names in the archive."""
    layout = Layout.from_queries(tuple(batch_rows(campaign.batch)))
    about = {"campaign": campaign.name, "alpha": f"{options.alpha:g}", "nothing": NOTHING}
    found = {"README.txt": ABOUT.format(**about)}
    for number, system in enumerate(layout.systems, start=1):
        name = f"{number}-{slugify(system) or 'system'}"
        found[f"runs/{name}.run"] = "".join(_run(layout, system, name))
    if not layout.systems:
        return found
    oracle = members(layout.oracle(options), layout.masks()[0].shape[1])
    found["qrels/oracle.qrels"] = "".join(_qrels(layout, oracle.astype(float)))
    frame = campaign_frame(campaign, report_options).variables.get("rating")
    if campaign.protocol == "rubric-passage" and frame is not None:
        found |= _of_raters(layout, frame, options)
    return found


def _of_raters(layout: Layout, frame: VariableFrame, options: Options) -> dict[str, str]:
    made = {}
    for number, evaluator in enumerate(evaluator_labels(frame), start=1):
        name = f"qrels/{number}-{slugify(evaluator.rater) or 'rater'}"
        ratings = layout.ratings(frame, evaluator)
        found, oracle = answers(ratings, options), layout.oracle(options)
        kept = answerable(found, members(oracle, found.passages.shape[1]), options)
        tokens = layout.tokens(tokenizer("whitespace"))
        every = np.ones(len(layout.queries), bool)
        ranked = np.full(oracle.shape, -1, np.int64)
        empty = Contexts(found, ranked, oracle, kept, tokens, (ranked >= 0).sum(1), every)
        answered = found.yes & questions_without_failures(empty)[:, None, :]
        made[f"{name}.diversity.qrels"] = "".join(_diversity(layout, answered))
        if options.relevance != BY_ORACLE:
            gains = relevance_of(ratings, empty, options)
            made[f"{name}.qrels"] = "".join(_qrels(layout, gains))
    return made


def _run(layout: Layout, system: str, tag: str) -> Iterator[str]:
    """Yield a system's contexts as run lines, with scores that fall by rank to avoid ties."""
    contexts = layout.systems[system]
    for query in layout.queries:
        if query.id in contexts:
            context: Sequence[str] = list(dict.fromkeys(contexts[query.id])) or [NOTHING]
            for rank, passage in enumerate(context, start=1):
                score = len(context) - rank + 1
                yield f"{_id(query.id)} Q0 {_id(passage)} {rank} {score} {tag}\n"


def _qrels(layout: Layout, gains: Floats) -> Iterator[str]:
    for row, column in np.argwhere(gains > 0).tolist():
        query, passage = layout.queries[row].id, layout.passages[row][column]
        yield f"{_id(query)} 0 {_id(passage)} {int(gains[row, column])}\n"


def _diversity(layout: Layout, answered: Bools) -> Iterator[str]:
    for row, column, question in np.argwhere(answered).tolist():
        query = layout.queries[row]
        ids = (query.id, query.questions[question].id, layout.passages[row][column])
        yield f"{' '.join(map(_id, ids))} 1\n"


def _id(name: str) -> str:
    """Encode the blanks in an identifier, which would split it."""
    return "".join(
        c if not c.isspace() and c != "%" else "".join(f"%{b:02X}" for b in c.encode())
        for c in name
    )
