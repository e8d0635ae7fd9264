"""A labels file is read by a team's protocol in a file: order of codes, levels, sets, escapes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.core.management.base import CommandError

import tandem
from tandem.labels.file.frames import file_frame
from tandem.labels.selection import ReportOptions, UnknownOptionError
from tandem.labels_report import labels_report
from tandem.program.main import main
from tandem.protocols.protocol_file import read_path
from tests.cast import run, write_lines
from tests.protocol_cast import NAME, TEXT, labels_by, write_protocol


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    lines = [*labels_by("ada"), *labels_by("ben", 1), *labels_by("bot", 2, rater_kind="judge")]
    escaped = {**lines[0], "value": "cannot-tell"}
    escaped.pop("spans", None)
    return write_lines(tmp_path / "labels.jsonl", [escaped, *lines[1:]])


@pytest.fixture
def protocol(tmp_path: Path) -> Path:
    return write_protocol(tmp_path)


def test_codes_have_the_order_level_and_escapes_of_the_file(labels: Path, protocol: Path) -> None:
    frame, _ = file_frame([labels], {}, protocol=read_path(protocol).declaration)
    support, use = frame.variables["support"].scale, frame.variables["use"].scale
    assert support.categories == ("none", "partial", "full")
    assert (support.level, support.escapes) == ("ordinal", ("cannot-tell",))
    assert use.categories == ("0", "2.5", "5", "7.5", "10")
    assert use.level == "interval"


def test_the_command_and_python_report_the_same(
    labels: Path, protocol: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["report", str(labels), "--protocol", str(protocol), "--resamples", "20"]
    assert main(given) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["protocol"] == NAME
    assert said["variables"]["support"]["measurement"] == "ordinal"
    file = read_path(protocol).declaration
    options = ReportOptions(resamples=20)
    of_python = labels_report([labels], {}, options, protocol=file)
    assert json.loads(json.dumps(of_python))["variables"] == said["variables"]
    by_name = tandem.report(labels, protocol=protocol, resamples=20)
    assert by_name.json["variables"]["support"] == said["variables"]["support"]


def test_rows_without_a_protocol_are_read_by_the_file(tmp_path: Path, protocol: Path) -> None:
    lines = [{k: v for k, v in line.items() if k != "protocol"} for line in labels_by("ada")]
    table = [line for line in lines if line["variable"] == "support"]
    for line in table:
        line.pop("spans", None)
    found = tandem.agreement(
        [*table, *({**line, "rater": "ben"} for line in table)], protocol=protocol
    )
    assert found.json["categories"] == ["none", "partial", "full"]
    assert found.json["measurement"] == "ordinal"


def test_labels_of_another_protocol_are_refused(labels: Path, tmp_path: Path) -> None:
    other = write_protocol(tmp_path, TEXT.replace(f'"{NAME}"', '"other-claims"'), "other.toml")
    with pytest.raises(UnknownOptionError, match=f'"{NAME}", and the file given for it declares'):
        file_frame([labels], {}, protocol=read_path(other).declaration)


def test_errors_of_the_file_are_said_with_their_line(
    labels: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = write_protocol(tmp_path, TEXT.replace('"ordinal"', '"ordinl"'))
    given = [str(labels), "--protocol", str(wrong)]
    assert main(["report", *given]) == 1
    assert f"{wrong}, line 15: variable.level is 'ordinl'" in capsys.readouterr().err
    with pytest.raises(CommandError, match="line 15"):
        run("report", "--labels", labels, "--protocol", wrong)
    with pytest.raises(CommandError, match="--protocol goes with --labels"):
        run("report", "--campaign", "c", "--protocol", wrong)
