#!/bin/sh
# How long a newcomer waits: from a bare clone to the first answer of `make serve`, and what
# `make test` sets up besides. Prints seconds; leaves nothing behind.
set -eu
folder=$(mktemp -d)
service=""
trap '[ -z "$service" ] || kill "$service"; rm -rf "$folder"' EXIT
git clone -q "$(dirname "$0")/.." "$folder/ricordo"
cd "$folder/ricordo"
RICORDO_HOME="$folder/home" RICORDO_PORT=${RICORDO_PORT:-8399}
export RICORDO_HOME RICORDO_PORT
since() { echo "$(($(date +%s) - $1)) s"; }

started=$(date +%s)
make .venv/.ready >&2
.venv/bin/ricordo serve >"$folder/log" 2>&1 & # what `make serve` does then
service=$!
until curl -sf "http://127.0.0.1:$RICORDO_PORT/v1/search" -H 'X-Ricordo-User: ana' \
    --json '{"query": "tea"}' >/dev/null; do
    kill -0 "$service" || { cat "$folder/log" >&2; exit 1; }
    sleep 0.2
done
echo "make serve, bare clone to the first answer: $(since "$started")"
started=$(date +%s)
make .venv/.ready-dev >&2
sh scripts/services.sh fast
echo "make test, what it sets up besides: $(since "$started")"
