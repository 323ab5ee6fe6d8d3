"""The kinds of jobs that upkeep consists of."""

from typing import Final

PLAN_JOB: Final = "plan-upkeep"
"""Finds out whose daily round is due. One for the whole store, which queues its own next."""

ROUND_JOB: Final = "upkeep"
"""The daily round of one user: what is quick is done, what is not is queued."""

CONSOLIDATE_JOB: Final = "consolidate"
"""Merges what says the same, replaces what is outdated, links what belongs together."""

INSIGHTS_JOB: Final = "insights"
"""Draws a few observations from what a user was recently busy with."""

RELATE_JOB: Final = "relate"
"""Refreshes which memories are about the same."""
