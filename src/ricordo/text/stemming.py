"""The stemmers: one per Snowball language, always the pure Python ones.

One is loaded when a word of its language is first stemmed, and only that one: importing the
package as a whole loads all of them, which takes ten times as long, and hands out compiled
stemmers where those are installed, with which one database could get other terms on another
machine.
"""

import importlib
import importlib.util
import pkgutil
import sys
import threading
from collections.abc import Callable
from functools import cache, lru_cache
from types import ModuleType
from typing import Final

from ricordo.text.affixes import QuickAffixes

NO_LANGUAGE: Final = "none"

_PACKAGE: Final = "snowballstemmer"
_UNOPENED_PACKAGE: Final = "_ricordo_snowballstemmer"  # the same folder, its __init__ not run
_SUFFIX: Final = "_stemmer"
_MAX_KNOWN_STEMS: Final = 32_768


@cache
def languages() -> tuple[str, ...]:
    """The languages that have a stemmer here. Does not load any of them."""
    names = (module.name for module in pkgutil.iter_modules(_folders()))
    return tuple(sorted(name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX)))


@cache
def stemmer_version() -> str:
    """The version of the package whose stemmers are used."""
    from importlib.metadata import version  # slow to load, and not needed for searching

    return version(_PACKAGE)


@cache
def stemmer(language: str) -> Callable[[str], str]:
    """The stem of a folded word, remembered for the words seen last. Safe to call from threads."""
    if language == NO_LANGUAGE:
        return str
    lock = threading.Lock()
    load = cache(lambda: _load(language))

    @lru_cache(maxsize=_MAX_KNOWN_STEMS)
    def stem(word: str) -> str:
        with lock:  # a stemmer keeps the word it works on in itself
            return load()(word) or word

    return stem


def _folders() -> list[str]:
    found = importlib.util.find_spec(_PACKAGE)
    return list(found.submodule_search_locations or ()) if found else []


def _load(language: str) -> Callable[[str], str]:
    if _UNOPENED_PACKAGE not in sys.modules:
        unopened = ModuleType(_UNOPENED_PACKAGE)
        unopened.__path__ = _folders()
        sys.modules[_UNOPENED_PACKAGE] = unopened
    module = importlib.import_module(f"{_UNOPENED_PACKAGE}.{language}{_SUFFIX}")
    name = "".join(part.capitalize() for part in language.split("_"))
    given = getattr(module, f"{name}Stemmer")
    stem: Callable[[str], str] = type(given.__name__, (QuickAffixes, given), {})().stemWord
    return stem
