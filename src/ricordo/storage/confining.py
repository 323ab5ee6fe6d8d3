"""Refusing to serve from a database that would not keep its users apart."""

from ricordo.errors import RoleNotConfined
from ricordo.storage.database import Database


def require_confined(database: Database) -> None:
    """See to it that row-level security binds the role that is connected.

    A store in a file has no roles: whoever can open it can read all of it.

    Raises:
        RoleNotConfined: the role could read every user's rows; the message says what to do.
        StorageError: the database could not answer.
    """
    with database.our_errors():
        problem = database.backend.confinement_problem()
    if problem is not None:
        raise RoleNotConfined(
            f"{database.backend.location}: {problem}, so a mistake in one query could show one user"
            " the memories of another. As the owner of the tables run: ricordo migrate, and:"
            " ricordo database grant ROLE. Then connect as that role"
        )
