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

echo "ricordo remembers and finds, in one file and with no key. This is a throw-away store: $RICORDO_HOME"
show add 'Drinks green tea, never coffee' --theme drinks --type preference
show add 'Is allergic to peanuts' --theme health
show add 'Lives in Bekasi' --key home --theme places
show add 'Lives in Jakarta' --key home --theme places --reason 'moved in March'
show add 'drinks GREEN tea, never coffee.' --theme drinks
show list
show search 'what can I offer her to drink?' --limit 1
show search 'what must she not eat?' --limit 1 --explain
show search 'peanut alergy' --limit 1
show list --contains TEA --json
printf '\n$ ricordo observe --thread trip    # two lines of a conversation\n'
ricordo observe --thread trip <<'END'
ben: How was the train to Porto?
ana: Three hours late, and no coffee on board.
END
show search-turns 'was the train on time?'
printf '\n$ ricordo observe --thread hello --form    # what is said becomes memories\n'
ricordo observe --thread hello --form <<'END'
user: I love jazz music. What should I listen to tonight?
assistant: Something by Monk?
user: I work as a nurse, so it has to be calm. And I have asthma.
END
show proposals
show search 'which music does the user love?' --limit 1
show summary
show add 'Has a black cat called Mia' --theme home
show add 'Has a cat called Mia' --theme home
show consolidate
show query 'where does she live?' --agent planner --top-k 1
show history 3
show undo 3
show themes
show changes
show doctor
printf '\nYour own store is made by the first: %s add "..."\n' "${RICORDO_COMMAND:-.venv/bin/ricordo}"
