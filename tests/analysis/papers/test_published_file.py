"""The papers' own figures, from the file that is not ours to ship, stand where they belong."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from analysis.papers import clapnq, crux, garage
from analysis.papers.index import PAPERS
from analysis.papers.published import read_published

MODELS = {
    "llama": {"meta-llama/Llama-3.1-70B-Instruct"},
    "gpt": {"gpt-4o-2024-11-20"},
    "four": {"GPT-4o"},
    "second": {"Llama3-70B"},
}
SIZES = {"duc": 50, "mn": 100, "long2rag": 280, "garage": 2366, "clapnq": 4946, "clapnq-dev": 600}
HEADS = ("Cov(Z)", "α-nDCG", "Cov(y)", "Den(Z)", "Den(y)")
OVERLAP = ("RougeL", "R", "RougeLp", "Len", "RougeL of the answered", "Unanswerable")
ORACLE = "mn · oracle's size"
GRADES = ("Faithful", "Appropriate", "F+A", "Win-rate")


def grid(
    columns: tuple[str, ...], rows: tuple[str, ...], judge: str, data: str, **more: Any
) -> dict[str, Any]:
    """One of our grids, of percentages, before printed figures stand in it."""
    head = {"caption": "", "split": "", "settings": 0, "printed": [], "judge": judge, "data": data}
    own = [{"name": name, "scale": 100.0, "digits": 1} for name in columns]
    cells = [{"name": row, "cells": [None] * len(columns)} for row in rows]
    return {**head, "columns": own, "rows": cells, **more}


CASES: list[tuple[str, str, dict[str, Any], int, tuple[str, str, float]]] = [
    ("crux", "table-1", grid(HEADS, ("BM25 (LR)", "oracle"), "llama", "duc"), 10,
     ("BM25 (LR)", "Cov(Z)", 44.4)),
    ("crux", "table-1", grid(tuple(f"{d}: {h}" for d in ("duc", "mn") for h in HEADS),
                             ("DR + MMR", crux.TAU_ROW), "llama", ""), 16,
     (crux.TAU_ROW, "mn: Den(Z)", 0.81)),
    ("crux", "table-1", grid(HEADS, ("BM25 (LR)",), "people", "duc"), 0, ("", "", 0)),
    ("crux", "table-1", grid(HEADS, ("BM25 (LR)",), "llama", "clapnq"), 0, ("", "", 0)),
    ("crux", "table-2", grid(("Cov(y)", "Cov(Z)", "τ"), ("η = 3", "η = 5"), "llama", "duc",
                             settings=21), 6, ("η = 3", "Cov(Z)", 50.1)),
    ("crux", "table-2", grid(("Cov(y)",), ("η = 3",), "llama", "duc", settings=7), 0, ("", "", 0)),
    ("crux", "table-3", grid(("MAP – Cov(y)", "Den(Z) – Den(y)"), ("duc · 10", ORACLE), "llama",
                             ""), 4, (ORACLE, "Den(Z) – Den(y)", 0.81)),
    ("crux", "figure-5", grid(("Cov(Z)", "Cov(y)"), ("α-nDCG", "MAP"), "llama", "duc", settings=48),
     3, ("MAP", "Cov(Z)", 0.64)),
    ("crux", "table-4", grid(("duc", "multi-news"), ("queries", "tokens per question"), "", ""), 2,
     ("tokens per question", "duc", 16.0)),
    ("crux", "figure-4", grid(("Value",), ("Fleiss' κ",), "people", "duc"), 1,
     ("Fleiss' κ", "Value", 0.52)),
    ("long2rag", "table-1", grid(("Causal", "average"), ("Qwen2-Instruct-72B",), "four",
                              "long2rag"), 2, ("Qwen2-Instruct-72B", "average", 44.9)),
    ("long2rag", "table-3", grid(("KPR by four", "KPR by second"), ("Qwen2-7B",), "", "long2rag"),
     2, ("Qwen2-7B", "KPR by second", 54.4)),
    ("long2rag", "table-4", grid(("KPP", "KPR", "KPF"), ("Phi-3-mini",), "four", "long2rag"), 1,
     ("Phi-3-mini", "KPR", 43.4)),
    ("garage", "table-2", grid(("Eligibility", "Unadj. factuality", "RAF"), ("nova-pro",), "gpt",
                               "garage"), 3, ("nova-pro", "Unadj. factuality", 74.47)),
    ("garage", "tables-3-4", grid(tuple(garage.ATTRIBUTION.values()), ("GPT-4o",), "texts",
                                  "garage"), 3, ("GPT-4o", "Attribution F1", 58.4)),
    ("garage", "tables-3-4", grid(("Deflection TP", "Deflection FP"), ("Mistral",), "gpt",
                                  "garage"), 2, ("Mistral", "Deflection FP", 0.8)),
    ("garage", "figures-5-6", grid(("static", "average"), ("Nova Pro",), "gpt", "garage"), 1,
     ("Nova Pro", "static", 65.3)),
    ("garage", "figure-3", grid(("Share", "Number"), ("static", "head"), "people", "garage",
                                caption="typing: sensitivity"), 1, ("static", "Share", 33.0)),
    ("clapnq", "table-3", grid(("Answerable", "Questions"), ("dev", "all"), "", "clapnq-dev"), 2,
     ("dev", "Questions", 600.0)),
    ("clapnq", "section-3.2.1", grid(("Recall",), tuple(clapnq.ROUGE_PAIRS.values()), "", "clapnq"),
     3, ("answer with passage", "Recall", 32.0)),
    ("clapnq", "tables-5-6-8", grid(OVERLAP, ("passage", "GPT 3.5 (E5-base-v2)"), "", "clapnq-dev",
                                    split="dev"), 10, ("passage", "R", 97.4)),
    ("clapnq", "tables-5-6-8", grid(OVERLAP, ("passage",), "", "clapnq", split="train"), 0,
     ("", "", 0)),
    ("clapnq", "tables-7-9", grid(GRADES, ("GPT 3.5 (RAG)", "GPT 3.5"), "people", "clapnq"), 4,
     ("GPT 3.5 (RAG)", "F+A", 3.2)),
]  # fmt: skip


@pytest.mark.parametrize(("paper", "key", "ours", "number", "one"), CASES)
def test_a_printed_figure_is_beside_the_same_thing(
    data: Path, paper: str, key: str, ours: Any, number: int, one: tuple[str, str, float]
) -> None:
    ours["printed"] = []
    tables: list[Any] = [
        {"key": table.key, "grids": [ours] if table.key == key else []}
        for table in PAPERS[paper].tables
    ]
    material: Any = SimpleNamespace(
        batches=list(SIZES),
        data_set=str,
        queries=lambda name: [SimpleNamespace(passages=())] * SIZES[name],
        models_of=lambda by: MODELS.get(by, set()),
        chosen=SimpleNamespace(eta=3.0),
    )
    read_published(data / "published.toml").placed(PAPERS[paper], tables, material)
    found = [(each["row"], each["column"], each["value"]) for each in ours["printed"]]
    assert len(found) == number, found
    assert one in found or not number
