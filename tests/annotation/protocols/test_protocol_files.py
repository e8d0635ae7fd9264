"""A protocol in a file: what it declares, each error at its line, and hostile files."""

from __future__ import annotations

import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from annotation.protocols.declared import protocol_of
from tandem.files.rows import Passage, Query, Question, Report
from tandem.protocols.base import ItemSpec
from tandem.protocols.file_structure import LONGEST, ProtocolFileError, schema
from tandem.protocols.protocol_file import ProtocolFile, read_path, read_protocol

SUPPORT = """
name = "claim-support"
version = "1"
title = "Claim support"

[item]
each = "report-passage"
shows = ["report", "passage"]

[[variable]]
name = "support"
unit = "report-passage"
question = "Does the passage support the report?"
codes = ["none", "partial", "full"]
level = "ordinal"
words = { none = "Not at all" }

[[variable]]
name = "gaps"
unit = "report-passage"
question = "What is missing?"
codes = ["dates", "names"]
several = true
asked_if = { support = ["partial"] }

[[evidence]]
variable = "support"
in = "report"
owed_if = ["full"]

[[evidence]]
variable = "support"
in = "passage"
owed_if = ["partial", "full"]

[written]
question = "What would you add?"
asked_if = { support = ["partial"] }

[[measure]]
name = "mean-support"
scores = { support = { partial = 0.5, full = 1 } }

[german]
"What is missing?" = "Was fehlt?"
"Not at all" = "Gar nicht"

[guideline]
en = "Read both."
de = "Lesen Sie beides."
"""
BOTH = Query(
    "q",
    "Who built the bridge?",
    questions=(Question("a", "Who?"),),
    passages=(Passage("p", "Ada built it. Bo paid."), Passage("r", "It stands.")),
    reports=(Report("x", "Ada did."), Report("y", "Nobody knows.")),
)


def read(text: str, **parts: str) -> ProtocolFile:
    return read_protocol(text, "own.toml", parts.__getitem__)


def refusals(text: str, **parts: str) -> list[str]:
    with pytest.raises(ProtocolFileError) as refused:
        read(text, **parts)
    return list(map(str, refused.value.problems))


def items(text: str) -> list[ItemSpec]:
    protocol = protocol_of(read(text))
    return list(protocol.make_items(BOTH, protocol.variables))


def test_a_file_declares_what_it_says() -> None:
    file = read(SUPPORT)
    support, gaps = file.declaration.variables
    assert (support.codes, support.level) == (("none", "partial", "full"), "ordinal")
    assert (support.word("none"), support.word("full")) == ("Not at all", "Full")
    assert gaps.several
    assert gaps.asked_if == {"support": ("partial",)}
    rule = file.declaration.evidence
    assert rule
    assert [(each.field, each.owed_if) for each in rule.rules] == [
        ("report", ("full",)),
        ("passage", ("partial", "full")),
    ]
    written = file.declaration.written
    assert written
    assert written.kind == "report-passage"
    (measure,) = file.declaration.measures
    assert measure.scores == {"partial": 0.5, "full": 1}


def test_german_replaces_what_the_file_translates_and_nothing_else() -> None:
    file = read(SUPPORT)
    support, gaps = file.in_german(file.declaration).variables
    assert (support.word("none"), support.word("full")) == ("Gar nicht", "Full")
    assert (support.question, gaps.question) == (
        "Does the passage support the report?",
        "Was fehlt?",
    )
    protocol = protocol_of(file)
    assert protocol.guideline_in("de") == "Lesen Sie beides."
    assert protocol.guideline_in("fr") == protocol.guideline == "Read both."


def test_each_report_meets_each_passage_on_a_page_of_its_own() -> None:
    pages = items(SUPPORT)
    assert [page.key for page in pages] == ["x/p", "x/r", "y/p", "y/r"]
    assert [(text.field, text.text) for text in pages[0].texts] == [
        ("report", "Ada did."),
        ("passage", "Ada built it. Bo paid."),
    ]
    assert [unit.of for unit in pages[0].units] == [("report", "passage")]


def test_a_digest_covers_the_file_and_the_texts_beside_it() -> None:
    beside = SUPPORT.replace('en = "Read both."', 'file = "guide.md"')
    one, other = (read(beside, **{"guide.md": text}) for text in ("Read.", "Read again."))
    assert one.guidelines["en"] == "Read."
    assert one.digest != other.digest
    assert read(beside, **{"guide.md": "Read."}).digest == one.digest


def test_a_file_on_disk_brings_its_texts_along(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(SUPPORT.replace('en = "Read both."', 'file = "guide.md"'), "utf-8")
    with pytest.raises(ProtocolFileError, match=r"line \d+: guide.md cannot be read as UTF-8"):
        read_path(path)
    (tmp_path / "guide.md").write_text("Lies 🌉.", "utf-8")
    assert read_path(path).guidelines["en"] == "Lies 🌉."


@pytest.mark.parametrize(
    ("change", "to", "said"),
    [
        ('title = "Claim', 'titel = "Claim', "line 4: 'titel' is not a key of the file; did you"),
        ('each = "report-p', 'each = "reprt-p', "line 7: item.each is 'reprt-passage'; did you"),
        ('level = "ord', 'level = "odr', "line 15: variable.level is 'odrinal'; did you mean ord"),
        ("several = true", "several = 1", "line 23: variable.several is 1; give true or false"),
        ('codes = ["dates", "names"]\n', "", "gaps: it has no codes; add codes, or a scale"),
        ('name = "gaps"', 'name = "Gaps"', "line 19: variable.name is 'Gaps'; give small letters"),
        ('none = "Not', 'nope = "Not', "line 16: support: words names 'nope'; did you mean none?"),
        ("if = { support", "if = { suport", "which is not a variable; did you mean support?"),
        ('["partial"] }\n\n[[e', '["part"] }\n\n[[e', "'part' is not a code of support; did you"),
        ('in = "passage"', 'in = "reference"', "the page does not show the reference; add refer"),
        ('owed_if = ["full"]', 'owed_if = ["ful"]', "owed_if names 'ful'; did you mean full?"),
        ("full = 1 }", "fulll = 1 }", "scores names 'fulll'; did you mean full?"),
        ("scores = { sup", "scores = { sip", "mean-support scores 'sipport'; did you mean supp"),
        ('"What is missing?" =', '"What was missing?" =', "which the file does not say; did you"),
        ('unit = "report-passage"', 'unit = "nugget"', "a page for each report-passage has no nug"),
        ('"passage"]', '"passages"]', "a page for each report-passage cannot show passages"),
        ("several = true", 'several = true\nlevel = "ordinal"', "several codes have no order"),
        ('title = "Claim support"\n', "", "the file has no title; add it"),
        ('name = "gaps"', 'name = "written"', "written is a word of its own in answers"),
    ],
)
def test_an_error_names_the_line_and_the_mend(change: str, to: str, said: str) -> None:
    assert change in SUPPORT
    found = refusals(SUPPORT.replace(change, to, 1))
    assert any(said in each for each in found), found
    assert all(each.startswith("own.toml") for each in found)


def test_errors_are_said_in_the_order_of_the_file() -> None:
    wrong = SUPPORT.replace('["partial"]', "[1, 2]").replace('["full"]', "[3]")
    lines = [int(each.split("line ")[1].split(":")[0]) for each in refusals(wrong)]
    assert len(lines) >= 5
    assert lines == sorted(lines)


def test_all_errors_are_said_at_once() -> None:
    wrong = SUPPORT.replace('none = "Not', 'nope = "Not').replace("full = 1 }", "fulll = 1 }")
    assert len(refusals(wrong)) == 3


@pytest.mark.parametrize(
    ("scale", "said"),
    [
        ("{ from = 0, to = 0 }", "its scale has no numbers"),
        ("{ from = 0, to = 1e9 }", "over 1,000 steps"),
        ("{ from = 0, to = 1, step = 0.3 }", "its steps do not end at to"),
        ("{ from = nan, to = 1 }", "its scale has no numbers"),
    ],
)
def test_a_scale_has_numbers(scale: str, said: str) -> None:
    wrong = SUPPORT.replace('codes = ["dates", "names"]\nseveral = true', f"scale = {scale}")
    assert any(said in each for each in refusals(wrong))


def test_a_scale_has_its_numbers_as_codes() -> None:
    text = SUPPORT.replace(
        'codes = ["dates", "names"]\nseveral = true', "scale = { from = -1, to = 0.5, step = 0.5 }"
    )
    variable = read(text).declaration.variables[1]
    assert variable.codes == ("-1", "-0.5", "0", "0.5")
    assert variable.level == "interval"


HOSTILE: dict[str, Any] = {
    "nested deep": "a = " + "[" * 30_000 + "]" * 30_000,
    "a key of many parts": ".".join("a" * 60_000) + " = 1",
    "a million codes": f"codes = [{'1,' * 1_000_000}]",
    "many codes": SUPPORT.replace('["none", ', '["none",' + '"a",' * 20_000),
    "many variables": SUPPORT + '[[variable]]\nname = "v"\n' * 5_000,
    "a digit too many": "a = " + "9" * 150_000,
    "a long guideline": SUPPORT.replace("Read both.", "x" * 150_000),
    "a bell in a name": SUPPORT.replace("Claim support", r"Claim\u0007support"),
    "an override": SUPPORT.replace("Claim support", "Claim \u202esupport"),
    "a path": SUPPORT.replace('en = "Read both."', 'file = "../../etc/passwd"'),
    "an absolute path": SUPPORT.replace('en = "Read both."', 'file = "/etc/passwd"'),
    "no TOML": "\0" * 1_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_file_is_refused_in_bounded_time_and_memory(text: str) -> None:
    refusals(SUPPORT.replace("version", "versio"))  # what is only loaded once is loaded
    tracemalloc.start()
    began = time.process_time()
    found = refusals(text)
    seconds, (_, peak) = time.process_time() - began, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # Tracing allocations makes this several times as slow as it is.
    assert seconds < 5
    assert peak < 60_000_000
    assert all(len(each) < 1_000 for each in found)
    assert len(text) <= LONGEST or "over" in found[0]


def test_the_schema_for_editors_is_valid_and_is_what_the_reader_checks() -> None:
    Draft202012Validator.check_schema(schema())
    assert any("did you mean" in each for each in refusals(SUPPORT.replace("each =", "eech =")))
