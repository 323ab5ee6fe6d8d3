"""Waiting for a call no longer than agreed, whatever it is stuck in."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final, TypeVar

Result = TypeVar("Result")

_CLIENTS_SHARE: Final = 0.95  # its own timeouts end first, and cleanly, where they apply


def within(seconds: float, call: Callable[[float], Result], *, thread_name: str) -> Result:
    """The result of the call, made in a thread of its own.

    The call is told how many seconds to give its HTTP client, a little less than all of them.
    The timeouts of such a client cover single steps: looking a name up has none, and a server
    that sends a byte now and then never runs into them. The thread that is given up on ends when
    its connection does.

    Raises:
        TimeoutError: it was not done in time. Whatever the call raises is raised as well.
    """
    outcome: Future[Result] = Future()

    def run() -> None:
        try:
            outcome.set_result(call(_CLIENTS_SHARE * seconds))
        except BaseException as error:  # noqa: BLE001 - raised again where somebody waits for it
            outcome.set_exception(error)

    threading.Thread(target=run, name=thread_name, daemon=True).start()
    return outcome.result(timeout=seconds)
