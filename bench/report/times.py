"""Chapters about time and space: speed, growth, load, proxy, pages, cold starts, backups, hooks."""

from typing import Any

from bench.report.figures import Figures
from bench.report.floors import floors
from bench.report.tables import amount, both, ms, optional, table


def floors_table(figures: Figures) -> str:
    """Every floor, whether it is met, and why not."""
    rows = [[one.what, one.measured, one.floor, one.verdict, one.cause] for one in floors(figures)]
    return table(["what", "measured", "floor", "", "cause of a shortfall"], rows)


def missed(figures: Figures) -> str:
    """How many floors are missed, in a sentence."""
    judged = [one for one in floors(figures) if one.met is not None]
    count = sum(one.met is False for one in judged)
    return f"{len(judged) - count} of {len(judged)} floors are met, {count} missed."


def speed(figures: Figures) -> str:
    """Every figure, with and without a floor."""
    found = figures.result("speed")
    rows = [[one["name"], f"{amount(one['value'])} {one['unit']}"] for one in found["figures"]]
    return (
        "Invented memories, the same on every machine; searches without embedding the question"
        " unless it is said. PostgreSQL is the server of the tests, which does not wait for the"
        " disk; SQLite does, with every commit.\n\n" + table(["what", "measured"], rows)
    )


def growth(figures: Figures) -> str:
    """Search times, file and process, size by size."""
    rows = [
        [
            f"{one['memories']:,}",
            ms(one["searching"]["p50_ms"]),
            ms(one["searching"]["p95_ms"]),
            optional(one["megabytes"], " MB"),
            optional(one["resident_mb"], " MB"),
        ]
        for one in figures.result("growth")["points"]
        if one["system"].startswith("ricordo")
    ]
    headings = ["memories of one user", "search, p50", "search, p95", "on disk", "resident"]
    return (
        "Resident is a process of its own with the store open, the shipped model loaded and some"
        " searches done; the disk holds the file and its write-ahead log.\n\n"
        + table(headings, rows)
    )


def load_table(figures: Figures) -> str:
    """Both databases side by side."""
    found = figures.result("load")["databases"]
    rows = [
        ["requests per second", *(amount(one["requests_per_second"]) for one in found)],
        ["search, p50 / p95", *(both(one["search"]) for one in found)],
        ["add, p50 / p95", *(both(one["add"]) for one in found)],
        ["errors", *(f"{one['errors']:,}" for one in found)],
        ["acknowledged additions", *(f"{one['acknowledged']:,}" for one in found)],
        ["of them lost", *(f"{one['lost']:,}" for one in found)],
    ]
    return table(["what", *(one["database"] for one in found)], rows)


def load_words(figures: Figures) -> str:
    """What the load was, in a sentence."""
    found = figures.result("load")
    return (
        f"{found['clients']} clients that never pause, {found['add_percent']} additions in 100"
        f" requests, {found['memories']:,} memories of {found['users']} users, real vectors,"
        f" {found['seconds']:g} s; the clients, the embedder and the server share the cores."
    )


def load(figures: Figures) -> str:
    """The service under load."""
    return f"{load_words(figures)}\n\n{load_table(figures)}"


def proxy_table(figures: Figures) -> str:
    """What the proxy adds."""
    found = figures.result("proxy")
    rows = [
        [
            one["name"],
            both(one["alone"]),
            both(one["proxied"]),
            f"{amount(one['proxied']['p50_ms'] - one['alone']['p50_ms'])} /"
            f" {amount(one['proxied']['p95_ms'] - one['alone']['p95_ms'])} ms",
        ]
        for one in found["rows"]
    ]
    recalling = f"recalling alone, {found['memories']:,} memories"
    rows.append([recalling, "", both(found["recalling"]), ""])
    return table(["request, p50 / p95", "the model alone", "through the proxy", "added"], rows)


def proxy(figures: Figures) -> str:
    """The chat proxy before a model that answers at once."""
    return f"The model answers at once, so the rest is the proxy.\n\n{proxy_table(figures)}"


def pages_table(figures: Figures) -> str:
    """Every page."""
    rows = [
        [f"`{one['page']}`" if one["page"].startswith("/") else one["page"], *_page(one)]
        for one in figures.result("pages")["pages"]
    ]
    return table(["page", "size", "p50", "p95"], rows)


def _page(one: dict[str, Any]) -> list[str]:
    times = one["times"]
    return [f"{one['kilobytes']:.0f} kB", ms(times["p50_ms"]), ms(times["p95_ms"])]


def pages(figures: Figures) -> str:
    """The web page."""
    found = figures.result("pages")
    return f"A user with {found['memories']:,} memories.\n\n{pages_table(figures)}"


def cold_table(figures: Figures) -> str:
    """Whole processes."""
    rows = [
        [
            f"`{one['command']}`",
            *(
                f"{taken / 1_000:.2f} s"
                for taken in (one["least_ms"], one["times"]["p50_ms"], one["times"]["p95_ms"])
            ),
        ]
        for one in figures.result("cold")["commands"]
    ]
    return table(["command", "least", "p50", "p95"], rows)


def cold(figures: Figures) -> str:
    """Commands from nothing."""
    found = figures.result("cold")
    words = (
        f"Fresh processes on a file of {found['memories']:,} memories. With a service: while"
        " `ricordo serve` runs on the same store."
    )
    return f"{words}\n\n{cold_table(figures)}"


def backup(figures: Figures) -> str:
    """Backups as an operator makes them."""
    found = figures.result("backup")
    rows = [
        ["`ricordo backup make`", f"{found['make_seconds']:.2f} s"],
        ["`ricordo backup check`", f"{found['check_seconds']:.2f} s"],
        ["`ricordo backup restore`", f"{found['restore_seconds']:.2f} s"],
    ]
    return (
        f"{found['memories']:,} memories, {found['store_megabytes']:.0f} MB; the backup has"
        f" {found['backup_megabytes']:.0f} MB, and all {found['restored']:,} memories came back."
        f" Whole processes.\n\n{table(['command', 'took'], rows)}"
    )


def conversation(figures: Figures) -> str:
    """The tokens of a request as a conversation gets longer."""
    found = figures.result("conversation")
    points = found["points"]
    chosen = [*points[:: max(1, len(points) // 8)], points[-1]]
    rows = [
        [f"{one['turns']:,}", f"{one['tokens']:,}", f"{one['tokens_of_all']:,}"]
        for one in {one["turns"]: one for one in chosen}.values()
    ]
    return (
        f"With {found['restarts']} restarts and {found['compactions']} compactions;"
        f" {found['turns_lost']} turns were lost.\n\n"
        + table(["turns", "tokens of a request", "with all turns"], rows)
    )


def year(figures: Figures) -> str:
    """A simulated year with upkeep and without."""
    found = figures.result("year")
    last, without = found["months"][-1], found["without"]
    rows = [
        [name, f"{one['active']:,}", f"{one['rows']:,}", f"{one['megabytes']:.1f} MB", duplicates]
        for name, one, duplicates in (
            ("with upkeep", last, f"{found['duplicates']:,}"),
            ("without", without, f"{found['duplicates_without']:,}"),
        )
    ]
    return (
        f"{found['users']:,} users over {found['days']:,} days: {found['statements']:,} statements,"
        f" {found['searches']:,} searches. {found['forgotten']:,} memories were forgotten, none of"
        f" them one that must stay; upkeep takes {found['job_ms']:.1f} ms of a processor for a user"
        " and day.\n\n"
        + table(["", "active memories", "rows", "on disk", "pairs that say the same"], rows)
    )


def hooks(figures: Figures) -> str:
    """How long a coding agent waits."""
    found = figures.result("hooks")
    rows = [
        [one["event"], one["behind"] or "none", both(one["times"]), ms(one["longest_ms"])]
        for one in found["events"]
    ]
    told = f"A project with {found['memories']:,} memories; every hook is a process of its own."
    return f"{told}\n\n{table(['event', 'process behind it', 'p50 / p95', 'longest'], rows)}"
