#!/usr/bin/env bash
# Makes .venv with everything gamelane needs and builds the extension in release mode. Only what changed is done again.
# usage: scripts/setup.sh [dev|quick]
#   dev      adds the packages that tests and linters need, and builds no extension: they use the one of scripts/with-dev
#   quick    for `make demo`: an extension that is compiled in a fraction of the time, unless there is one already
set -euo pipefail
cd "$(dirname "$0")/.."

mode="${1:-run}"
trap 'exit 130' INT

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

# built MARKER: true if the extension is there, and no Rust source, model or packaging is newer than the marker of its build
built() {
    [ -e "$1" ] &&
        [ -z "$(find Cargo.toml Cargo.lock pyproject.toml crates models -newer "$1" -type f ! -path '*/tests/*' -print -quit)" ] &&
        .venv/bin/python -c 'import gamelane._native' 2>/dev/null
}
uncompiled() {
    cat .venv/build.log >&2
    need "the extension could not be compiled (see above)."
}

# Compiles while packages are downloaded.
build=""
if [ "$mode" = quick ] && ! built .venv/extension && ! built .venv/quick; then
    say "make demo compiles gamelane first, once. That takes about 80 seconds on two cores, 1.1 GB of disk, and 200 MB of downloads.
Then it simulates 25 minutes of a household in a few seconds."
    touch .venv/quick.started
    cargo build --quiet --profile quick -p gamelane-py >.venv/build.log 2>&1 &
    build=$!
    trap 'kill "$build" 2>/dev/null || true' EXIT
fi

kind="$mode"
[ "$kind" = quick ] && kind=run
# Packages: again when pyproject.toml changed, or when more is asked for than was installed.
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
wanted="$kind $(sha256sum pyproject.toml | cut -d' ' -f1)"
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
    # Python compiles what it imports, which is a part of it.
    .venv/bin/pip install --quiet --no-compile --requirement .venv/requirements.txt ||
        need "Python packages could not be installed (see above). The first build needs a package index, or wheels
in a folder that PIP_FIND_LINKS names; later builds need neither."
    printf '%s\n' "$wanted" >.venv/packages
fi

if [ "$mode" != run ]; then
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
    [ -n "$build" ] || exit 0
    wait "$build" || uncompiled
    install -m 755 "${CARGO_TARGET_DIR:-target}/quick/lib_native.so" python/gamelane/_native.abi3.so
    rm -f .venv/extension
    mv .venv/quick.started .venv/quick
    exit
fi

if ! built .venv/extension; then
    say "building the extension (the first time takes a few minutes)"
    touch .venv/extension.started
    VIRTUAL_ENV="$PWD/.venv" PIP_QUIET=1 .venv/bin/maturin develop --release >.venv/build.log 2>&1 || uncompiled
    rm -f .venv/quick
    mv .venv/extension.started .venv/extension
fi
