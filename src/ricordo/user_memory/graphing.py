"""Memories as a graph of what is about the same."""

from ricordo import limits
from ricordo.model import checks
from ricordo.model.checks import theme_slug
from ricordo.model.filters import ItemFilter
from ricordo.model.search import RelationGraph
from ricordo.recall.service import read_graph
from ricordo.user_memory.bound import Bound
from ricordo.user_memory.confining import confined


class Graphing(Bound):
    """Operations on how memories hang together."""

    def relation_graph(
        self, theme: str | None = None, *, limit: int = limits.DEFAULT_GRAPH_MEMORIES
    ) -> RelationGraph:
        """The most connected memories of a theme, or of all, and the relations among them.

        Only active memories of this user's own that are related to another one shown. Of a theme
        with more than 1,000 memories the latest 1,000 are looked at, with what they were related to
        when they were noted.

        Raises:
            InvalidValue: a value is not allowed.
            CategoryNotAllowed: a theme that this scope does not reach.
        """
        themes = None if theme is None else (_slug(theme),)
        wanted = confined(ItemFilter(theme=themes), self.scope)
        size = checks.integer("limit", limit, 2, limits.MAX_GRAPH_MEMORIES)
        with self.database.read(self.scope.user_id) as view:
            return read_graph(view, self.scope.user_id, wanted, size)


def _slug(theme: str) -> str:
    return theme_slug(checks.text("theme", theme, limits.MAX_THEME_CHARS))
