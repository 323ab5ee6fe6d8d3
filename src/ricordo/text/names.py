"""Who is who: the names that a user gives to people, animals, projects, things and places.

A statement makes one of "my sister" and "Carolina"; names that are shared make one of several.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Final, NamedTuple

from ricordo.frozen import dataclass
from ricordo.text.analyser import stop_words
from ricordo.text.namings import (
    MOST_WORDS,
    TOKEN,
    Naming,
    Token,
    relations,
    roles_of,
    token,
    word_list,
)
from ricordo.text.normalise import capitalised_inside_sentence
from ricordo.text.people import ADDRESSES

_MOST_ADDED: Final = 3  # other names of one; each is a further question


@dataclass(frozen=True, slots=True)
class Entity:
    """One of whom the user speaks, by ``names`` and, if that is clear, by a role (``told``)."""

    names: tuple[str, ...]
    roles: frozenset[str]
    told: str | None


class Mention(NamedTuple):
    entity: Entity
    start: int
    end: int
    is_role: bool


class Names:
    """Everybody whom a user has named. Statements may come in any order."""

    def __init__(self, said: Iterable[Naming] = ()) -> None:
        stated = sorted(set(said), key=lambda one: (one.names, one.roles, one.told or ""))
        self._forms: dict[str, Entity] = {}
        self._roles: dict[str, Entity] = {}
        groups = _groups([one for one in stated if one.names])
        by_form = {form: number for number, group in enumerate(groups) for form in group}
        whose: dict[str, set[int]] = {}
        of: list[list[Naming]] = [[] for _ in groups]
        for place, one in enumerate(stated):
            number = by_form[_form(one.names[0])] if one.names else -1 - place
            if one.names:
                of[number].append(one)
            for role in one.roles:
                whose.setdefault(role, set()).add(number)
        for number, group in enumerate(groups):
            entity = _entity(
                of[number],
                {role for one in of[number] for role in one.roles if len(whose[role]) == 1},
            )
            self._forms |= dict.fromkeys(group, entity)
            self._roles |= dict.fromkeys(entity.roles, entity)
        roles = (word for role in self._roles for word in role.split()[:2])
        self._starts = {*(form.partition(" ")[0] for form in self._forms), *roles} | _role_starts()

    def __bool__(self) -> bool:
        return bool(self._forms)

    @property
    def entities(self) -> list[Entity]:
        return list(dict.fromkeys(self._forms.values()))

    def mentioned(self, text: str) -> list[Mention]:
        """Who is meant in a text, in its order, each time."""
        if not self._forms:
            return []
        composed = unicodedata.normalize("NFC", text)
        tokens = [token(match) for match in TOKEN.finditer(composed)]
        found: list[Mention] = []
        place = 0
        while place < len(tokens):
            mention, count = self._at(composed, tokens, place)
            if mention is not None:
                found.append(mention)
            place += max(count, 1)
        return found

    def spellings(self, entity: Entity) -> list[str]:
        """All words by which a text may mention one."""
        meanings = {role.removeprefix("my ") for role in entity.roles}
        words = [word for word, meaning in relations().items() if meaning in meanings]
        described = [role.partition(" ")[2] for role in entity.roles]
        forms = [form for form, one in self._forms.items() if one == entity]
        return [*forms, *described, *words]

    def asked(self, text: str) -> "Asked":
        return Asked(self, text, tuple(self.mentioned(text)))

    def _at(self, text: str, tokens: Sequence[Token], place: int) -> tuple[Mention | None, int]:
        """Who is mentioned from a word on, and by how many words."""
        if tokens[place].word not in self._starts:
            return None, 1
        for count in range(min(MOST_WORDS + 1, len(tokens) - place), 0, -1):
            span = tokens[place : place + count]
            if any(one.is_possessive for one in span[1:-1]):
                continue
            entity = self._by_role(span)
            if entity is None and not any(one.is_possessive for one in span[:-1]):
                entity = self._by_name(text, span)
                if entity is not None:
                    return Mention(entity, span[0].start, span[-1].end, False), count
            elif entity is not None:
                return Mention(entity, span[0].start, span[-1].end, True), count
        return None, 1

    def _by_name(self, text: str, span: Sequence[Token]) -> Entity | None:
        entity = self._forms.get(" ".join(one.word for one in span))
        if entity is None:
            return None
        start, end = span[0].start, span[-1].end
        if not text[start].isupper() and not text.islower():
            return None  # a word like any other
        is_common = len(span) == 1 and span[0].word in stop_words("english")
        return None if is_common and not capitalised_inside_sentence(text, start, end) else entity

    def _by_role(self, span: Sequence[Token]) -> Entity | None:
        words = [one.word for one in span]
        first, last = span[0], span[-1]
        is_mine = words[0] in word_list("owners before") or (
            words[0] == "user" and first.is_possessive
        )
        if is_mine and len(span) > 1:
            return self._of_role(words[1:], is_last=True)
        if first.is_possessive and len(span) > 1:
            return None
        if words[-1] in word_list("owners after") and not last.is_possessive:
            return self._of_role(words[:-1], is_last=False)
        if len(span) == 1 and words[0].endswith("ku") and words[0][:-2] in relations():
            return self._of_role([words[0][:-2]], is_last=False)
        if len(span) > 1:
            return self._roles.get(" ".join(words)) or self._roles.get(f"the {' '.join(words)}")
        return None

    def _of_role(self, words: Sequence[str], *, is_last: bool) -> Entity | None:
        if not words:
            return None
        as_said = self._roles.get(f"my {' '.join(words)}")
        described = self._roles.get(f"the {' '.join(words)}") if is_last else None
        if as_said is not None or described is not None:
            return as_said or described
        known = relations().get(" ".join(words))
        if known is not None:
            return self._roles.get(f"my {known}")
        found = roles_of(words, is_last=is_last)
        if found is None:
            return None
        exact = len(found[1]) == len(words)
        return next((self._roles[role] for role in found[0] if role in self._roles and exact), None)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and whom it mentions."""

    names: Names
    text: str
    mentions: tuple[Mention, ...] = ()

    @property
    def aliases(self) -> list[str]:
        """What those whom it mentions are called as well."""
        return list(dict.fromkeys(name for one in self.mentions for name in self.others(one)))

    @property
    def variants(self) -> list[str]:
        """The same question with other names: the first ones, the second ones, and so on."""
        if not self.mentions:
            return []
        most = max(len(self.others(one)) for one in self.mentions)
        return [self._with([self.others(one) for one in self.mentions], at) for at in range(most)]

    def others(self, mention: Mention) -> list[str]:
        entity = mention.entity
        said = {_form(self._said(one)) for one in self.mentions if one.entity == entity}
        has_role = any(one.is_role for one in self.mentions if one.entity == entity)
        told = [] if has_role or entity.told is None else [entity.told]
        names = [name for name in entity.names if _form(name) not in said]
        return [*told, *names][:_MOST_ADDED]

    def words(self, mention: Mention) -> list[str]:
        """The same without "my": what is searched for."""
        owners = word_list("owners before") | word_list("owners after") | {"the"}
        return [
            word
            for other in self.others(mention)
            for word in other.split()
            if word.casefold() not in owners
        ]

    def reworded(self, text: str) -> str:
        """A text with the question's own words for whom both mention."""
        words = {one.entity: one for one in reversed(self.mentions)}
        there = self.names.mentioned(text) if words else []
        composed, pieces, end = unicodedata.normalize("NFC", text), [], 0

        def key(one: Mention, said: str) -> tuple[Entity, str]:
            return one.entity, "" if one.is_role else _form(said)

        present = {key(one, composed[one.start : one.end]) for one in there}
        for one in there:
            asked = words.get(one.entity)
            if asked is not None and key(asked, self._said(asked)) not in present:
                pieces += [composed[end : one.start], self._said(asked)]
                end = one.end
        return "".join([*pieces, composed[end:]]) if pieces else text

    def _said(self, mention: Mention) -> str:
        return unicodedata.normalize("NFC", self.text)[mention.start : mention.end]

    def _with(self, others: Sequence[Sequence[str]], at: int) -> str:
        composed, pieces, end = unicodedata.normalize("NFC", self.text), [], 0
        for one, named in zip(self.mentions, others, strict=True):
            if named:
                pieces += [composed[end : one.start], named[min(at, len(named) - 1)]]
                end = one.end
        return "".join([*pieces, composed[end:]])


@cache
def _role_starts() -> frozenset[str]:
    heads = {word.partition(" ")[0] for word in relations()}
    mine = {f"{word}ku" for word in heads}
    return frozenset(heads | mine | word_list("owners before") | {"user", "the"})


def _entity(said: Sequence[Naming], roles: set[str]) -> Entity:
    first = sorted(said, key=lambda one: not one.roles)  # the name that goes with a role
    written: dict[str, str] = {}
    for name in (name for one in first for name in one.names):
        written.setdefault(_form(name), name)
    told = [one.told for one in first if one.told and roles >= {*one.roles}]
    is_clear = len({one.roles[-1] for one in said if one.roles}) == 1
    return Entity(tuple(written.values()), frozenset(roles), told[0] if told and is_clear else None)


def _form(name: str) -> str:
    """A name as it is compared: its words without case, accents and signs."""
    return " ".join(token(match).word for match in TOKEN.finditer(name))


def _groups(said: Sequence[Naming]) -> list[list[str]]:
    """The forms of each one: names that were said to be the same, through others as well.

    The first name of a full name is another form, unless several have it, or what is said of the
    two is not the same.
    """
    forms = sorted({_form(name) for one in said for name in one.names})
    firsts: dict[str, set[str]] = {}
    for form in forms:
        first, *rest = [word for word in form.split() if word not in ADDRESSES] or [form]
        if rest or first != form:
            firsts.setdefault(first, set()).add(form)
    parent = {form: form for form in forms}

    def root(form: str) -> str:
        while parent[form] != form:
            form = parent[form]
        return form

    def join(one: str, other: str) -> None:
        low, high = sorted((root(one), root(other)))
        parent[high] = low

    for one in said:
        for name in one.names[1:]:
            join(_form(one.names[0]), _form(name))
    roles: dict[str, set[str]] = {}
    for one in said:
        roles.setdefault(root(_form(one.names[0])), set()).update(one.roles[-1:])
    for first, full in firsts.items():
        roots = {root(form) for form in full}
        mine, theirs = (
            roles.get(root(parent.setdefault(first, first)), set()),
            roles.get(min(roots), set()),
        )
        is_free = not mine or not theirs or not mine.isdisjoint(theirs)
        if len(roots) == 1 and is_free and first not in stop_words("english"):
            join(first, min(roots))
            roles[root(first)] = mine | theirs
    groups: dict[str, list[str]] = {}
    for form in sorted(parent):
        groups.setdefault(root(form), []).append(form)
    return list(groups.values())


NOBODY: Final = Asked(Names(), "")
