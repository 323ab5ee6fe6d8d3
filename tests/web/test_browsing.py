"""What watches the pages in all other tests: it notices what it is for."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Browser

from tests.web.browsing import Browsing, violations

pytestmark = pytest.mark.requirement("page.csp")

BAD = """<!doctype html><title>x</title><main><h1>x</h1><input>
<script>document.title = 'ran'</script><p style='color: red' onclick='x()'>x</p>
<img src='http://127.0.0.2:9/x'><img src='/ui/static/x.svg'>
<script src='/x.js'></script><script src='/throws.js'></script></main>"""
SCRIPTS = {"/throws.js": "nothing.here", "/x.js": "console.error('bad luck'); alert('sure?')"}
NOTICED = (
    *("script-src", "style-src", "another origin", "static file: 404", "page error: "),
    *("console error: bad luck", "dialog: sure?"),
)


class Answering(BaseHTTPRequestHandler):
    """A page with a strict policy that does all that no page may do."""

    def do_GET(self) -> None:
        script = SCRIPTS.get(self.path)
        self.send_response(200 if script or self.path == "/" else 404)
        self.send_header("Content-Type", "text/javascript" if script else "text/html")
        policy = "default-src 'none'; script-src 'self'; img-src *"
        self.send_header("Content-Security-Policy", policy)
        self.end_headers()
        self.wfile.write((script or BAD).encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.mark.browser
@pytest.mark.requirement("page.accessible")
def test_what_no_page_may_do_is_noticed(browser: Browser) -> None:
    browsing = Browsing(browser)
    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        page = browsing(f"http://127.0.0.1:{server.server_port}/")
        found = {line.split(":")[1].strip() for line in violations(page)}
        with pytest.raises(AssertionError) as noticed:
            browsing.close()
        server.shutdown()
        thread.join()
    assert {"label", "image-alt", "html-has-lang"} <= found
    assert [one for one in NOTICED if one not in str(noticed.value)] == []
