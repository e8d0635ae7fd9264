"""Functions on which the benchmarks' figures depend."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.files import MOST_MEMORY
from benchmarks.files import lines as file_lines
from benchmarks.material import write_tasks
from benchmarks.page import SHAPES, WORDS, lines, text_of
from benchmarks.person import WrongPageError, fill_in
from benchmarks.processes import FailedError, python
from benchmarks.reference import FIGURES, Figure
from benchmarks.visit import linked_files
from datasets.readers import read

PAGE = """
<div class="reading" data-text="report" data-marks>A &lt;b&gt; &amp; 🛶 text that is long enough
to be quoted from its start on.</div>
<form data-submit="/tasks/x/submit" data-version="2" data-seen="1">
<input type="hidden" name="unit-0" value="q&amp;0"><input type="radio" name="unit-0-answerable">
<input type="hidden" name="unit-1" value="q1"></form>
"""


class TestTasks:
    def test_tasks_have_the_requested_size(self, tmp_path: Path) -> None:
        path = write_tasks(tmp_path / "t.jsonl", count=5, questions=2, characters=4000)
        queries = [located.query for located in read([path], "native")]
        assert [len(query.reports[0].text) for query in queries] == [4000] * 5
        assert all(len(query.questions) == 2 for query in queries)

    def test_tasks_are_the_same_every_time(self, tmp_path: Path) -> None:
        first = write_tasks(tmp_path / "a.jsonl", 3, 0, 500)
        second = write_tasks(tmp_path / "b.jsonl", 3, 0, 500)
        assert first.read_bytes() == second.read_bytes()

    def test_texts_contain_quotes_accents_and_line_breaks_like_real_ones(
        self, tmp_path: Path
    ) -> None:
        text = write_tasks(tmp_path / "t.jsonl", 20, 0, 4000).read_text("utf-8")
        assert all(mark in text for mark in ('\\"so\\"', "café", "€", "\\n"))


class TestTheLongItem:
    @pytest.mark.first_case
    @pytest.mark.parametrize("paragraph", SHAPES.values())
    def test_the_long_text_has_the_requested_number_of_words(self, paragraph: int) -> None:
        text = text_of(WORDS, paragraph)
        assert len(text.split()) == WORDS == 20_000
        assert text.count("\n\n") == -(-WORDS // paragraph) - 1
        assert text.count("🛶") == 40
        assert text == text_of(WORDS, paragraph)

    def test_figures_are_printed_under_the_names_of_their_texts(self) -> None:
        figures = {"paragraphs": {"key_median": 20.04}, "one paragraph": {"key_median": 31.0}}
        head, row = lines(figures).splitlines()
        assert head.split()[-3:] == ["paragraphs", "one", "paragraph"]
        assert row.split() == ["key", "median", "20.0", "31.0"]


class TestAnswering:
    def test_the_form_answers_every_unit_of_the_page(self) -> None:
        where, form = fill_in(PAGE)
        assert where == "/tasks/x/submit"
        assert (form["version"], form["seen"]) == ("2", "1")
        assert (form["unit-0"], form["unit-1"]) == ("q&0", "q1")
        assert (form["unit-0-answerable"], form["unit-1-answerable"]) == ("yes", "no")

    def test_the_quote_is_the_text_with_entities_decoded(self) -> None:
        (quote,) = json.loads(fill_in(PAGE)[1]["unit-0-evidence"])
        assert quote["quote"].startswith("A <b> & 🛶 text")
        assert len(quote["quote"]) == 40
        assert quote["start"] == 0

    def test_each_answer_has_a_new_idempotency_key(self) -> None:
        assert fill_in(PAGE)[1]["key"] != fill_in(PAGE)[1]["key"]

    def test_another_page_is_not_taken_for_an_item(self) -> None:
        with pytest.raises(WrongPageError, match="no item's page"):
            fill_in("<h1>All done</h1>")


class TestLinks:
    def test_a_page_needs_its_scripts_styles_and_icons(self) -> None:
        page = '<link rel="icon" href="/i.svg"><script src="a.js" defer></script><a href="/x">x</a>'
        assert linked_files("http://h/t/", "text/html", page) == {
            "http://h/i.svg",
            "http://h/t/a.js",
        }

    def test_a_style_sheet_needs_linked_files_but_not_embedded_ones(self) -> None:
        style = "a{background:url(data:x)} @font-face{src:url('f.woff2')} @import \"b.css\";"
        found = linked_files("http://h/s/a.css", "text/css", style)
        assert found == {"http://h/s/f.woff2", "http://h/s/b.css"}

    def test_a_script_module_needs_its_imports_but_no_other_strings(self) -> None:
        module = (
            'import "./a.js";\nimport {x} from "./b.js";\n'
            'export function f() {\n  // a lab\'s word: "no.js"\n}\nexport * from "../c.js";'
        )
        found = linked_files("http://h/s/js/m.js", "text/javascript", module)
        assert found == {"http://h/s/js/a.js", "http://h/s/js/b.js", "http://h/s/c.js"}


class TestFiles:
    ROW = {
        "name": "export labels as csv", "rows": 10, "seconds": 2.0, "rows_per_second": 5.0,
        "processor_seconds": 1.0, "peak_mb": MOST_MEMORY, "file_mb": 0.1,
    }  # fmt: skip

    def said(self, **changed: object) -> str:
        return file_lines({"sqlite": {"rows": [self.ROW | changed]}}).splitlines()[-1]

    def test_an_export_passes_or_misses_its_bar(self) -> None:
        assert " holds: at most 250 MB" in self.said()
        assert " missed: at most 250 MB" in self.said(peak_mb=MOST_MEMORY + 1)

    def test_an_import_has_no_bar(self) -> None:
        assert "at most" not in self.said(name="import_labels, labels", peak_mb=9_000.0)


class TestComparing:
    def test_a_ratio_says_how_many_times_better(self) -> None:
        rate = Figure("a", "a", "1/s", best=100, more_is_better=True)
        time = Figure("b", "b", "ms", best=100)
        assert rate.ratio(250) == time.ratio(40) == 2.5

    def test_without_a_reference_there_is_no_ratio(self) -> None:
        assert Figure("a", "a", "s").ratio(3) is None

    def test_no_figure_is_listed_twice(self) -> None:
        keys = [figure.key for figure in FIGURES]
        assert len(set(keys)) == len(keys)


class TestProcesses:
    def test_a_process_is_measured_by_itself(self) -> None:
        cost = python("-c", "x = 'x' * 60_000_000; print('{\"done\": 1}')", env={})
        assert cost.answer() == {"done": 1}
        assert cost.peak_mb > 60
        assert cost.processor > 0
        assert cost.wall > 0

    def test_a_failing_process_says_why(self) -> None:
        with pytest.raises(FailedError, match="exit status 3"):
            python("-c", "import sys; print('sorry'); sys.exit(3)", env={})
