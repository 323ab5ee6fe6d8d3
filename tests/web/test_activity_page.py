"""The page of activity: the same numbers as the library's, as charts and as tables."""

import re
from itertools import accumulate

import pytest

from ricordo.jobs import handlers
from ricordo.model.vocabulary import Action
from ricordo.testing import ManualClock
from ricordo.web.charts import exact
from ricordo.web.wording import JOBS
from tests.support.service import Service
from tests.web.conftest import LivedIn
from tests.web.form_sending import Sender

pytestmark = pytest.mark.requirement("page.activity")


def table(page: str, slug: str) -> dict[str, tuple[str, ...]]:
    """The numbers under a chart, by day."""
    chart = re.search(rf'id="chart-{slug}".*?</figure>', page, re.DOTALL)
    assert chart is not None
    rows = re.findall(r'<tr><th scope="row">([^<]*)</th>(.*?)</tr>', chart.group(), re.DOTALL)
    return {day: tuple(re.findall(r">([^<]+)</td>", cells)) for day, cells in rows}


def figures(page: str) -> dict[str, str]:
    """The headlines."""
    return dict(re.findall(r"<dt>([^<]*)</dt><dd>([^<]*)</dd><dd class", page))


@pytest.mark.requirement("page.charts")
def test_the_numbers_are_those_of_the_library(lived_in_each: LivedIn) -> None:
    page = lived_in_each.service.client().get("/ui/activity").text
    ana = lived_in_each.service.memory.user(lived_in_each.life.user)
    daily = {one.day: one for one in ana.daily(days=30)}
    added = [one.memories_added for one in daily.values()]
    assert sum(added) > 40
    assert table(page, "added") == {day: (exact(one.memories_added),) for day, one in daily.items()}
    growth = zip(daily, accumulate(added), strict=True)
    assert table(page, "growth") == {day: (exact(total),) for day, total in growth}
    assert table(page, "latency") == {
        day: (exact(one.recall_p50_ms), exact(one.recall_p95_ms)) for day, one in daily.items()
    }
    assert table(page, "tokens") == {
        day: (exact(one.prompt_tokens), exact(one.completion_tokens)) for day, one in daily.items()
    }
    kinds = [kind for kind in Action if any(one.decisions[kind] for one in daily.values())]
    assert len(kinds) > 1
    assert table(page, "decisions") == {
        day: tuple(exact(one.decisions[kind]) for kind in kinds) for day, one in daily.items()
    }
    assert figures(page)["Memories"] == str(ana.counters().memory_total_count)


def test_steps_lead_to_what_they_are_about(lived_in_each: LivedIn) -> None:
    client = lived_in_each.service.client()
    page = client.get("/ui/activity").text
    rows = re.search(r'<table class="events">.*?</table>', page, re.DOTALL)
    assert rows is not None
    addresses = {link.replace("&amp;", "&") for link in re.findall(r'href="([^"]+)"', rows.group())}
    kinds = {re.sub(r"\d+", "N", one).partition("=")[0] for one in addresses}
    assert kinds >= {"/ui/memories/N", "/ui/proposals", "/ui/conversations/thread?id"}
    assert {one: client.get(one).status_code for one in addresses} == dict.fromkeys(addresses, 200)


def test_every_kind_of_job_has_words() -> None:
    kinds = {kind for name, kind in vars(handlers).items() if name.endswith("_JOB")}
    assert set(JOBS) == kinds


def test_the_days_can_be_chosen(site: Service, clock: ManualClock) -> None:
    site.memory.user("ana").add("Prefers tea")
    for days in (7, 90):
        page = site.client().get(f"/ui/activity?days={days}").text
        assert len(table(page, "added")) == days
        assert re.findall(r'aria-current="true">(\d+) days', page) == [str(days)]
    assert "Prefers tea" not in page
    assert "No jobs are waiting" in page
    clock.advance(days=60)
    quiet = site.client().get("/ui/activity").text
    assert "No memory was added in these days." in quiet
    assert 'class="plot"' not in quiet


def test_who_sees_what(keyed_site: Service) -> None:
    store = keyed_site.memory
    store.user("ana").add("Prefers tea", theme="food")
    store.user("ben").add_many(["Plays chess", "Likes rain"])
    store.user("ana").observe([{"role": "user", "content": "hi"}], thread="one")
    own = Sender(keyed_site, key=store.create_key("phone", user="ana").secret)
    page = own.get("/ui/activity").text
    assert figures(page)["Memories"] == "1"
    assert "Everybody" not in page
    assert "Job queue" not in page
    refused = own.get("/ui/activity?whose=everybody")
    assert refused.status_code == 403
    assert "read_all" in refused.text
    key = store.create_key("manager", permissions=["read_all", "manage"]).secret
    page = Sender(keyed_site, key=key, user="ana").get("/ui/activity?whose=everybody").text
    assert figures(page)["Memories"] == "3"
    assert sum(int(one) for (one,) in table(page, "added").values()) == 3
    jobs = page.partition('<table class="jobs">')[2].partition("</table>")[0]
    waiting = [one for one in store.job_stats() if one.queued or one.running or one.dead]
    assert waiting
    assert all(JOBS[one.kind] in jobs for one in waiting)
