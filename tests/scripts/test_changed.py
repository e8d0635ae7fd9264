"""Which tests `make check` runs for a change."""

from __future__ import annotations

import pytest

from scripts.changed import ROOT, TOUCHED, covering_tests

# Tests that any change may break: the map of the code, and rules for all of the code.
FOR_ALL = ("tests/docs/test_architecture.py", "tests/test_layout.py")


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("path", "tests"),
    [
        ("tandem/statistics/agreement.py", ["tests/statistics"]),
        ("annotation/people/leases.py", ["tests/annotation/people"]),
        ("tests/audit/test_events.py", []),  # the test was deleted
        ("tests/api/test_once.py", ["tests/api/test_once.py"]),
        ("tests/api/cast.py", ["tests/api"]),
        ("tests/annotation/people/cast.py", ["tests/annotation/people"]),
        ("LICENSE", []),
    ],
)
def test_a_changed_path_selects_the_tests_of_its_longest_known_prefix(
    path: str, tests: list[str]
) -> None:
    assert covering_tests([path]) == sorted([*tests, *FOR_ALL])


def test_a_test_module_is_not_listed_beside_its_folder() -> None:
    both = covering_tests(["judging/tasks.py", "tests/judging/runs/test_ledger.py"])
    assert both == sorted(["tests/judging", *FOR_ALL])


def test_every_product_folder_has_tests() -> None:
    apps = {f"{path.parent.name}/" for path in ROOT.glob("*/apps.py")}
    assert apps <= TOUCHED.keys()
    assert all((ROOT / "tests" / name).exists() for names in TOUCHED.values() for name in names)
