"""Judge files, prompts and runs on a team's protocol in a file."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.management.base import CommandError

from annotation.models import Campaign, Label, ProtocolFile
from datasets.models import Team
from judging.judge_file.document import file_of
from judging.models import Judge
from tests import protocol_cast
from tests.cast import campaign_of, run, write_lines
from tests.protocol_cast import NAME, TEXT, labels_by, write_protocol

pytestmark = pytest.mark.django_db
FILE = f"""\
[judge]
title = "Support, one word"
protocol = "{NAME}"
isolate = "unit"

[[messages]]
role = "user"
text = '''
Does the passage support the sentence: {{{{ unit.text }}}}? End with a line such as verdict: 2
'''

[answer]
parser = "regex"
pattern = '(?i)verdict:\\s*([012])'
marker = "verdict:"
take = "last"

[answer.map.support]
"0" = "none"
"1" = "partial"
"2" = "full"

[[fixture]]
completion = "verdict: 2"
labels = {{ support = "full" }}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = protocol_cast.write_batch(tmp_path)
    run("load_batch", path, "--name", "bridges")
    run("protocol", "add", write_protocol(tmp_path))
    (tmp_path / "judge.toml").write_text(FILE, "utf-8")
    return tmp_path


def create(folder: Path, name: str = "bot", *more: object) -> Judge:
    write_lines(folder / "bot.jsonl", labels_by(name))
    of = ("--backend", "scripted", "--answers", folder / "bot.jsonl")
    run("create_judge", name, *of, "--file", folder / "judge.toml", *more)
    return Judge.objects.get(rater__name=name)


def test_a_judge_file_about_a_teams_protocol_is_checked_and_runs(folder: Path) -> None:
    said = run("create_judge", "--check", "--file", folder / "judge.toml")
    assert f"{NAME}, read by regex; 1 fixtures are read as expected" in said
    judge = create(folder)
    assert judge.protocol_file == ProtocolFile.objects.get()
    assert [v.name for v in file_of(judge).protocol.variables] == ["support", "faults", "use"]
    campaign_of(NAME, batch="bridges")
    run("run_judge", "--judge", "bot", "--campaign", "c")
    given = Label.objects.filter(response__assignment__rater__name="bot", value__isnull=False)
    assert set(given.values_list("variable", flat=True)) == {"support"}
    assert given.count() == 18


def test_an_unknown_protocol_is_named_with_its_line(folder: Path) -> None:
    (folder / "judge.toml").write_text(FILE.replace(f'"{NAME}"', '"cited-claim"'), "utf-8")
    with pytest.raises(CommandError, match=f"line 3: .*did you mean '{NAME}'"):
        run("create_judge", "--check", "--file", folder / "judge.toml")
    with pytest.raises(CommandError, match=f"line 3: .*did you mean '{NAME}'"):
        create(folder)


def test_a_code_that_the_protocol_lacks_is_named_with_its_line(folder: Path) -> None:
    wrong = FILE.replace('"2" = "full"', '"2" = "fully"')
    (folder / "judge.toml").write_text(wrong, "utf-8")
    with pytest.raises(CommandError, match=r"judge.toml, line 2\d: .*fully"):
        run("create_judge", "--check", "--file", folder / "judge.toml")


def test_a_judge_keeps_the_version_that_it_was_created_for(folder: Path) -> None:
    old = create(folder)
    changed = TEXT.replace('version = "1"', 'version = "2"').replace('"partial", ', '"some", ')
    changed = changed.replace("partial", "some")
    run("protocol", "add", write_protocol(folder, changed))
    assert file_of(old).protocol.version == "1"
    campaign_of(NAME, batch="bridges")
    assert Campaign.objects.get().protocol_version == "2"
    with pytest.raises(CommandError, match=f"about {NAME} 1, and c is about {NAME} 2"):
        run("run_judge", "--judge", "bot", "--campaign", "c")


def test_a_version_that_a_judge_reads_by_is_neither_deleted_nor_replaced(folder: Path) -> None:
    create(folder)
    with pytest.raises(CommandError, match=f"1 of {NAME} is used by judge 'bot'"):
        run("protocol", "delete", f"{NAME}@1")
    with pytest.raises(CommandError, match="used by judge 'bot', and the file has changed"):
        run("protocol", "add", write_protocol(folder, TEXT.replace("Cited claims", "Claims")))


def test_another_teams_protocol_is_not_found(folder: Path) -> None:
    Team.objects.create(name="others")
    with pytest.raises(CommandError, match="line 3: "):
        create(folder, "bot", "--team", "others")


def test_a_prompt_is_taken_from_a_teams_protocol_by_name(folder: Path) -> None:
    (folder / "ask.md").write_text("Ask {units} by {guideline}. {item} {schema}", "utf-8")
    text = TEXT.replace('version = "1"', 'version = "2"') + '\n[judge]\nprompt = "ask.md"\n'
    run("protocol", "add", write_protocol(folder, text))
    of = ("--backend", "openai", "--model", "m", "--base-url", "http://127.0.0.1:9/v1")
    run("create_judge", "asked", *of, "--prompt", NAME)
    assert Judge.objects.get().prompt.startswith("Ask {units}")
