"""Pages of lists, as the protocol turns them."""

from mcp_types import PaginatedRequestParams

from ricordo.errors import InvalidCursor


def cursor_of(asked: PaginatedRequestParams | None) -> str | None:
    """Where a list is to go on; None for its beginning."""
    return None if asked is None else asked.cursor


def only_page(asked: PaginatedRequestParams | None) -> None:
    """Nothing, for a list that has one page.

    Raises:
        InvalidCursor: another page is asked for.
    """
    if cursor_of(asked) is not None:
        raise InvalidCursor("this list has one page and gives out no cursors")
