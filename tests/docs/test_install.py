"""The page on installing names what the package declares."""

from __future__ import annotations

import re
import tomllib

from tandem.program.processes import INSTALLED
from tests.cast import ROOT
from tests.docs.markdown import read

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PAGE = " ".join(read("how-to/install.md").split())
README = " ".join((ROOT / "README.md").read_text("utf-8").split())


def test_it_lists_every_extra_with_the_packages_of_the_small_ones() -> None:
    rows = dict(re.findall(r"^\| `\[(\w+)\]` \| (.*?) \|", read("how-to/install.md"), re.MULTILINE))
    extras = PROJECT["optional-dependencies"]
    assert set(rows) == set(extras)
    for extra in set(extras) - {"server"}:
        for package in extras[extra]:
            assert re.split(r"[\[>=<]", package)[0] in rows[extra]


def test_the_versions_of_python_are_those_that_the_package_names() -> None:
    named = [
        classifier.rpartition(" ")[2]
        for classifier in PROJECT["classifiers"]
        if re.search(r":: 3\.\d+$", classifier)
    ]
    assert PROJECT["requires-python"] == f">={named[0]}"
    for text in (PAGE, README):
        assert f"Python {named[0]} to {named[-1]}" in text


def test_both_name_the_distribution_and_its_program() -> None:
    assert PROJECT["name"] == "tandem-eval"
    assert set(PROJECT["scripts"]) == {"tandem", "tandem-eval"}
    for text in (PAGE, README):
        assert 'uvx "tandem-eval[server]" demo' in text
        assert "pip wheel --no-deps --wheel-dir dist ." in text


def test_the_first_commands_are_explained() -> None:
    assert [
        verb for verb in INSTALLED if verb != "work" and f"| `tandem {verb}` |" not in PAGE
    ] == []
