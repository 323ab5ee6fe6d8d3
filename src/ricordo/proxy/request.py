"""A chat that somebody wants to have answered."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from ricordo.proxy.json_text import JsonObject
from ricordo.proxy.said import Said
from ricordo.proxy.wire import Wire


@dataclass(frozen=True)
class ChatRequest:
    """The body of a request and what of it could be read: nothing, where it is no JSON object."""

    wire: Wire
    body: bytes
    read: JsonObject | None

    @classmethod
    def parse(cls, wire: Wire, body: bytes) -> "ChatRequest":
        """Read a body, once. What it says of itself is not checked: that is for the upstream."""
        return cls(wire, body, JsonObject.read(body))

    @property
    def user(self) -> str | None:
        """The user that the body names."""
        return None if self.read is None else self.wire.user_in(self.read)

    @cached_property
    def said(self) -> Sequence[Said]:
        """The messages, without system prompts."""
        return () if self.read is None else tuple(self.wire.said_in(self.read))

    def with_system(self, text: str) -> bytes:
        """The body with one more system text in it, and otherwise the same to the byte."""
        if self.read is None:
            return self.body
        return self.wire.with_system(self.read, text).encode("utf-8")
