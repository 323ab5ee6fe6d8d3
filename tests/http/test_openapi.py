"""Whatever is sent to any route: no fault of the server, no status and no shape that is not in the
OpenAPI document."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import schemathesis
from fastapi.routing import APIRoute
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from ricordo.http.app import all_routers
from ricordo.memory import Memory
from tests.http.filled import FilledStore, filled
from tests.support.service import Service, running

OPERATIONS = sorted(
    route.name
    for router in all_routers()
    for route in router.routes
    if isinstance(route, APIRoute) and route.include_in_schema
)
EXAMPLES = 12
CHECKS = [
    schemathesis.checks.not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    response_headers_conformance,
    negative_data_rejection,
]


@pytest.fixture
def service(
    backend_url: str, open_store: Callable[..., Memory], upstreams: dict[str, str]
) -> Iterator[Service]:
    with running(open_store(backend_url, port=0, **upstreams)) as started:
        yield started


@pytest.mark.requirement("http.openapi")
@pytest.mark.parametrize("operation_id", OPERATIONS)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.fuzz
def test_a_route_keeps_to_the_document(service: Service, document: Any, operation_id: str) -> None:
    check(service, document, operation_id, filled(service, "ana"), EXAMPLES)


@pytest.mark.smoke
@pytest.mark.requirement("http.openapi")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_some_routes_keep_to_the_document(service: Service, document: Any) -> None:
    """A few requests to a few routes; the test above sends more to all of them."""
    added = service.client("ana").post("/v1/memories", json={"content": "Saw a heron"}).json()
    store = FilledStore("heron", {"id": [added["id"]]})
    path = "/v1/memories/{id}"
    small = {**document, "paths": {path: document["paths"][path]}}
    for operation_id in ("get_memory", "forget_memory"):
        check(service, small, operation_id, store, 2)


def check(
    service: Service, document: Any, operation_id: str, store: FilledStore, examples: int
) -> None:
    schema = schemathesis.openapi.from_dict(document)
    operation = schema.find_operation_by_id(operation_id)
    modes = st.sampled_from([GenerationMode.POSITIVE, GenerationMode.NEGATIVE])

    @settings(
        max_examples=examples,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=modes.flatmap(operation.as_strategy), data=st.data())
    def keeps_to_it(case: Any, data: st.DataObject) -> None:
        _aim(case, store, data)
        response = case.call(base_url=service.url, headers={"X-Ricordo-User": "ana"})
        case.validate_response(response, checks=CHECKS)

    keeps_to_it()


def _aim(case: Any, store: FilledStore, data: st.DataObject) -> None:
    """Let some of the requests be about things that exist."""
    for name, values in store.known.items():
        if name in case.path_parameters and data.draw(st.booleans()):
            case.path_parameters[name] = data.draw(st.sampled_from(values))
