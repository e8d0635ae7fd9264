"""How pages are generated from the code, on small examples."""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import dataclass, fields

import pytest

from annotation.protocols import PROTOCOLS
from docs._reference import api, commands, formats, hook, protocols, reports, settings, words

ESTIMATE = {"value": 0.5, "low": None, "high": None, "n": 3, "method": "mean"}


def walked(value: object, path: str = "") -> dict[str, str]:
    return dict(reports._walk(value, path))


def test_an_estimate_is_documented_as_one_key() -> None:
    assert walked({"percent": ESTIMATE}) == {"percent": "estimate"}


def test_keys_that_are_data_are_documented_as_one_placeholder() -> None:
    held = {"classes": {"yes": {"support": 3}, "no": {"support": 1}}}
    assert walked(held) == {
        "classes": "object",
        "classes.CATEGORY": "object",
        "classes.CATEGORY.support": "number",
    }


def test_the_fullest_of_several_entries_is_documented() -> None:
    held = {"judges": {"poor": {}, "rich": {"ties": 2}}}
    assert "judges.JUDGE.ties" in walked(held)


def test_correlation_names_are_not_mistaken_for_names_of_judges() -> None:
    own = walked({"correlation": {"spearman": ESTIMATE, "kendall": ESTIMATE}})
    assert set(own) == {"correlation", "correlation.spearman", "correlation.kendall"}
    named = walked({"correlation": {"gpt": {"ada": {"spearman": ESTIMATE}}}})
    assert "correlation.JUDGE.RATER.spearman" in named


def test_lists_of_objects_show_the_keys_of_all() -> None:
    held = {"raters": [{"name": "ada"}, {"name": "ben", "excluded": None}]}
    assert walked(held) == {
        "raters": "list of objects",
        "raters[].name": "text",
        "raters[].excluded": "text or null",
    }


def test_truth_values_are_not_numbers() -> None:
    assert walked({"passed": True, "n": 1}) == {"passed": "true or false", "n": "number"}


def test_blocks_repeated_per_stratum_are_not_documented_again() -> None:
    held = {"strata": {"system": {"bm25": {"agreement": {"units": 1}}}}}
    assert set(walked(held)) == {"strata", "strata.STRATUM", "strata.STRATUM.NAME"}


@dataclass
class Row:
    """A row of a format that exists only here."""

    id: str
    score: float | None = None
    tags: tuple[str, ...] = ()
    meta: Meta | None = None  # type: ignore[name-defined]  # noqa: F821


def test_a_key_without_a_default_is_required() -> None:
    values = {each.name: formats._value(each) for each in fields(Row)}
    assert values == {
        "id": "text, required",
        "score": "number",
        "tags": "list of texts",
        "meta": "object",
    }


def test_a_kind_of_value_without_a_description_is_an_error() -> None:
    with pytest.raises(KeyError):
        formats._kind("complex")


def usage_of(*arguments: str, **options: object) -> str:
    parser = ArgumentParser()
    parser.add_argument(*arguments, **options)  # type: ignore[arg-type]
    return commands._shown(parser._actions[-1])


def test_an_option_is_shown_as_typed() -> None:
    assert usage_of("--limit", type=int, metavar="N") == "--limit N"
    assert usage_of("--raters-per-item") == "--raters-per-item RATERS-PER-ITEM"
    assert usage_of("-q", "--queue", action="store_true") == "--queue"
    assert usage_of("paths", nargs="+", metavar="PATH") == "PATH…"


def test_a_condition_names_every_code_that_fulfils_it() -> None:
    (failure,) = [v for v in PROTOCOLS["key-point-recall"].variables if v.name == "failure"]
    assert protocols._condition(failure.asked_if) == "`entailed` is no or neutral"


def test_a_guidelines_headings_are_moved_below_those_of_the_page() -> None:
    assert protocols._demoted("# Title\n\nText.\n\n## Part\n") == "\nText.\n\n### Part\n"


@pytest.mark.parametrize(
    ("default", "shown"),
    [("8000", "`8000`"), ("none", "none"), ("a SQLite file", "a SQLite file")],
)
def test_a_default_described_in_words_is_not_shown_as_a_value(default: str, shown: str) -> None:
    assert settings._default(default) == shown


def test_a_parameters_values_are_listed_once() -> None:
    parameter = {
        "name": "status",
        "in": "query",
        "description": "only these\n\n* `open` - open",
        "schema": {"enum": ["open", "done"]},
    }
    row = api._parameter(parameter)
    assert row == ("`status`", "after `?`", "`open` or `done`", "only these")


def test_a_parameters_default_is_shown_beside_its_type() -> None:
    assert api._kind({"type": "integer", "default": 50}) == "integer, 50 where left out"


def test_a_parameters_own_bound_is_shown_and_the_databases_is_not() -> None:
    assert api._kind({"type": "integer", "maximum": 2000}) == "integer, 2000 at most"
    assert api._kind({"type": "integer", "maximum": 2**31 - 1}) == "integer"


def test_an_id_is_described_by_the_object_that_it_identifies() -> None:
    parameter = {"name": "id", "in": "path", "schema": {"type": "integer"}}
    of_a_batch = api._parameter(parameter, "/api/v1/batches/{id}/")[-1]
    of_a_campaign = api._parameter(parameter, "/api/v1/campaigns/{id}/")[-1]
    assert ("batch" in of_a_batch, "campaign" in of_a_campaign) == (True, True)


def test_an_undescribed_parameter_is_refused() -> None:
    with pytest.raises(words.UndocumentedError):
        api._parameter({"name": "new", "in": "query", "schema": {}})


def test_two_methods_that_do_the_same_share_a_section() -> None:
    (submit,) = [each for each in api.sections() if len(each.methods) > 1]
    assert (submit.methods, submit.path[-10:]) == (("POST", "PUT"), "/response/")


def test_a_long_example_is_folded() -> None:
    assert api._shown("An answer", {"a": 1}).startswith("An answer:\n\n```json\n")
    assert api._shown("An answer", list(range(50))).startswith('??? example "An answer"\n\n    ```')


def test_the_ends_of_an_interval_stay_together() -> None:
    (found,) = hook.INTERVAL.findall("<td>0.307 [-0.020, 0.645]</td><td>[1, 2]</td>")
    assert found == "[-0.020, 0.645]"
