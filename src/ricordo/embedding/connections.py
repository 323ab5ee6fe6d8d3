"""Connections to an endpoint that makes vectors."""

from functools import partial
from typing import TYPE_CHECKING

from ricordo.embedding.targets import Resolve, allowed_addresses, system_resolve
from ricordo.endpoints.addresses import is_nearby
from ricordo.endpoints.certificates import trusted_at

if TYPE_CHECKING:
    import httpx2


def open_client(base_url: str, *, guarded: bool, resolve: Resolve | None = None) -> "httpx2.Client":
    """A client of the endpoint; ``guarded`` ones connect only to what users may name."""
    import httpx2

    if guarded:
        from ricordo.embedding.guarded_transport import GuardedTransport

        # No proxy from the environment: it would look the name up again, unchecked.
        guard = GuardedTransport(partial(allowed_addresses, resolve=resolve or system_resolve))
        return httpx2.Client(transport=guard, trust_env=False, follow_redirects=False)
    return httpx2.Client(
        verify=trusted_at(base_url), trust_env=not is_nearby(base_url), follow_redirects=False
    )
