"""Everything that can be set, with its default. ``wiring.py`` fills it from the environment."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Settings(BaseModel):
    """How a store is opened. Each field is also an environment variable: ``RICORDO_`` + NAME."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    home: Path = Field(
        default=Path("~/.ricordo"), description="Folder of the database and all other files."
    )
    url: str | None = Field(
        default=None,
        description="Database: a file path, sqlite:///PATH, postgresql://…, or :memory: for a"
        " temporary one. Default: ricordo.db in the home folder.",
    )
    synchronous: Literal["FULL", "NORMAL"] = Field(
        default="FULL",
        description="SQLite durability: FULL survives a power cut, NORMAL is faster.",
    )
    busy_timeout_seconds: float = Field(
        default=30.0, gt=0, le=3_600, description="How long to wait for a lock or a connection."
    )
    pool_size: int = Field(
        default=8, ge=1, le=200, description="Reading (SQLite) or all (PostgreSQL) connections."
    )
    async_threads: int = Field(
        default=8, ge=1, le=200, description="Threads that serve an AsyncMemory."
    )
    global_until: int = Field(
        default=5,
        ge=0,
        le=1_000,
        description="Users with fewer active memories than this also see the global ones.",
    )
    purge_after_days: float = Field(
        default=30.0, ge=0, le=36_500, description="Days from soft delete until removal for good."
    )
    run_jobs: bool = Field(
        default=True, description="Run background jobs in a thread of this process."
    )
    job_lease_seconds: float = Field(
        default=60.0, gt=0, le=86_400, description="How long a silent worker keeps its job."
    )
    job_poll_seconds: float = Field(
        default=5.0, gt=0, le=3_600, description="How often to look for other processes' jobs."
    )
