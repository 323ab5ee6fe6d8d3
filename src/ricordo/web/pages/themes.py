"""The themes: what they are about, and how much is filed under each."""

from starlette.responses import Response

from ricordo.web.drawing.strips import strips
from ricordo.web.routing import page_router
from ricordo.web.visitors import Visiting

router = page_router()


@router.get("/themes")
def show_themes(visit: Visiting) -> Response:
    """All themes, the most used first."""
    themes = visit.memory.themes()
    drawn = strips([(theme.active_count,) for theme in themes])
    return visit.page(
        "themes.html",
        themes=list(zip(themes, drawn, strict=True)),
        active_count=sum(theme.active_count for theme in themes),
    )
