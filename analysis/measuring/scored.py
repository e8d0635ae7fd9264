"""Key-point scores of the batch against what people say of the points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from analysis.choices import Choices
from analysis.frames import Frame
from analysis.measures.base import SHARE
from analysis.measures.key_points.retention import Verified, kept
from analysis.measures.key_points.scoring import Cut, cuts
from analysis.measures.options import Options
from analysis.measuring.labelled import verified_parts
from analysis.measuring.parts import PEOPLE
from analysis.measuring.voices import voices
from analysis.statistics import calibration
from annotation.models import Campaign
from datasets.rows import Query

JSON = dict[str, Any]
PROTOCOL = "key-point-verification"
STEPS = tuple(n / 10 for n in range(10))


def key_point_scores(
    campaign: Campaign,
    queries: Sequence[Query],
    frame: Frame,
    options: Options,
    choices: Choices,
) -> JSON | None:
    """Cuts of the scores at tenths and at the option's, and their calibration; None without any.

    A point is key where people together keep it (`Retention`).
    """
    points = [k for query in queries for k in query.key_points]
    if campaign.protocol != PROTOCOL or all(k.score is None for k in points):
        return None
    people = [
        p.given
        for p in verified_parts(queries, frame)
        if p.kind == PEOPLE and isinstance(p.given, Verified)
    ]
    if not people:
        return None
    grounded = frame.variables["grounded"]
    verdicts = dict.fromkeys((k.id for k in points), -1)
    units = [unit for _, _, unit in grounded.units.names]
    # People's ties are no verdict, and are not among the verified points.
    counted = [unit for unit, asked in zip(units, _asked(frame), strict=True) if asked]
    verdicts |= dict(zip(counted, kept(people[0], options).tolist(), strict=True))
    scores = np.array([np.nan if k.score is None else k.score for k in points], float)
    said = np.array([verdicts[k.id] for k in points], dtype=np.int64)
    number = np.array([n for n, q in enumerate(queries) for _ in q.key_points], dtype=np.int64)
    thresholds = sorted({*STEPS, options.score_cut})
    made = cuts(scores, said, number, thresholds, choices.resamples, choices.seed)
    curve = calibration(scores, said, number, draws=choices.resamples, seed=choices.seed)
    return {
        "cut": options.score_cut,
        "cuts": [_cut(each) for each in made],
        "brier": curve.brier.within(*SHARE).as_json(),
        "expected_calibration_error": curve.expected_calibration_error.as_json(),
        "reliability": [
            {"units": b.units, "probability": b.probability, "share": b.share.as_json()}
            for b in curve.reliability
        ],
    }


def _asked(frame: Frame) -> list[bool]:
    together = next(v for v in voices(frame.variables["grounded"]) if v.kind == PEOPLE)
    return [bool(each) for each in together.asked]


def _cut(cut: Cut) -> JSON:
    return {
        "threshold": cut.threshold,
        "kept": cut.kept,
        "share": cut.share,
        "false_discovery_rate": cut.false_discovery.as_json(),
        "false_positive_rate": cut.false_positive.as_json(),
    }
