"""What may be stored at once, and what needs the user's consent."""

import re
from datetime import datetime, timedelta
from typing import Final

import sqlalchemy as sa

from ricordo.formation.candidate import Candidate
from ricordo.formation.resources import pattern, words
from ricordo.formation.schedule import FormationPolicy
from ricordo.formation.sensitive import plain_text, sensitive_fields_of
from ricordo.formation.statements import opposed, refines, says_nothing_new
from ricordo.frozen import dataclass
from ricordo.limits import CORROBORATION_DAYS, MAX_CONTENT_CHARS, MAX_REFUTED, REJECTED_DAYS
from ricordo.model.proposal import StoredProposal
from ricordo.model.vocabulary import MemoryType, ProposalKind, Status
from ricordo.storage.database import WriteTransaction
from ricordo.storage.formation import open_proposals, rejected_since
from ricordo.storage.items import find_items
from ricordo.storage.tables import items
from ricordo.storage.where import is_of
from ricordo.text.normalise import content_hash

MONEY: Final = "redirects_money"
MAIL: Final = "redirects_mail"
CREDENTIALS: Final = "redirects_credentials"
TOOLS: Final = "redirects_tools"
REDIRECTIONS: Final = frozenset({MONEY, MAIL, CREDENTIALS, TOOLS})
"""Fields of proposals: what a wish would redirect."""

_WISHED: Final = pattern("consent", "wished", re.IGNORECASE)

_MAIL = pattern("consent", "redirects mail", re.IGNORECASE)
_MONEY = pattern("consent", "redirects money", re.IGNORECASE)
_CREDENTIALS = pattern("consent", "credentials", re.IGNORECASE)
_HANDED_OVER = pattern("consent", "handed over", re.IGNORECASE)
_OWN_CHECKS = pattern("consent", "own checks", re.IGNORECASE)
_TOOLS = pattern("consent", "redirects tools", re.IGNORECASE)

TONE: Final = "tone"
GOALS: Final = "goals"

_TONE_KEYS: Final = words("consent", "tone keys")
_GOAL_KEYS: Final = frozenset({"goal", "goals", "tujuan", "ziel", "ziele"})

_WANTED_ANSWERS: Final = pattern("consent", "wanted answers")
_JAPANESE_TONE: Final = pattern("consent", "japanese tone")
_ABOUT_OTHERS: Final = pattern("consent", "about others")

_TASTES: Final = frozenset({MemoryType.PREFERENCE, MemoryType.FACT, MemoryType.OTHER})

NEEDS_CONSENT: Final = "sensitive: waits for consent"
NEEDS_CONSENT_TO_REDIRECT: Final = "leads something elsewhere: waits for consent"
NEEDS_OWN_VOICE: Final = "maybe not the user's own words: waits for consent"
NEEDS_CORROBORATION: Final = "waits until it is said again"
PROPOSED_BEFORE: Final = "proposed already"
TURNED_DOWN: Final = "turned down before"
REFUTED: Final = "the user said since that it is not so"
UNSURE_VOICE: Final = "unsure_voice"
"""The field of a proposal that may be in somebody else's words."""
_REQUESTS: Final = frozenset({MemoryType.INSTRUCTION, MemoryType.PROCEDURE})


def redirections(candidate: Candidate) -> tuple[str, ...]:
    """What a standing wish would redirect (money, mail, credentials, tools); empty for facts and
    harmless wishes.

    Whoever can make an assistant copy in an address, pay to an account or run a command from now on
    has gained more than any fact would give. So such a wish always needs consent, even if it was
    asked for explicitly.
    """
    said = f"{candidate.content}\n{candidate.quote}"
    if candidate.is_about_work:
        said = _OWN_CHECKS.sub("", said)
    if candidate.type not in _REQUESTS and not _WISHED.search(said):
        return ()
    found = [
        (MONEY, _MONEY.search(said)),
        (MAIL, _MAIL.search(said)),
        (CREDENTIALS, _CREDENTIALS.search(said) and _HANDED_OVER.search(said)),
        (TOOLS, _TOOLS.search(said)),
    ]
    return tuple(name for name, match in found if match)


def benign_field(candidate_key: str | None, type: MemoryType, content: str) -> str | None:
    """The benign profile field that a statement is about, or None.

    ``tone`` is how the user likes to be answered, ``goals`` what they want to reach. Standing
    instructions are explicit and need no second signal.
    """
    if type is MemoryType.INSTRUCTION:
        return None
    if candidate_key is not None:
        head = re.sub(r"[\s.-]+", "_", plain_text(candidate_key).partition(":")[0].strip())
        if head in _TONE_KEYS:
            return TONE
        if head in _GOAL_KEYS:
            return GOALS
    if type not in _TASTES:
        return None
    plain = plain_text(content[:MAX_CONTENT_CHARS])
    if _JAPANESE_TONE.search(plain):
        return TONE
    return TONE if _WANTED_ANSWERS.search(plain) and not _ABOUT_OTHERS.search(plain) else None


@dataclass(frozen=True, slots=True)
class PendingConsent:
    """Why a candidate may not be stored now.

    ``open`` is the proposal that it belongs to, if there is one. ``is_ripe``: it has now been said
    often enough to be stored. ``overtakes`` are open proposals that give another answer to the same
    question.
    """

    kind: ProposalKind
    fields: tuple[str, ...]
    open: StoredProposal | None = None
    overtakes: tuple[StoredProposal, ...] = ()
    is_ripe: bool = False
    is_turned_down: bool = False


def waiting_for(
    writing: WriteTransaction, policy: FormationPolicy, candidate: Candidate
) -> PendingConsent | None:
    """Why something has to wait; None if it may be stored at once.

    ==================================================  ======================================
    statement                                           outcome
    ==================================================  ======================================
    would redirect money, mail, credentials or tools    proposed: stored when the user agrees
    a wish or request, somebody else may be speaking    proposed: stored when the user agrees
    anything, somebody else is probably speaking        proposed: stored when the user agrees
    explicit: "remember that …"                         stored
    says only that a memory is over                     stored
    about work (work.py), where nothing is private      stored
    private, added to a request for something else      proposed: stored when the user agrees
    touches a sensitive field                           proposed: stored when the user agrees
    a wish about tone, or a goal                        proposed: stored when said again
    was proposed and rejected before                    ignored
    anything else                                       stored
    ==================================================  ======================================
    """
    kind, fields = _kind_of(policy, candidate)
    if kind is None:
        return None
    connection, user_id, now = writing.connection, writing.user_id, writing.now
    digest = content_hash(candidate.content)
    if digest in rejected_since(connection, user_id, {digest}, now - timedelta(days=REJECTED_DAYS)):
        return PendingConsent(kind, fields, is_turned_down=True)
    present = [
        one
        for one in open_proposals(connection, user_id, now)
        if one.kind is kind and one.draft and one.project_id == candidate.project_id
    ]
    match = next((one for one in present if _says_the_same(one, candidate, digest)), None)
    if match is not None:
        signals = {*match.signals, candidate.passage.turn_id}
        said_again = kind is ProposalKind.CORROBORATION
        is_ripe = said_again and len(signals) >= policy.corroborating_signals
        return PendingConsent(kind, fields, match, is_ripe=is_ripe)
    if kind is ProposalKind.CORROBORATION and policy.corroborating_signals <= 1:
        return None
    overtaken = tuple(one for one in present if _answers_the_same(one, candidate))
    return PendingConsent(kind, fields, overtakes=overtaken)


def settled_by(
    writing: WriteTransaction, candidate: Candidate
) -> tuple[list[StoredProposal], list[StoredProposal]]:
    """The open proposals that storing this settles: those that say the same, or answer the same
    question otherwise.
    """
    digest = content_hash(candidate.content)
    same, overtaken = [], []
    for proposal in open_proposals(writing.connection, writing.user_id, writing.now):
        if proposal.project_id != candidate.project_id:
            continue
        if _says_the_same(proposal, candidate, digest):
            same.append(proposal)
        elif _answers_the_same(proposal, candidate):
            overtaken.append(proposal)
    return same, overtaken


def is_refuted_by_user(writing: WriteTransaction, candidate: Candidate) -> bool:
    """Whether the user called the same wrong or outdated since this was said."""
    at = candidate.passage.at
    place = writing.connection, writing.user_id
    return is_refuted(*place, candidate.content, candidate.project_id, said_at=at)


def is_refuted(
    connection: sa.Connection,
    user_id: str,
    content: str,
    project_id: str | None,
    *,
    said_at: datetime | None = None,
) -> bool:
    """Whether the user called what says the same wrong or outdated, after it was said. Without
    ``said_at`` it is an agent who says so now: the user's word stands.
    """
    where = sa.and_(
        items.c.user_id == user_id,
        items.c.ratings.is_not(None),
        items.c.status == sa.literal_column(f"'{Status.SUPERSEDED.value}'"),
        is_of(items, project_id),
    )
    return any(
        _is_same(content, item.content)
        for item in find_items(connection, where, MAX_REFUTED)
        if any(
            rating.is_against and not rating.is_agent and (said_at is None or said_at <= rating.at)
            for rating in item.ratings
        )
    )


def reason_of(waiting: PendingConsent) -> str:
    if waiting.kind is ProposalKind.CORROBORATION:
        return NEEDS_CORROBORATION
    if UNSURE_VOICE in waiting.fields:
        return NEEDS_OWN_VOICE
    return NEEDS_CONSENT_TO_REDIRECT if REDIRECTIONS & {*waiting.fields} else NEEDS_CONSENT


def may_mislead(waiting: PendingConsent) -> bool:
    """Whether what waits may not be the user's own, or would redirect money, mail or tools."""
    return not ({UNSURE_VOICE} | REDIRECTIONS).isdisjoint(waiting.fields)


def must_wait(policy: FormationPolicy, candidate: Candidate) -> bool:
    return _kind_of(policy, candidate)[0] is not None


def touched_fields(policy: FormationPolicy, candidate: Candidate) -> tuple[str, ...]:
    kind, fields = _kind_of(policy, candidate)
    return fields if kind is ProposalKind.CONSENT else ()


def lifetime(policy: FormationPolicy, kind: ProposalKind) -> timedelta:
    if kind is ProposalKind.CONSENT:
        return policy.proposal_life
    return timedelta(days=CORROBORATION_DAYS)


def _kind_of(
    policy: FormationPolicy, candidate: Candidate
) -> tuple[ProposalKind | None, tuple[str, ...]]:
    if redirected := redirections(candidate):
        return ProposalKind.CONSENT, redirected
    is_request = candidate.is_explicit or candidate.type in _REQUESTS
    if candidate.is_doubtful or (is_request and candidate.is_unsure):
        return ProposalKind.CONSENT, (UNSURE_VOICE,)
    if candidate.is_explicit or candidate.is_ending or candidate.is_about_work:
        return None, ()
    touched = sensitive_fields_of(candidate.content, candidate.quote, candidate.key)
    touched |= candidate.fields
    sensitive = tuple(sorted(touched & policy.sensitive_fields))
    if sensitive:
        return ProposalKind.CONSENT, sensitive
    benign = benign_field(candidate.key, candidate.type, candidate.content)
    if benign is not None:
        return ProposalKind.CORROBORATION, (benign,)
    return None, ()


def _says_the_same(proposal: StoredProposal, candidate: Candidate, digest: str) -> bool:
    return proposal.content_hash == digest or _is_same(candidate.content, _content(proposal))


def _is_same(said: str, before: str) -> bool:
    if content_hash(said) == content_hash(before):
        return True
    return not opposed(said, before) and (says_nothing_new(said, before) or refines(said, before))


def _answers_the_same(proposal: StoredProposal, candidate: Candidate) -> bool:
    """Whether a proposal gives another answer to the question that the candidate answers."""
    key = None if proposal.draft is None else proposal.draft.get("key")
    if key is not None and key == candidate.key:
        return True
    return opposed(candidate.content, _content(proposal)) is not None


def _content(proposal: StoredProposal) -> str:
    return "" if proposal.draft is None else str(proposal.draft.get("content", ""))
