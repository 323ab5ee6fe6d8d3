"""The options that say which memories to list."""

from dataclasses import dataclass, fields
from typing import Annotated, Any, Final

import typer

from ricordo.cli.names import Named, completing_names
from ricordo.cli.options import completing, words
from ricordo.model.vocabulary import MemoryType, Source, Status

_SEVERAL: Final = "may be given several times"


@dataclass(frozen=True, kw_only=True)
class Filters:
    """Every filter of the library, under its own name; all that are given must hold."""

    status: Annotated[
        list[str] | None,
        typer.Option(
            metavar="STATUS",
            help=f"{words(Status)}, or any; {_SEVERAL} (default: active).",
            autocompletion=completing(Status),
        ),
    ] = None
    theme: Annotated[
        list[str] | None,
        typer.Option(
            "--theme",
            "--category",
            metavar="NAME",
            help=f"Heading; {_SEVERAL}.",
            autocompletion=completing_names(Named.THEME),
        ),
    ] = None
    type: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TYPE",
            help=f"{words(MemoryType)}; {_SEVERAL}.",
            autocompletion=completing(MemoryType),
        ),
    ] = None
    source: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SOURCE",
            help=f"{words(Source)}; {_SEVERAL}.",
            autocompletion=completing(Source),
        ),
    ] = None
    tags: Annotated[
        list[str] | None,
        typer.Option("--tag", metavar="TAG", help=f"Has this tag; {_SEVERAL}, for all of them."),
    ] = None
    key: Annotated[str | None, typer.Option(metavar="NAME", help="Has this key.")] = None
    source_context: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Was learnt exactly there.")
    ] = None
    contains: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Has this text in it, in any case, accents or not."),
    ] = None
    thread_id: Annotated[
        str | None,
        typer.Option(
            "--thread",
            metavar="ID",
            help="Conversation.",
            autocompletion=completing_names(Named.THREAD),
        ),
    ] = None
    message_id: Annotated[str | None, typer.Option(metavar="ID", help="Message.")] = None
    agent_id: Annotated[str | None, typer.Option("--agent", metavar="ID", help="Agent.")] = None
    run_id: Annotated[str | None, typer.Option("--run", metavar="ID", help="Run.")] = None
    actor_id: Annotated[str | None, typer.Option("--actor", metavar="NAME", help="Actor.")] = None
    role: Annotated[str | None, typer.Option(metavar="NAME", help="Role.")] = None
    pinned: Annotated[
        bool | None, typer.Option("--pinned/--not-pinned", help="Only pinned ones, or only others.")
    ] = None
    importance_min: Annotated[
        int | None, typer.Option(metavar="N", help="At least this important (1 to 5).")
    ] = None
    importance_max: Annotated[
        int | None, typer.Option(metavar="N", help="At most this important (1 to 5).")
    ] = None
    confidence_min: Annotated[
        int | None, typer.Option(metavar="N", help="At least this sure (0 to 100).")
    ] = None
    created_after: Annotated[
        str | None, typer.Option(metavar="TIME", help="Noted at or after.")
    ] = None
    created_before: Annotated[str | None, typer.Option(metavar="TIME", help="Noted before.")] = None
    updated_after: Annotated[
        str | None, typer.Option(metavar="TIME", help="Changed at or after.")
    ] = None
    updated_before: Annotated[str | None, typer.Option(metavar="TIME", help="Changed before.")] = (
        None
    )
    as_of: Annotated[
        str | None, typer.Option(metavar="TIME", help="What was true at that time.")
    ] = None

    def given(self) -> dict[str, Any]:
        """What was given, as the library takes it."""
        values = {field.name: _one_or_all(getattr(self, field.name)) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}


def _one_or_all(value: Any) -> Any:
    """A single value by itself, because ``any`` is a status only when it stands alone."""
    if not isinstance(value, list | tuple):
        return value
    if not value:
        return None
    return value[0] if len(value) == 1 else list(value)
