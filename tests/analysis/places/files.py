"""The content of the release's files, of which `load_batch` leaves out a part with a message."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tests.analysis.kit import Kit
from tests.analysis.places.base import JSON, gives

SYSTEMS = ("oracle", "bm25", "dr_rankfirst")


@gives("crux.files")
def files(kit: Kit) -> JSON:
    """Counted in the files, since a batch holds only what its reports use."""
    passages = {line["id"] for line in kit.lines("crux/passages.jsonl")}
    reports = {s: kit.lines(f"crux/crux_testb/{s}.jsonl") for s in SYSTEMS}
    runs = {s: kit.data / f"crux/crux_testb/{s}.run" for s in SYSTEMS}
    named = {key for row in reports["oracle"] for key in row["docids"]}
    return {
        "passages": len(passages),
        "topics_in_passages": len({key.partition(":")[0] for key in passages}),
        "docids_in_oracle_jsonl": len(named),
        "of_these_without_passage": len(named - passages),
        "run_lines": {s: len(documents(run)) for s, run in runs.items()},
        "run_docids_without_passage": {
            s: len(set(documents(run)) - passages) for s, run in runs.items()
        },
        "records": {s: len(rows) for s, rows in reports.items()},
    }


def documents(run: Path) -> list[str]:
    lines: Iterable[str] = run.read_text("utf-8").split("\n")
    return [line.split()[2] for line in lines if line]
