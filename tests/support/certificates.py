"""Certificates of this machine, read once: a client that reads them takes 50 ms to make."""

import functools
import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

import httpcore2
import pytest

_read = httpcore2.default_ssl_context


@functools.cache
def _read_once(trust_env: bool, file: str | None, folder: str | None) -> ssl.SSLContext:
    return _read(_trust_env=trust_env)


def _shared(*, _trust_env: bool = True) -> ssl.SSLContext:
    named = (os.environ.get(name) for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"))
    return _read_once(_trust_env, *named)


@contextmanager
def read_once() -> Iterator[None]:
    """Let all clients of this process share them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(httpcore2, "default_ssl_context", _shared)
        yield
