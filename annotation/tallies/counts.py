"""What is counted: which rows of which table, under which word, and what changes that."""

from __future__ import annotations

from dataclasses import dataclass

NOBODY = "CAST(NULL AS bigint)"


@dataclass(frozen=True)
class Count:
    """A number for each campaign, rater and word `what`, as SQL over a row `r` of a table.

    `joins` may add tables. An update counts only where one of `watched` becomes another. Where
    `many` rows change at once, as judges take and answer them, PostgreSQL looks at a whole update.
    """

    name: str
    table: str
    what: str
    watched: tuple[str, ...]
    campaign: str = "r.campaign_id"
    rater: str = NOBODY
    number: str = "1"
    joins: str = ""
    many: bool = False


# A row that a judge has in hand counts as open: it comes and goes with every claim.
STATUS = "CASE WHEN r.status = 'leased' THEN 'open' ELSE r.status END"


def _answers(use: str) -> str:
    placed = "CASE WHEN r.slot IS NULL THEN 'no-place' ELSE 'placed' END"
    return f"'answers/' || {use} || '/' || {STATUS} || '/' || {placed}"


def answers(use: str, status: str, placed: bool) -> str:
    """The word for assignments of items of a use."""
    return f"answers/{use}/{status}/{'placed' if placed else 'no-place'}"


USE, HAS_PLACE = 'r."use"', "r.taken < r.quota"
OF_ITEM = "JOIN annotation_item i ON i.id = r.item_id"

ANSWERS = Count(
    "answers",
    "annotation_assignment",
    _answers('i."use"'),
    (STATUS, "r.slot"),
    campaign="i.campaign_id",
    rater="r.rater_id",
    joins=OF_ITEM,
    many=True,
)

COUNTS = (
    ANSWERS,
    Count("items", "annotation_item", f"'items/' || {USE}", (USE,)),
    Count("places", "annotation_item", f"'places/' || {USE}", (USE, "r.quota"), number="r.quota"),
    Count(
        "free",
        "annotation_item",
        f"'free/' || {USE}",
        (USE, HAS_PLACE),
        number=f"CASE WHEN {HAS_PLACE} THEN 1 ELSE 0 END",
    ),
    Count(
        "queries",
        "annotation_querydraw",
        "'queries/' || r.role || '/' || CASE WHEN r.drawn THEN 'drawn' ELSE 'left' END",
        ("r.role", "r.drawn"),
    ),
    Count(
        "units",
        "annotation_unitdraw",
        "CASE WHEN r.drawn IS NULL THEN 'units/pending' WHEN r.drawn THEN 'units/drawn' "
        "ELSE 'units/left' END",
        ("r.drawn",),
        campaign="i.campaign_id",
        joins=OF_ITEM,
    ),
)


def answers_of_item(use: str) -> str:
    """The same columns of all assignments of the item in `NEW`, as if it were of another use."""
    return f"NEW.campaign_id, r.rater_id, {_answers(use)}"
