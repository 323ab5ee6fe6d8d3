"""Everything that a prompt may show, gathered before anything is spent."""

from dataclasses import dataclass, field

from ricordo.model.thread import Window
from ricordo.prompt.choosing import Choice


@dataclass(frozen=True, slots=True)
class Material:
    """What was found for a request. ``unavailable`` says why the store could not be asked."""

    soul: str = ""
    rules: str = ""
    user: str = ""
    now: str = ""
    guide: str = ""
    narrative: str = ""
    window: Window | None = None
    choice: Choice = field(default_factory=Choice)
    problems: tuple[str, ...] = ()
    unavailable: str | None = None
