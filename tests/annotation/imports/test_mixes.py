"""Lines that do not fit together: assisted and plain ones, or ones that contradict the campaign."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

from annotation.models import Assignment, Campaign, Label
from tests.annotation.answering import person
from tests.cast import Line, campaign_of, exported, load, run, write_lines

YES: Line = {"item": "r", "unit": "🌉", "variable": "answerable", "value": "no", "rater": "ann"}
OTHER = YES | {"unit": "a/b#1"}
HELP = {"assisted_by": "jude"}
MEND = "; give the assisted answer a replicate or a rater of its own"


@pytest.fixture(autouse=True)
def coverage(batch: Path) -> Campaign:
    return campaign_of("report-coverage")


def take(folder: Path, *rows: Line, name: str = "l.jsonl", rater: str | None = None) -> str:
    path = write_lines(folder / name, rows)
    return run("import_labels", path, "--campaign", "c", *(["--rater", rater] if rater else []))


def refused(folder: Path, *rows: Line) -> str:
    before = exported("c", "labels")
    with pytest.raises(CommandError) as error:
        take(folder, *rows)
    assert exported("c", "labels") == before
    return str(error.value).removeprefix(f"{folder / 'l.jsonl'}, ")


def assisted() -> list[tuple[Any, ...]]:
    names = ("unit", "rater", "replicate", "assisted_by")
    return [tuple(line.get(name) for name in names) for line in exported("c", "labels")]


def response(*units: str, **changes: Any) -> Line:
    answers = {name: {"answerable": "no"} for name in units}
    return {"item": "r", "rater": "ann", "units": answers, **changes}


class TestAssisted:
    def test_an_assisted_and_a_plain_line_of_one_item_are_refused(self, tmp_path: Path) -> None:
        assert refused(tmp_path, YES, OTHER | HELP) == (
            "line 2: 'ann' answers item \"r\" assisted by 'jude' here and unassisted on line 1"
            + MEND
        )

    def test_two_assistants_of_one_item_are_refused(self, tmp_path: Path) -> None:
        message = refused(tmp_path, YES | HELP, OTHER | {"assisted_by": "kim"})
        assert "assisted by 'kim' here and assisted by 'jude' on line 1" in message

    def test_two_responses_of_which_one_is_assisted_are_refused(self, tmp_path: Path) -> None:
        message = refused(tmp_path, response("🌉", **HELP), response("a/b#1"))
        assert message.startswith(
            "line 2: 'ann' answers item \"r\" unassisted here and assisted by"
        )

    def test_an_assisted_revision_of_a_plain_answer_is_refused(self, tmp_path: Path) -> None:
        message = refused(tmp_path, YES | {"revision": 1}, YES | HELP | {"revision": 2})
        assert message.endswith(MEND)

    @pytest.mark.first_case
    @pytest.mark.parametrize(
        ("first", "second", "said"),
        [
            ({}, HELP, "assisted by 'jude' here and unassisted in the campaign"),
            (HELP, {}, "unassisted here and assisted by 'jude' in the campaign"),
        ],
    )
    def test_a_line_that_contradicts_the_stored_assistance_is_refused(
        self, tmp_path: Path, first: Line, second: Line, said: str
    ) -> None:
        take(tmp_path, YES | first)
        message = refused(tmp_path, OTHER | second)
        assert message == f"line 1: 'ann' answers item \"r\" {said}{MEND}"

    def test_a_stored_missing_reason_counts_as_an_answer(self, tmp_path: Path) -> None:
        gone = {k: v for k, v in YES.items() if k != "value"} | {"missing": "timeout"}
        take(tmp_path, gone)
        assert refused(tmp_path, OTHER | HELP).endswith(f"unassisted in the campaign{MEND}")

    def test_the_second_of_two_files_is_compared_with_the_first(self, tmp_path: Path) -> None:
        paths = [
            write_lines(tmp_path / "a.jsonl", [YES]),
            write_lines(tmp_path / "b.jsonl", [OTHER | HELP]),
        ]
        with pytest.raises(CommandError, match=r"b\.jsonl, line 1: .* unassisted in the campaign"):
            run("import_labels", *paths, "--campaign", "c")
        assert not Label.objects.exists()

    def test_assisted_and_plain_answers_may_be_separate_replicates_or_raters(
        self, tmp_path: Path
    ) -> None:
        take(tmp_path, YES, OTHER | HELP | {"replicate": 1}, YES | HELP | {"rater": "bo"})
        assert assisted() == [
            ("🌉", "ann", 0, None),
            ("a/b#1", "ann", 1, "jude"),
            ("🌉", "bo", 0, "jude"),
        ]

    def test_other_items_of_the_rater_are_left_alone(self, tmp_path: Path) -> None:
        take(tmp_path, YES | HELP, YES | {"item": "r#1"})
        assert [by for _, _, _, by in assisted()] == ["jude", None]

    def test_a_later_part_of_an_assisted_answer_is_assisted_too(self, tmp_path: Path) -> None:
        take(tmp_path, YES | HELP)
        take(tmp_path, OTHER | HELP)
        assert assisted() == [("a/b#1", "ann", 0, "jude"), ("🌉", "ann", 0, "jude")]
        assert take(tmp_path, *exported("c", "labels")).startswith("Nothing to do for 2 labels")

    def test_an_empty_assistant_name_means_unassisted(self, tmp_path: Path) -> None:
        take(tmp_path, YES, OTHER | {"assisted_by": ""})
        assert [by for _, _, _, by in assisted()] == [None, None]

    def test_an_open_assignment_gets_the_imported_assistant(
        self, tmp_path: Path, coverage: Campaign
    ) -> None:
        person(coverage.items.get(key="r"), "ann")
        take(tmp_path, YES | HELP)
        assert Assignment.objects.get().assisted_by == "jude"
        assert assisted() == [("🌉", "ann", 0, "jude")]


class TestContradictions:
    def test_another_campaign_name_in_the_file_is_accepted(self, tmp_path: Path) -> None:
        said = take(tmp_path, YES | {"campaign": "zz", "protocol": "report-coverage"})
        assert "Warning" not in said
        assert exported("c", "labels")[0]["campaign"] == "c"

    def test_a_differing_query_gives_one_warning_with_count_and_first_line(
        self, tmp_path: Path
    ) -> None:
        right, wrong = YES | {"query": "q/1", "system": "one"}, {"query": "q 2"}
        said = take(tmp_path, right, OTHER | wrong, YES | wrong | {"rater": "bo"})
        assert said.count("Warning") == 1
        assert (
            f"Warning: {tmp_path / 'l.jsonl'}, line 2: 2 lines name another query than their "
            "item has; the campaign's own values are kept\n"
        ) in said
        assert {line["query"] for line in exported("c", "labels")} == {"q/1"}

    def test_all_differences_of_a_file_give_one_warning(self, tmp_path: Path) -> None:
        facts = {"system": "two", "setting": "top", "batch": "zz"}
        said = take(tmp_path, YES | facts, OTHER | {"query": "q3"})
        assert said.count("Warning") == 1
        assert "line 1: 2 lines name another system or batch or query than their item" in said

    def test_each_file_has_its_own_warning(self, tmp_path: Path) -> None:
        paths = [
            write_lines(tmp_path / "a.jsonl", [YES | {"query": "q3"}]),
            write_lines(tmp_path / "b.jsonl", [OTHER | {"system": "two"}]),
        ]
        said = run("import_labels", *paths, "--campaign", "c")
        assert "a.jsonl, line 1: 1 lines name another query than" in said
        assert "b.jsonl, line 1: 1 lines name another system than" in said

    def test_the_warning_comes_before_those_of_single_labels(self, tmp_path: Path) -> None:
        said = take(tmp_path, YES | {"value": "yes", "query": "q3"})
        assert said.index("another query") < said.index("without its quote")


class TestRater:
    def test_an_unneeded_rater_option_gives_a_warning(self, tmp_path: Path) -> None:
        said = take(tmp_path, YES, OTHER, YES | {"rater": "bo"}, rater="zoë")
        assert said.count("Warning") == 1
        assert (
            f'Warning: {tmp_path / "l.jsonl"}: --rater "zoë" had no effect, as every line names a '
            'rater of its own ("ann", "bo"); leave it out\n'
        ) in said
        assert {rater for _, rater, _, _ in assisted()} == {"ann", "bo"}

    def test_the_warning_names_at_most_three_raters(self, tmp_path: Path) -> None:
        said = take(tmp_path, *(YES | {"rater": r} for r in "abcde"), rater="zoë")
        assert '("a", "b", "c" and 2 more)' in said

    def test_an_unneeded_rater_option_for_responses_gives_a_warning(self, tmp_path: Path) -> None:
        assert 'own ("ann"); leave it out' in take(tmp_path, response("🌉"), rater="zoë")

    @pytest.mark.first_case
    @pytest.mark.parametrize("whose", [{}, {"rater": None}, {"rater": ""}])
    def test_the_rater_option_is_accepted_if_any_line_names_no_rater(
        self, tmp_path: Path, whose: Line
    ) -> None:
        alone = {k: v for k, v in OTHER.items() if k != "rater"} | whose
        assert "Warning" not in take(tmp_path, YES, alone, rater="zoë")
        assert ("a/b#1", "zoë", 0, None) in assisted()

    def test_a_crux_file_names_no_rater_so_the_option_is_used(self, tmp_path: Path) -> None:
        question = {"id": "duc1:q0", "text": "When?"}
        report = {"id": "duc1", "text": "In 1901.", "system": "one"}
        query = {"id": "duc1", "text": "A bridge", "questions": [question], "reports": [report]}
        load(tmp_path, [query], name="crux")
        campaign_of("report-coverage", name="d", batch="crux")
        path = write_lines(tmp_path / "qlabels.jsonl", [{"id": "duc1", "answerability": [0]}])
        said = run("import_labels", path, "--campaign", "d", "--rater", "zoë")
        assert said == "Imported 1 labels from zoë.\n"
