"""Programs whose id is the address of a document about them (client ID metadata documents)."""

import json
import threading
import time
from collections import OrderedDict
from datetime import datetime
from typing import Final
from urllib.parse import urlsplit

from ricordo import limits
from ricordo.access.grants import OAuthRefusal, described_client
from ricordo.clock import Clock
from ricordo.errors import InvalidValue, TargetRefused
from ricordo.model.scope import Client
from ricordo.providers.endpoint import Endpoint, EndpointError, split_url
from ricordo.providers.http_client import Call, ModelClient
from ricordo.providers.timing import Deadline

_SCHEME: Final = "https"
_DOTS: Final = frozenset({".", ".."})


class ClientDocuments:
    """Reads what programs say of themselves, and keeps it for some minutes. Thread-safe.

    A stranger names the address, so it may not lead into our own network, and redirects are not
    followed.
    """

    def __init__(self, clock: Clock, *, allow_private: bool) -> None:
        self._clock = clock
        self._allow_private = allow_private
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[datetime, Client]] = OrderedDict()

    def client(self, client_id: str) -> Client:
        """The program of an address. Raises OAuthRefusal: there is no document, or it does not say
        what it must."""
        now = self._clock()
        with self._lock:
            read_at, kept = self._kept.get(client_id, (now, None))
        if kept and (now - read_at).total_seconds() < limits.CLIENT_DOCUMENT_SECONDS:
            return kept
        client = _described(client_id, self._read(client_id), now)
        with self._lock:
            self._kept[client_id] = (now, client)
            self._kept.move_to_end(client_id)
            if len(self._kept) > limits.MAX_CLIENT_DOCUMENTS:
                self._kept.popitem(last=False)
        return client

    def _read(self, address: str) -> bytes:
        parts = urlsplit(address)
        origin = f"{parts.scheme}://{parts.netloc}"
        endpoint = Endpoint("the program", origin, guarded=not self._allow_private)
        reader = ModelClient(endpoint, max_bytes=limits.MAX_CLIENT_DOCUMENT_BYTES)
        try:
            call = Call(
                Deadline(limits.CLIENT_DOCUMENT_WAIT_SECONDS, time.monotonic), retries_left=0
            )
            return reader.request("GET", parts.path, None, call)
        except (EndpointError, TargetRefused):
            # What is at an address inside, or why it is not reached, is not told.
            raise _refusal("its document cannot be read") from None
        finally:
            reader.close()


def is_document_address(client_id: str) -> bool:
    """Whether a client id is an address: https, with a path."""
    try:
        parts = split_url(client_id)
    except InvalidValue:
        return False
    steps = set(parts.path.lower().replace("%2e", ".").split("/"))
    return parts.scheme == _SCHEME and parts.path not in ("", "/") and not steps & _DOTS


def _described(client_id: str, content: bytes, now: datetime) -> Client:
    try:
        said = json.loads(content)
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict) or said.get("client_id") != client_id:
        raise _refusal("its document does not name it")
    if said.get("token_endpoint_auth_method", "none") != "none" or "client_secret" in said:
        raise _refusal("its document asks for another token_endpoint_auth_method than none")
    if not isinstance(said.get("client_name"), str):
        raise _refusal("its document has no client_name")
    return described_client(client_id, said["client_name"], said.get("redirect_uris"), now)


def _refusal(why: str) -> OAuthRefusal:
    return OAuthRefusal("invalid_client", f"the program is not known: {why}")
