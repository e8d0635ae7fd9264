"""Two spellings of one number in a labels file are one category."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tandem
from tandem.files.rows import InputError

HEAD = "item,unit,variable,rater,rater_kind,value\n"


def report(folder: Path, spell: dict[str, str], level: str, **more: str) -> Any:
    """Two people who always agree on 1, 2 or 3, each in a spelling of its own."""
    path = folder / "labels.csv"
    lines = [
        f"i{n},u,rating,{rater},{'judge' if rater == 'J' else 'human'},{n % 3 + 1}{ending}\n"
        for n in range(30)
        for rater, ending in (spell | more).items()
    ]
    path.write_text(HEAD + "".join(lines), encoding="utf-8")
    levels: Any = {"rating": level}
    return tandem.report(path, levels=levels, resamples=10).json["variables"]["rating"]


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_a_column_that_a_data_frame_wrote_with_decimals_agrees(tmp_path: Path, level: str) -> None:
    found = report(tmp_path, {"Ada": "", "Bram": ".0"}, level, J=".00")
    assert found["categories"] == ["1", "2", "3"]
    assert found["agreement"]["percent"]["value"] == 1
    assert found["agreement"]["krippendorff_alpha"]["value"] == 1
    assert found["agreement"]["pairs"][0]["cohen_kappa"]["value"] == 1
    assert found["judges"]["J"]["agreement"]["percent"]["value"] == 1


def test_without_an_order_a_spelling_that_everyone_uses_stays(tmp_path: Path) -> None:
    found = report(tmp_path, {"Ada": ".0", "Bram": ".0"}, "nominal")
    assert found["categories"] == ["1.0", "2.0", "3.0"]


@pytest.mark.parametrize("value", ["1e71", "-1e308", "1_0", "1e400", "nan"])
def test_what_is_no_usable_number_is_refused_with_its_line(tmp_path: Path, value: str) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(f"{HEAD}i,u,rating,Ada,,1\ni,u,rating,Bram,,{value}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"line 3: rating is .*, which is not a number"):
        tandem.report(path, levels={"rating": "interval"})
