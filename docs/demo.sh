#!/bin/sh
# The demo: one whole run on the scripted model, in a folder of its own that is gone afterwards.
# Started by `make demo`, which puts the commands on PATH.
set -eu

# Short, since a socket's path may have 104 bytes; and outside the user's own folders altogether.
place=$(mktemp -d /tmp/fl-demo.XXXXXX)
mkdir -m 700 "$place/home" "$place/config" "$place/state" "$place/run" "$place/claude" "$place/tmp" "$place/work"
cd "$place/work"

# No variable of the user's shell gets in: no key, no proxy, no setting.
clean() {
    env -i PATH="$PATH" TERM="${TERM:-dumb}" LANG="${LANG:-C.UTF-8}" FLOWER_LANG="${FLOWER_LANG:-zh}" \
        HOME="$place/home" XDG_CONFIG_HOME="$place/config" XDG_STATE_HOME="$place/state" \
        XDG_RUNTIME_DIR="$place/run" CLAUDE_CONFIG_DIR="$place/claude" TMPDIR="$place/tmp" "$@"
}

daemon_pid() {
    clean flowerctl status --json 2>/dev/null |
        python3 -c 'import json, sys; print((json.load(sys.stdin).get("daemon") or {}).get("pid") or "")' 2>/dev/null
}

finish() {
    status=$?
    trap - EXIT
    if ! clean flowerctl daemon stop >/dev/null 2>&1; then
        pid=$(daemon_pid || true)
        if [ -n "$pid" ]; then
            kill "$pid" 2>/dev/null || true
            # It writes its last rows into this very folder; five seconds are its promise.
            for _ in 1 2 3 4 5 6; do kill -0 "$pid" 2>/dev/null || break; sleep 1; done
        fi
    fi
    cd /
    rm -rf "$place"
    exit "$status"
}
trap finish EXIT
trap 'exit 130' INT TERM HUP

say() { printf '\n\033[1m$ %s\033[0m\n' "$*"; }

# Without a terminal on stdin nothing waits for an answer: the demo runs through by itself.
case "${FLOWER_LANG:-zh}" in
    en*) request="write a script that turns md into html" ;;
    *) request="写个 md 转 html 的脚本" ;;
esac
say "flower --rehearse \"$request\""
clean flower --rehearse "$request" </dev/null

say 'find . -type f'  # without the folder that the CLI keeps for itself
find . -type f ! -path './.git/*' ! -path './runs/claude/*' | LC_ALL=C sort

page=$(find . -type f -name '*.html' | LC_ALL=C sort | head -n 1)
if [ -z "$page" ]; then
    echo "demo: the run ended, but there is no HTML file" >&2
    exit 1
fi
say "head $page"
head -n 20 "$page"

say 'flowerctl status'
clean flowerctl status
