"""The bill of materials names all packages of the lock, and is valid by CycloneDX's schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scripts.supply.__main__ import main
from scripts.supply.locks import read
from scripts.supply.sbom import BillError, bill, validate
from tandem.version import VERSION
from tests.cast import ROOT

A, B = "a" * 64, "b" * 64
LOCK = f"""
django==5.2.19 \\
    --hash=sha256:{A} \\
    --hash=sha256:{B}
    # via -r requirements.txt
asgiref==3.12.1 --hash=sha256:{A}
    # via django
"""


@pytest.fixture
def small(tmp_path: Path) -> str:
    (tmp_path / "requirements.lock").write_text(LOCK, "utf-8")
    return bill(tmp_path)


def test_the_bill_of_materials_fits_the_cyclonedx_schema(small: str) -> None:
    assert json.loads(small)["specVersion"] == "1.6"
    validate(small)


def test_an_invalid_bill_of_materials_is_refused(small: str) -> None:
    wrong: dict[str, Any] = json.loads(small)
    wrong["components"][0]["type"] = "no such type"
    with pytest.raises(BillError, match="is not valid under its schema"):
        validate(json.dumps(wrong))


def test_dependencies_file_hashes_and_licences_are_listed(small: str) -> None:
    found: dict[str, Any] = json.loads(small)
    needs = {each["ref"]: each.get("dependsOn", []) for each in found["dependencies"]}
    assert needs == {
        "tandem": ["pkg:pypi/django@5.2.19"],
        "pkg:pypi/django@5.2.19": ["pkg:pypi/asgiref@3.12.1"],
        "pkg:pypi/asgiref@3.12.1": [],
    }
    (django,) = (each for each in found["components"] if each["name"] == "django")
    (files,) = django["externalReferences"]
    assert [each["content"] for each in files["hashes"]] == [A, B]
    assert django["licenses"] == [{"license": {"id": "BSD-3-Clause"}}]


def test_a_releases_bill_lists_each_package_with_its_licence_and_no_index() -> None:
    text = bill()
    found: dict[str, Any] = json.loads(text)
    assert found["metadata"]["component"]["version"] == VERSION
    made = {(each["name"], each["version"]) for each in found["components"]}
    assert made == {(each.name, each.version) for each in read(ROOT / "requirements.lock")}
    assert [each["name"] for each in found["components"] if not each.get("licenses")] == []
    assert "://" not in json.dumps(found["components"])


@pytest.mark.long
def test_the_command_writes_a_valid_bill_of_materials(tmp_path: Path) -> None:
    path = tmp_path / "new" / "bill.json"
    assert main(["sbom", str(path)]) == 0
    assert len(json.loads(path.read_text("utf-8"))["components"]) > 80
