#!/bin/sh
# The first minute with ricordo, in a store that is thrown away afterwards.
set -eu
RICORDO_HOME=$(mktemp -d)
export RICORDO_HOME
trap 'rm -rf "$RICORDO_HOME"' EXIT

show() {
    printf '\n$ ricordo'
    for word in "$@"; do
        case $word in
        *[!A-Za-z0-9_.:/-]*) printf " '%s'" "$word" ;;
        *) printf ' %s' "$word" ;;
        esac
    done
    printf '\n'
    ricordo "$@"
}

echo "ricordo remembers, in one file and with no key. This is a throw-away store: $RICORDO_HOME"
show add 'Prefers tea to coffee' --theme drinks --type preference
show add 'Lives in Bekasi' --key home --theme places
show add 'Lives in Jakarta' --key home --theme places --reason 'moved in March'
show add 'prefers TEA to coffee.' --theme drinks
show list
show list --contains TEA --json
show history 2
show undo 2
show themes
show changes
show doctor
printf '\nYour own store is made by the first: %s add "..."\n' "${RICORDO_COMMAND:-.venv/bin/ricordo}"
