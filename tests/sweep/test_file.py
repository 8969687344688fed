"""Sweep files: what they say, and what is refused before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from gamelane.sweep import file, plan
from gamelane.sweep.refusal import SweepError

from .conftest import SWEEP, Write


def test_the_last_axis_moves_fastest_and_linked_keys_together(write: Write) -> None:
    sweep = file.read(
        write("""
            base = "{base}"
            [axes]
            "gateway.*.queue" = ["fifo", "codel"]
            [[linked]]
            "link.down" = ["12mbit", "50mbit"]
            "link.up" = ["1mbit", "20mbit"]
        """)
    )
    cells = [tuple(cell.values()) for cell in sweep.grid.cells()]
    assert cells == [
        ("fifo", "12mbit", "1mbit"),
        ("fifo", "50mbit", "20mbit"),
        ("codel", "12mbit", "1mbit"),
        ("codel", "50mbit", "20mbit"),
    ]


def test_filters_leave_what_they_say(write: Write) -> None:
    sweep = file.read(
        write(
            SWEEP
            + """
            [[only]]
            "link.rtt" = ["20ms", "40ms"]
            [[only]]
            "gateway.*.queue" = "fifo"
            [[skip]]
            "gateway.*.queue" = "fq_codel"
            "link.rtt" = "20ms"
            """
        )
    )
    cells = [tuple(cell.values()) for cell in sweep.grid.cells()]
    assert cells == [("fifo", "20ms"), ("fifo", "40ms"), ("fifo", "80ms"), ("fq_codel", "40ms")]


def test_repeats_count_up_from_the_scenarios_seed(write: Write) -> None:
    assert file.read(write(SWEEP.replace("seeds = [7, 8]", "repeats = 3"))).seeds == (7, 8, 9)
    assert file.read(write(SWEEP.replace("seeds = [7, 8]", "seeds = [40, 2]"))).seeds == (40, 2)
    assert file.read(write(SWEEP.replace("seeds = [7, 8]", ""))).seeds == (7,)


@pytest.mark.parametrize("settings", ['duration = "8s"\nwarmup = "2s"', 'warmup = "2s"\nduration = "8s"'])
def test_the_order_of_settings_makes_no_difference(write: Write, settings: str) -> None:
    planned = plan.make(file.read(write(SWEEP.replace("[axes]", f"[set]\n{settings}\n[axes]"))))
    assert len(planned.runs) == len(planned.cells) * 2


def test_the_grid_of_the_paper_has_1120_runs() -> None:
    planned = plan.make(file.read("collom2016"))
    assert len(planned.runs) == 2 * 8 * 5 * 2 * 7
    assert {cell.values["link.up"] for cell in planned.cells if cell.values["link.down"] == "12mbit"} == {"1mbit"}


@pytest.mark.parametrize(
    ("before", "after", "complaints"),
    [
        ("[axes]", "[axis]", ["`axis`", "line 5", "did you mean `axes`"]),
        ('"link.rtt" =', '"link.rtr" =', ["`axes.link.rtr`", "line 7", "no such key", 'did you mean "rtt"']),
        ('"link.rtt" =', '"flow.quak.model" =', ["no flow `quak`", "quake3"]),
        ('"80ms"', '"80furlongs"', ["`axes.link.rtt`", "line 7", "80furlongs"]),
        ('"fq_codel"', '"fq_coddle"', ["`axes.gateway.*.queue`", "fq_coddle", "did you mean"]),
        ('["20ms", "40ms", "80ms"]', '"20ms"', ["list of values"]),
        ('["20ms", "40ms", "80ms"]', "[]", ["list of values"]),
        ('["20ms", "40ms", "80ms"]', '["20ms", "20ms"]', ["twice"]),
        ('"link.rtt" =', '"seed" =', ["seeds cannot be an axis", "repeats"]),
        ("seeds = [7, 8]", "seeds = [7, 7]", ["`seeds`", "line 3", "different"]),
        ("seeds = [7, 8]", "seeds = [7]\nrepeats = 2", ["not both"]),
        ("seeds = [7, 8]", "repeats = 0", ["1 or more"]),
        ('base = "{base}"', "", ["`base`", "required"]),
        ('base = "{base}"', 'base = "houshold"', ["`base`", "did you mean `household`"]),
        (
            "p99(quake3.rtt)",
            "p99(quake3.rrt)",
            ["`budget.p99(quake3.rrt)`", "line 10", "did you mean `p99(quake3.rtt)`"],
        ),
        ("p99(quake3.rtt)", "p98(quake3.rtt)", ["unknown metric", "p99(quake3.rtt)"]),
        ("p99(quake3.rtt)", "p99(doom.rtt)", ["unknown metric"]),
        ('"<= 120ms"', '"120ms"', ["not a bound", "<= 80ms"]),
        ('"<= 120ms"', '"<= 120mbit"', ["`120mbit` is not a bound", "<= 80ms"]),
        ("[budget]", '[[skip]]\n"link.rtt" = ["20ms", "40ms", "80ms"]\n[budget]', ["`skip`", "no combination is left"]),
        ("[budget]", '[[skip]]\n"link.rtt" = "30ms"\n[budget]', ["no such value", "30ms", "20ms, 40ms, 80ms"]),
        ("[budget]", '[[only]]\n"link.up" = "1mbit"\n[budget]', ["no axis varies this key", "link.rtt"]),
        ("[budget]", '[set]\n"link.upp" = "1mbit"\n[budget]', ["`set.link.upp`", "did you mean"]),
        (
            "[budget]",
            '[[linked]]\n"link.up" = ["1mbit"]\n"link.down" = ["1mbit", "2mbit"]\n[budget]',
            ["equally many values", "link.down has 2"],
        ),
        ("[budget]", '[plot.p]\nkind = "pie"\n[budget]', ["`plot.p.kind`", "unknown kind `pie`", "heat"]),
        ("[budget]", '[plot.p]\nx = "link.rt"\n[budget]', ["no axis varies this key", "did you mean `link.rtt`"]),
        (
            "[budget]",
            '[plot.p]\nx = "link.rtt"\nmetric = "p99(quake3.rt)"\n[budget]',
            ["`plot.p.metric`", "unknown metric"],
        ),
        ("[budget]", "budget]", ["not valid TOML"]),
        ("seeds = [7, 8]", 'seeds = ["7"]', ["`seeds`", "given:   7", "whole numbers"]),
        ("seeds = [7, 8]", "seeds = [-1]", ["`seeds`", "given:   -1"]),
        ("seeds = [7, 8]", 'repeats = "2"', ["`repeats`", "line 3", "given:   2", "1 or more"]),
        ('base = "{base}"', "base = 3", ["`base`", "given:   3", "a path to a scenario"]),
        ('"link.rtt" =', "link.rtt =", ["`axes.link`", "list of values", "quote a dotted key"]),
        ('"80ms"', '{ a = "80ms" }', ["`axes.link.rtt`", "text, a number, true or false"]),
        ('"<= 120ms"', "120", ["not a bound", "given:   120"]),
        ("[budget]", '[plot.p]\nkid = "box"\nx = "link.rtt"\n[budget]', ["`plot.p.kid`", "did you mean `kind`"]),
        ("[budget]", '[plot.p]\nkind = "box"\n[budget]', ["`plot.p.x`", "required"]),
        ("[budget]", "[plot]\np = 3\n[budget]", ["`plot.p`", "given:   3", "[plot.NAME]"]),
        ("[budget]", "only = 3\n[budget]", ["given:   3"]),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_hint(
    before: str, after: str, complaints: list[str], write: Write
) -> None:
    assert before in SWEEP
    with pytest.raises(SweepError) as refusal:
        plan.make(file.read(write(SWEEP.replace(before, after))))
    for complaint in complaints:
        assert complaint in str(refusal.value)


def test_values_that_do_not_go_together_blame_the_combination(write: Write) -> None:
    text = SWEEP.replace('"link.rtt" = ["20ms", "40ms", "80ms"]', '"gateway.*.target" = ["5ms", "10ms"]')
    with pytest.raises(SweepError) as refusal:
        plan.make(file.read(write(text)))
    assert "gateway.*.queue=fifo" in str(refusal.value)
    assert "target" in str(refusal.value)


def test_a_base_beside_the_sweep_goes_before_a_shipped_one(household: Path, tmp_path: Path) -> None:
    (tmp_path / "household.toml").write_text(household.read_text())
    (tmp_path / "s.toml").write_text('base = "household.toml"\n[axes]\n"link.rtt" = ["1ms"]\n')
    assert file.read(tmp_path / "s.toml").base.name == "short"
