"""Filter questions by five criteria, and find their kind and domain (Long²RAG, B14).

The paper keeps a question that meets at least four of five criteria, and `keep` is that number. The
criteria, their wording and the ten domains are our own. The paper's are in its appendix.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from annotation.preparation.base import Numbers, Result, Step, prompted, with_provenance
from annotation.protocols.base import Protocol
from tandem.files import rows
from tandem.options import declared
from tandem.protocols import material
from tandem.protocols.base import YES_NO, ItemSpec, UnitSpec, Variable

CRITERIA = {
    "clear": "Is it clear by itself what is asked?",
    "open_ended": "Does it need an answer of several paragraphs?",
    "sourced": "Can published documents answer it?",
    "sound": "Is what it takes for granted true?",
    "harmless": "Can it be answered without harm to anybody?",
}
KINDS = (
    "factual",
    "explanatory",
    "comparative",
    "subjective",
    "methodological",
    "causal",
    "hypothetical",
    "predictive",
)
DOMAINS = (
    "science",
    "technology",
    "medicine",
    "economics",
    "law-and-politics",
    "history",
    "arts-and-media",
    "education",
    "environment",
    "society",
)


def make_items(query: material.Query, variables: Sequence[Variable]) -> Iterator[ItemSpec]:
    yield ItemSpec(query.id, (UnitSpec("query", query.id, query.text),), ())


def apply(query: rows.Query, results: Sequence[Result], numbers: Numbers) -> rows.Query | None:
    """Return the query with its kind and domain, or None if it meets too few criteria."""
    answered = [(r, a) for r in results for a in r.answers_of("query").values()]
    if not answered:
        return None
    result, answer = answered[0]
    met = [name for name in CRITERIA if answer[name] == "yes"]
    if len(met) < numbers["keep"]:
        return None
    found = {"criteria": met, "kind": answer["kind"], "domain": answer["category"]}
    return replace(query, meta=with_provenance(query.meta, "questions", result, **found))


def _choice(name: str, question: str, codes: Sequence[str]) -> Variable:
    words = {code: code.replace("-", " ").capitalize() for code in codes}
    return Variable(name, "query", question, tuple(codes), words=words)


TASK = prompted(
    __file__,
    Protocol(
        name="prepare-questions",
        version="1",
        title="Filter of questions",
        variables=(
            *(_choice(name, question, YES_NO) for name, question in CRITERIA.items()),
            _choice("kind", "What kind of question is it?", KINDS),
            _choice("category", "Which domain is it of?", DOMAINS),
        ),
        make_items=make_items,
        needs=(),
    ),
)
STEP = Step(
    "questions",
    TASK.title,
    "Kind and domain of each query; those that meet too few of five criteria are left out.",
    apply,
    TASK.name,
    TASK,
    thresholds=(declared("keep", float, "the fewest criteria that a kept question meets", 4.0),),
)
