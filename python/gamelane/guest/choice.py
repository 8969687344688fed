"""Chooses the kind of guest for `--vm`: User-Mode-Linux if its kernel is there, else QEMU.

`GAMELANE_VM` names a kind. `uml` and `qemu` run in virtual time; `kvm` is QEMU in real time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from gamelane.errors import LabError, UsageError, did_you_mean
from gamelane.guest.kinds import Guest
from gamelane.guest.qemu import Qemu
from gamelane.guest.uml import UserModeLinux

VARIABLE = "GAMELANE_VM"


def choose() -> Guest:
    """Return the guest of the named kind, else the first that is there; raise `LabError` if there is none."""
    kind = os.environ.get(VARIABLE)
    if kind:
        if kind not in KINDS:
            hint = did_you_mean(kind, tuple(KINDS))
            raise UsageError(f"{VARIABLE}={kind}: unknown kind of guest\n  allowed: {', '.join(KINDS)}{hint}")
        return KINDS[kind]()
    try:
        return UserModeLinux.find()
    except LabError as error:
        try:
            return Qemu.fastest()
        except LabError as other:
            why, _, hint = str(other).removeprefix("--vm: ").partition("\n  hint:    ")
            raise LabError(f"{error}\n           or use QEMU: {why}; {hint}") from None


KINDS: Mapping[str, Callable[[], Guest]] = {"uml": UserModeLinux.find, "qemu": Qemu.find, "kvm": Qemu.with_kvm}
