"""The operations that a scope of some categories may use, each within them."""

OPEN_TO_CONFINED = frozenset(
    {
        "add",
        "add_many",
        "archive",
        "context",
        "describe_theme",
        "embedding_states",
        "feedback",
        "forget",
        "get",
        "get_many",
        "history",
        "lineage",
        "link",
        "links",
        "links_of",
        "list",
        "merge",
        "narrow",
        "observe",  # an agent has to tell what was said; reading it again is another thing
        "pin",
        "query",
        "rate",
        "related",
        "relation_graph",
        "restore",
        "search",
        "themes",
        "undo",
        "unlink",
        "verify",
    }
)
