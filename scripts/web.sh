#!/usr/bin/env bash
# Builds the playground, target/playground.html. `scripts/web.sh test` also checks its types and tests it in Chromium; where
# something for that is missing it says so and skips, but not with CI=true.
set -euo pipefail
cd "$(dirname "$0")/.."
target="${CARGO_TARGET_DIR:-target}"

# missing WHAT, HOW: ends, because the playground cannot be built
missing() {
    if [ "$task" = test ] && [ "${CI:-}" != true ]; then
        echo "skipped: the playground, because $1 is missing ($2)" >&2
        exit 0
    fi
    echo "the playground cannot be built: $1 is missing"$'\n'"  hint:    $2" >&2
    exit 1
}

task="${1:-build}"
for tool in node npm zstd; do
    command -v "$tool" >/dev/null || missing "$tool" "apt-get install nodejs npm zstd"
done
[ -d "$(rustc --print sysroot)/lib/rustlib/wasm32-unknown-unknown" ] ||
    rustup target add wasm32-unknown-unknown >/dev/null 2>&1 ||
    missing "Rust's library for wasm32-unknown-unknown" "rustup target add wasm32-unknown-unknown"
[ web/node_modules/.package-lock.json -nt web/package-lock.json ] ||
    npm ci --prefix web --no-audit --no-fund --silent || missing "what web/package.json needs" "npm ci --prefix web"

cargo build --quiet --profile web --target wasm32-unknown-unknown -p gamelane-web
node web/build.mjs "$target/wasm32-unknown-unknown/web/gamelane_web.wasm" target/playground.html
if [ "$task" = test ]; then
    web/node_modules/.bin/tsc -p web
    node --test web/tests/*.test.mjs
fi
