"""One query with ids that are easily mistaken for one another."""

from __future__ import annotations

from tandem.files.rows import KeyPoint, Nugget, Passage, Query, Question, Report

BRIDGE = Passage(
    "p",
    "The bridge opened in 1901. Anna Lee built it.",
    title="The bridge",
    source="web",
    published_at="2024-04-30",
    age="3 days",
    sentences=("The bridge opened in 1901.", "Anna Lee built it."),
)
RIVER = Passage("p#1", "It spans the river. قديم", source="private")
FULL = Report(
    "r",
    "Anna Lee built it 🌉. It opened in 1901.",
    system="bm25-system",
    setting="top-ten",
    sentences=("Anna Lee built it 🌉.", "It opened in 1901."),
    sentence_citations=(("p", "p#1"), ("p",)),
)
EMPTY = Report(
    "r#1", "Nobody knows.", system="oracle-system", setting="zero", sentences=("Nobody knows.",)
)
ODD = Report(
    "zeta-system/🌉",
    "It is old.",
    system="zeta-system",
    setting="zero",
    sentences=("It is old.",),
)
QUERY = Query(
    "q/1",
    "How was the bridge built?",
    asked_at="2024-05-03",
    questions=(Question("a/b#1", "When did it open?"), Question("🌉", "Who built it?")),
    passages=(BRIDGE, RIVER),
    key_points=(
        KeyPoint("k/1", "It opened in 1901.", "p", spans=("opened in 1901",)),
        KeyPoint("k#2", "It spans a river.", "p#1"),
    ),
    nuggets=(
        Nugget("n/1", "Anna Lee built it.", importance="vital", sources=("p",)),
        Nugget("n#2", "It opened in 1901. 🌉"),
    ),
    reports=(FULL, EMPTY, ODD),
)
