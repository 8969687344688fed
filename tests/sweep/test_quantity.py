"""Numbers with units: the reader of scenarios, seen from Python."""

import pytest

from gamelane import _native, quantity


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("10min", "s", 600.0),
        ("64KiB", "B", 65536.0),
        ("64kb", "B", None),
        ("80MS", "ms", None),
        ("4.2", "", 4.2),
        ("nan", "", None),
        ("1e3ms", "ms", None),
    ],
)
def test_texts_are_those_of_scenarios(text: str, unit: str, value: float | None) -> None:
    assert quantity.parse(text, unit) == value


def test_examples_name_the_units_and_are_read() -> None:
    assert quantity.example("ms") == "80ms (in ns, us, ms, s, min, h, d)"
    for unit in ("ms", "s", "B", "bit/s", "share", ""):
        assert quantity.parse(quantity.example(unit).split(" ")[0], unit) is not None


def test_any_quantity_has_a_magnitude() -> None:
    assert [quantity.magnitude(text) for text in ("0ms", "100p", "1KiB", "2kbit", "7")] == [
        0.0,
        100.0,
        1024.0,
        2e3,
        7.0,
    ]
    assert quantity.magnitude("fq_codel") is None


def test_errors_name_the_allowed_forms() -> None:
    with pytest.raises(ValueError, match=r"needs a unit\n  allowed: a number and bit, kbit, mbit or gbit.*\n  hint: "):
        _native.read_quantity("12", "rate")
    with pytest.raises(KeyError):
        _native.read_quantity("12mbit", "speed")
