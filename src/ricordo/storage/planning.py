"""How PostgreSQL is to plan statements whose values decide what is quickest."""

import sqlalchemy as sa


def plan_by_values(connection: sa.Connection) -> None:
    """Plan each statement of the rest of this transaction for the very values that it has.

    PostgreSQL goes over to one plan for all values once a statement has been run some times. For a
    theme or a conversation that has most of a user's memories, or hardly any, that plan reads a
    hundred times too much. SQLite plans without regard to values.
    """
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SET LOCAL plan_cache_mode = force_custom_plan")
