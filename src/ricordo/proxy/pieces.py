"""Text that comes in pieces, kept up to a limit."""


class Pieces:
    """Pieces of one text; what is beyond ``most`` characters is not kept."""

    __slots__ = ("_left", "_pieces")

    def __init__(self, most: int) -> None:
        self._left = most
        self._pieces: list[str] = []

    def add(self, piece: str) -> None:
        """Put one more at the end."""
        if piece and self._left > 0:
            self._pieces.append(piece[: self._left])
            self._left -= len(piece)

    def joined(self) -> str:
        """The text so far."""
        return "".join(self._pieces)
