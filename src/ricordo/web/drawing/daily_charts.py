"""The charts of what happened on each day."""

from collections.abc import Sequence
from itertools import accumulate

from ricordo.model.activity import DayActivity
from ricordo.model.vocabulary import Action
from ricordo.web.drawing.charts import Chart, Series, bar_chart, line_chart
from ricordo.web.drawing.figures import day_name

_DECIDED = {
    Action.ADD: "added",
    Action.UPDATE: "updated",
    Action.REPLACE: "replaced",
    Action.UNLINK: "unlinked",
    Action.IGNORE: "ignored",
    Action.REJECT: "rejected",
    Action.PROPOSE: "proposed",
    Action.DEFER: "deferred",
}
"""Formation's decisions as people say them."""


def daily_charts(activity: Sequence[DayActivity]) -> tuple[Chart, ...]:
    """Every chart of the page, also those with nothing in them."""
    days = [one.day for one in activity]
    added = [one.memories_added for one in activity]
    since = day_name(days[0]) if days else ""
    return (
        bar_chart(
            "added",
            "Memories added",
            days,
            [Series("Added", added)],
            unit="memories",
            nothing="No memory was added in these days.",
        ),
        line_chart(
            "growth",
            f"Memories added since {since}",
            days,
            [Series("In all", list(accumulate(added)) if any(added) else [])],
            unit="memories",
            nothing="No memory was added in these days.",
        ),
        bar_chart(
            "decisions",
            "Decisions on what was said",
            days,
            [
                Series(name, [one.decisions.get(action.value, 0) for one in activity])
                for action, name in _DECIDED.items()
            ],
            unit="decisions",
            nothing="Nothing was decided in these days. Decisions are made when a conversation is"
            " told and memories are formed from it.",
        ),
        line_chart(
            "latency",
            "Time that recall took",
            days,
            [
                Series("Half of them within", [one.recall_p50_ms for one in activity]),
                Series("95 % within", [one.recall_p95_ms for one in activity]),
            ],
            unit="ms",
            nothing="Nothing was recalled in these days. Searches and prompts are measured.",
        ),
        bar_chart(
            "tokens",
            "Tokens spent",
            days,
            [
                Series("Prompts", [one.prompt_tokens for one in activity]),
                Series("Answers", [one.completion_tokens for one in activity]),
            ],
            unit="tokens",
            nothing="No language model was asked in these days.",
        ),
    )
