"""A real Chromium, and pages in it that notice everything which is not as it should be."""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Dialog,
    Page,
    Request,
    Response,
    expect,
    sync_playwright,
)

NAMES: Final = ("chromium", "chromium-browser", "google-chrome")  # also in scripts/services.sh
VARIABLE: Final = "RICORDO_TEST_BROWSER"
AXE: Final = Path(__file__).parent / "vendor" / "axe.min.js"
DESKTOP: Final = (1280, 800)
NARROW: Final = 360
_PATIENCE_MS: Final = 20_000
# One process fewer, nothing asked of the network, and the same letters on every machine.
_ARGUMENTS: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--font-render-hinting=none",
)
# In every page before anything of its own runs; the console has the same, but not for all kinds.
_NOTE_VIOLATIONS: Final = """
document.addEventListener("securitypolicyviolation", event => {
  console.error(`Content Security Policy: ${event.violatedDirective} ${event.blockedURI}`);
});
"""

Scheme = Literal["light", "dark"]

expect.set_options(timeout=_PATIENCE_MS)


def browser_path() -> str:
    """Where the browser is. One that is missing is an error: scripts/services.sh installs it."""
    named = os.environ.get(VARIABLE)
    found = [named] if named else [path for name in NAMES if (path := shutil.which(name))]
    assert found, f"no Chromium is installed; run: sh scripts/services.sh (or set {VARIABLE})"
    return found[0]


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser without a window. While it is open, this thread has a running event loop."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=browser_path(), args=list(_ARGUMENTS), timeout=60_000
        )
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Watch:
    """What the pages of one browser context did that no page of ours may do."""

    origin: str
    requested: list[str] = field(default_factory=list)
    """Every address that was asked for."""
    _problems: list[str] = field(default_factory=list)
    _expected: list[re.Pattern[str]] = field(default_factory=list)

    def expect(self, pattern: str) -> None:
        """Let problems be that match this, for a test that is about one."""
        self._expected.append(re.compile(pattern))

    @property
    def problems(self) -> list[str]:
        """Those that nobody expected, up to now."""
        return [
            one for one in self._problems if not any(known.search(one) for known in self._expected)
        ]

    def forget(self) -> None:
        """Begin anew, for a page that several tests look at one after the other."""
        self._problems.clear()
        self._expected.clear()
        self.requested.clear()

    def follow(self, context: BrowserContext) -> None:
        """Note what happens in all pages of a context."""
        context.on("console", self._on_console)
        context.on("weberror", lambda error: self._note(f"page error: {error.error}"))
        context.on("dialog", self._on_dialog)
        context.on("request", self._on_request)
        context.on("response", self._on_response)
        context.on("requestfailed", self._on_failure)

    def _note(self, problem: str) -> None:
        self._problems.append(problem)

    def _on_console(self, message: ConsoleMessage) -> None:
        # A search that the next letter overtakes is given up, which htmx tells as two errors.
        is_overtaken = message.text.startswith(("htmx:sendAbort", "htmx:afterRequest"))
        if message.type in ("error", "warning") and not is_overtaken:
            where = message.location.get("url", "")
            self._note(f"console {message.type}: {message.text} ({where})")

    def _on_dialog(self, dialog: Dialog) -> None:
        self._note(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _on_request(self, request: Request) -> None:
        self.requested.append(request.url)
        parts = urlsplit(request.url)
        if f"{parts.scheme}://{parts.netloc}" != self.origin:
            self._note(f"request to another origin: {request.url[:200]}")

    def _on_response(self, response: Response) -> None:
        if "/static/" in response.url and response.status not in (200, 304):
            self._note(f"static file: {response.status} {response.url}")

    def _on_failure(self, request: Request) -> None:
        # Leaving a page ends what it was still asking for; that is no failure of anything.
        if request.failure != "net::ERR_ABORTED":
            self._note(f"request failed: {request.failure} {request.url[:200]}")


class Browsing:
    """Opens pages of a service for somebody, each in a browser context of its own.

    :meth:`check` and :meth:`close` fail where one of them did what it must not: broke the
    Content Security Policy, wrote an error to the console, threw, asked another origin, opened a
    dialog, or missed a static file.
    """

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._contexts: list[BrowserContext] = []
        self._watches: dict[Page, Watch] = {}

    def __call__(
        self,
        url: str,
        *,
        user: str | None = None,
        key: str | None = None,
        javascript: bool = True,
        width: int = DESKTOP[0],
        height: int = DESKTOP[1],
        scheme: Scheme = "light",
        timezone: str = "UTC",
    ) -> Page:
        """A page at an address of a service, signed in with a key, or for a user without one."""
        parts = urlsplit(url)
        watch = Watch(f"{parts.scheme}://{parts.netloc}")
        context = self._browser.new_context(
            java_script_enabled=javascript,
            viewport={"width": width, "height": height},
            color_scheme=scheme,
            locale="en-GB",
            timezone_id=timezone,
            reduced_motion="reduce",
            service_workers="block",
        )
        self._contexts.append(context)
        context.set_default_timeout(_PATIENCE_MS)
        context.add_init_script(_NOTE_VIOLATIONS)
        watch.follow(context)
        page = context.new_page()
        self._watches[page] = watch
        if user is not None or key is not None:
            sign_in(page, watch.origin, user=user, key=key)
        page.goto(url)
        return page

    def watch(self, page: Page) -> Watch:
        """What is noted of a page."""
        return self._watches[page]

    def check(self) -> None:
        """Forget what was noted up to now.

        Raises:
            AssertionError: a page did what no page may do.
        """
        for page in self._watches:
            if not page.is_closed():
                page.evaluate("() => 0")  # what is on its way from the browser comes before this
        problems = [problem for watch in self._watches.values() for problem in watch.problems]
        for watch in self._watches.values():
            watch.forget()
        assert not problems, "\n".join(problems)

    def close(self) -> None:
        """Check and close all pages.

        Raises:
            AssertionError: a page did what no page may do.
        """
        try:
            self.check()
        finally:
            for context in self._contexts:
                context.close()


def sign_in(page: Page, origin: str, *, user: str | None, key: str | None) -> None:
    """Come in as people do, through the pages: with a key, with the name of a user, or both."""
    if key is not None:
        page.goto(f"{origin}/ui/sign-in")
        page.get_by_label("Key").fill(key)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(lambda url: "/ui/sign-in" not in url)
    if user is not None:
        page.goto(f"{origin}/ui/who")
        page.get_by_label("User").fill(user)
        page.get_by_role("button", name="Show").click()
        page.wait_for_url(lambda url: "/ui/who" not in url)


def violations(page: Page) -> list[str]:
    """What axe-core finds of serious or critical weight, one line each; see tests/web/vendor."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE.read_text("utf-8"))
    found: dict[str, Any] = page.evaluate("() => axe.run({resultTypes: ['violations']})")
    return [
        f"{one['impact']}: {one['id']}: {one['help']}: {node['html'][:200]}"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]
