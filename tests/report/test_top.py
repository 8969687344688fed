"""The screen of `gamelane capture --live`, from flows made by hand."""

from __future__ import annotations

from typing import Any

from gamelane.report.top_terminal import ORDERS, screen, sentence


def flow(number: int, wait_ms: float | None = None, **more: Any) -> dict[str, Any]:
    return {
        "flow": number,
        "protocol": "udp",
        "kind": "game",
        "client": f"192.168.1.{number}:50000",
        "server": "203.0.113.77:27015",
        "packets_per_s": [33.3, 20.0],
        "bps": [26_400.0, 96_000.0],
        "rtt_ms": None,
        "wait_ms": wait_ms,
        "lost": 0,
        "late": 0,
        **more,
    }


def lines(flows: list[dict[str, Any]], order: str = "longest wait", width: int = 80, height: int = 24) -> list[str]:
    return screen(flows, "eth0 0:01", order, size=(width, height), paused=False).plain.split("\n")


def test_each_order_puts_its_highest_first() -> None:
    flows = [
        flow(0, 80.0, lost=1),
        flow(1, 900.0),
        flow(2, None, kind="other", protocol="tcp", rtt_ms=300.0),
        flow(3, bps=[9e6, 0.0]),
    ]
    first = [lines(flows, order)[5].split()[0] for order in ORDERS]
    assert first == ["1", "2", "3", "0"]


def test_the_numbers_stand_under_their_heads_and_fit() -> None:
    busy = flow(
        123456, 12_345.6, packets_per_s=[99_999.0, 99_999.0], bps=[9.9e8, 9.9e8], rtt_ms=1234.5, lost=99_999, late=9999
    )
    shown = lines([busy])
    assert len(shown) == 24
    assert shown[5] == "123456 game     99999/99999 990000/990000      1,234       12,346  99999  9999"
    assert [len(line) for line in shown[3:6]] == [78, 78, 78]
    # The head of each column of numbers ends where the numbers end.
    assert shown[3].split()[-5:] == ["trip", "longest", "wait", "lost", "late"]


def test_long_addresses_take_a_line_each_and_what_does_not_fit_is_counted() -> None:
    wide = "[2001:db8:1234:5678:9abc:def0:1234:5678]"
    flows = [flow(n, 50.0 - n, client=f"{wide}:50000", server=f"{wide}:27015") for n in range(9)]
    shown = lines(flows)
    assert shown[6:8] == [f"       {wide}:50000", f"       > {wide}:27015"]
    assert shown[-1] == "Sorted by longest wait, 3 more below. q quit, s sort, p pause"
    assert len(shown) == 24
    assert f"       {wide}:50000 > {wide}:27015" in lines(flows, width=110)


def test_a_tiny_terminal_gets_what_fits() -> None:
    shown = lines([flow(1, 5.0), flow(2, 4.0)], width=30, height=8)
    assert len(shown) == 8
    assert all(len(line) <= 30 for line in shown)


def test_the_sentence_says_how_the_games_are() -> None:
    other = flow(9, 5000.0, kind="other")
    assert sentence([]) == "No traffic in the last 10 s."
    assert sentence([other]) == "No game seen yet."
    assert sentence([flow(1, 20.0), other]) == "1 game or call: fine, no wait of 100 ms or more in the last 5 s"
    assert sentence([flow(1, 1250.0), flow(2), flow(3, 100.0)]) == "3 games or calls, 2 late: flow 1 waited 1,250 ms"
