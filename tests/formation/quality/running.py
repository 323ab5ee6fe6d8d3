"""Running the labelled conversations through formation as it is."""

from collections.abc import Collection

from ricordo import Memory, ProposalKind, Source
from ricordo.formation.sensitive import SENSITIVE_FIELDS, sensitive_fields_of
from tests.formation.quality.measure import Judgement, Stored, judge
from tests.formation.quality.snippets import Snippet


def stored_from(memory: Memory, snippet: Snippet) -> list[Stored]:
    """What formation stores or proposes for a snippet, each of which has a user of its own."""
    user = memory.user(snippet.id)
    messages = [{"role": turn.role, "content": turn.content} for turn in snippet.turns]
    user.observe(messages, thread=snippet.id)
    user.form(snippet.id)
    kept = [
        Stored(
            item.content,
            item.type.value,
            item.source is Source.USER_EXPLICIT,
            _field(sensitive_fields_of(item.content, item.source_context or "", item.key)),
        )
        for item in user.list(limit=100)
    ]
    for proposal in user.proposals():
        assert proposal.content is not None
        fields = proposal.fields if proposal.kind is ProposalKind.CONSENT else ()
        kept.append(Stored(proposal.content, str(proposal.type), False, _field(fields)))
    return kept


def _field(touched: Collection[str]) -> str | None:
    """The field that stands first in the list of them."""
    return next((field for field in SENSITIVE_FIELDS if field in touched), None)


def judged(memory: Memory, snippet: Snippet) -> Judgement:
    """How well that is what the labels ask for."""
    return judge(snippet, stored_from(memory, snippet))
