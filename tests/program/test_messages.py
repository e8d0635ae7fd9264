"""Messages name a command as people type it, and similar names that the reader may see."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError

from annotation.models import User
from tandem.verbs import BY_COMMAND, BY_WORDS, NOUNS
from tests.cast import ROOT, campaign_of, run

APPS = ("datasets", "annotation", "judging", "analysis", "config", "audit")
# The origin of a recording is part of stored fixtures.
KEPT = ("judging/management/commands/record_replies.py",)
NAMED = "|".join(sorted((name for name in BY_COMMAND if "_" in name), key=len, reverse=True))
COMMAND = re.compile(
    rf"(?<![\w./\"'-])(?:{NAMED})(?![\w./(:=])|manage\.py (?:{'|'.join(BY_COMMAND)})\b"
)


def texts(file: Path) -> Iterator[tuple[int, str]]:
    """Yield the texts in a module that are not docstrings, with their lines."""
    tree = ast.parse(file.read_text("utf-8"))
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or id(node) in docstrings:
            continue
        if isinstance(node.value, str) and " " in node.value:
            yield node.lineno, node.value


@pytest.mark.parametrize("app", APPS)
def test_no_message_names_a_command_that_has_a_verb(app: str) -> None:
    found = [
        f"{file.relative_to(ROOT)}:{line}: {text}"
        for file in sorted((ROOT / app).rglob("*.py"))
        if "migrations" not in file.parts and str(file.relative_to(ROOT)) not in KEPT
        for line, text in texts(file)
        if COMMAND.search(text)
    ]
    assert found == []


def test_pages_show_verbs_that_exist() -> None:
    shown: list[str] = []
    for file in (ROOT / "templates").rglob("*.html"):
        text = file.read_text("utf-8")
        assert not COMMAND.search(re.sub(r"{[%{].*?[%}]}", "", text)), file
        shown += re.findall(rf"\btandem ((?:{'|'.join(NOUNS)}) [a-z-]+|work)\b", text)
    assert shown
    assert not [words for words in shown if tuple(words.split()) not in BY_WORDS]


@pytest.mark.django_db
@pytest.mark.usefixtures("batch")
class TestSimilarNames:
    @pytest.mark.parametrize(
        ("words", "meant"),
        [
            (("show_campaign", "Pilt"), "Pilot"),
            (("import_labels", "x.jsonl", "--campaign", "pilot"), "Pilot"),
            (("create_campaign", "n", "--protocol", "report-coverage", "--batch", "B"), "b"),
            (("derive_batch", "y", "--batch", "B", "--rule", "x"), "b"),
            (("run_judge", "--campaign", "Pilot", "--judge", "flor"), "floor"),
            (("create_jury", "j", "--campaign", "Pilot", "--judges", "flor"), "floor"),
            (("person", "ritta"), "rita"), (("create_token", "Rita"), "rita"),
            (("log_in_link", "rta"), "rita"),
            (("campaign_people", "Pilot", "--add", "rta"), "rita"),
            (("create_campaign", "n", "--protocol", "report-coverage", "--batch", "b",
              "--practice-of", "Pilott"), "Pilot"),
            (("create_campaign", "n", "--protocol", "report-coverage", "--batch", "b",
              "--continues", "Pilott"), "Pilot"),
        ],
        ids=lambda each: " ".join(each) if isinstance(each, tuple) else each,
    )  # fmt: skip
    def test_a_command_names_the_most_similar_one(self, words: Any, meant: str) -> None:
        campaign_of("report-coverage", name="Pilot")
        run("create_judge", "floor", "--backend", "lexical")
        User.objects.create_user("rita", role="researcher")
        with pytest.raises(CommandError, match=f"did you mean '{meant}'"):
            run(*words)
