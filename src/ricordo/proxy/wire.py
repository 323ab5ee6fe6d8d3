"""What a wire format of chats has to tell the proxy. Each has a module of its own."""

from typing import Any, Protocol

from ricordo.proxy.json_text import JsonObject
from ricordo.proxy.said import Said


class Ear(Protocol):
    """Listens to the events of one streamed answer."""

    def hear(self, event: dict[str, Any]) -> None:
        """Take in one event."""
        ...

    def heard(self) -> Said:
        """What was said so far."""
        ...


class Wire(Protocol):
    """How requests and answers of one kind are read, and where memory is put into them.

    Nothing here raises for what a caller or an upstream sends: what is not understood is left as
    it is.
    """

    @property
    def name(self) -> str:
        """What it is called in messages."""
        ...

    @property
    def path(self) -> str:
        """Where chats are posted, below the address of the upstream."""
        ...

    @property
    def models_path(self) -> str:
        """Where models are listed, below the address of the upstream."""
        ...

    def key_header(self, key: str) -> tuple[str, str]:
        """How a request to the upstream shows its key."""
        ...

    def user_in(self, request: JsonObject) -> str | None:
        """The user that the body names."""
        ...

    def said_in(self, request: JsonObject) -> list[Said]:
        """The messages of a request in order, without system prompts and what has no text."""
        ...

    def with_system(self, request: JsonObject, text: str) -> str:
        """The request with one more system text; the same where there is no place for it."""
        ...

    def may_carry(self, event: dict[str, Any]) -> bool | None:
        """Whether memories go into this event of a stream; None: perhaps into a later one."""
        ...

    def said_by(self, answer: dict[str, Any]) -> Said:
        """What an answer says that is not streamed."""
        ...

    def ear(self) -> Ear:
        """A listener for one streamed answer."""
        ...

    def error(self, status: int, message: str, code: str) -> bytes:
        """An error of ours in the form that clients of this wire format read."""
        ...
