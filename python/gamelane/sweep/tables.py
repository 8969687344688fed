"""Validates TOML tables with Pydantic, and turns its errors into refusals that name file, line, key and value.

A field's `description` is what the refusal prints after "allowed:".
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeVar, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from gamelane.sweep.axes import written
from gamelane.sweep.refusal import Source, SweepError

SCALAR = "text, a number, true or false"


class Table(BaseModel):
    """A table that refuses unknown keys. Values are not converted: `"1"` is not a number."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=True)


def _written(value: Any) -> str:
    if not isinstance(value, (str, int, float, bool)):
        raise ValueError(f"a value must be {SCALAR}")  # noqa: TRY004 - Pydantic collects ValueError only
    return written(value)


def _listed(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


Value = Annotated[str, BeforeValidator(_written)]
"""A scalar, as `--set` takes it."""

ValueOrValues = Annotated[list[Value], BeforeValidator(_listed)]

Model = TypeVar("Model", bound=Table)


def parse(source: Source, model: type[Model], *, hint: str | None = None) -> Model:
    """Read TOML text as this model."""
    try:
        values = tomllib.loads(source.text)
        if not values:
            raise SweepError(f"{source.path}: this file is empty" + (f"\n  hint:    {hint}" if hint else ""))
        return model.model_validate(values)
    except tomllib.TOMLDecodeError as error:
        raise SweepError(f"{source.path}: not valid TOML: {error}" + (f"\n  hint:    {hint}" if hint else "")) from None
    except ValidationError as error:
        raise _refusal(source, model, error) from None


def _refusal(source: Source, model: type[Table], error: ValidationError) -> SweepError:
    """Return a refusal for the first error."""
    first = error.errors(include_url=False)[0]
    steps = [step for step in first["loc"] if isinstance(step, str)]
    table, allowed = _place(model, steps)
    key = ".".join(steps)
    if first["type"] == "extra_forbidden":
        return source.unknown(key, steps[-1], [field.alias or name for name, field in table.model_fields.items()])
    if first["type"] == "missing":
        return source.refuse(key, "this key is required", allowed=allowed)
    if first["type"] == "literal_error":
        words = get_args(table.model_fields[steps[-1]].annotation)
        return source.unknown(key, str(first["input"]), words, f"unknown {steps[-1]} `{first['input']}`")
    message = first["msg"].removeprefix("Value error, ") if first["type"] == "value_error" else "wrong value"
    nested = isinstance(first["input"], Mapping) and len(steps) > 1
    hint = f'quote a dotted key: "{steps[-1]}.…" = …' if nested else None
    return source.refuse(key, message, given=first["input"], allowed=allowed, hint=hint)


def _place(model: type[Table], steps: Sequence[str]) -> tuple[type[Table], str | None]:
    """Return the table of a path's last key, and what is allowed there."""
    allowed = None
    for step in steps:
        field = next((each for name, each in model.model_fields.items() if step in (name, each.alias)), None)
        if field is not None:
            allowed, model = field.description, _table_in(field.annotation) or model
    return model, allowed


def _table_in(annotation: Any) -> type[Table] | None:
    if isinstance(annotation, type) and issubclass(annotation, Table):
        return annotation
    return next(filter(None, map(_table_in, get_args(annotation))), None)
