"""QEMU with Debian's cloud kernel: where User-Mode-Linux is not there, or to have a second opinion.

Without KVM the processor is emulated, and its clock counts instructions (`icount`): each takes 1 ns, and an idle
processor jumps to the next timer. So the host's load cannot show. Root and case are in memory, and chance has a seed:
nothing from outside reaches the guest before its last step, which hands the results over. With KVM the guest runs in
real time.
"""

from __future__ import annotations

import os
import shlex
import shutil
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from gamelane.errors import LabError
from gamelane.guest import cloud, kvm, root
from gamelane.guest.config import Config
from gamelane.guest.cpio import PROGRAM, Archive
from gamelane.guest.kinds import SCRIPT
from gamelane.lab.kernel.available import Available

EMULATOR = "qemu-system-x86_64"
PACKAGE = "qemu-system-x86"
BEGINS = "2023-11-14T22:13:20"
"""Wall clock of a guest in virtual time when it boots, UTC. It is always the same, so that runs repeat."""
MEMORY_MIB = 4096
"""Memory of a guest. The host gives it pages as they are used."""
CPU = "max,-erms,-fsrm"
"""Emulated, `rep movsb` takes a step for each byte. Without these features the guest copies in another way."""
OPTIONS = (
    *("console=ttyS0", "quiet", "panic=-1", "nokaslr", "tsc=reliable", "random.trust_cpu=on"),
    *("mitigations=off", "init_on_alloc=0", "audit=0", "apparmor=0"),
)
"""Options of the kernel. Protection of the guest from itself costs time and protects nothing here."""
PLACE = "/case"
"""The folder of the case in the guest."""
INITRD, RESULTS = "initrd", "results"
COSTS = "a run takes 25 s of a CPU before its traffic starts, 1.7 GB of memory and 0.3 GB of disk"
RESULTS_MIB = 2048
"""Memory of the guest that is a file of the host, for the results. The host gives it pages as they are written.

A disk would let the time of the host in: firmware reads it before the kernel boots.
"""


@dataclass(frozen=True)
class Qemu:
    """A machine, emulated or with KVM, and a kernel."""

    program: str
    kernel: cloud.Kernel
    virtual_time: bool = True

    @classmethod
    def find(cls) -> Qemu:
        """Return an emulated machine with the kernel in the cache; raise `LabError` if something is missing."""
        program = shutil.which(EMULATOR)
        if program is None:
            raise LabError(f"--vm: {EMULATOR} not found\n  hint:    apt-get install {PACKAGE}")
        kernel = cloud.Kernel.find()
        if why := root.lacking():
            raise LabError(f"--vm: {why}")
        return cls(program, kernel)

    @classmethod
    def with_kvm(cls) -> Qemu:
        """Return a machine with KVM; raise `LabError` if KVM does not work here."""
        machine = replace(cls.find(), virtual_time=False)
        if not kvm.works(machine.boots()):
            raise LabError(f"--vm: {kvm.DEVICE} does not run a kernel here\n  hint:    GAMELANE_VM=qemu emulates one")
        return machine

    @classmethod
    def fastest(cls) -> Qemu:
        """Return a machine with KVM if that works, else an emulated one; raise `LabError` if something is missing."""
        machine = cls.find()
        real = replace(machine, virtual_time=False)
        return real if kvm.works(real.boots()) else machine

    @cached_property
    def _config(self) -> Config:
        return Config(self.kernel.config)

    @property
    def label(self) -> str:
        """Kind and version."""
        return f"QEMU {self.kernel.version}" + ("" if self.virtual_time else " in real time")

    @property
    def congestion_controls(self) -> Sequence[str]:
        """The congestion controls of its TCP that are loaded."""
        there = self._config.congestion_controls
        return tuple(name for name in there if name in ("reno", "cubic") or f"tcp_{name}" in cloud.MODULES)

    @property
    def available(self) -> Available:
        """What the engine `kernel` finds in its kernel."""
        return self._config.available

    def boots(self, seed: int = 0) -> Sequence[str]:
        """Return the words that boot the kernel alone. The console is standard output."""
        clock: Sequence[str] = ("-accel", "kvm", "-cpu", "host")
        if self.virtual_time:
            clock = (
                *("-accel", "tcg,thread=single,tb-size=512", "-cpu", CPU, "-icount", "shift=0,sleep=off,align=off"),
                *("-rtc", f"base={BEGINS},clock=vm", "-seed", str(seed)),
            )
        return (
            *(
                self.program,
                "-M",
                "q35,nvdimm=on",
                *clock,
                "-smp",
                "1",
                "-m",
                f"{MEMORY_MIB},slots=1,maxmem={MEMORY_MIB + RESULTS_MIB}M",
            ),
            *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-serial", "stdio"),
            *("-kernel", str(self.kernel.image), "-append", " ".join(OPTIONS)),
        )

    def command(self, seed: int) -> Sequence[str]:
        """Return the words that boot it with its root and memory for the results."""
        results = f"memory-backend-file,id=results,share=on,mem-path={RESULTS},size={RESULTS_MIB}M"
        return (*self.boots(seed), "-initrd", INITRD, "-object", results, "-device", "nvdimm,memdev=results")

    def environment(self, seed: int) -> dict[str, str]:  # noqa: ARG002 - the seed is a word of the command
        """Return the variables of its own process."""
        return dict(os.environ)

    def script(self, folder: Path, environment: Mapping[str, str], words: Sequence[str]) -> str:  # noqa: ARG002
        """Return the script of the first process. The folder of the case has another path in the guest."""
        own = {**environment, "PYTHONPATH": root.search_path(), "TMPDIR": PLACE}
        exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in own.items())
        return (
            f"#!/bin/sh\n{exports}"
            "mount -t devtmpfs dev /dev\nmount -t proc proc /proc\nmount -t sysfs sys /sys\n"
            "mkdir -p /dev/shm\nmount -t tmpfs tmpfs /dev/shm\n"
            f"for module in {cloud.FOLDER}/*.ko; do insmod $module; done\n"
            f"cd {PLACE}\n"
            f"{shlex.join(words)} </dev/null\n"
            f"for module in {cloud.LATE}/*.ko; do insmod $module; done\n"
            "tar -cf /dev/pmem0 . && sync\n"
            "echo b >/proc/sysrq-trigger\n"
        )

    def pack(self, folder: Path, needed: Sequence[Path]) -> None:
        """Write the memory that it boots with: modules, the case, and its root."""
        with (folder / INITRD).open("wb") as to:
            to.write(self.kernel.modules.read_bytes())
            archive = Archive(to)
            for name in ("dev", "proc", "sys", "run", "tmp", "mnt"):
                archive.folder(f"/{name}")
            archive.data("/init", (folder / SCRIPT).read_bytes(), PROGRAM)
            root.add_to(archive, needed)
            for path in folder.iterdir():
                if path.name not in (INITRD, RESULTS):
                    archive.data(f"{PLACE}/{path.name}", path.read_bytes())  # its time would differ in each run
            archive.end()
        with (folder / RESULTS).open("wb") as results:
            results.truncate(RESULTS_MIB << 20)

    def unpack(self, folder: Path) -> None:
        """Take the files of the case from the memory for the results. There are none if it ended early."""
        (folder / INITRD).unlink(missing_ok=True)
        written = folder / RESULTS
        try:
            with tarfile.open(written, "r:") as archive:
                for member in archive:
                    if _is_result(member, written.stat().st_size):
                        archive.extract(member, folder, set_attrs=False, filter="data")
        except tarfile.TarError:
            pass
        written.unlink(missing_ok=True)


def _is_result(member: tarfile.TarInfo, size: int) -> bool:
    """Whether it is a whole file of the case's folder. `size` is that of the archive."""
    name = member.name.removeprefix("./")
    whole = member.isreg() and not member.issparse() and member.offset_data + member.size <= size
    return whole and "/" not in name and name not in (INITRD, RESULTS)
