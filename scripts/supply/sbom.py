"""The bill of materials of a release: CycloneDX, from the lock of the site.

cyclonedx-bom lists the packages and their files. What a requirements file does not say is added:
licences, and which package needs which.
"""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from scripts.supply.licences import Rules, licence
from scripts.supply.locks import ROOT, Pinned, read
from tandem.version import VERSION

LOCK = "requirements.lock"
TANDEM = {
    "bom-ref": "tandem",
    "type": "application",
    "name": "tandem",
    "version": VERSION,
    "licenses": [{"license": {"id": "Apache-2.0"}}],
}
# A release has several files, and a machine installs the one that fits.
FILES = "the files of this release; an installation takes one of them"
# Bills of the same materials have the same number.
_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "tandem/bill-of-materials")


class BillError(RuntimeError):
    """A bill of materials that is not valid; the message says where."""


def bill(root: Path = ROOT) -> str:
    """Return the site's bill of materials as JSON.

    It lists each package with its version, licence, dependents, and the SHA-256 of the files that
    an installation may use.
    """
    path, rules = root / LOCK, Rules.load()
    number = uuid.uuid5(_NAMESPACE, f"{VERSION}\n{path.read_text('utf-8')}")
    made = _packages(path) | {"serialNumber": f"urn:uuid:{number}"}
    made["metadata"]["component"] = TANDEM
    for each in made["components"]:
        del each["description"]  # its line of the lock
        each["bom-ref"] = each["purl"]
        each["licenses"] = _licences(licence(each["name"], rules))
        each["externalReferences"][0] |= {"url": each["purl"], "comment": FILES}
    made["dependencies"] = list(_dependencies(read(path)))
    return json.dumps(made, indent=2)


def validate(text: str) -> None:
    """Validate a bill against CycloneDX's schema, which takes seconds. Raises BillError."""
    if error := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
        raise BillError(f"the bill of materials is not valid under its schema: {error}")


def _packages(lock: Path) -> dict[str, Any]:
    command = ["-m", "cyclonedx_py", "requirements", "--sv", "1.6", "--no-validate", str(lock)]
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True)
    if done.returncode:
        raise BillError(f"cyclonedx-bom cannot read {lock.name}: {done.stderr.strip()}")
    made: dict[str, Any] = json.loads(done.stdout)
    return made


def _licences(expression: str) -> list[dict[str, Any]]:
    if not expression:
        return []
    return [{"expression": expression} if " " in expression else {"license": {"id": expression}}]


def _dependencies(packages: Iterable[Pinned]) -> Iterator[dict[str, Any]]:
    """Yield what each package needs, from the dependents listed in the lock."""
    address = {each.name: f"pkg:pypi/{each.name}@{each.version}" for each in packages}
    needs: dict[str, list[str]] = {"tandem": [], **{name: [] for name in address}}
    for each in packages:
        for needing in [*each.via, *(["tandem"] if each.direct else ())]:
            needs[needing].append(address[each.name])
    for name, needed in needs.items():
        yield {"ref": address.get(name, name), "dependsOn": needed}
