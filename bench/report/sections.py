"""What the report is made of: commands, how much they measure, and how long they may take.

Each section is one command that anybody can run alone. ``FILE`` in it stands for the set of
questions, ``PAIRS`` for a folder of translations, ``FOLDER`` for that of an encoder, ``URL`` for a
PostgreSQL that ``with-postgres`` starts.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

SET: Final = "FILE"
PAIRS: Final = "PAIRS"
FOLDER: Final = "FOLDER"
LANGUAGES: Final = "languages"


class Sizes(StrEnum):
    """How much is measured: all that the floors ask for, a quick look, or hardly anything."""

    FULL = "full"
    QUICK = "quick"
    TINY = "tiny"


@dataclass(frozen=True, slots=True)
class Section:
    """``options`` are added to the command for each of the sizes; ``budget`` is in seconds."""

    name: str
    title: str
    command: str
    options: dict[Sizes, str]
    budget: int

    def whole(self, sizes: Sizes) -> str:
        """The command as it is run, and shown."""
        return f"{self.command} {self.options[sizes]}".strip()


def _section(
    name: str, title: str, command: str, full: str, quick: str, tiny: str, budget: int
) -> Section:
    options = {Sizes.FULL: full, Sizes.QUICK: quick, Sizes.TINY: tiny}
    return Section(name, title, f"{command} --json", options, budget)


SECTIONS: Final = (
    _section(
        "recall",
        "Recall",
        f"ricordo bench recall --path {SET} --ladder",
        "",
        "",
        "",
        budget=600,
    ),
    _section(
        "recall-postgres",
        "Recall on PostgreSQL",
        f"python -m bench with-postgres ricordo bench recall --path {SET} --url URL",
        "",
        "",
        "",
        budget=400,
    ),
    _section(
        LANGUAGES,
        "Languages",
        "python -m bench languages",
        f"--install --pairs {PAIRS}",
        f"--pairs {PAIRS}",
        f"--only en --pairs {PAIRS}",
        budget=1_200,
    ),
    _section(
        "peers",
        "Beside other systems",
        f"python -m bench peers --path {SET}",
        "--install",
        "--seconds 120",
        "--only ricordo --only langgraph",
        budget=4_500,
    ),
    _section(
        "speed",
        "Speed",
        "python -m bench with-postgres ricordo bench speed --postgres-url URL",
        "",
        "--size 5000 --queries 50",
        "--size 200 --queries 4 --only start --only search --only add",
        budget=1_200,
    ),
    _section(
        "growth",
        "Growth",
        "python -m bench growth",
        "--max 100000",
        "--max 10000",
        "--max 300",
        budget=600,
    ),
    _section(
        "load",
        "The service under load",
        "python -m bench load",
        "--seconds 30",
        "--seconds 5 --memories 500",
        "--seconds 1 --memories 40 --users 2 --clients 4 --words --database sqlite",
        budget=600,
    ),
    _section(
        "proxy",
        "The chat proxy",
        "python -m bench proxy",
        "--requests 100",
        "--memories 1000 --requests 20",
        "--memories 100 --requests 4",
        budget=400,
    ),
    _section(
        "pages",
        "The web page",
        "python -m bench pages",
        "--rounds 20",
        "--memories 2000 --rounds 5",
        "--memories 200 --rounds 2",
        budget=900,
    ),
    _section(
        "cold",
        "Commands from nothing",
        "python -m bench cold",
        "--runs 10",
        "--runs 3 --size 1000",
        "--runs 1 --size 100",
        budget=300,
    ),
    _section(
        "formation",
        "What is formed",
        "python -m bench quality",
        "",
        "",
        "",
        budget=300,
    ),
    _section(
        "conversation",
        "A long conversation",
        "python -m bench conversation",
        "--turns 2000",
        "--turns 300",
        "--turns 60",
        budget=600,
    ),
    _section(
        "year",
        "A year of upkeep",
        "python -m bench year",
        "--users 5 --days 365",
        "--users 3 --days 60",
        "--users 1 --days 8",
        budget=600,
    ),
    _section(
        "backup",
        "Backups",
        "python -m bench backup",
        "--memories 20000",
        "--memories 1000",
        "--memories 100",
        budget=300,
    ),
    _section(
        "hooks",
        "Hooks of coding agents",
        "python -m bench hooks",
        "--runs 50",
        "--runs 10 --size 500",
        "--runs 2 --size 50",
        budget=600,
    ),
)
