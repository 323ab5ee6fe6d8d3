"""Why a candidate was not stored."""

from dataclasses import dataclass
from enum import StrEnum


class RejectionCode(StrEnum):
    """What was wrong with a candidate.

    ``TOO_MANY``, ``MATERIAL``, ``UNSUPPORTED``, ``NOT_ASKED_FOR`` and ``OUT_OF_REACH`` are for
    whoever makes candidates; the rest are the validator's.
    """

    EMPTY = "empty"
    TOO_LONG = "too_long"
    TOO_MANY = "too_many"
    NO_EVIDENCE = "no_evidence"
    MATERIAL = "material"
    UNSUPPORTED = "unsupported"
    NOT_ASKED_FOR = "not_asked_for"
    FROM_A_TOOL = "from_a_tool"
    SECRET = "secret"  # noqa: S105 - the name of a rule
    OUT_OF_REACH = "out_of_reach"
    ADDRESSES_THE_MODEL = "addresses_the_model"
    MARKUP = "markup"
    PLACEHOLDER = "placeholder"
    QUESTION = "question"
    NOT_NEUTRAL = "not_neutral"
    NUMBERED = "numbered"
    NOT_STEPS = "not_steps"
    NOT_THIRD_PERSON = "not_third_person"
    NO_REFERENT = "no_referent"
    ABOUT_THE_CONVERSATION = "about_the_conversation"
    NOT_PAST = "not_past"
    DANGLING_TIME = "dangling_time"
    OTHER_LANGUAGE = "other_language"


@dataclass(frozen=True, slots=True)
class Rejection:
    """``detail`` says for a log what was wrong, without repeating what was said."""

    code: RejectionCode
    detail: str
