"""Every judge file of the library is complete, passes its fixtures, and is added by one command."""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path

import pytest
from django.core.management.base import CommandError

from judging import library
from judging.backends.base import Answer
from judging.judge_file.document import read_file
from judging.judge_file.fixtures import asked_unit, failures
from judging.judges import JudgeError
from judging.models import Judge
from judging.parsers.base import ExpectedAnswer, UnreadError
from tests.cast import ROOT
from tests.judging.cast import campaign_of, command, judge, run_scripted

SUBJECTS = (
    "graded-relevance", "nugget-creation", "nugget-importance", "nugget-assignment",
    "citation-support", "faithfulness", "context-precision", "context-recall", "key-point-recall",
    "report-coverage", "eligibility", "factuality", "pairwise-preference", "rubric-with-reference",
)  # fmt: skip


def test_the_library_has_a_file_for_each_published_design() -> None:
    assert set(SUBJECTS) <= set(library.names())
    assert len(library.names()) >= 15


@pytest.mark.every_case
@pytest.mark.parametrize("name", library.names())
def test_each_file_names_its_source_and_passes_its_fixtures(name: str) -> None:
    file = library.files()[name]
    assert file.title
    assert file.source
    assert file.about.keys() >= {"scale", "validated", "weaknesses"}
    assert len(file.fixtures) >= 3
    assert list(failures(file)) == []


@pytest.mark.django_db
@pytest.mark.parametrize("name", library.names())
def test_each_file_can_be_rendered_for_every_item_of_its_protocol(
    name: str, tmp_path: Path
) -> None:
    file = library.files()[name]
    backend = "decisions" if file.parser_name == "decisions" else "openai"
    rater = judge(name, backend, model="m", base_url="http://127.0.0.1:1", file=file.text)
    study = campaign_of(tmp_path, file.protocol.slug)
    _, _, asked = run_scripted(study, rater, lambda request: "no verdict")
    assert asked.asked
    for request in asked.asked:
        assert "{{" not in request.messages[0].content.replace("{{units}}", "")
        assert "zeta-system" not in "".join(message.content for message in request.messages)


@pytest.mark.django_db
def test_the_command_lists_shows_and_adds_files() -> None:
    assert "graded-relevance" in command(
        "judge_library", "list", "--protocol", "grounding-relevance"
    )
    assert "key-point-recall" not in command(
        "judge_library", "list", "--protocol", "grounding-relevance"
    )
    assert command("judge_library", "show", "graded-relevance") == library.text_of(
        "graded-relevance"
    )
    command("judge_library", "add", "graded-relevance", "g", "--backend", "openai", "--model", "m")
    assert Judge.objects.get(rater__name="g").file == library.text_of("graded-relevance")
    with pytest.raises(CommandError, match="graded-relevance"):
        command("judge_library", "show", "graded-relevanse")


def test_the_example_file_of_the_guide_passes_its_fixtures() -> None:
    guide = (ROOT / "docs/how-to/write-a-judge-file.md").read_text("utf-8")
    found = re.search(r"```toml\n(.*?)```", guide, re.DOTALL)
    assert found
    assert list(failures(read_file(found[1]))) == []


@pytest.mark.every_case
@pytest.mark.parametrize(
    "name", [n for n in library.names() if library.files()[n].parser_name == "decisions"]
)
def test_a_decision_that_is_cut_dressed_or_withdrawn_is_never_read(name: str) -> None:
    file = library.files()[name]
    whole = file.fixtures[0].completion
    cut = [whole[: len(whole) * part // 12] for part in range(12)]
    dressed = [f"```json\n{whole}\n```", f"Sure: {whole}", f"{whole} Wait, no.", f"{whole}{whole}"]
    asked = ExpectedAnswer((asked_unit(file, 1),), by_unit=True)
    for completion in (*cut, *dressed):
        with pytest.raises(UnreadError):
            file.parser.read(Answer(completion), asked)


@pytest.mark.every_case
@pytest.mark.parametrize(
    "name", [n for n in library.names() if library.files()[n].parser_name != "decisions"]
)
def test_each_file_that_reads_text_has_fixtures_of_replies_as_models_write_them(name: str) -> None:
    file = library.files()[name]
    assert len(file.fixtures) >= 23
    assert sum(bool(each.fault) for each in file.fixtures) >= 8
    assert len({each.step for each in file.fixtures}) >= 4
    assert not file.shortcomings


def test_every_version_of_a_file_is_recorded_so_that_its_judges_are_known() -> None:
    """Whoever changes a file adds its new SHA-256 to `versions.json`, and removes none."""
    current = {name: file.sha256 for name, file in library.files().items()}
    assert {name: known[-1] for name, known in library.versions().items()} == current


@pytest.mark.django_db
def test_a_judge_of_an_earlier_version_of_a_file_is_kept() -> None:
    file = library.files()["graded-relevance"]
    made = judge("graded", "openai", model="m", file=file.text)
    earlier = file.text + "# an earlier version\n"
    Judge.objects.filter(pk=made.pk).update(file=earlier)
    with pytest.raises(JudgeError, match="exists with another file"):
        judge("graded", "openai", model="m", file=file.text)
    digest = sha256(earlier.encode()).hexdigest()
    library.versions()["graded-relevance"].insert(0, digest)
    try:
        assert judge("graded", "openai", model="m", file=file.text).file == earlier
    finally:
        library.versions()["graded-relevance"].remove(digest)
