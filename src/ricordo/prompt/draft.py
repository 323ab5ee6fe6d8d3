"""The parts of a prompt, and the order in which they stand."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import tzinfo

from ricordo.formation.injected import FENCE_START
from ricordo.model.search import TurnHit
from ricordo.prompt import lines
from ricordo.prompt.choosing import Chosen
from ricordo.prompt.fencing import fenced
from ricordo.prompt.history import Message


@dataclass(slots=True)
class Draft:
    """The parts of a prompt, each already cut to what it may cost."""

    soul: str = ""
    rules: str = ""
    user: str = ""
    now: str = ""
    guide: str = ""
    note: str = ""
    unsure: str = ""
    delta: tuple[str, ...] = ()
    delta_section: str = ""
    narrative: str = ""
    memories: list[Chosen] = field(default_factory=list)
    quotes: list[TurnHit] = field(default_factory=list)
    bridge: str = ""
    history: list[Message] = field(default_factory=list)

    def memory_sections(self, zone: tzinfo) -> list[str]:
        """What memory itself says."""
        said = sorted(self.quotes, key=lambda hit: (hit.at, hit.id))
        return [
            self.delta_section,
            self.narrative,
            *self._recalled(zone),
            fenced_list(lines.QUOTED, (lines.quote_line(hit, zone) for hit in said)),
        ]

    def _recalled(self, zone: tzinfo) -> list[str]:
        """The user's own memories, those of others, and those of the service: each apart."""
        by_time = sorted(self.memories, key=lambda one: (one.item.valid_from, one.item.id))
        told: dict[str, list[str]] = {heading: [] for heading in lines.HEADINGS}
        for one in by_time:
            told[lines.heading_of(one)].append(lines.memory_line(one, zone))
        return [fenced_list(heading, listed) for heading, listed in told.items()]

    def system(self, zone: tzinfo) -> str:
        """The whole system text."""
        said = [message["content"] for message in self.history]
        about_data = [*self.memory_sections(zone), self.user, self.bridge, *said]
        note = self.note if any(FENCE_START in part for part in about_data) else ""
        before = [self.soul, self.rules, self.user, self.now, self.guide, note, self.unsure]
        return joined([*before, *self.memory_sections(zone), self.bridge])


def fenced_list(heading: str, data: Iterable[str]) -> str:
    """Lines of data in a fence under a heading; nothing for none."""
    inside = fenced(data)
    return f"{heading}\n{inside}" if inside else ""


def joined(parts: Iterable[str]) -> str:
    """The parts that there are, with an empty line between them."""
    return "\n\n".join(part for part in parts if part)
