"""The list of what is in the programs is whole and valid, and every licence is beside them."""

from __future__ import annotations

import json
import subprocess
import tomllib
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from tests.installed.places import MACHINE, ROOT, made


@pytest.fixture(scope="module")
def written() -> str:
    return made(f"gamelane-*-{MACHINE}.cdx.json").read_text()


@pytest.fixture(scope="module")
def sbom(written: str) -> dict[str, Any]:
    listed: dict[str, Any] = json.loads(written)
    return listed


def test_it_is_valid(written: str) -> None:
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(written) is None


def test_it_names_no_folder_of_a_machine(written: str) -> None:
    assert str(ROOT) not in written
    assert "/.cargo/" not in written


def test_every_program_needs_crates_and_each_is_listed(sbom: dict[str, Any]) -> None:
    needs = {each["ref"]: each.get("dependsOn", []) for each in sbom["dependencies"]}
    assert needs.keys() == {"gamelane", *(each["bom-ref"] for each in sbom["components"])}
    reached, next_ones = set(), ["gamelane"]
    while next_ones:
        one = next_ones.pop()
        if one not in reached:
            reached.add(one)
            next_ones += needs[one]
    assert reached == needs.keys()
    for program in ("gateway", "impair", "generator", "proxy", "py"):
        assert any(one.startswith(f"gamelane-{program}@") for one in reached)


def test_crates_of_tests_are_no_needs(sbom: dict[str, Any]) -> None:
    needs = {each["ref"].split("@")[0]: each.get("dependsOn", []) for each in sbom["dependencies"]}
    assert "tempfile" not in [each.split("@")[0] for each in needs["gamelane-gateway"]]


def test_crates_have_the_checksums_of_the_lock_file(sbom: dict[str, Any]) -> None:
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    checksums = {(each["name"], each["version"]): each.get("checksum") for each in lock}
    for each in sbom["components"]:
        [content] = [found["content"] for found in each.get("hashes", [])] or [None]
        assert content == checksums[each["name"], each["version"]]


def test_each_crate_of_others_is_beside_its_licence(sbom: dict[str, Any]) -> None:
    archive = made(f"gamelane-*-{MACHINE}-linux.tar.gz")
    words = ["tar", "-xzOf", str(archive), "--wildcards", "*/third-party.txt"]
    licences = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    others = [each for each in sbom["components"] if not each["name"].startswith("gamelane-")]
    assert len(others) > 100
    for each in others:
        [licence] = each["licenses"]
        assert f"{each['name']} {each['version']} ({licence['expression']})\n" in licences
