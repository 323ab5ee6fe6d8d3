#!/bin/sh
# The message brokers that the tests start for themselves: Redis and RabbitMQ, from the system's
# packages. Does nothing where they are installed.
set -eu
PATH="$PATH:/usr/sbin:/sbin"

missing=""
command -v redis-server >/dev/null || missing="$missing redis-server"
command -v rabbitmq-server >/dev/null || missing="$missing rabbitmq-server"
[ -n "$missing" ] || exit 0

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "The tests need these programs:$missing" >&2
    echo "On Debian or Ubuntu: sudo apt-get install$missing" >&2
    echo "Elsewhere: install Redis (7 or newer) and RabbitMQ (3.10 or newer) so that" >&2
    echo "redis-server, rabbitmq-server and epmd can be run." >&2
    exit 1
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
apt-get update -qq
# shellcheck disable=SC2086 # one word for each package
apt-get install -qq -y --no-install-recommends $missing >/dev/null

# Where a policy of the system itself let them start after all.
if command -v systemctl >/dev/null && [ -d /run/systemd/system ]; then
    for service in $missing; do
        systemctl disable --now "$service" >/dev/null 2>&1 || true
    done
fi
