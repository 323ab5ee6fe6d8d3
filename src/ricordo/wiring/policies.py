"""What the settings decide of each room, as that room takes it."""

from datetime import UTC, timedelta, tzinfo

from ricordo.conversation.summaries import ConversationPolicy
from ricordo.errors import InvalidValue, UnknownField
from ricordo.formation.schedule import FormationPolicy
from ricordo.formation.sensitive import SENSITIVE_FIELDS
from ricordo.prompt.service import PromptPolicy
from ricordo.settings import Settings
from ricordo.text.tokens import TokenCounter
from ricordo.upkeep.schedule import UpkeepPolicy


def formation_policy(settings: Settings) -> FormationPolicy:
    """How memories are formed.

    Raises:
        UnknownField: a sensitive field that there is not.
        InvalidValue: two settings that contradict each other.
    """
    named = frozenset(name.strip() for name in settings.sensitive_fields.split(",") if name.strip())
    unknown = named - set(SENSITIVE_FIELDS)
    if unknown:
        raise UnknownField("sensitive field", unknown, SENSITIVE_FIELDS)
    if settings.judge_min > settings.redundant_min:
        raise InvalidValue("setting judge_min", "must not be more than redundant_min")
    return FormationPolicy(
        is_automatic=settings.formation,
        delay=timedelta(seconds=settings.formation_delay_seconds),
        stale_after=timedelta(minutes=settings.formation_stale_minutes),
        daily_writes=settings.formation_daily_writes,
        sensitive_fields=named,
        proposal_life=timedelta(days=settings.proposal_days),
        corroborating_signals=settings.corroborating_signals,
        redundant_min=settings.redundant_min,
        judge_min=settings.judge_min,
    )


def upkeep_policy(settings: Settings) -> UpkeepPolicy:
    """How memory is kept clean."""
    return UpkeepPolicy(
        is_automatic=settings.upkeep,
        forget_after=timedelta(days=settings.forget_after_days),
        forget_below=settings.forget_below_importance,
        forget_explicit_below=settings.forget_explicit_below_importance,
        daily_pairs=settings.consolidation_daily_pairs,
        draws_insights=settings.insights and settings.formation,  # both read what was said
        event_life=timedelta(days=settings.event_days),
    )


def prompt_policy(settings: Settings, token_counter: TokenCounter) -> PromptPolicy:
    """How prompts are built.

    Raises:
        InvalidValue: a time zone that the system does not know.
    """
    return PromptPolicy(
        zone=_zone(settings.timezone),
        count=token_counter,
        budget_tokens=settings.context_tokens,
        threshold=settings.context_threshold,
        quotes=settings.context_quotes,
    )


def conversation_policy(settings: Settings) -> ConversationPolicy:
    """How much of a conversation is shown.

    Raises:
        InvalidValue: two settings that contradict each other, or an unknown time zone.
    """
    if settings.window_kept_turns >= settings.window_turns:
        raise InvalidValue("setting window_kept_turns", "must be less than window_turns")
    return ConversationPolicy(
        window_turns=settings.window_turns,
        kept_turns=settings.window_kept_turns,
        zone=_zone(settings.timezone),
    )


def _zone(name: str) -> tzinfo:
    if name == "UTC":
        return UTC
    from zoneinfo import ZoneInfo  # seldom needed

    try:
        return ZoneInfo(name)
    except (KeyError, OSError, ValueError):  # not known, a folder, or no name at all
        problem = f"{name!r:.60} is not a time zone that this system knows, such as Europe/Rome"
        raise InvalidValue("setting timezone", problem) from None
