"""Which tests `make check` runs for a change."""

from __future__ import annotations

import pytest

from scripts.changed import ROOT, TOUCHED, touched_by


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("path", "tests"),
    [
        ("analysis/statistics/agreement.py", ["tests/statistics", "tests/test_layout.py"]),
        ("annotation/people/leases.py", ["tests/people", "tests/test_layout.py"]),
        ("tests/audit/test_events.py", ["tests/test_layout.py"]),  # it is gone
        ("tests/api/test_once.py", ["tests/api/test_once.py", "tests/test_layout.py"]),
        ("tests/api/cast.py", ["tests/api", "tests/test_layout.py"]),
        ("LICENSE", ["tests/test_layout.py"]),
    ],
)
def test_a_path_touches_the_tests_of_its_longest_beginning(path: str, tests: list[str]) -> None:
    assert touched_by([path]) == tests


def test_a_module_is_not_named_beside_its_folder() -> None:
    both = touched_by(["judging/tasks.py", "tests/judging/test_ledger.py"])
    assert both == ["tests/judging", "tests/test_layout.py"]


def test_every_product_folder_has_tests() -> None:
    apps = {f"{path.parent.name}/" for path in ROOT.glob("*/apps.py")}
    assert apps <= TOUCHED.keys()
    assert all((ROOT / "tests" / name).exists() for names in TOUCHED.values() for name in names)
