"""The clients, in a process of their own: python -m bench.loading.clients

Locust runs them, because it counts each request by kind, and because its clients come back when the
server was killed: wrk gives one latency for all requests, and asks a dead server for a connection
60,000 times a second, which is no client that we know. It takes a third of a millisecond of a core
for each request, where the service takes several; how much it took in all is part of the outcome.

The plan comes as the first line of standard input. When that is closed, no more requests are begun,
those under way are waited for, and the outcome is written to standard output.
"""

import json
import random
import resource
import sys
import time
from collections.abc import Iterator
from itertools import count
from typing import Any, Final

import gevent
from locust import FastHttpUser, constant, task
from locust.env import Environment
from locust.exception import StopUser

from bench.loading.requests import Added, Asked, Kind, Outcome, Plan

_PAUSE_AFTER_FAILURE_SECONDS: Final = 0.1
_MOST_STARTED_PER_SECOND: Final = 100
_NETWORK_TIMEOUT_SECONDS: Final = 120.0


class Crowd:
    """What all clients share: the plan, when to end, and what they have noted."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.is_over = False
        self.asked: list[Asked] = []
        self.added: list[Added] = []
        self._numbers = count()
        self._chance = random.Random(20260101)

    def next_request(self) -> tuple[Kind, str, dict[str, object]]:
        """Its kind, whose it is, and its body."""
        plan, chance = self.plan, self._chance
        user = chance.choice(plan.users)
        if chance.randrange(100) < plan.add_percent:
            number = next(self._numbers)
            text = f"{plan.texts[number % len(plan.texts)]} {plan.mark} {number}."
            return Kind.ADD, user, {"content": text}
        return Kind.SEARCH, user, {"query": chance.choice(plan.questions), "limit": 10}


def client_of(crowd: Crowd) -> type[FastHttpUser]:
    """A client that asks one thing after the other, without a pause."""

    class Client(FastHttpUser):
        host = crowd.plan.url
        wait_time = constant(0)
        network_timeout = connection_timeout = _NETWORK_TIMEOUT_SECONDS

        @task
        def ask(self) -> None:
            """Make one request, and note what came of it."""
            if crowd.is_over:
                raise StopUser
            kind, user, body = crowd.next_request()
            started = time.monotonic()
            answer = self.client.post(
                kind.path, name=kind.value, json=body, headers={"X-Ricordo-User": user}
            )
            ended = time.monotonic()
            problem = _problem(answer)
            crowd.asked.append(Asked(kind, started, ended, answer.status_code, problem))
            if problem is not None:
                gevent.sleep(_PAUSE_AFTER_FAILURE_SECONDS)
            elif kind is Kind.ADD:
                crowd.added.append(Added(user, answer.json()["id"], str(body["content"])))

    return Client


def _problem(answer: Any) -> str | None:
    if 200 <= answer.status_code < 300:
        return None
    if answer.status_code == 0:  # no answer at all
        return f"{type(answer.error).__name__}: {answer.error}"
    return (answer.text or "")[:500]


def main() -> None:
    """Ask until standard input is closed."""
    lines = _lines_of_input()
    crowd = Crowd(Plan.read(next(lines)))
    environment = Environment(user_classes=[client_of(crowd)], catch_exceptions=False)
    runner = environment.create_local_runner()
    clients = crowd.plan.clients
    cpu_before, started = _cpu_seconds(), time.monotonic()
    runner.start(clients, spawn_rate=min(clients, _MOST_STARTED_PER_SECOND))
    for _ in lines:
        pass
    crowd.is_over = True
    while runner.user_count:
        gevent.sleep(0.01)
    seconds = time.monotonic() - started
    runner.quit()
    outcome = Outcome(crowd.asked, crowd.added, seconds, _cpu_seconds() - cpu_before)
    sys.stdout.write(json.dumps(outcome.plain()))


def _lines_of_input() -> Iterator[str]:
    """Lines as they come, while the clients go on."""
    threads = gevent.get_hub().threadpool
    while line := threads.apply(sys.stdin.readline):
        yield line


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
