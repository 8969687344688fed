#!/usr/bin/env bash
# Runs the tests on a busy machine and says which failed, and what had to be measured again. Its load ends with it.
# usage: scripts/loaded.sh [--together] [TIMES] [-- COMMAND...]
#   TIMES       how often: 1
#   COMMAND     what to run: make test
#   --together  all at the same time, each the load of the others, instead of one after another beside four processes that never sleep.
#               Each has its own network, processes and temporary files, which needs root. They share target/: build before.
set -euo pipefail
cd "$(dirname "$0")/.."
# Each job is a process group of its own, so that all of it ends.
set -m

together=""
[ "${1:-}" != --together ] || { together=yes; shift; }
times=1
if [ $# -gt 0 ] && [ "$1" != -- ]; then times="$1"; shift; fi
[[ "$times" =~ ^[1-9][0-9]*$ ]] || { echo "usage: scripts/loaded.sh [--together] [TIMES] [-- COMMAND...]" >&2; exit 2; }
[ "${1:-}" != -- ] || shift
[ $# -gt 0 ] || set -- make test
logs="$(mktemp -d "${TMPDIR:-/tmp}/loaded.XXXXXX")"
started=()
finish() {
    for job in "${started[@]}"; do kill -- "-$job" 2>/dev/null || true; done
    wait 2>/dev/null || true
}
trap finish EXIT
trap 'exit 130' INT TERM

# suite NUMBER COMMAND...: runs the tests once; the log's last line is the exit code
suite() {
    local log="$logs/$1.log" code=0
    shift
    # Tests send Ctrl-C; a job in the background may have been told to ignore it.
    env --default-signal=INT,QUIT "$@" >"$log" 2>&1 || code=$?
    echo "exit $code" >>"$log"
}

# Tests, Ray and pytest leave files under fixed names in these folders.
mkdir -p "${CARGO_TARGET_DIR:-target}/tmp"
[ -z "$together" ] || mkdir -p /run/netns
apart="ip link set lo up
mount -t sysfs sysfs /sys
for folder in /run/netns /dev/shm '$(realpath "${CARGO_TARGET_DIR:-target}/tmp")'; do mount -t tmpfs tmpfs \"\$folder\"; done
mount --bind \"\$0\" /tmp
exec \"\$@\""

if [ -n "$together" ]; then
    for number in $(seq "$times"); do
        mkdir -m 1777 "$logs/tmp$number"
        suite "$number" unshare --net --mount --pid --fork --kill-child --mount-proc \
            bash -ec "$apart" "$logs/tmp$number" "$@" &
        started+=($!)
    done
    wait "${started[@]}" || true
    started=()
else
    for _ in 1 2 3 4; do
        while :; do :; done &
        started+=($!)
    done
    for number in $(seq "$times"); do
        suite "$number" "$@" &
        started+=($!)
        wait "$!"
    done
fi

status=0
for number in $(seq "$times"); do
    log="$logs/$number.log"
    code="$(tail -n 1 "$log")"
    echo "run $number of $times: $code, $log"
    grep -E '^ *(FAILED|ERROR) |measured again' "$log" | sed 's/^ */    /' || true
    [ "$code" = "exit 0" ] || status=1
done
exit $status
