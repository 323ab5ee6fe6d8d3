"""The pages, as the head of each lists them."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Place:
    """A page in the navigation. ``is_filed``: it shows only what is filed under themes, so that
    who is kept to some of them can see it, too."""

    name: str
    path: str
    is_filed: bool


NAVIGATION: Final = (
    Place("Memories", "/ui/memories", is_filed=True),
    Place("Themes", "/ui/themes", is_filed=True),
    Place("Conversations", "/ui/conversations", is_filed=False),
    Place("Changes", "/ui/changes", is_filed=False),
    Place("Choices", "/ui/choices", is_filed=False),
    Place("Graph", "/ui/graph", is_filed=True),
    Place("Activity", "/ui/activity", is_filed=False),
    Place("Settings", "/ui/settings", is_filed=False),
)
