"""LaTeX output prints every text literally, is plain ASCII, and names all packages it needs."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tandem.document import Cell, Number, Table
from tandem.formats import FORMATS
from tandem.formats.latex import MANY_FLOATS, split, tex
from tests.analysis.formats.test_formats import CAST
from tests.analysis.hostile import renamed
from tests.patience import PATIENCE

DOCUMENT = r"""\documentclass{article}
\usepackage[margin=25mm]{geometry}
\usepackage{PACKAGES}
\begin{document}
\input{report}
\end{document}
"""


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("text", "set_as"),
    [
        (r"\end{x}", r"\textbackslash{}end\{x\}"),
        ("50 % of $1 & #2_3", r"50 \% of \$1 \& \#2\_3"),
        ("~^<>|", r"\textasciitilde{}\textasciicircum{}\textless{}\textgreater{}\textbar{}"),
        ("dr--rank", "dr-{}-rank"),
        ("well-known, isn't it", "well-known, isn't it"),
        ("[x]*", "{[}x{]}{*}"),
        ("é ç ö", r"\'{e} \c{c} \"{o}"),
        ("Ada – Bram ≥ 3", r"Ada -- Bram $\geq$ 3"),
        ("🎉", r"\tandemunicode{127881}{1F389}"),
        ("ש\u0301", r"\tandemunicode{1513}{05E9}\tandemunicode{769}{0301}"),
        ("a\r\n\tb", "a b"),
        ("\x07", r"\tandemunicode{7}{0007}"),
    ],
)
def test_special_characters_of_a_text_are_escaped(text: str, set_as: str) -> None:
    assert tex(text) == set_as


def test_the_file_is_plain_ascii() -> None:
    text = FORMATS["latex"].render(renamed({**CAST, "campaign": "Ünï 🎉\n\\input{x}"}))
    assert text.isascii()
    assert re.search(r"^[^%]*\\input", text, re.MULTILINE) is None


def test_the_file_names_the_packages_that_it_needs() -> None:
    assert r"\usepackage{booktabs}" in FORMATS["latex"].render(CAST)
    systems = CAST["scores"]["coverage"]["systems"]
    many = {f"s{n}": systems["long"] for n in range(41)}
    coverage = {**CAST["scores"]["coverage"], "systems": many}
    text = FORMATS["latex"].render({**CAST, "scores": {"coverage": coverage}})
    assert r"\usepackage{booktabs,longtable}" in text
    assert r"\begin{longtable}" in text


def test_each_table_has_a_unique_label_and_its_own_rules() -> None:
    text = FORMATS["latex"].render(CAST)
    labels = re.findall(r"\\label\{(.*?)\}", text)
    assert len(labels) == len(set(labels)) == text.count(r"\begin{table}") > MANY_FLOATS
    for rule in ("toprule", "bottomrule"):
        assert text.count(f"\\{rule}") == len(labels)
    assert text.count(r"\clearpage") == len(labels) // MANY_FLOATS


def test_an_undefined_number_has_its_reason_under_the_table() -> None:
    lost = {"value": None, "low": None, "high": None, "n": 0, "method": "", "reason": "50 % lost"}
    agreement = {**CAST["variables"]["answerable"]["agreement"], "gwet_ac": lost}
    variable = {**CAST["variables"]["answerable"], "agreement": agreement}
    text = FORMATS["latex"].render({**CAST, "variables": {"answerable": variable}})
    assert "Gwet's AC & \\tandemundefined{a} & 0 \\\\" in text
    assert r"\textsuperscript{a} 50 \% lost" in text


def test_a_wide_table_is_split_into_several_with_the_same_rows() -> None:
    header = ("System", *(f"rater number {n}" for n in range(12)))
    row: tuple[Cell, ...] = ("bm25", *(Number(0.5, 0.25, 0.75) for _ in range(12)))
    parts = list(split(Table("t", header, (row,))))
    assert len(parts) > 1
    assert all(part.header[0] == "System" for part in parts)
    assert [name for part in parts for name in part.header[1:]] == list(header[1:])


def test_a_negative_number_has_a_minus_sign_not_a_hyphen() -> None:
    assert re.search(r"\{\$-\$0\.\d{3}\}", FORMATS["latex"].render(CAST))


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="there is no pdflatex here")
def test_a_report_with_hostile_names_compiles(tmp_path: Path) -> None:
    text = FORMATS["latex"].render(renamed(CAST))
    packages = re.search(r"\\usepackage\{(.*)\}", text)
    assert packages is not None
    (tmp_path / "report.tex").write_text(text, "utf-8")
    (tmp_path / "main.tex").write_text(DOCUMENT.replace("PACKAGES", packages[1]), "utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "main.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=PATIENCE, check=False)
    said = done.stdout.decode(errors="replace")
    if "booktabs.sty' not found" in said:
        pytest.skip("this TeX has no booktabs")
    assert done.returncode == 0, said[-2000:]
