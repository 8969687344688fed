"""Lists the crates that are compiled into programs: their licences as a text, and an SBOM (CycloneDX 1.6).

`build.py` runs it with the Python of the tools, in the folder of the workspace. Both files depend on the lock file and
the commit only.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from os import environ
from pathlib import Path
from typing import Any

from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, XsUri
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import LicenseExpression
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from packageurl import PackageURL

sys.path.append(str(Path(__file__).resolve().parents[1]))
from packages.shell import read

LICENCE_FILE = re.compile(r"(licen[sc]e|copying|copyright|notice|unlicense)", re.IGNORECASE)
OTHER_NAMES = {"Apache-2.0/MIT": "Apache-2.0 OR MIT", "MIT/Apache-2.0": "MIT OR Apache-2.0"}
"""Expressions from before SPDX had OR."""
HEAD = """\
Other people's work in the programs of gamelane, and its licences.

The programs also contain Rust's standard library (MIT or Apache-2.0; https://github.com/rust-lang/rust).
The static programs contain musl, Copyright 2005-2020 Rich Felker and others, under MIT (https://musl.libc.org).
"""


@dataclass(frozen=True)
class Crate:
    """A crate that is compiled in."""

    name: str
    version: str
    licence: str
    authors: tuple[str, ...]
    repository: str | None
    folder: Path
    needs: tuple[str, ...]
    """Identities of crates that it needs."""

    @property
    def ours(self) -> bool:
        """Whether it is of this workspace."""
        return self.name.startswith("gamelane-")

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts of its licence files."""
        files = sorted(path for path in self.folder.iterdir() if path.is_file() and LICENCE_FILE.match(path.name))
        return tuple(
            "\n".join(line.rstrip() for line in path.read_text(encoding="utf-8").strip().splitlines()) for path in files
        )


def compiled_in(crates: Sequence[str], target: str) -> Mapping[str, Crate]:
    """Return every crate that ends up in one of these crates' programs, by identity."""
    chosen = [word for crate in crates for word in ("-p", crate)]
    words = ["--locked", "--target", target, "-e", "normal,no-proc-macro", "--prefix", "none", "--no-dedupe"]
    lines = read("cargo", "tree", "-q", *words, "-f", "{p}", *chosen).splitlines()
    linked = {tuple(line.split()[:2]) for line in lines}
    told = json.loads(read("cargo", "metadata", "-q", "--locked", "--format-version=1", f"--filter-platform={target}"))
    of = {each["id"]: each for each in told["packages"] if (each["name"], f"v{each['version']}") in linked}
    needs = {
        node["id"]: [dep["pkg"] for dep in node["deps"] if dep["pkg"] in of and _is_linked(dep)]
        for node in told["resolve"]["nodes"]
    }
    return {
        key: Crate(
            name=each["name"],
            version=each["version"],
            licence=OTHER_NAMES.get(each["license"], each["license"]),
            authors=tuple(each["authors"]),
            repository=each["repository"],
            folder=Path(each["manifest_path"]).parent,
            needs=tuple(sorted(needs[key])),
        )
        for key, each in sorted(of.items(), key=lambda item: (item[1]["name"], item[1]["version"]))
    }


def _is_linked(dependency: Mapping[str, Any]) -> bool:
    """Whether it is more than a dependency of tests or of the build."""
    return any(each["kind"] is None for each in dependency["dep_kinds"])


def licences(crates: Iterable[Crate]) -> str:
    """Return each text once, after the names of the crates that have it."""
    having = defaultdict(list)
    for crate in crates:
        name = f"{crate.name} {crate.version} ({crate.licence})"
        for text in crate.texts or [_usual_text(crate)]:
            having[text].append(name)
    parts = ["\n".join(["=" * 79, *names, "-" * 79, text, ""]) for text, names in having.items()]
    return "\n".join([HEAD, *parts])


def _usual_text(crate: Crate) -> str:
    """Return the text of MIT for a crate that allows it, and has no file of its licence."""
    if "MIT" not in crate.licence.split(" OR "):
        sys.exit(
            f"dist: {crate.name} has no file of its licence, {crate.licence}\n  hint:    write its text into {__file__}"
        )
    text = Path("LICENSE-MIT").read_text(encoding="utf-8").strip()
    authors = ", ".join(crate.authors) or f"the authors of {crate.name}"
    return text.replace("The gamelane authors", authors).replace(" 2026", "")


def sbom(crates: Mapping[str, Crate], commit: str, target: str) -> str:
    """Return the bill of materials as JSON."""
    lock = tomllib.loads(Path("Cargo.lock").read_text(encoding="utf-8"))
    checksums = {(each["name"], each["version"]): each.get("checksum") for each in lock["package"]}
    components = {key: _component(crate, checksums[crate.name, crate.version]) for key, crate in crates.items()}
    ours = next(crate for crate in crates.values() if crate.ours)
    all_of_it = Component(
        name="gamelane",
        version=ours.version,
        type=ComponentType.APPLICATION,
        licenses=[LicenseExpression(ours.licence)],
        bom_ref="gamelane",
    )
    made = datetime.fromtimestamp(int(environ["SOURCE_DATE_EPOCH"]), UTC)
    identity = uuid.uuid5(uuid.NAMESPACE_URL, f"gamelane/{commit}/{target}")
    bom = Bom(serial_number=identity, metadata=BomMetaData(component=all_of_it, timestamp=made))
    bom.components.update(components.values())
    bom.register_dependency(all_of_it, [components[key] for key, crate in crates.items() if crate.ours])
    for key, crate in crates.items():
        bom.register_dependency(components[key], [components[need] for need in crate.needs])
    return make_outputter(bom, OutputFormat.JSON, SchemaVersion.V1_6).output_as_string(indent=1)


def _component(crate: Crate, checksum: str | None) -> Component:
    pages = [ExternalReference(type=ExternalReferenceType.VCS, url=XsUri(crate.repository))] if crate.repository else []
    return Component(
        name=crate.name,
        version=crate.version,
        licenses=[LicenseExpression(crate.licence)],
        bom_ref=f"{crate.name}@{crate.version}",
        purl=None if crate.ours else PackageURL("cargo", name=crate.name, version=crate.version),
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=checksum)] if checksum else [],
        external_references=pages,
    )


def main() -> None:
    """Write both files."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    arguments.add_argument("--target", required=True)
    arguments.add_argument("--commit", required=True)
    arguments.add_argument("--licences", required=True, type=Path)
    arguments.add_argument("--sbom", required=True, type=Path)
    arguments.add_argument("crates", nargs="+")
    given = arguments.parse_args()
    crates = compiled_in(given.crates, given.target)
    given.licences.write_text(licences(crate for crate in crates.values() if not crate.ours), encoding="utf-8")
    given.sbom.write_text(sbom(crates, given.commit, given.target) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
