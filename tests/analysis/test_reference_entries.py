"""Every reference number of the data kit is given by the commands."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.analysis.conftest import ABSENT, SHARED, run
from tests.analysis.kit import TASK_TWO, Kit
from tests.analysis.places import PLACES
from tests.analysis.places.alternative import LLMS, OPTIONS, annotators

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.every_case,
    pytest.mark.skipif(not SHARED.is_dir(), reason=ABSENT),
]

OURS = ("crux.", "alttest.")
WRONG = ".wrong."
# A second set of labels by the same code, each of whose reports takes five seconds.
SLOW = "10k_prompts"


def _stated() -> dict[str, dict[str, Any]]:
    if not SHARED.is_dir():
        return {}
    entries = json.loads((SHARED / "expected.json").read_text("utf-8"))["entries"]
    return {entry["id"]: entry for entry in entries if entry["id"].startswith(OURS)}


STATED = _stated()
RIGHT = [name for name in STATED if WRONG not in name]
MISTAKES = [name for name in STATED if WRONG in name]


@pytest.fixture(scope="module")
def kit(crux: Any, data: Path, tmp_path_factory: Any, django_db_blocker: Any) -> Kit:
    """The kit with both tasks of CRUX as campaigns, and everything else as labels files."""
    with django_db_blocker.unblock():
        run("create_campaign", "crux-t2", "--protocol", "rubric-passage", "--batch", "crux",
            "--raters-per-item", "2", "--option", f"prerequisite={crux.name}")  # fmt: skip
        paths = [str(data / "crux" / "annotations" / p / "qrels.jsonl") for p in TASK_TWO]
        run("import_labels", *paths, "--campaign", "crux-t2")
    return Kit(data, tmp_path_factory.mktemp("kit"))


def each(names: Iterable[str]) -> list[Any]:
    """The entries as parameters; those of the slow set run with --all."""
    return [pytest.param(n, marks=pytest.mark.long) if SLOW in n else n for n in names]


def test_every_entry_is_tested_and_every_test_has_an_entry() -> None:
    assert set(RIGHT) == set(PLACES)


@pytest.mark.parametrize("name", each(RIGHT))
def test_the_commands_give_the_reference_number(name: str, kit: Kit) -> None:
    options_as_json = STATED[name]
    found = dict(leaves(PLACES[name](kit)))
    expected = dict(leaves(options_as_json["value"]))
    assert set(found) == set(expected)
    off = {
        key: (found[key], expected[key])
        for key in expected
        if not near(found[key], expected[key], options_as_json["tolerance"])
    }
    assert off == {}


@pytest.mark.parametrize("name", MISTAKES)
def test_no_coefficient_equals_the_result_of_a_known_mistake(name: str, kit: Kit) -> None:
    wrong = STATED[name]["value"]
    agreement = kit.report("crux-t1")["variables"]["answerable"]["agreement"]
    met = [
        key
        for key, of in agreement.items()
        if isinstance(of, dict) and "value" in of and near(of["value"], wrong, 0.001)
    ]
    assert met == []


@pytest.mark.parametrize("llm", LLMS)
@pytest.mark.parametrize("name", each(OPTIONS))
def test_leaving_out_each_annotator_gives_the_reference_numbers(
    name: str, llm: str, kit: Kit
) -> None:
    tables = json.loads((SHARED / "expected.json").read_text("utf-8"))["tables"]
    expected, found = tables[f"alttest.{name}.alt_test"][llm], annotators(kit, name, llm)
    assert set(found) == set(expected)
    for annotator, row in expected.items():
        assert found[annotator] == pytest.approx(row, rel=1e-3, abs=1e-5), annotator


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The numbers and words of a value by their paths."""
    if isinstance(value, Mapping):
        for key, held in value.items():
            yield from leaves(held, f"{path}/{key}")
    else:
        yield path, value


def near(found: Any, expected: Any, tolerance: float) -> bool:
    if isinstance(expected, bool | str | list):
        return bool(found == expected)
    return found is not None and math.isclose(found, expected, rel_tol=0, abs_tol=tolerance or 1e-9)
