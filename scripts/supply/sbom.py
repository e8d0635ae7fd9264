"""The bill of materials of a release: CycloneDX, from the lock of the site."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, XsUri
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

from scripts.supply.licences import Rules, licence
from scripts.supply.locks import ROOT, Pinned, read
from tandem.version import VERSION

LOCK = "requirements.lock"
OWN_LICENCE = "Apache-2.0"
# Bills of the same materials have the same number.
_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "tandem/bill-of-materials")


class BillError(RuntimeError):
    """A bill of materials that is not valid; the message says where."""


def bill(root: Path = ROOT) -> str:
    """Return the site's bill of materials as JSON.

    It lists each package with its version, licence, dependents, and the SHA-256 of the files that
    an installation may use.
    """
    packages, rules = read(root / LOCK), Rules.load()
    lock = (root / LOCK).read_text("utf-8")
    made = Bom(serial_number=uuid.uuid5(_NAMESPACE, f"{VERSION}\n{lock}"))
    tandem = Component(
        name="tandem",
        version=VERSION,
        type=ComponentType.APPLICATION,
        bom_ref="tandem",
        licenses=[LicenseFactory().make_from_string(OWN_LICENCE)],
    )
    made.metadata.component = tandem
    components = {each.name: _component(each, licence(each.name, rules)) for each in packages}
    made.components.update(components.values())
    made.register_dependency(tandem, (components[each.name] for each in packages if each.direct))
    for name, needed in _needs(packages).items():
        made.register_dependency(components[name], (components[each] for each in needed))
    return str(JsonV1Dot6(made).output_as_string(indent=2))


def validate(text: str) -> None:
    """Validate a bill against CycloneDX's schema, which takes seconds. Raises BillError."""
    if error := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
        raise BillError(f"the bill of materials is not valid under its schema: {error}")


def _component(package: Pinned, expression: str) -> Component:
    address = PackageURL("pypi", None, package.name, package.version)
    hashes = [HashType(alg=HashAlgorithm.SHA_256, content=each) for each in package.hashes]
    # A release has several files, and a machine installs the one that fits.
    files = ExternalReference(
        type=ExternalReferenceType.DISTRIBUTION,
        url=XsUri(str(address)),
        comment="the files of this release; an installation takes one of them",
        hashes=hashes,
    )
    return Component(
        name=package.name,
        version=package.version,
        bom_ref=str(address),
        purl=address,
        licenses=[LicenseFactory().make_from_string(expression)] if expression else (),
        external_references=[files],
    )


def _needs(packages: Iterable[Pinned]) -> Mapping[str, list[str]]:
    """Return each package's dependencies, from the dependents listed in the lock."""
    found: dict[str, list[str]] = {each.name: [] for each in packages}
    for each in packages:
        for needing in each.via:
            found[needing].append(each.name)
    return found
