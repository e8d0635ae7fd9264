"""The rules by name. A new rule is one module and two lines here."""

from __future__ import annotations

from annotation.derivation.base import Rule
from annotation.derivation.rules.answerable_questions import RULE as ANSWERABLE_QUESTIONS
from annotation.derivation.rules.by_codes import RULE as BY_CODES
from annotation.derivation.rules.judged_passages import RULE as JUDGED_PASSAGES
from annotation.derivation.rules.nugget_bank import RULE as NUGGET_BANK
from annotation.derivation.rules.passages_as_system import RULE as PASSAGES_AS_SYSTEM
from annotation.derivation.rules.rated_nuggets import RULE as RATED_NUGGETS
from annotation.derivation.rules.references import RULE as REFERENCES
from annotation.derivation.rules.references_as_system import RULE as REFERENCES_AS_SYSTEM
from annotation.derivation.rules.reports import RULE as REPORTS
from annotation.derivation.rules.required_passages import RULE as REQUIRED_PASSAGES
from annotation.derivation.rules.sampled_contexts import RULE as SAMPLED_CONTEXTS
from annotation.derivation.rules.typed_queries import RULE as TYPED_QUERIES
from annotation.derivation.rules.verified_key_points import RULE as VERIFIED_KEY_POINTS
from annotation.derivation.rules.written_key_points import RULE as WRITTEN_KEY_POINTS

RULES: dict[str, Rule] = {
    rule.name: rule
    for rule in (
        VERIFIED_KEY_POINTS,
        TYPED_QUERIES,
        JUDGED_PASSAGES,
        ANSWERABLE_QUESTIONS,
        REQUIRED_PASSAGES,
        SAMPLED_CONTEXTS,
        REFERENCES_AS_SYSTEM,
        PASSAGES_AS_SYSTEM,
        REFERENCES,
        REPORTS,
        WRITTEN_KEY_POINTS,
        NUGGET_BANK,
        RATED_NUGGETS,
        BY_CODES,
    )
}
