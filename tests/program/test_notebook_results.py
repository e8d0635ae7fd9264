"""Tables of any kind come in, and results leave as frames, figures, LaTeX, and in a notebook."""

from __future__ import annotations

import asyncio
import csv
import html
import io
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tandem
from tandem import dataframes
from tandem.figures.files import Look
from tests.program.labels import rows
from tests.program.test_library import without_time

pytestmark = pytest.mark.once
ROWS = rows()
COLUMNS = list(dict.fromkeys(name for row in ROWS for name in row))
TABLE = pa.Table.from_pylist([{name: row.get(name) for name in COLUMNS} for row in ROWS])
JSON = dict[str, Any]


@pytest.fixture(scope="module")
def report() -> tandem.Report:
    return tandem.report(ROWS, resamples=50)


class TestOtherTables:
    def test_an_object_with_a_stream_of_arrow_is_a_table(self, report: tandem.Report) -> None:
        class Stream:
            """What frames of polars, DuckDB and others have in common."""

            def __arrow_c_stream__(self, requested_schema: object = None) -> object:
                return TABLE.__arrow_c_stream__(requested_schema)

        made = tandem.report(Stream(), resamples=50)
        assert without_time(made.json) == without_time(report.json)

    def test_ordered_categories_of_any_frame_are_a_scale(self) -> None:
        """A frame of polars passes its Enum on as an ordered dictionary of Arrow."""
        made = rows(20, ("rating",))
        codes = [row.get("value") for row in made]
        ordered = pa.DictionaryArray.from_arrays(
            pa.array([None if code is None else int(code) for code in codes], pa.int8()),
            pa.array(list("012345")),
            ordered=True,
        )
        plain = pa.Table.from_pylist([{**row, "missing": row.get("missing")} for row in made])
        table = plain.set_column(plain.column_names.index("value"), "value", ordered)

        class Stream:
            def __arrow_c_stream__(self, requested_schema: object = None) -> object:
                return table.__arrow_c_stream__(requested_schema)

        found = tandem.agreement(Stream(), "rating", resamples=20)
        assert found.measurement == "ordinal"
        assert found.categories == list("012345")

    def test_a_frame_of_polars_is_a_table(self, report: tandem.Report) -> None:
        polars = pytest.importorskip("polars")
        made = tandem.report(polars.from_arrow(TABLE), resamples=50)
        assert without_time(made.json) == without_time(report.json)
        assert isinstance(report.to_frame("polars"), polars.DataFrame)

    def test_a_file_of_parquet_is_a_table(self, report: tandem.Report, tmp_path: Path) -> None:
        path = tmp_path / "labels.parquet"
        pq.write_table(TABLE, path)
        for table in (path, str(path), [path]):
            assert without_time(tandem.report(table, resamples=50).json) == without_time(
                report.json
            )

    def test_a_report_is_computed_in_an_async_cell(self, report: tandem.Report) -> None:
        async def cell() -> JSON:
            return tandem.report(ROWS, resamples=50, check=True).json

        assert without_time(asyncio.run(cell())) == without_time(report.json)


class TestLeavingANotebook:
    def test_a_report_is_a_frame_with_the_rows_of_its_csv(self, report: tandem.Report) -> None:
        frame = report.to_frame("arrow")
        written = list(csv.DictReader(io.StringIO(report.text("csv"))))
        assert frame.column_names == list(written[0])
        assert frame.column("path").to_pylist() == [row["path"] for row in written]
        alpha = "/variables/answerable/agreement/krippendorff_alpha"
        (row,) = [row for row in frame.to_pylist() if row["path"] == alpha]
        expected = report["answerable"].alpha
        assert (row["value"], row["low"], row["high"]) == (
            expected.value,
            expected.low,
            expected.high,
        )
        assert (row["n"], row["method"], row["reason"]) == (60, expected.method, None)

    def test_the_frame_is_of_pandas_where_that_is_installed(
        self, report: tandem.Report, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert isinstance(report.to_frame(), pd.DataFrame)
        monkeypatch.setattr(dataframes, "find_spec", lambda name: None)
        assert isinstance(report.to_frame(), pa.Table)
        with pytest.raises(ImportError, match="pandas is not installed"):
            report.to_frame("pandas")
        with pytest.raises(ValueError, match="pandas, polars or arrow, not 'dask'"):
            report.to_frame("dask")  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        ("result", "value"),
        [
            (lambda r: r["answerable"], lambda r: r["answerable"].alpha),
            (lambda r: r.judge("llama"), lambda r: r.judge("llama").against().kappa),
            (
                lambda r: r.judge("llama").against("Ada"),
                lambda r: r.judge("llama").against("Ada").percent,
            ),
            (
                lambda r: r.judge("llama").alt_test(),
                lambda r: r.judge("llama").alt_test().json["winning_rate"],
            ),
            (lambda r: r.scores, lambda r: r.scores["coverage"]["bm25"]["mean"]),
            (
                lambda r: r.scores["coverage"],
                lambda r: r.scores["coverage"]["bm25"]["Ada"],
            ),
        ],
    )
    def test_every_result_is_a_frame_a_table_and_latex(
        self, report: tandem.Report, result: Any, value: Any
    ) -> None:
        found, expected = result(report), value(report)
        numbers = found.to_frame("arrow").to_pylist()
        known = [row["value"] for row in numbers if row["value"] is not None]
        assert float(expected) in known
        shown = found._repr_html_()
        assert shown.count("<table") == 1
        assert f"{float(expected):.3f}" in shown
        assert r"\begin{tabular}" in found.to_latex()
        assert f"{float(expected):.3f}" in found.to_latex()

    def test_names_in_a_table_are_escaped(self) -> None:
        made = [{**row, "rater": row["rater"].replace("gpt & co", "<script>")} for row in ROWS]
        shown = tandem.report(made, resamples=20)["answerable"]._repr_html_()
        assert "<script" not in shown
        assert "&lt;script&gt;" in shown

    def test_an_undefined_number_shows_its_reason(self) -> None:
        alone = [row for row in ROWS if row["rater"] == "Ada"]
        alpha = tandem.agreement(alone, resamples=20).alpha
        assert alpha.value is None
        assert alpha.reason
        assert html.escape(alpha.reason) in alpha._repr_html_()

    def test_latex_is_written_to_a_file(self, report: tandem.Report, tmp_path: Path) -> None:
        made = report.to_latex(tmp_path / "agreement.tex")
        assert (tmp_path / "agreement.tex").read_text("utf-8") == made
        assert made.split("%")[1:2] == report.text("latex").split("%")[1:2]

    def test_every_figure_that_a_report_names_can_be_drawn(self, report: tandem.Report) -> None:
        assert {"raters", "agreement", "coverage"} <= set(report.figures)
        for name, subjects in report.figures.items():
            for of in subjects:
                figure = report.figure(name, of)
                ElementTree.fromstring(figure._repr_svg_())
                assert figure.vega["$schema"].startswith("https://vega.github.io/schema/vega-lite")

    def test_a_figure_is_saved_by_the_ending_of_its_file(
        self, report: tandem.Report, tmp_path: Path
    ) -> None:
        figure = report.figure("raters", look=Look(tone="black", paper="column"))
        for suffix in ("svg", "json", "csv"):
            assert figure.save(tmp_path / f"raters.{suffix}").stat().st_size
        assert 'width="84mm"' in (tmp_path / "raters.svg").read_text("utf-8")
        with pytest.raises(ValueError, match="not available as docx"):
            figure.save(tmp_path / "raters.docx")

    def test_an_unknown_figure_is_answered_with_the_existing_ones(
        self, report: tandem.Report
    ) -> None:
        with pytest.raises(ValueError, match="no figure 'ratters'; there are"):
            report.figure("ratters")
        with pytest.raises(ValueError, match="no data for the figure 'thresholds'"):
            report.figure("thresholds")


def test_the_package_says_that_it_has_types() -> None:
    assert (Path(tandem.__file__).parent / "py.typed").exists()
