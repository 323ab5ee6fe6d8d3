"""The groups of one user, and their members."""

from ricordo.memories import membership
from ricordo.model.group import Acting, GroupMember, Membership, space_of
from ricordo.model.vocabulary import GroupRole
from ricordo.operations import groups as describe
from ricordo.storage.database import retried
from ricordo.storage.groups import check_acting, memberships_of
from ricordo.user_memory.base import UserOperations, check_speaks_for_user, implements


class GroupOperations(UserOperations):
    """Groups that a user is in, each as a member."""

    @implements(describe.groups)
    def groups(self) -> tuple[Membership, ...]:
        with self.database.read(self.scope.person) as view:
            return tuple(memberships_of(view.connection, self.scope.person))

    @implements(describe.members)
    def members(self, group: str) -> tuple[GroupMember, ...]:
        with self.database.read(self.scope.person) as view:
            check_acting(view.connection, self._as(group, GroupRole.READ))
            return membership.members(view, group)

    @implements(describe.set_member)
    @retried
    def set_member(self, group: str, member: str, role: GroupRole) -> GroupMember:
        check_speaks_for_user(self.scope)
        acting = self._as(group, GroupRole.MANAGE)
        with self.database.as_member(acting), self.database.write(acting.space) as writing:
            return membership.put(writing, group, member, role, by=acting.member)

    @implements(describe.remove_member)
    @retried
    def remove_member(self, group: str, member: str) -> None:
        check_speaks_for_user(self.scope)
        if member == self.scope.person:
            membership.leave(self.database, group, member)
            return
        acting = self._as(group, GroupRole.MANAGE)
        with self.database.as_member(acting), self.database.write(acting.space) as writing:
            membership.remove(writing, group, member, by_operator=False)

    def _as(self, group: str, needed: GroupRole) -> Acting:
        return Acting(space_of(group), self.scope.person, needed)
