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
"""Sources of memories that somebody stored deliberately."""

IN_PASSING: Final = (Source.CONVERSATION, Source.TOOL_CALL, Source.AUTO_DISCOVERY)
"""Sources of memories that nobody asked for."""


class ToolSet(StrEnum):
    """The named sets of tools."""

    STANDARD = "standard"
    SINGLE = "single"
    QUERY = "query"
    PROFILE = "profile"


class SchemaForm(StrEnum):
    """The API that tool schemas are for."""

    OPENAI = "openai"
    OPENAI_RESPONSES = "openai_responses"
    ANTHROPIC = "anthropic"


class Status(StrEnum):
    """The status of a memory; ``model/item.py`` has the legal transitions."""

    ACTIVE = "active"
    ARCHIVED = "archived"
    SUPERSEDED = "superseded"
    DELETED = "deleted"


class Undoable(StrEnum):
    """What an undo of a memory would revert."""

    REPLACEMENT = "replacement"
    UPDATE = "update"


class Event(StrEnum):
    """The kind of a change in history."""

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
    RATE = "RATE"


class Verdict(StrEnum):
    """What a rating says of a memory: it helped, it was never true, it is true no longer; or that
    the rating before is taken back.
    """

    USED = "used"
    WRONG = "wrong"
    OUTDATED = "outdated"
    WITHDRAWN = "withdrawn"


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
    """The holder of a key: one user, an agent of one user, or a service that acts for any user."""

    USER = "user"
    AGENT = "agent"
    SERVICE = "service"


class AccessScope(StrEnum):
    """What a user can allow a program that signs in with OAuth; writing includes reading."""

    READ = "memory:read"
    WRITE = "memory:write"


class TokenKind(StrEnum):
    """What a program shows: a code once, for tokens; an access token with each request; a refresh
    token once, for the next tokens."""

    CODE = "code"
    ACCESS = "access"
    REFRESH = "refresh"


class Permission(StrEnum):
    """What a key may do beyond one user's memory.

    ``share`` is for agents, who cannot offer memories to other users without it, and for services,
    whose offers need no consent.
    """

    READ_ALL = "read_all"
    MANAGE = "manage"
    SHARE = "share"


class GroupRole(StrEnum):
    """What a member may do in the space of a group; each role may do what those before it may."""

    READ = "read"
    WRITE = "write"
    MANAGE = "manage"

    def allows(self, needed: "GroupRole") -> bool:
        """Whether what needs a role may be done with this one."""
        order = list(GroupRole)
        return order.index(self) >= order.index(needed)


class LinkState(StrEnum):
    """Whether another user sees a memory, or has yet to accept it."""

    OFFERED = "offered"
    ACCEPTED = "accepted"


class SharingRight(StrEnum):
    """What a scope may do with shared memories: nothing; offer; offer and decide for the user; or
    share at once, because the operator vouches for it.
    """

    NONE = "none"
    OFFER = "offer"
    DECIDE = "decide"
    VOUCHED = "vouched"


class JobState(StrEnum):
    """The state of a job; ``dead`` jobs have used up their attempts."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    DEAD = "dead"
    CANCELLED = "cancelled"


class UpstreamKind(StrEnum):
    """What a model's endpoint keeps under an id that it gives to a user."""

    RESPONSE = "response"
    CONVERSATION = "conversation"
    ITEM = "item"


class WebhookState(StrEnum):
    """Whether a webhook delivers changes. A paused one goes on where it was once it is resumed."""

    ACTIVE = "active"
    PAUSED = "paused"


class Lane(StrEnum):
    """Separate queues, so that quick jobs need not wait for slow ones, nor any for the servers of
    others, which may hang."""

    FAST = "fast"
    SLOW = "slow"
    DELIVERY = "delivery"


class VectorState(StrEnum):
    """The state of a vector."""

    PENDING = "pending"
    READY = "ready"
    ERROR = "error"


class ProposalKind(StrEnum):
    """Why a proposal waits: a statement for consent or corroboration, another user's offer for
    acceptance.
    """

    CONSENT = "consent"
    CORROBORATION = "corroboration"
    SHARE = "share"


SAID_KINDS: Final = (ProposalKind.CONSENT, ProposalKind.CORROBORATION)
"""Proposals from conversations, not from other users."""


class ProposalState(StrEnum):
    """The state of a proposal; only open ones can be decided."""

    OPEN = "open"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"


class Action(StrEnum):
    """What formation decided about one statement.

    ``close`` ends memories without a new one: what was open is done.
    """

    ADD = "add"
    UPDATE = "update"
    REPLACE = "replace"
    UNLINK = "unlink"
    CLOSE = "close"
    IGNORE = "ignore"
    REJECT = "reject"
    PROPOSE = "propose"
    DEFER = "defer"


class Ownership(StrEnum):
    """Whose a memory is, to who reads it: their own, one of those that they share with other users,
    one that another user shares with them, a group's, a global one."""

    OWN = "own"
    SHARED = "shared"
    RECEIVED = "received"
    GROUP = "group"
    GLOBAL = "global"


class EventStatus(StrEnum):
    """How a step of background work ended."""

    OK = "ok"
    SKIPPED = "skipped"
    ERROR = "error"


GLOBAL_OWNER: Final = "*"
"""Owner of the memories that users with few of their own can see."""

GENERAL_THEME: Final = "general"

DEFAULT_IMPORTANCE: Final = 2
DEFAULT_CONFIDENCE: Final = 70
CONFIDENCE_BY_SOURCE: Final = {
    Source.TOOL_CALL: 95,
    Source.AUTO_DISCOVERY: 95,
    Source.USER_EXPLICIT: 90,
}


def default_confidence(source: Source) -> int:
    """The confidence of a memory when the caller gives none."""
    return CONFIDENCE_BY_SOURCE.get(source, DEFAULT_CONFIDENCE)
