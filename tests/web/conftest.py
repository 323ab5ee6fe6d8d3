"""A browser for each worker, pages that are checked when their test has ended, and stores with
something to look at."""

import contextlib
import functools
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from ricordo.memory import Memory
from ricordo.testing import ManualClock, WordEmbedder
from ricordo.user_memory import UserMemory
from ricordo.wiring import open_memory
from tests.support import postgres
from tests.support.life import Life, lived_in
from tests.support.service import Service, running
from tests.web.browsing import Browsing, Watch, chromium
from tests.web.visiting import Visit

EACH_DATABASE = ("sqlite", pytest.param("postgresql", marks=pytest.mark.matrix))


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Open while this worker is in this package: playwright keeps an event loop running in the
    thread, and other tests could not run one of their own beside it."""
    with chromium() as opened:
        yield opened


@pytest.fixture
def browse(browser: Browser) -> Iterator[Browsing]:
    """Opens pages in fresh profiles; after the test, none may have done what it must not."""
    opened = Browsing(browser)
    yield opened
    opened.close()


@pytest.fixture
def site(backend_url: str, open_store: Callable[..., Memory]) -> Iterator[Service]:
    """An empty store of the test's own on each database, served with its pages, without keys."""
    with running(open_store(backend_url, port=0)) as started:
        yield started


@pytest.fixture
def keyed_site(backend_url: str, open_store: Callable[..., Memory]) -> Iterator[Service]:
    """The same, where a key is needed."""
    with running(open_store(backend_url, port=0, require_keys=True)) as started:
        yield started


@pytest.fixture
def ana(site: Service) -> UserMemory:
    return site.memory.user("ana")


@pytest.fixture
def visit(site: Service) -> Visit:
    """Somebody at that site without keys, who looks at ana's memory without script."""
    return Visit(site).choose("ana")


@dataclass(frozen=True)
class LivedIn:
    """A served store with a life in it, for tests that change nothing."""

    service: Service
    life: Life

    @property
    def url(self) -> str:
        """The address of the service."""
        return self.service.url


Serve = Callable[..., Service]


@contextlib.contextmanager
def serving(template: Path, folders: pytest.TempPathFactory, database: str) -> Iterator[Serve]:
    """Opens and serves empty stores; one on PostgreSQL is a database of this name, not that of
    other tests, who empty it when they begin."""
    with contextlib.ExitStack() as opened:

        def serve(kind: str, clock: ManualClock, **settings: object) -> Service:
            folder = folders.mktemp(kind)
            if kind == "sqlite":
                url = str(shutil.copy(template, folder / "ricordo.db"))
            else:
                made = opened.enter_context(postgres.database(database))
                open_memory(made, run_jobs=False, upkeep=False, home=folder).close()
                url = postgres.let_app_in(made)
            chosen = {
                "run_jobs": False,
                "upkeep": False,
                "embedder": WordEmbedder(),
                "home": folder,
                "port": 0,
                "rate_limit_per_minute": 0,
                **settings,
            }
            memory = opened.enter_context(open_memory(url, clock=clock, **chosen))
            return opened.enter_context(running(memory))

        yield serve


@pytest.fixture(scope="module")
def serve_for_module(
    sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory, worker_id: str
) -> Iterator[Serve]:
    """Opens and serves an empty store on a database until the tests of the module have ended."""
    with serving(sqlite_template, tmp_path_factory, f"ricordo_web_{worker_id}") as serve:
        yield serve


@pytest.fixture(scope="package")
def lives(
    sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory, worker_id: str
) -> Iterator[Callable[[str], LivedIn]]:
    """Ana's life on a database: made when it is first asked for, once for each worker."""
    with serving(sqlite_template, tmp_path_factory, f"ricordo_lives_{worker_id}") as serve:

        @functools.cache
        def life_on(kind: str) -> LivedIn:
            clock = ManualClock()
            service = serve(kind, clock)
            return LivedIn(service, lived_in(service.memory, clock))

        yield life_on


@pytest.fixture(scope="module", params=EACH_DATABASE)
def lived_in_each(request: pytest.FixtureRequest, lives: Callable[[str], LivedIn]) -> LivedIn:
    """Ana's life, on each database."""
    return lives(request.param)


@pytest.fixture(scope="module")
def lived_in_sqlite(lives: Callable[[str], LivedIn]) -> LivedIn:
    """Ana's life, for what does not depend on the database."""
    return lives("sqlite")


@dataclass(frozen=True)
class Reading:
    """One browser page that goes from address to address."""

    url: str
    page: Page
    browsing: Browsing

    @property
    def watch(self) -> Watch:
        """What is noted of it."""
        return self.browsing.watch(self.page)

    def open(self, path: str) -> Page:
        """Go to a page of the service."""
        self.page.goto(f"{self.url}{path}")
        return self.page


@pytest.fixture(scope="module")
def reader(browser: Browser) -> Iterator[Callable[..., Reading]]:
    """Opens a browser page that tests of a module share; each has to call ``browsing.check``."""
    with contextlib.ExitStack() as opened:

        def read(url: str, **options: object) -> Reading:
            browsing = Browsing(browser)
            opened.callback(browsing.close)
            page = browsing(f"{url}/ui/memories", **options)
            return Reading(url, page, browsing)

        yield read
