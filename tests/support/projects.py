"""The operations that a scope of a project may use, within it."""

from tests.support.confined import OPEN_TO_CONFINED

OPEN_TO_PROJECTS = (OPEN_TO_CONFINED - {"describe_theme"}) | {
    "approve",
    "changes",
    "compact",
    "day_log",
    "form",
    "formed_turns",
    "groups",
    "import_file",
    "members",
    "projects",
    "proposals",
    "redact",
    "reject",
    "remove_member",
    "resume",
    "revision",
    "search_turns",
    "set_member",
    "source_turn",
    "summary",
    "thread",
    "threads",
    "turns",
    "update_user_profile",
    "user_profile",
    "window",
}
