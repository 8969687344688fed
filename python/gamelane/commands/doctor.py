"""`gamelane doctor`: checks what works on this machine, and how to get what is missing."""

from __future__ import annotations

from dataclasses import asdict

from rich.table import Table
from rich.text import Text

from gamelane import doctor as checks
from gamelane.terminal.talk import emit, progress, say, stdout


def doctor(json: bool, measure: bool, build_kernel: bool, fetch_kernel: bool) -> None:
    """Check what works on this machine, and how to get what is missing. With a `kernel`, get that instead."""
    if build_kernel:
        _build()
    if fetch_kernel:
        _fetch()
    if build_kernel or fetch_kernel:
        return
    found = checks.examine()
    if measure:
        found += checks.measure()
    if json:
        emit(
            {
                "schema": 1,
                "ok": all(check.ok for check in found if check.needed),
                "checks": [asdict(check) for check in found],
            }
        )
        return
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for check in found:
        mark = Text("ok", style="green") if check.ok else Text("missing" if check.needed else "no", style="yellow")
        remedy = f"{check.detail}; {check.remedy}" if check.remedy and not check.ok else check.detail
        table.add_row(mark, check.name, remedy)
    stdout().print(table)


def _build() -> None:
    """Build the kernel for guests, and show the progress."""
    from gamelane.guest import build, uml  # noqa: PLC0415 - only this needs them

    if build.is_current():
        say(f"{uml.cache() / uml.NAME} is there")
        return
    say(f"building {uml.cache() / uml.NAME}: {build.COSTS}")
    said = ""
    with progress(quiet=False) as bar:
        task = bar.add_task("kernel", total=100)

        def tell(step: str, share: float) -> None:
            nonlocal said
            if step != said:
                say(step)
                said = step
            bar.update(task, completed=round(share * 100))

        path = build.build(tell)
    say(f"built {path}\n  hint:    gamelane run household --engine kernel --vm")


def _fetch() -> None:
    """Fetch the kernel for guests of QEMU."""
    from gamelane.guest import cloud  # noqa: PLC0415 - only this needs it

    say(f"fetching Debian's kernel: {cloud.COSTS}")
    path = cloud.fetch()
    say(f"fetched {path}\n  hint:    GAMELANE_VM=qemu gamelane run household --engine kernel --vm")
