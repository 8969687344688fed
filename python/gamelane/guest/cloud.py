"""Debian's kernel for clouds, for guests of QEMU: `gamelane doctor --fetch-kernel` unpacks its package into the cache.

Nothing is installed on the host. The modules that a guest loads lie in the cache as one archive.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from gamelane import whole
from gamelane.errors import LabError
from gamelane.guest import modules
from gamelane.guest.cpio import Archive
from gamelane.guest.uml import cache

PACKAGES = ("linux-image-6.12-cloud-amd64", "linux-image-cloud-amd64")
"""Packages that name the newest kernel of a kind: in the backports of Debian 12, and in Debian 13."""
NAME = "linux.qemu"
FOLDER, LATE = "/modules", "/modules/late"
"""Where a guest finds its modules, and those that it loads when its case is over."""
MODULES = (
    *("veth", "bridge", "tun", "ifb", "inet_diag", "tcp_diag"),
    *("cls_u32", "cls_matchall", "act_mirred", "act_pedit", "sch_ingress"),
    *("sch_htb", "sch_netem", "sch_prio", "sch_pie", "sch_codel", "sch_fq_codel", "sch_fq_pie", "sch_cake"),
    *("sch_drr", "sch_dualpi2", "tcp_bic", "tcp_westwood", "tcp_vegas"),
    *("8021q", "pppoe", "nf_tables", "nft_ct", "nft_chain_nat", "nft_masq"),
)
LATE_MODULES = ("nfit", "nd_pmem")
COSTS = "34 MB of download, 14 MB of disk, 10 seconds"
REMEDY = f"`gamelane doctor --fetch-kernel` gets one: {COSTS}"
TIMEOUT_S = 600


@dataclass(frozen=True)
class Kernel:
    """A kernel in the cache."""

    image: Path

    @classmethod
    def find(cls) -> Kernel:
        """Return the kernel in the cache; raise `LabError` if there is none."""
        kernel = cls(cache() / NAME)
        if not kernel.image.is_file():
            raise LabError(f"--vm: no kernel for QEMU at {kernel.image}\n  hint:    {REMEDY}")
        if mark() not in kernel.config.read_text(encoding="utf-8"):
            raise LabError(f"--vm: another version of gamelane fetched {kernel.image}\n  hint:    {REMEDY}")
        return kernel

    @property
    def config(self) -> Path:
        """Its configuration."""
        return self.image.with_name(f"{NAME}.config")

    @property
    def modules(self) -> Path:
        """An archive of its modules; their names begin with the order in which they load."""
        return self.image.with_name(f"{NAME}.modules")

    @property
    def version(self) -> str:
        """Its version, from the head of its configuration."""
        found = re.search(r"^# Linux/\S+ (\S+) Kernel", self.config.read_text(encoding="utf-8"), re.MULTILINE)
        return found[1] if found else "of unknown version"


def lacking() -> str | None:
    """Return why this machine cannot fetch the kernel, and what to do; None if it can."""
    absent = [tool for tool in ("apt-get", "apt-cache", "dpkg-deb") if shutil.which(tool) is None]
    if absent:
        return f"the kernel comes from Debian's package, which needs {', '.join(absent)}"
    return None if _packages() else f"apt knows no package {' or '.join(PACKAGES)}; run `apt-get update`"


def fetch() -> Path:
    """Download and unpack the kernel, and return its path. Raise `LabError` if that is impossible here."""
    if why := lacking():
        raise LabError(f"--fetch-kernel: {why}")
    kernel = Kernel(cache() / NAME)
    cache().mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f"{NAME}.", dir=cache()) as name:
        work = Path(name)
        _run(["apt-get", "download", *_packages()], work)
        for package in work.glob("*.deb"):
            _run(["dpkg-deb", "-x", str(package), "unpacked"], work)
        tree = work / "unpacked"
        with whole.file(kernel.modules) as part, part.open("wb") as to:
            archive = Archive(to)
            for place, wanted in ((FOLDER, MODULES), (LATE, LATE_MODULES)):
                for number, (each, data) in enumerate(modules.in_order(tree, wanted)):
                    archive.data(f"{place}/{number:02}-{each}.ko", data)
            archive.end()
        config = _file(tree, "config").read_text(encoding="utf-8")
        whole.replace(kernel.config, f"{config}{mark()}\n")
        with whole.file(kernel.image) as part:
            shutil.copyfile(_file(tree, "vmlinuz"), part)
    return kernel.image


def mark() -> str:
    """Return a line that names the modules."""
    return f"# with {' '.join((*MODULES, *LATE_MODULES))}"


def _packages() -> Sequence[str]:
    """Return the packages of the newest kernel that apt knows: one, or one for each part of it (Debian's Linux 7.3)."""
    for name in PACKAGES:
        if found := _depends(name, "image"):
            return (found[0], *_depends(found[0], "base|binary|modules"))
    return ()


def _file(tree: Path, name: str) -> Path:
    """Return a file of the kernel: in /boot, or beside its modules (Debian's Linux 7.3)."""
    found = [*tree.glob(f"boot/{name}-*"), *tree.glob(f"usr/lib/modules/*/{name}")]
    if not found:
        raise LabError(f"--fetch-kernel: the packages have no {name}")
    return found[0]


def _depends(package: str, parts: str) -> Sequence[str]:
    done = subprocess.run(["apt-cache", "depends", package], capture_output=True, text=True, check=False)
    return re.findall(rf"Depends: (linux-(?:{parts})-\d\S+)", done.stdout)


def _run(words: Sequence[str], folder: Path) -> None:
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, timeout=TIMEOUT_S)
    if done.returncode != 0:
        said = "\n".join(f"  {line}" for line in (done.stderr or done.stdout).strip().splitlines()[-8:])
        raise LabError(f"--fetch-kernel: {words[0]} failed:\n{said}")
