"""The closed vocabularies of the model: every enumeration a caller can meet."""

from enum import StrEnum
from typing import Final


class MemoryType(StrEnum):
    """What kind of thing is remembered."""

    PREFERENCE = "preference"
    FACT = "fact"
    INSTRUCTION = "instruction"
    SUMMARY = "summary"
    INSIGHT = "insight"
    EPISODE = "episode"
    PROCEDURE = "procedure"
    OTHER = "other"


class Source(StrEnum):
    """How a memory came to be known."""

    USER_EXPLICIT = "user_explicit"
    CONVERSATION = "conversation"
    TOOL_CALL = "tool_call"
    AUTO_DISCOVERY = "auto_discovery"
    SYSTEM = "system"
    IMPORT = "import"
    FILE = "file"


ON_PURPOSE: Final = (Source.USER_EXPLICIT, Source.IMPORT, Source.FILE)
"""Where memories come from that somebody put here, rather than let fall in passing."""


class ToolSet(StrEnum):
    """The named sets of tools; what is in each is in ``tools/sets.py``."""

    STANDARD = "standard"
    SINGLE = "single"
    QUERY = "query"
    PROFILE = "profile"


class SchemaForm(StrEnum):
    """For whose interface schemas of tools are."""

    OPENAI = "openai"
    OPENAI_RESPONSES = "openai_responses"
    ANTHROPIC = "anthropic"


class Status(StrEnum):
    """Where a memory stands in its life; the legal steps are in ``lifecycle.py``."""

    ACTIVE = "active"
    ARCHIVED = "archived"
    SUPERSEDED = "superseded"
    DELETED = "deleted"


class Undoable(StrEnum):
    """What an undo of a memory would take back."""

    REPLACEMENT = "replacement"
    UPDATE = "update"


class Event(StrEnum):
    """What a row of history says happened."""

    ADD = "ADD"
    UPDATE = "UPDATE"
    ARCHIVE = "ARCHIVE"
    DELETE = "DELETE"
    RESTORE = "RESTORE"
    SUPERSEDE = "SUPERSEDE"
    MERGE = "MERGE"
    LINK = "LINK"
    UNLINK = "UNLINK"
    TTL = "TTL"
    PURGE = "PURGE"
    CONSENT = "CONSENT"
    PIN = "PIN"
    VERIFY = "VERIFY"
    UNDO = "UNDO"


class ContextPolicy(StrEnum):
    """What a prompt that recalls shows of a theme: all of it, or what is relevant."""

    ALL = "all"
    RAG = "rag"


class ContextMode(StrEnum):
    """What of memory a prompt has: a guide to the tools, what is recalled, or the narrative."""

    TOOLS = "tools"
    RECALL = "recall"
    SUMMARY = "summary"


class KeyKind(StrEnum):
    """Whom a key lets in: one user, an agent of one user, or a service that acts for any user."""

    USER = "user"
    AGENT = "agent"
    SERVICE = "service"


class Permission(StrEnum):
    """What a key may do beyond one user's memory.

    ``share`` is for agents, who can offer nothing to other users without it, and for services: what
    these offer needs no consent.
    """

    READ_ALL = "read_all"
    MANAGE = "manage"
    SHARE = "share"


class LinkState(StrEnum):
    """Whether a memory is seen by another user, or waits for them to accept it."""

    OFFERED = "offered"
    ACCEPTED = "accepted"


class SharingRight(StrEnum):
    """What a scope may do with what users share: nothing; offer; offer and decide for the user; or
    share at once, because the operator vouches for it."""

    NONE = "none"
    OFFER = "offer"
    DECIDE = "decide"
    VOUCHED = "vouched"


class JobState(StrEnum):
    """Where a job stands; ``dead`` jobs used up their attempts and wait for a person."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    DEAD = "dead"
    CANCELLED = "cancelled"


class Lane(StrEnum):
    """Jobs that wait in line together, so that quick ones need not wait for slow ones."""

    FAST = "fast"
    SLOW = "slow"


class VectorState(StrEnum):
    """Whether what is searched by meaning has its vector."""

    PENDING = "pending"
    READY = "ready"
    ERROR = "error"


class ProposalKind(StrEnum):
    """Why something waits: what was said, for the user's consent or for a second sign of it; what
    another user offers to share, for being accepted."""

    CONSENT = "consent"
    CORROBORATION = "corroboration"
    SHARE = "share"


SAID_KINDS: Final = (ProposalKind.CONSENT, ProposalKind.CORROBORATION)
"""Of what was said; what others offer is kept apart."""


class ProposalState(StrEnum):
    """Where a proposal stands; only open ones can be decided."""

    OPEN = "open"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"


class Action(StrEnum):
    """What formation decided about one thing that was said."""

    ADD = "add"
    UPDATE = "update"
    REPLACE = "replace"
    UNLINK = "unlink"
    IGNORE = "ignore"
    REJECT = "reject"
    PROPOSE = "propose"
    DEFER = "defer"


class EventStatus(StrEnum):
    """How a step of background work ended."""

    OK = "ok"
    SKIPPED = "skipped"
    ERROR = "error"


GLOBAL_OWNER: Final = "*"
"""Owner of the memories that every user with few of their own can see."""

GENERAL_THEME: Final = "general"
"""Where a memory without a theme is filed."""

DEFAULT_IMPORTANCE: Final = 2
DEFAULT_CONFIDENCE: Final = 70
CONFIDENCE_BY_SOURCE: Final = {
    Source.TOOL_CALL: 95,
    Source.AUTO_DISCOVERY: 95,
    Source.USER_EXPLICIT: 90,
}


def default_confidence(source: Source) -> int:
    """How sure one can be of a memory when the caller does not say."""
    return CONFIDENCE_BY_SOURCE.get(source, DEFAULT_CONFIDENCE)
