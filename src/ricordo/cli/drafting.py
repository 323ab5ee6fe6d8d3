"""The options that say what a new memory is."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any, Final

import typer

from ricordo.cli.names import Named, completing_names
from ricordo.cli.options import completing, words
from ricordo.clock import system_clock
from ricordo.errors import InvalidValue
from ricordo.model.vocabulary import MemoryType, Source

_MAX_EXPIRES_DAYS: Final = 36_500
_TIME: Final = "TIME"


@dataclass(frozen=True, kw_only=True)
class Draft:
    """Every field of a new memory except its text and who acts; times in ISO 8601."""

    theme: Annotated[
        str | None,
        typer.Option(
            "--theme",
            "--category",
            metavar="NAME",
            help="Heading to file it under (default: general).",
            autocompletion=completing_names(Named.THEME),
        ),
    ] = None
    type: Annotated[
        str | None,
        typer.Option(
            metavar="TYPE",
            help=f"One of: {words(MemoryType)}.",
            autocompletion=completing(MemoryType),
        ),
    ] = None
    key: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Name of a fact: what has the same key is updated."),
    ] = None
    tag: Annotated[
        list[str] | None, typer.Option(metavar="TAG", help="Tag; may be given several times.")
    ] = None
    source: Annotated[
        str | None,
        typer.Option(
            metavar="SOURCE", help=f"One of: {words(Source)}.", autocompletion=completing(Source)
        ),
    ] = None
    source_context: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Where it was learnt.")
    ] = None
    message_id: Annotated[str | None, typer.Option(metavar="ID", help="Message that said it.")] = (
        None
    )
    confidence: Annotated[
        int | None, typer.Option(metavar="N", help="How sure it is: 0 to 100.")
    ] = None
    importance: Annotated[
        int | None, typer.Option(metavar="N", help="How much it matters: 1 to 5.")
    ] = None
    pin: Annotated[bool | None, typer.Option("--pin/--no-pin", help="Mark it as one to keep.")] = (
        None
    )
    valid_from: Annotated[
        str | None, typer.Option(metavar=_TIME, help="Since when it is true (default: now).")
    ] = None
    valid_to: Annotated[str | None, typer.Option(metavar=_TIME, help="Until when it is true.")] = (
        None
    )
    expires_at: Annotated[
        str | None, typer.Option(metavar=_TIME, help="When it shall be forgotten.")
    ] = None
    expires_days: Annotated[
        int | None,
        typer.Option(
            metavar="DAYS",
            min=1,
            max=_MAX_EXPIRES_DAYS,
            help="In how many days it shall be forgotten.",
        ),
    ] = None
    created_at: Annotated[
        str | None, typer.Option(metavar=_TIME, help="When it was noted (default: now).")
    ] = None

    def given(self) -> dict[str, Any]:
        """What was given, under the names that the library has for it.

        Raises:
            InvalidValue: the end is given twice.
        """
        values = {
            "theme": self.theme,
            "type": self.type,
            "key": self.key,
            "tags": self.tag or None,
            "source": self.source,
            "source_context": self.source_context,
            "message_id": self.message_id,
            "confidence": self.confidence,
            "importance": self.importance,
            "pinned": self.pin,
            "valid_from": self.valid_from,
            "valid_to": self.valid_to,
            "expires_at": self._end(),
            "created_at": self.created_at,
        }
        return {name: value for name, value in values.items() if value is not None}

    def _end(self) -> object:
        if self.expires_days is None:
            return self.expires_at
        if self.expires_at is not None:
            raise InvalidValue("expires_at", "give either --expires-at or --expires-days")
        return system_clock() + timedelta(days=self.expires_days)
