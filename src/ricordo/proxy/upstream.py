"""The endpoint behind the proxy: any that speaks the wire format."""

from collections.abc import Mapping
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING, Final

from ricordo.errors import InvalidValue
from ricordo.limits import MODEL_CONNECT_SECONDS
from ricordo.providers.endpoint import is_nearby, split_url, trusted_at
from ricordo.proxy.anthropic import ANTHROPIC
from ricordo.proxy.calls import CallWatch
from ricordo.proxy.headers import to_upstream, with_added
from ricordo.proxy.openai import OPENAI
from ricordo.proxy.wire import Wire
from ricordo.settings import Settings
from ricordo.version import __version__

if TYPE_CHECKING:
    import httpx2
    from pydantic import SecretStr

_IDLE_CONNECTIONS: Final = 100
_SECRET_BYTES: Final = 8


class UpstreamFault(Exception):
    """The upstream could not be asked, or its answer not be read to the end.

    ``status`` and ``code`` are for the caller; the message says no address and no secret.
    """

    def __init__(self, status: int, code: str, message: str) -> None:
        self.status = status
        self.code = code
        super().__init__(message)


class Upstream:
    """Sends requests on. Redirects are not followed: they would carry keys elsewhere."""

    def __init__(
        self,
        wire: Wire,
        url: str,
        api_key: str | None,
        watch: CallWatch,
        *,
        setting: str,
        silence_seconds: float,
    ) -> None:
        """An upstream at an address that the operator has set.

        Raises:
            InvalidValue: it is no address.
        """
        import httpx2

        try:
            split_url(url)
        except InvalidValue as error:
            raise InvalidValue(f"setting {setting}", error.problem) from None
        self.wire = wire
        self.watch = watch
        self._url = url.rstrip("/")
        self._key = None if api_key is None else wire.key_header(api_key)
        self._secret = (api_key or "").encode("utf-8")
        connecting = min(MODEL_CONNECT_SECONDS, silence_seconds)
        self._client = httpx2.AsyncClient(
            verify=trusted_at(url),
            trust_env=not is_nearby(url),
            follow_redirects=False,
            timeout=httpx2.Timeout(silence_seconds, connect=connecting),
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=_IDLE_CONNECTIONS),
            headers={"user-agent": f"ricordo/{__version__}"},
            # Else what the upstream sets for one user would be sent along for the next.
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        )

    async def chat(
        self, body: bytes, query: str, headers: Mapping[str, str], *, pass_credentials: bool
    ) -> "httpx2.Response":
        """Post a chat; the answer, of which nothing but the headers was read.

        Raises:
            UpstreamFault: it could not be reached, or took too long.
        """
        return await self._send(
            "POST", self.wire.path, query, headers, body, pass_credentials=pass_credentials
        )

    async def models(
        self, query: str, headers: Mapping[str, str], *, pass_credentials: bool
    ) -> "httpx2.Response":
        """Ask for the models that there are.

        Raises:
            UpstreamFault: it could not be reached, or took too long.
        """
        return await self._send(
            "GET", self.wire.models_path, query, headers, None, pass_credentials=pass_credentials
        )

    def without_key(self, body: bytes) -> bytes:
        """A body without the key of the upstream in it, which is the operator's."""
        is_secret = len(self._secret) >= _SECRET_BYTES  # a word of a letter or two is none
        return body.replace(self._secret, b"[key]") if is_secret else body

    async def close(self) -> None:
        """Close every connection."""
        await self._client.aclose()

    async def _send(
        self,
        method: str,
        path: str,
        query: str,
        headers: Mapping[str, str],
        body: bytes | None,
        *,
        pass_credentials: bool,
    ) -> "httpx2.Response":
        import httpx2

        url = f"{self._url}{path}?{query}" if query else f"{self._url}{path}"
        sent = to_upstream(headers, self._key, pass_credentials=pass_credentials)
        added: dict[str, str] = {}
        try:
            with self.watch.span(added):
                sent = with_added(sent, added)
                request = self._client.build_request(method, url, headers=sent, content=body)
                response = await self._client.send(request, stream=True)
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            raise fault(error) from None
        if response.is_redirect:
            await response.aclose()
            message = "the model's endpoint answered with a redirect; set its final address"
            raise UpstreamFault(502, "upstream_redirects", message)
        return response


def fault(error: Exception) -> UpstreamFault:
    """What went wrong, without any address."""
    import httpx2

    if isinstance(error, httpx2.TimeoutException):
        return UpstreamFault(504, "upstream_timeout", "the model's endpoint did not answer in time")
    if isinstance(error, httpx2.ConnectError):
        return UpstreamFault(502, "upstream_unreachable", "the model's endpoint cannot be reached")
    return UpstreamFault(502, "upstream_broke_off", "the model's endpoint broke off its answer")


def upstreams_of(settings: Settings, watch: CallWatch) -> dict[str, Upstream]:
    """The upstreams that are set, by the names of their wire formats.

    Raises:
        InvalidValue: one is at no address.
    """
    found: dict[str, Upstream] = {}
    for wire, setting, url, key in (
        (OPENAI, "upstream_url", settings.upstream_url, settings.upstream_api_key),
        (ANTHROPIC, "anthropic_url", settings.anthropic_url, settings.anthropic_api_key),
    ):
        if url is not None:
            found[wire.name] = Upstream(
                wire,
                url,
                _revealed(key),
                watch,
                setting=setting,
                silence_seconds=settings.upstream_timeout_seconds,
            )
    return found


def _revealed(key: "SecretStr | None") -> str | None:
    return None if key is None else key.get_secret_value()
