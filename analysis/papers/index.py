"""The papers by the names of their presets."""

from analysis.papers import clapnq, crux, garage, long2rag
from analysis.papers.base import Paper

PAPERS: dict[str, Paper] = {
    paper.name: paper for paper in (crux.PAPER, long2rag.PAPER, garage.PAPER, clapnq.PAPER)
}
