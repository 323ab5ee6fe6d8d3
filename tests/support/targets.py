"""What the guard of users' addresses says to a whole address, as a connection to it would ask."""

from ricordo.providers.address_guard import Resolve, allowed_addresses, system_resolve
from ricordo.providers.endpoint import split_url

_PORTS = {"http": 80, "https": 443}


def check_target(url: str, *, allow_private: bool, resolve: Resolve | None = None) -> None:
    parts = split_url(url)
    if not allow_private:
        port = parts.port or _PORTS[parts.scheme]
        allowed_addresses(parts.hostname or "", port, resolve or system_resolve)
