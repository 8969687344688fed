"""Short labels for the values of linked keys, so that tables and figures have room for them.

A label is the value of the first key. Where that is listed several times, the label adds the other keys whose value
is not their usual one: `fifo`, `priority`, `priority, acks prioritise`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


def labels(words: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return one label for each row of values. `words` are the short names of the keys."""
    usual = [Counter(column).most_common(1)[0][0] for column in zip(*rows, strict=True)]
    times = Counter(row[0] for row in rows)
    short = tuple(row[0] if times[row[0]] == 1 else ", ".join(_unusual(words, row, usual)) for row in rows)
    return short if len(set(short)) == len(rows) else tuple(" / ".join(row) for row in rows)


def _unusual(words: Sequence[str], row: Sequence[str], usual: Sequence[str]) -> list[str]:
    more = [
        f"{word} {value.strip('{} ')}".replace('"', "")
        for word, value, most in list(zip(words, row, usual, strict=True))[1:]
        if value != most
    ]
    return [row[0], *more]
