"""The profile: what is said of the user in every prompt."""

from collections.abc import Mapping

from ricordo.errors import InvalidValue
from ricordo.formation.profile import read_fields, set_fields
from ricordo.formation.profile_consent import check_harmless
from ricordo.model import checks
from ricordo.model.profile import Profile, ProfileUpdate, checked_changes
from ricordo.model.vocabulary import GLOBAL_OWNER, Source
from ricordo.user_memory.bound import Bound, checked_reason


class Profiling(Bound):
    """Operations on the profile."""

    def user_profile(self) -> Profile:
        """The fields of the user's profile; edits of their ``USER.md`` are taken over first.

        Raises:
            InvalidValue: global memories have no profile.
        """
        self._check_has_profile()
        user_id = self.scope.user_id
        problems = self.parts.profile_files.follow(user_id)
        return Profile(fields=read_fields(self.database, user_id), problems=problems)

    def update_user_profile(
        self,
        fields: Mapping[str, str | None],
        *,
        explicit: bool = False,
        reason: str | None = None,
    ) -> ProfileUpdate:
        """Set fields of the user's profile, such as name, city or tone; None removes one.

        With ``explicit``, because the user said so themselves, all of it is stored. Otherwise a
        field that touches something sensitive becomes a proposal (:meth:`approve`), and a wish
        about tone or a goal waits until it is said again. Every field is checked before anything
        is written. ``USER.md`` follows where there is one, or where the user's mirror is on.

        Raises:
            InvalidValue: a field or value is not allowed, or there would be too many.
        """
        self._check_has_profile()
        changes = checked_changes(fields)
        for change in changes:
            check_harmless(change)
        source = Source.USER_EXPLICIT if checks.flag("explicit", explicit) else Source.CONVERSATION
        why = checked_reason(reason)
        files, user_id = self.parts.profile_files, self.scope.user_id
        before = files.follow(user_id, [change.key for change in changes])
        done = set_fields(self.formation, self.scope, changes, source, why)
        after = files.follow(user_id)
        return ProfileUpdate(fields=done, problems=tuple(dict.fromkeys((*before, *after))))

    def _check_has_profile(self) -> None:
        if self.scope.user_id == GLOBAL_OWNER:
            raise InvalidValue("user_id", "global memories have no profile")
