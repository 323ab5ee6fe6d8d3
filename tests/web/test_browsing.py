"""What watches the pages in all other tests: it notices what it is for."""

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Browser

from tests.web.browsing import Browsing, violations

pytestmark = pytest.mark.requirement("page.csp")

BAD = {
    "inline script": ("<script>document.title = 'ran'</script>", "Content Security Policy"),
    "inline style": ("<p style='color: red'>x</p>", "Content Security Policy"),
    "event handler": ("<p onclick='x()'>x</p><img src=/x onerror='x()'>", "Content Security"),
    "another origin": ("<img src='http://127.0.0.2:9/x'>", "another origin"),
    "missing file": ("<img src='/ui/static/x.svg'>", "static file: 404"),
    "throws": ("<script src='/throws.js'></script>", "page error: "),
    "says so": ("<script src='/complains.js'></script>", "console error: bad luck"),
    "asks": ("<script src='/asks.js'></script>", "dialog: sure?"),
}
SCRIPTS = {
    "/throws.js": "nothing.here",
    "/complains.js": "console.error('bad luck')",
    "/asks.js": "alert('sure?')",
}


@contextlib.contextmanager
def served(body: str) -> Iterator[str]:
    """A page with a strict policy and this in it, on a free loopback port."""

    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            script = SCRIPTS.get(self.path)
            self.send_response(200 if script or self.path == "/" else 404)
            kind = "text/javascript" if script else "text/html"
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header(
                "Content-Security-Policy", "default-src 'none'; script-src 'self'; img-src *"
            )
            self.end_headers()
            self.wfile.write((script or f"<!doctype html><title>x</title>{body}").encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize("kind", BAD)
def test_what_no_page_may_do_is_noticed(kind: str, browser: Browser) -> None:
    body, noticed = BAD[kind]
    browsing = Browsing(browser)
    with served(body) as url:
        browsing(f"{url}/")
        with pytest.raises(AssertionError, match=noticed):
            browsing.close()


def test_what_a_test_expects_is_let_be(browser: Browser) -> None:
    browsing = Browsing(browser)
    with served(BAD["says so"][0]) as url:
        page = browsing(f"{url}/")
        browsing.watch(page).expect("favicon|bad luck")
        browsing.close()


@pytest.mark.requirement("page.accessible")
def test_axe_notices(browser: Browser) -> None:
    browsing = Browsing(browser)
    with served("<main><h1>x</h1><input><img src='/complains.js'></main>") as url:
        page = browsing(f"{url}/")
        found = {line.split(":")[1].strip() for line in violations(page)}
        assert {"label", "image-alt", "html-has-lang"} <= found
        browsing.watch(page).expect("")
        browsing.close()
