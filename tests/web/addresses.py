"""Every page that there is, found by its route, and an address of each in somebody's life."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from starlette.routing import Route

from ricordo.web.site import ROUTERS
from tests.support.life import Life


@dataclass(frozen=True)
class PageAddress:
    """Where a page of the life is, and a text of the life that stands on it."""

    path: Callable[[Life], str]
    shows: str


def _at(path: str, shows: str) -> PageAddress:
    return PageAddress(lambda _life: path, shows)


PAGES: Final = {
    "/ui/memories": _at("/ui/memories", "The pool is closed this week"),
    "/ui/memories/{id}": PageAddress(
        lambda life: f"/ui/memories/{life.items[0]}",
        "Lives in a flat on the third floor with a small balcony",
    ),
    "/ui/themes": _at("/ui/themes", "Food and drink"),
    "/ui/conversations": _at("/ui/conversations", "Planning the balcony"),
    "/ui/conversations/thread": PageAddress(
        lambda life: f"/ui/conversations/thread?id={quote(life.threads[0])}",
        "Cherry tomatoes do well in pots.",
    ),
    "/ui/projects": _at("/ui/projects", "There are no projects yet"),
    "/ui/projects/project": _at("/ui/projects/project?id=github.com/acme/shop", "acme/shop"),
    "/ui/changes": _at("/ui/changes", "said so in the evening"),
    "/ui/proposals": _at("/ui/proposals", "I live in Turin"),
    "/ui/graph": _at("/ui/graph", "Took the night train to the coast in spring"),
    "/ui/activity": _at("/ui/activity", "Activity"),
    "/ui/settings": _at("/ui/settings", "words-64"),
    "/ui/settings/keys": _at("/ui/settings/keys", "kitchen helper"),
    "/ui/settings/keys/{id}": PageAddress(
        lambda life: f"/ui/settings/keys/{life.key_ids[0]}", "Opens the memory of ana"
    ),
    "/ui/settings/programs": _at("/ui/settings/programs", "Programs that you have let in"),
    "/ui/who": _at("/ui/who", "ana"),
    "/ui/{path:path}": _at("/ui/nowhere", "There is no page at this address"),
}
"""By the path of the route. Who adds a page adds it here, and all that is asked of pages is asked
of it."""

STATES: Final = {
    "a superseded memory": PageAddress(
        lambda life: f"/ui/memories/{life.superseded}", "Bakes bread on Saturday with rye flour"
    ),
    "a forgotten memory": PageAddress(
        lambda life: f"/ui/memories/{life.forgotten}", "The landlord answers letters, not calls"
    ),
    "memories, narrowed": _at("/ui/memories?theme=food&sort=theme-asc", "Drinks green tea"),
    "the graph of a theme": _at("/ui/graph?theme=food", "Food and drink"),
}
"""Pages once more, where they look different."""

NOT_PAGES: Final = {
    "/ui": "leads to the first page",
    "/ui/": "leads to the first page",
    "/ui/sign-in": "leads on where no key is needed; has its own tests",
    "/ui/static/{digest}/{name}": "a file",
    "/ui/manifest.webmanifest": "a file",
    "/ui/authorize": "only where programs sign in; has its own tests",
    "/ui/choices": "redirects to /ui/proposals",
    "/ui/changes/newer": "a part",
    "/ui/settings/embeddings/progress": "a part",
}
"""Routes that answer GET with something else than a page for who is in: parts of pages that the
script asks for, files, and ways on."""

MISSING: Final = "/ui/{path:path}"


def get_routes() -> list[str]:
    """The path of every route below /ui that answers GET."""
    routes = (route for router in ROUTERS for route in router.routes)
    return list(
        dict.fromkeys(
            route.path
            for route in routes
            if isinstance(route, Route) and "GET" in (route.methods or ()) and route.path != "/"
        )
    )


def known_pages() -> dict[str, PageAddress]:
    """The pages that there are. Those that the table lacks make a test of their own fail."""
    return {path: PAGES[path] for path in get_routes() if path in PAGES}


def known_states() -> dict[str, PageAddress]:
    """The pages, and those that look different at times."""
    return {**known_pages(), **STATES}
