#!/bin/sh
# The programs that the tests start for themselves, from the system's packages: the message brokers
# Redis and RabbitMQ, PgBouncer, the checker of systemd, and Chromium, in which the web page is tested
# and its screenshots are made; and from npm the coding agents of requirements/agents.txt and what the
# TypeScript client is built and tested with.
# Does nothing where they are installed. A Chromium (or Google Chrome) that is not on the PATH is
# named by RICORDO_TEST_BROWSER.
#
# sh scripts/services.sh browser    only Chromium, which is all that `make screenshots` needs
# sh scripts/services.sh node       only Node, and what the TypeScript client needs
# sh scripts/services.sh fast       Chromium, Redis and Node, for `make test`
# sh scripts/services.sh all        RabbitMQ, PgBouncer and the coding agents, too, for `make test-all`
set -eu
PATH="$PATH:/usr/sbin:/sbin"

has_browser() {
    if [ -n "${RICORDO_TEST_BROWSER:-}" ]; then
        [ -x "$RICORDO_TEST_BROWSER" ] && return
        echo "RICORDO_TEST_BROWSER is not a program: $RICORDO_TEST_BROWSER" >&2
        exit 1
    fi
    # Also in tests/web/browsing.py.
    for name in chromium chromium-browser google-chrome; do
        command -v "$name" >/dev/null && return
    done
    return 1
}

# The coding agents, of exactly these versions; npm comes with Node.
install_agents() {
    pinned=requirements/agents.txt
    folder=.cache/agents
    cmp -s "$pinned" "$folder/installed" && return
    echo "setup: installing coding agents into $folder" >&2
    mkdir -p "$folder"
    # shellcheck disable=SC2046 # one word for each package
    npm install --prefix "$folder" --no-save --no-audit --no-fund --ignore-scripts --loglevel error \
        $(cat "$pinned") >&2
    # These two put their program in place themselves; no other script of a package is run.
    (cd "$folder/node_modules/@anthropic-ai/claude-code" && node install.cjs >&2)
    (cd "$folder/node_modules/opencode-ai" && node postinstall.mjs >&2)
    cp "$pinned" "$folder/installed"
}

# What the TypeScript client is built and tested with, of exactly the versions of its lock file.
install_client() {
    client=clients/typescript
    cmp -s "$client/package-lock.json" "$client/node_modules/.installed" && return
    echo "setup: installing packages into $client/node_modules" >&2
    (cd "$client" && npm ci --ignore-scripts --loglevel error >&2)
    cp "$client/package-lock.json" "$client/node_modules/.installed"
}

install_from_npm() {
    case $kind in node | fast | all) install_client ;; esac
    case $kind in all) install_agents ;; esac
}

missing=""
kind=${1:-all}
case $kind in fast | all) command -v redis-server >/dev/null || missing="$missing redis-server" ;; esac
case $kind in
all)
    command -v rabbitmq-server >/dev/null || missing="$missing rabbitmq-server"
    command -v pgbouncer >/dev/null || missing="$missing pgbouncer"
    command -v systemd-analyze >/dev/null || missing="$missing systemd"
    ;;
esac
case $kind in
node | fast | all) command -v npm >/dev/null || missing="$missing nodejs npm" ;;
esac
# Plain letters, and emoji in colour: memories have both, and a bare system has no font at all.
[ "$kind" = node ] || has_browser || missing="$missing chromium fonts-liberation fonts-noto-color-emoji"
if [ -z "$missing" ]; then
    install_from_npm
    exit 0
fi

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "The tests need these packages:$missing" >&2
    echo "On Debian or Ubuntu: sudo apt-get install$missing" >&2
    echo "Elsewhere: install Redis (7 or newer), RabbitMQ (3.10 or newer), PgBouncer (1.18 or newer)," >&2
    echo "Node (20 or newer, with npm) and Chromium or Google Chrome (120 or newer), so that" >&2
    echo "redis-server, rabbitmq-server, epmd, pgbouncer, systemd-analyze, npm and one of chromium, chromium-browser" >&2
    echo "and google-chrome can be run; or name the browser by its path in RICORDO_TEST_BROWSER." >&2
    exit 1
fi

echo "setup: installing$missing" >&2
# Two runs on one machine: the second waits, and finds everything there.
if command -v flock >/dev/null; then
    exec 9>/var/lock/ricordo-services
    flock 9
fi

# No package may start a server: the tests have their own, and a port that is taken disturbs.
policy=/usr/sbin/policy-rc.d
made_policy=""
if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' > "$policy"
    chmod +x "$policy"
    made_policy=yes
fi
trap '[ -z "$made_policy" ] || rm -f "$policy"' EXIT

export DEBIAN_FRONTEND=noninteractive
apt="apt-get -qq -o DPkg::Lock::Timeout=600"
# The lists have a lock of their own, for which apt does not wait.
tries=0
until $apt update; do
    tries=$((tries + 1))
    [ "$tries" -lt 20 ] || exit 1
    sleep 5
done
# shellcheck disable=SC2086 # one word for each package
$apt install -y --no-install-recommends $missing >/dev/null

# Where a policy of the system itself let them start after all.
if command -v systemctl >/dev/null && [ -d /run/systemd/system ]; then
    for service in $missing; do
        systemctl disable --now "$service" >/dev/null 2>&1 || true
    done
fi
install_from_npm
