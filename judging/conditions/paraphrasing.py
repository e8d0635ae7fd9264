"""Our own rewording of the prompts: another frame for all protocols, another guideline for each.

A judge that follows what is meant, rather than how it is put, gives the same labels under both.
"""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).with_name("paraphrases")


def paraphrase_of(protocol: str, version: str = "") -> str:
    """The reworded prompt of a protocol; the guideline is as it was where we have no other.

    A version before this one may have its own.
    """
    frame = (FOLDER / "frame.md").read_text("utf-8")
    for name in (f"{protocol}-{version}", protocol):
        if (rubric := FOLDER / f"{name}.md").is_file():
            return frame.replace("{guideline}", rubric.read_text("utf-8").strip())
    return frame
