import ast
import inspect
from pathlib import Path

import pytest

import tandem.statistics as library
from tandem.statistics import STATISTICS

pytestmark = pytest.mark.every_case

# Public helper functions that are not statistics themselves.
TOOLS = {
    "commonest_elsewhere",
    "commonest_label",
    "confirm_far_off",
    "confusion",
    "counts_of",
    "estimate",
    "estimate_from",
    "keys_of_two",
    "kinds_of",
    "largest_epsilon_failed",
    "expanded_level",
    "floors_of",
    "percentile_interval",
    "permuted",
    "defined",
    "reason_undefined",
    "resamples_of",
    "table_estimates",
    "token_codes",
    "undefined",
    "unit_agreement",
    "verdict_beside",
}


def public_functions():
    found = {name: getattr(library, name) for name in library.__all__}
    # Papers have another name for one of them.
    return {n for n, each in found.items() if inspect.isfunction(each) and each.__name__ == n}


def test_every_public_statistic_is_declared():
    assert public_functions() - TOOLS == set(STATISTICS) & public_functions()
    assert public_functions() - TOOLS <= set(STATISTICS)


@pytest.mark.parametrize("name", STATISTICS)
def test_every_declared_statistic_is_public(name):
    assert name in library.__all__


@pytest.mark.parametrize("name", STATISTICS)
def test_a_declaration_has_a_one_line_summary_and_a_citation(name):
    declared = STATISTICS[name]
    assert declared.name == name
    assert "\n" not in declared.summary
    assert declared.summary.endswith(".")
    assert declared.citation


def test_every_public_name_exists():
    assert all(hasattr(library, name) for name in library.__all__)


def test_the_library_imports_neither_django_nor_another_app():
    for path in Path(library.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            modules += [a.name for a in node.names] if isinstance(node, ast.Import) else []
            for module in modules:
                top = module.split(".")[0]
                assert top not in {"django", "datasets", "annotation", "judging", "config"}, path
                assert top != "analysis" or module.startswith("tandem.statistics"), path
