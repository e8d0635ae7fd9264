"""A campaign's labels, and what word overlap says of the same units for judges to stand beside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from analysis.frames import Frame, VariableFrame
from analysis.labels import FloorCodes
from annotation.models import Campaign
from judging.floor import Place as FloorPlace
from judging.floor import floor_of

NO_RULE = "the lexical rule says nothing of categories that are neither yes and no nor in an order"
NO_TEXT = "the items show no text in which the lexical rule could look for words"


def with_floor(frame: Frame, campaign: Campaign) -> Frame:
    """The frame of a campaign with its floor, where a judge is there to stand beside it."""
    if not any(rater.kind == "judge" for rater in frame.raters):
        return frame
    floor = floor_of(campaign)
    made = {
        name: replace(of, floor=_codes(of, floor.codes.get(name, {}), name in floor.without_rule))
        for name, of in frame.variables.items()
    }
    return replace(frame, variables=made)


def _codes(frame: VariableFrame, said: Mapping[FloorPlace, str], is_without: bool) -> FloorCodes:
    if is_without or not said:
        return FloorCodes(reason=NO_RULE if is_without else NO_TEXT)
    code = {category: n for n, category in enumerate(frame.scale.categories)}
    found = [code.get(said.get(place, ""), -1) for place in frame.units.names]
    return FloorCodes(np.array(found, dtype=np.int64), "")
