"""The papers' own tables, filled from a study: `tandem paper NAME --study STUDY`.

A paper is a module here with its tables declared, and a line in `PAPERS`. `material` is what a
study gives to them, `base` what a table is, and `build` and `rendering` make the output.
"""

from analysis.papers import clapnq, crux, garage, long2rag
from analysis.papers.base import Paper

PAPERS: dict[str, Paper] = {
    paper.name: paper for paper in (crux.PAPER, long2rag.PAPER, garage.PAPER, clapnq.PAPER)
}
"""The papers by the names of their presets."""

__all__ = ["PAPERS", "Paper"]
