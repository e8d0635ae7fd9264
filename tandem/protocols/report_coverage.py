"""Report coverage (CRUX, task 1): which sub-questions can be answered from a report alone."""

from __future__ import annotations

from tandem.protocols.base import YES_NO, Declaration, Evidence, Variable

DECLARATION = Declaration(
    name="report-coverage",
    version="1",
    title="Report coverage",
    variables=(
        Variable(
            "answerable",
            "question",
            "Can the report answer it?",
            YES_NO,
            escapes=("invalid",),
            words={"yes": "Yes", "no": "No", "invalid": "Makes no sense"},
        ),
        Variable(
            "rating",
            "question",
            "How well does the report answer it?",
            tuple("012345"),
            level="ordinal",
            optional=True,
        ),
    ),
    evidence=Evidence("answerable", "report", owed_if=("yes",)),
)
