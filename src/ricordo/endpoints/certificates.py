"""The certificates that a client of an endpoint trusts."""

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ricordo.endpoints.addresses import is_nearby

if TYPE_CHECKING:
    import ssl


def trusted_at(url: str) -> "ssl.SSLContext | bool":
    """What to give a client as ``verify`` that follows no redirects; True: those of the machine.

    Loading the machine's takes 50 ms. A client that speaks plain HTTP to an address nearby, which
    no proxy has to do with, never needs one, and gets a context that trusts nobody.
    """
    import ssl

    if urlsplit(url).scheme == "http" and is_nearby(url):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return True
