"""The operations that a scope of a project may use, within it."""

from tests.support.confined import OPEN_TO_CONFINED

OPEN_TO_PROJECTS = (OPEN_TO_CONFINED - {"describe_theme"}) | {
    "approve",
    "changes",
    "compact",
    "day_log",
    "form",
    "formed_turns",
    "import_file",
    "proposals",
    "redact",
    "reject",
    "resume",
    "revision",
    "search_turns",
    "source_turn",
    "summary",
    "thread",
    "threads",
    "turns",
    "update_user_profile",
    "user_profile",
    "window",
}
