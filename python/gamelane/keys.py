"""The keys of a scenario as `--set` takes them, such as `gateway.*.queue`, and the words that each allows.

They come from the JSON Schema. Keys of classes and rules are left out, because they go by names that a file chooses.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from gamelane import _native

BOTH_WAYS = ("gateway.up.", "gateway.down.")


def keys(flows: Sequence[str] = ("*",)) -> dict[str, list[str]]:
    """Return every key with its words; a key of numbers or texts has none. `flows` are the names of the flows."""
    schema = json.loads(_native.schema())
    found = dict(_below(schema, schema, "", flows))
    for key in list(found):
        if key.startswith(BOTH_WAYS[0]) and key.replace(*BOTH_WAYS) in found:
            found[f"gateway.*.{key.removeprefix(BOTH_WAYS[0])}"] = found[key]
    return dict(sorted(found.items()))


def _below(schema: dict[str, Any], node: dict[str, Any], place: str, flows: Sequence[str]) -> Iterator[Any]:
    """Yield the keys of a table, and of the tables in it."""
    for name, given in node.get("properties", {}).items():
        key = f"{place}{name}"
        if key == "flow":
            table = _resolved(schema, given["items"])
            for flow in flows:
                yield from _below(schema, table, f"flow.{flow}.", flows)
            continue
        forms = list(_forms(schema, given))
        if any(form.get("type") != "object" for form in forms):
            yield key, list(dict.fromkeys(word for form in forms for word in _words(form)))
        for form in forms:
            yield from _below(schema, form, f"{key}.", flows)


def _forms(schema: dict[str, Any], node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the forms that a value may have: a text, a table, `false`."""
    node = _resolved(schema, node)
    inner = [*node.get("anyOf", ()), *node.get("oneOf", ())]
    for form in inner:
        yield from _forms(schema, form)
    if not inner:
        yield node


def _resolved(schema: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = node
    while "$ref" in found:
        found = schema["$defs"][found["$ref"].rpartition("/")[2]]
    return found


def _words(form: dict[str, Any]) -> list[str]:
    if form.get("type") == "boolean":
        return ["true", "false"]
    words = [form["const"]] if "const" in form else form.get("enum", [])
    return [str(word).lower() if isinstance(word, bool) else str(word) for word in words]
