#!/usr/bin/env bash
# Makes .venv with everything gamelane needs and builds the extension in release mode. Only what changed is done again.
# usage: scripts/setup.sh [dev]     `dev` adds the packages that tests and linters need, and builds no extension: they use the one of scripts/with-dev
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '%s\n' "$*" >&2; }
need() { say "gamelane cannot be built here: $1"; exit 1; }
# at_least 1.95.0 1.88: true if the first version is not older than the second
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

[ -x "${HOME:-/root}/.cargo/bin/cargo" ] && PATH="$PATH:${HOME:-/root}/.cargo/bin"
rust="$(rustc --version 2>/dev/null | cut -d' ' -f2 || true)"
if ! command -v cargo >/dev/null || [ -z "$rust" ] || ! at_least "$rust" 1.88; then
    need "it needs Rust 1.88 or newer, and found ${rust:-none}. Get it with rustup, whose installer the Rust project's
home page offers (or \`apt-get install rustup && rustup default stable\`), open a new shell, and try again."
fi

python=""
for candidate in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then python="$candidate"; break; fi
done
[ -n "$python" ] || need "it needs Python 3.11 or newer, and found $(python3 --version 2>/dev/null || echo none).
Get it with \`apt-get install python3 python3-venv\` (Debian 12, Ubuntu 24.04 or newer), or name one: PYTHON=/path/to/python3 make."

if ! .venv/bin/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    rm -rf .venv
    "$python" -m venv .venv || need "$python cannot make virtual environments. On Debian and Ubuntu:
\`apt-get install python3-venv\`, then try again."
fi

# Packages: again when pyproject.toml changed, or when more is asked for than was installed.
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
wanted="${1:-run} $(sha256sum pyproject.toml | cut -d' ' -f1)"
had="$(cat .venv/packages 2>/dev/null || true)"
if [ "$had" != "$wanted" ] && [ "$had" != "dev ${wanted#* }" ]; then
    [ "${had%% *}" = dev ] && wanted="dev ${wanted#* }"
    extra=tune; [ "${wanted%% *}" = dev ] && extra=dev  # `tune` is in the README's first commands
    say "installing Python packages into .venv"
    .venv/bin/python - "$extra" >.venv/requirements.txt <<'PY'
import sys, tomllib
project = tomllib.load(open("pyproject.toml", "rb"))
print(*project["build-system"]["requires"], *project["project"]["dependencies"], sep="\n")
print(*project["project"]["optional-dependencies"][sys.argv[1]], sep="\n")
PY
    .venv/bin/pip install --quiet --requirement .venv/requirements.txt ||
        need "Python packages could not be installed (see above). The first build needs a package index, or wheels
in a folder that PIP_FIND_LINKS names; later builds need neither."
    printf '%s\n' "$wanted" >.venv/packages
fi

if [ "${1:-run}" = dev ]; then
    # Until `make setup` installs the package, a link to its sources and the command.
    if ! .venv/bin/python -c 'import importlib.metadata as m; m.version("gamelane")' 2>/dev/null; then
        pwd | sed 's|$|/python|' >"$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/gamelane.pth"
        cat >.venv/bin/gamelane <<PY
#!$PWD/.venv/bin/python
import sys
try:
    from gamelane.cli import main
except ModuleNotFoundError:
    sys.exit("gamelane is not built yet: run \`make setup\`")
sys.exit(main())
PY
        chmod +x .venv/bin/gamelane
    fi
    exit
fi

# The extension: again when a Rust source, a model or the packaging is newer than the last build.
newer="$(find Cargo.toml Cargo.lock pyproject.toml crates models -newer .venv/extension -type f ! -path '*/tests/*' -print -quit 2>/dev/null || true)"
if [ ! -e .venv/extension ] || [ -n "$newer" ] || ! .venv/bin/python -c 'import gamelane._native' 2>/dev/null; then
    say "building the extension (the first time takes a few minutes)"
    touch .venv/extension.started
    VIRTUAL_ENV="$PWD/.venv" PIP_QUIET=1 .venv/bin/maturin develop --release >.venv/build.log 2>&1 || {
        cat .venv/build.log >&2
        need "the extension could not be compiled (see above)."
    }
    mv .venv/extension.started .venv/extension
fi
