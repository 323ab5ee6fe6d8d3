"""``ricordo worker`` as a process of its own."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from ricordo.model.job import NewJob
from ricordo.wiring import open_memory
from tests.support.commandline import COMMAND
from tests.support.waiting import PATIENCE_SECONDS, wait_until

SETTINGS = {
    "RICORDO_JOB_POLL_SECONDS": "0.05",
    "RICORDO_EMBEDDING_PROVIDER": "none",
    "RICORDO_FORMATION_DELAY_SECONDS": "0",
}


def start(url: str, *options: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [COMMAND, "worker", "--db", url, "--json", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={
            **os.environ,
            "RICORDO_JOB_POLL_SECONDS": "0.05",
            "RICORDO_EMBEDDING_PROVIDER": "none",
        },
    )


@pytest.mark.requirement("jobs.worker")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_does_the_work_of_others_and_ends_cleanly(
    backend_url: str, number: signal.Signals
) -> None:
    with (
        start(backend_url, "--threads", "2") as worker,
        open_memory(
            backend_url, run_jobs=False, embedding_provider="none", formation_delay_seconds=0
        ) as memory,
    ):
        assert worker.stdout is not None
        assert json.loads(worker.stdout.readline())["threads"] == 2
        ana = memory.user("ana")
        ana.observe([{"role": "user", "content": "I love jazz music."}], thread="talk")
        wait_until(ana.list)
        worker.send_signal(number)
        out, err = worker.communicate(timeout=PATIENCE_SECONDS)
        assert worker.returncode == 0, err
        assert json.loads(out) == {"stopped": memory.database.backend.location}
        assert not memory.jobs(state="running")


@pytest.mark.requirement("jobs.worker")
def test_a_worker_of_one_lane_leaves_the_other_alone(tmp_path: Path) -> None:
    url = str(tmp_path / "store.db")
    with open_memory(url, run_jobs=False, embedding_provider="none") as memory:
        with memory.database.write("ana") as writing:
            for kind in ("lifecycle", "summarise"):
                writing.enqueue(
                    NewJob(kind=kind, user_id="ana", run_at=writing.now, unique_key="", payload={})
                )
        with start(url, "--lane", "fast") as worker:
            wait_until(lambda: memory.jobs(kind="lifecycle")[0].state == "done")
            worker.terminate()
            worker.communicate(timeout=PATIENCE_SECONDS)
        assert memory.jobs(kind="summarise")[0].state == "queued"


@pytest.mark.requirement("jobs.worker")
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--threads", "0"), "threads: 0 is not a whole number from 1 to 64"),
        (("--lane", "quick"), "'quick' is not one of: fast, slow"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, options: tuple[str, str], said: str) -> None:
    with start(str(tmp_path / "store.db"), *options) as worker:
        _, err = worker.communicate(timeout=PATIENCE_SECONDS)
    assert worker.returncode == 2
    assert said in err
    assert not (tmp_path / "store.db").exists()
