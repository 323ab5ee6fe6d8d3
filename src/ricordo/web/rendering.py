"""From a template and values to HTML. Everything is escaped unless a template made it itself."""

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import HTMLResponse

from ricordo.model.checks import format_moment
from ricordo.version import __version__
from ricordo.web.headers import PRIVATE
from ricordo.web.static_files import address_of


@lru_cache(maxsize=1)
def environment() -> Environment:
    """The templates, loaded when first used."""
    made = Environment(
        loader=PackageLoader("ricordo.web", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters.update(
        when=when,
        count=_count,
        share=_share,
        plural=_plural,
        shortened=_shortened,
        words=_words,
        listed=listed,
    )
    made.globals.update(static=address_of, version=__version__, address=address)
    return made


def rendered(template: str, values: Mapping[str, Any], status: int = 200) -> HTMLResponse:
    """A template filled in, as an answer that no cache keeps."""
    html = environment().get_template(template).render(values)
    return HTMLResponse(html, status_code=status, headers=PRIVATE)


def address(path: str, /, **parameters: Any) -> str:
    """An address with its parameters, without those that say nothing."""
    said = {name: value for name, value in parameters.items() if value not in (None, "", (), [])}
    return f"{path}?{urlencode(said, doseq=True)}" if said else path


def when(moment: datetime) -> Markup:
    """A time: readable as it stands (UTC), exact on hover; the script puts it in the reader's
    zone."""
    return Markup('<time datetime="{}" title="{}">{}</time>').format(
        format_moment(moment),
        f"{moment:%Y-%m-%d %H:%M:%S} UTC",
        f"{moment.day} {moment:%b %Y, %H:%M} UTC",
    )


def listed(tag: str) -> str:
    """A tag as a list with commas has it: in quotes where it could be taken for more than one."""
    if tag.isprintable() and not {",", '"'} & set(tag):
        return tag
    return '"' + tag.replace('"', '""') + '"'


def _count(number: int) -> str:
    return f"{number:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def _share(part: float) -> str:
    return f"{part:.0%}"


def _plural(number: int, one: str, several: str | None = None) -> str:
    return f"{_count(number)} {one if number == 1 else several or one + 's'}"


def _shortened(text: str, length: int) -> str:
    """The beginning of a text, ended at a word where there is one near."""
    if len(text) <= length:
        return text
    cut = text[:length]
    at_word = cut.rpartition(" ")[0]
    return f"{at_word if len(at_word) > length // 2 else cut}…"


def _words(name: str) -> str:
    """A name of the vocabulary as people write it."""
    return name.replace("_", " ")
