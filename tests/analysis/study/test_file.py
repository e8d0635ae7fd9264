"""Reading a study file: each error names the file, the line, the mistake and its correction."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from analysis.study import read_study
from annotation.campaigns.design import design_of
from tandem.files.rows import InputError
from tests.analysis.study.conftest import STUDY

Rewrite = Callable[..., Path]


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as error:
        read_study(path)
    return str(error.value)


def test_parts_come_after_those_that_they_need_otherwise_in_file_order(folder: Path) -> None:
    file = read_study(folder)
    assert [str(part.key) for part in file.parts] == [
        "judge replay",
        "batch documents",
        "campaign coverage",
    ]
    assert file.part("campaign", "coverage").options["raters_per_item"] == 2


def test_keys_of_the_file_are_the_options_of_the_commands(rewrite: Rewrite) -> None:
    path = rewrite(
        ("raters_per_item = 2", "human_share = 0.5\noption = { seed = 3, order = 'random' }"),
        ('judges = ["replay"]', 'judges = [{ judge = "replay", concurrency = 2 }]'),
    )
    part = read_study(path).part("campaign", "coverage")
    assert part.options["human_share"] == 0.5
    assert part.options["option"] == ["seed=3", "order=random"]
    assert part.judges[0].terms["concurrency"] == 2


def test_a_list_in_an_option_may_have_commas_and_quotes_in_its_words(rewrite: Rewrite) -> None:
    keys = ["Paris, 1924", 'the "first", q7', "q8"]
    written = "[{}]".format(", ".join(f"'{key}'" for key in keys))
    path = rewrite(("raters_per_item = 2", f"option = {{ chosen = {written} }}"))
    given = read_study(path).part("campaign", "coverage").options["option"]
    assert design_of(1, 1, 1, given).chosen == tuple(keys)


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("before", "after", "line", "says"),
    [
        ("raters_per_item = 2", "raters_per_itme = 2", 7, "did you mean 'raters_per_item'?"),
        ("raters_per_item = 2", 'raters_per_item = "two"', 7, "write a whole number"),
        ("raters_per_item = 2", "raters_per_item = 1001", 7, "raters per item is not from 0"),
        ("raters_per_item = 2", "option = { seeds = 2 }", 7, "'seeds=2' is not K=V"),
        ("raters_per_item = 2", "share = { ada = 1.5 }", 7, "the share of ada is not above 0"),
        ("raters_per_item = 2", 'pay = "a lot"', 7, "not an amount with a currency"),
        ("raters_per_item = 2", 'consent = "none.md"', 7, "there is no file none.md"),
        ('batch = "documents"', 'batch = "document"', 6, "did you mean 'documents'?"),
        ('batch = "documents"', "", 4, "batch is missing; add batch = …"),
        ('judges = ["replay"]', 'judges = ["ghost"]', 9, "there is no judge 'ghost' here"),
        ('labels = ["ada.jsonl"]', 'labels = ["eve.jsonl"]', 8, "there is no file eve.jsonl"),
        ('labels = ["ada.jsonl"]', 'labels = [{ file = "ada.jsonl", by = "x" }]', 8, "'by'"),
        ('backend = "scripted"', 'backend = "script"', 12, "did you mean 'scripted'?"),
        ("[batch.documents]", "[batches.documents]", 15, "did you mean 'batch'?"),
        ('files = ["documents.jsonl"]', "", 15, "neither files nor a rule"),
        ('name = "pilot"', 'name = "pilot"\npreset = "crxu"', 3, "give one of crux"),
        ('name = "pilot"', "", 1, "the study has no name"),
        ('name = "pilot"', "name = pilot", 2, "is not TOML"),
    ],
)
def test_an_error_in_the_file_is_described_in_one_line(
    rewrite: Rewrite, before: str, after: str, line: int, says: str
) -> None:
    path = rewrite((before, after))
    message = refusal(path)
    assert message.startswith(f"{path}, line {line}: ")
    assert says in message
    assert "\n" not in message


def test_a_cycle_of_parts_is_called_a_cycle(folder: Path) -> None:
    text = STUDY + (
        '\n[campaign.first]\nprotocol = "rubric-passage"\nbatch = "documents"\n'
        'option = { prerequisite = "second" }\n'
        '\n[campaign.second]\nprotocol = "rubric-passage"\nbatch = "documents"\n'
        'option = { prerequisite = "first" }\n'
    )
    (folder / "study.toml").write_text(text, "utf-8")
    message = refusal(folder)
    assert "line 18: " in message
    assert "campaign first needs campaign second needs campaign first, which is a cycle" in message


def test_a_missing_file_is_refused_with_advice(tmp_path: Path) -> None:
    message = refusal(tmp_path)
    assert message.endswith("name the study file, or its folder")
