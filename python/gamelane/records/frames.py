"""Tables of a run as polars frames. The recorder describes and fills them (`_native.tables`, docs/records.md).

Every table starts with the columns `variant` and `seed`, so that tables of several runs can be concatenated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from gamelane import _native

TABLES = tuple(table["name"] for table in _native.tables())
"""Names of the tables."""


def joined(runs: Sequence[Mapping[str, pl.DataFrame]]) -> dict[str, pl.DataFrame]:
    """Return the tables of several runs, one below the other."""
    return {name: pl.concat([run[name] for run in runs]) for name in TABLES}


def frames(
    run: _native.Run, *, variant: str, variants: Sequence[str], flows: Sequence[str] | None = None
) -> dict[str, pl.DataFrame]:
    """Return every table of a run. `flows` names the flows of all variants; the default is the flows of this run."""
    common = [
        pl.lit(variant, dtype=pl.Enum(variants)).alias("variant"),
        pl.lit(run.seed, dtype=pl.UInt64).alias("seed"),
    ]
    names = None if flows is None else list(flows)
    return {name: pl.DataFrame(run.table(name, names)).select(*common, pl.all()) for name in TABLES}
