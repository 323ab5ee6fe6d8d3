"""What figures were measured on, and whether it had other things to do."""

import os
import platform
from dataclasses import dataclass

from ricordo.model.record import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine(Record):
    """``load`` is how many processes wanted to run in the minute before; None: not known.

    Times measured on a machine that is busy say little; its cores are what to compare with.
    """

    processor: str
    cores: int
    python: str
    system: str
    load: float | None

    @property
    def in_words(self) -> str:
        """One line for people."""
        loaded = "" if self.load is None else f", load {self.load:.1f} before"
        return f"{self.processor}, {self.cores} cores, {self.system}, Python {self.python}{loaded}"


def this_machine() -> Machine:
    """The machine that this runs on, as it is now."""
    return Machine(
        processor=platform.machine(),
        cores=os.cpu_count() or 1,
        python=platform.python_version(),
        system=platform.system(),
        load=os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
    )
