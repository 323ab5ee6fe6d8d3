"""Every error of the library has its status, and what nobody foresaw gives nothing away."""

import inspect
import logging
import re
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path

import pytest

from ricordo import errors
from ricordo.http import problems
from ricordo.http.answers import answer, check_match, is_among, nothing, tag, unchanged
from ricordo.http.problems import EVERYWHERE, STATUS_OF, PreconditionFailed, problem_of, status_of
from ricordo.memory import Memory
from ricordo.user_memory import UserMemory
from tests.support.problems import problem
from tests.support.service import Service, running
from tests.support.waiting import wait_until

pytestmark = pytest.mark.requirement("http.problems")

KINDS = [
    kind
    for module in (errors, problems)
    for _, kind in inspect.getmembers(module, inspect.isclass)
    if issubclass(kind, errors.RicordoError) and kind.__module__ == module.__name__
]
STATUS_OF_KIND = {
    "RicordoError": 500,
    "InvalidPolicy": 503,
    "RequestTooLarge": 413,
    "NotAuthenticated": 401,
    "PreconditionFailed": 412,
    "Changed": 412,
    "TooManyRequests": 429,
    "StorageFull": 507,
    "EmbedderUnavailable": 503,
    "ModelUnavailable": 503,
    "BudgetExhausted": 429,
}
STATUS_OF_FAMILY = {
    errors.InvalidInput: 422,
    errors.NotFound: 404,
    errors.Conflict: 409,
    errors.AccessDenied: 403,
    errors.StorageError: 503,
    errors.FilesUnavailable: 503,
    errors.EmbeddingError: 502,
    errors.LanguageModelError: 502,
}
ERRORS_PAGE = Path(__file__).parents[2] / "docs" / "howto" / "errors.md"


def made(kind: type[errors.RicordoError]) -> errors.RicordoError:
    """An error of a kind, whatever its constructor wants."""
    error = kind.__new__(kind)
    Exception.__init__(error, "it went wrong")
    error.retry_after = 7  # type: ignore[attr-defined]
    return error


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_error_has_its_status(kind: type[errors.RicordoError]) -> None:
    families = [status for family, status in STATUS_OF_FAMILY.items() if issubclass(kind, family)]
    expected = STATUS_OF_KIND.get(kind.__name__) or families[0]
    assert status_of(made(kind)) == expected
    response = problem_of(made(kind))
    assert response.status_code == expected
    assert (response.headers.get("www-authenticate") == "Bearer") is (expected == 401)
    assert "retry-after" in response.headers or kind.__name__ != "TooManyRequests"


def test_the_table_has_no_error_that_does_not_exist() -> None:
    assert set(STATUS_OF) <= set(KINDS)
    documented = {int(status) for status in EVERYWHERE}
    told = {int(status) for status in STATUS_OF.values()}
    # A route says itself where it can answer 412; 500 is a mistake of ours, and promised nowhere.
    assert told - documented == {412, 500}


def test_the_page_on_errors_has_the_status_of_each() -> None:
    rows = re.findall(r"^\| (`.+?) \| \d+ \| (\d+) \|", ERRORS_PAGE.read_text(), re.MULTILINE)
    said = {name: int(status) for names, status in rows for name in re.findall(r"`(\w+)`", names)}
    ours = {kind.__name__: kind for kind in KINDS if kind.__module__ == errors.__name__}
    leaves = {
        name: int(status_of(made(kind))) for name, kind in ours.items() if not kind.__subclasses__()
    }
    assert {name: said.get(name) for name in leaves} == leaves
    assert {name: int(status_of(made(ours[name]))) for name in said} == said


def test_what_nobody_foresaw_gives_nothing_away(
    service: Service, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_given: object, **_named: object) -> None:
        raise ZeroDivisionError("ana drinks tea")

    monkeypatch.setattr(UserMemory, "revision", fail)
    with caplog.at_level(logging.ERROR):
        failed = service.client("ana").get("/v1/revision")
        wait_until(lambda: "ZeroDivisionError" in caplog.text)  # logged after it was answered
    assert problem(failed) == (500, "Unexpected")
    assert "tea" not in failed.text


def test_a_store_that_is_busy_says_when_to_try_again(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_given: object, **_named: object) -> None:
        raise errors.StorageBusy("locked; try again")

    monkeypatch.setattr(UserMemory, "revision", fail)
    failed = service.client("ana").get("/v1/revision")
    assert problem(failed) == (503, "StorageBusy")
    assert int(failed.headers["retry-after"]) >= 1


def test_a_closed_store_is_unavailable(sqlite_url: str, open_store: Callable[..., Memory]) -> None:
    memory = open_store(sqlite_url, port=0)
    with running(memory) as service:
        client = service.client("ana")
        assert client.get("/readyz").status_code == 200
        memory.close()
        assert problem(client.get("/readyz")) == (503, "StorageClosed")
        refused = client.get("/v1/revision")
        assert problem(refused) == (503, "StorageClosed")
        assert memory.database.backend.location not in refused.text  # that is the operator's
        assert client.get("/healthz").status_code == 200


# -- answers -----------------------------------------------------------------------------------


def test_tags_are_told_apart_and_compared() -> None:
    etag = tag(7, "x")
    assert etag == '"7-x"'
    for given in (etag, f"W/{etag}", f'"a", {etag}', "*", f'"a",{etag},"b"'):
        assert is_among(etag, given)
        check_match(etag, given)
        response = unchanged(etag, given)
        assert response is not None
        assert (response.status_code, response.headers["etag"]) == (304, etag)
    for given in ('"7-y"', "", "7-x", '"a", "b"'):
        assert not is_among(etag, given)
        assert unchanged(etag, given) is None
        with pytest.raises(PreconditionFailed):
            check_match(etag, given)
    check_match(etag, None)
    assert unchanged(etag, None) is None


def test_answers_are_json_as_on_every_surface() -> None:
    response = answer(("é", 1), HTTPStatus.CREATED, etag='"a"', headers={"Location": "/x"})
    assert (response.status_code, response.body) == (201, '["é",1]'.encode())
    assert (response.headers["etag"], response.headers["location"]) == ('"a"', "/x")
    assert (nothing().status_code, nothing().body) == (204, b"")
