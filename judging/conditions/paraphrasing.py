"""Our own rewording of the prompts: another frame for all protocols, another guideline for each.

A judge that follows what is meant, rather than how it is put, gives the same labels under both.
"""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).with_name("paraphrases")


def paraphrase_of(protocol: str) -> str:
    """The reworded prompt of a protocol; the guideline is as it was where we have no other."""
    frame = (FOLDER / "frame.md").read_text("utf-8")
    rubric = FOLDER / f"{protocol}.md"
    if not rubric.is_file():
        return frame
    return frame.replace("{guideline}", rubric.read_text("utf-8").strip())
