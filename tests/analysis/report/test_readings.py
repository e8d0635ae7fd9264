"""How a judge's answers were read, counted and compared with people, by hand on six units."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tandem.formats.markdown import as_markdown
from tandem.labels.facts import LabelKey
from tandem.labels.file.frames import file_frame
from tandem.labels.readings import reading_steps_of, with_readings
from tandem.labels.selection import ReportOptions
from tandem.labels_report import labels_report

STEPS = ("", "fence", "", "thinking+fence", "", "prose")


def file(folder: Path, steps: tuple[str, ...] = STEPS) -> Path:
    """People say yes to all; the judge errs on the second unit and the third."""
    lines: list[dict[str, Any]] = []
    for n, read in enumerate(steps):
        place = {"item": f"r{n}", "unit": f"q{n}", "query": f"q{n}", "variable": "answerable"}
        lines.append(place | {"rater": "Ada", "value": "yes"})
        own = {"rater": "J", "rater_kind": "judge", "value": "no" if n in (1, 2) else "yes"}
        lines.append(place | own | ({"meta": {"reading": read}} if read else {}))
    path = folder / "labels.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def report(path: Path) -> dict[str, Any]:
    return labels_report([path], {"answerable": "nominal"}, ReportOptions(resamples=20))


def test_labels_are_counted_and_compared_with_people_by_step_of_reading(tmp_path: Path) -> None:
    found = report(file(tmp_path))["variables"]["answerable"]["judges"]["J"]["reading"]
    assert found["steps"] == {"fence": 2, "prose": 1, "thinking": 1}
    assert (found["as_is"]["labels"], found["mended"]["labels"]) == (3, 3)
    # Read unchanged: yes, no, yes; people say yes. After a step: no, yes, yes.
    assert found["as_is"]["agreement"]["value"] == found["mended"]["agreement"]["value"] == 2 / 3


def test_there_is_no_block_if_every_answer_was_read_unchanged(tmp_path: Path) -> None:
    made = report(file(tmp_path, ("",) * 6))
    assert "reading" not in made["variables"]["answerable"]["judges"]["J"]


def test_the_steps_of_reading_are_a_table_in_the_report(tmp_path: Path) -> None:
    text = as_markdown(report(file(tmp_path)))
    assert "Markdown fence removed" in text
    assert "After a step of the ladder" in text


def test_values_that_are_no_text_and_unknown_raters_are_left_out(tmp_path: Path) -> None:
    metas: tuple[Any, ...] = (None, {}, {"reading": 3}, {"reading": "fence"})
    assert [reading_steps_of(meta) for meta in metas] == ["", "", "", "fence"]
    frame, _ = file_frame([file(tmp_path)], {"answerable": "nominal"})
    strange = LabelKey("nowhere", "", "q0", "answerable", "J")
    assert with_readings(frame, {strange: "fence"}).variables["answerable"].readings == {}
