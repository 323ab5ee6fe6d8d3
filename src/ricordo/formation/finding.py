"""What a stretch of a conversation says that may be worth remembering.

Everything that reads and checks texts is loaded with this module. That takes longer than most
commands do, so it is imported when something is formed, and not before.
"""

from collections import Counter
from dataclasses import replace
from typing import Final

from ricordo.formation.candidate import USER_ROLE, Candidate
from ricordo.formation.caps import within_turns
from ricordo.formation.cleaning.hygiene import divided
from ricordo.formation.cleaning.transcript import render
from ricordo.formation.corrections import uncorrected
from ricordo.formation.deciding import turned_away
from ricordo.formation.found import Found
from ricordo.formation.reading import read_with_model
from ricordo.formation.rules.explicit import explicit_spans
from ricordo.formation.rules.extracting import extract
from ricordo.formation.speakers import named_speakers
from ricordo.formation.stretch import Stretch
from ricordo.formation.writing.quotation import resting_on_its_clause
from ricordo.formation.writing.rejection import Rejection, RejectionCode
from ricordo.formation.writing.validator import validated
from ricordo.metering import MeteredModel
from ricordo.model.checks import theme_slug
from ricordo.model.reports import Decision
from ricordo.model.vocabulary import GENERAL_THEME, MemoryType
from ricordo.text.secrets import has_secret, without_secrets

_OUT_OF_REACH: Final = Rejection(RejectionCode.OUT_OF_REACH, "not in the agent's categories")
_SECRET: Final = Rejection(RejectionCode.SECRET, "holds a secret")


def find_candidates(model: MeteredModel | None, user_id: str, stretch: Stretch) -> Found:
    """Read a stretch, with everything cut out first that may not be learned from.

    Raises:
        LanguageModelError: the model could not answer.
    """
    read_turns = divided(stretch.new)
    said = [passage for passage in read_turns if passage.text]
    material = Counter(one.reason for passage in read_turns for one in passage.material)
    if model is None:
        read = [candidate for passage in said for candidate in extract(passage)]
        found = uncorrected(read, said)
        refused: list[Decision] = []
    elif said:
        transcript = render(
            [*stretch.earlier, *stretch.new], first_new_position=stretch.new[0].position
        )
        found, without_ground = read_with_model(model, user_id, transcript)
        refused = [turned_away(entry.content, reason) for entry, reason in without_ground]
    else:
        return Found((), _secrets_asked_for(stretch), material)
    refused += _secrets_asked_for(stretch)
    kept = []
    for candidate in named_speakers(found, stretch.speakers, user_id):
        checked = validated(resting_on_its_clause(_as_observed(candidate)))
        if isinstance(checked, Rejection):
            refused.append(turned_away(candidate.content, checked))
        elif not _may_be_filed(checked):
            refused.append(turned_away(checked.content, _OUT_OF_REACH))
        else:
            kept.append(checked)
    return Found(within_turns(kept), refused, material)


def _as_observed(candidate: Candidate) -> Candidate:
    """What an agent recorded nobody asked for: whether the user did, it alone says."""
    return (
        candidate
        if candidate.passage.observed_by is None
        else replace(candidate, is_explicit=False)
    )


def _may_be_filed(candidate: Candidate) -> bool:
    """Whether who recorded it may write where it would be filed; steps are for the user to give."""
    observer = candidate.passage.observed_by
    if observer is None:
        return True
    theme = theme_slug(candidate.theme) if candidate.theme else GENERAL_THEME
    return candidate.type is not MemoryType.PROCEDURE and observer.reaches(theme)


def _secrets_asked_for(stretch: Stretch) -> list[Decision]:
    """What the user asked to be remembered and never is, so that they learn why."""
    refused = []
    for turn in stretch.new:
        if turn.role == USER_ROLE and has_secret(turn.content):
            for start, end in explicit_spans(turn.content):
                asked = turn.content[start:end]
                if has_secret(asked):
                    refused.append(turned_away(without_secrets(asked), _SECRET))
    return refused
