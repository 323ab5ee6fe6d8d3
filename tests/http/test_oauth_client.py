"""The official MCP client signs in by OAuth at the real service, from the first refusal on."""

import asyncio
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

from ricordo import open as open_store
from tests.support.programs import REDIRECT, Person, answer_of, free_port
from tests.support.served import served

TIMEOUT_SECONDS = 120.0


class Kept:
    """What the client keeps of its sign-in."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None
        self.given: list[OAuthToken] = []

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens
        self.given.append(tokens)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


@pytest.mark.requirement("mcp.oauth")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_official_client_signs_in_refreshes_and_is_sent_away(tmp_path: Path, mode: str) -> None:
    db, port = str(tmp_path / "ricordo.db"), free_port()
    url = f"http://127.0.0.1:{port}"
    with open_store(db, run_jobs=False, upkeep=False) as store:
        key = store.create_key("laptop", user="ana").secret
    kept, asked = Kept(), 0
    with (
        served(db, port=port, RICORDO_PUBLIC_URL=url) as service,
        httpx2.Client(base_url=url) as at,
    ):
        assert service.url == url
        person = Person(at, key)
        answers: list[dict[str, str]] = []

        async def send_user(address: str) -> None:
            nonlocal asked
            asked += 1
            assert address.startswith(f"{url}/ui/authorize?")
            decided = await asyncio.to_thread(person.decide, address)
            answers.append(answer_of(decided))

        async def come_back() -> AuthorizationCodeResult:
            said = answers[-1]
            return AuthorizationCodeResult(code=said["code"], state=said["state"], iss=said["iss"])

        async def talk() -> None:
            described = OAuthClientMetadata.model_validate(
                {"redirect_uris": [REDIRECT], "client_name": "official client"}
            )
            auth = OAuthClientProvider(f"{url}/mcp", described, kept, send_user, come_back)
            async with (
                httpx2.AsyncClient(auth=auth, timeout=TIMEOUT_SECONDS) as sender,
                Client(
                    streamable_http_client(f"{url}/mcp", http_client=sender),
                    mode=mode,
                    read_timeout_seconds=TIMEOUT_SECONDS,
                ) as client,
            ):
                assert not (await _call(client, "memory_add", content="Drinks tea.")).is_error
                assert (asked, len(kept.given)) == (1, 1)
                auth.context.token_expiry_time = 1.0
                assert not (await _call(client, "memory_search", query="tea")).is_error
                assert (asked, len(kept.given)) == (1, 2)
                assert kept.given[0].refresh_token != kept.given[1].refresh_token
                own = {"Authorization": f"Bearer {key}"}
                (grant,) = at.get("/v1/grants", headers=own).json()
                assert grant["client_name"] == "official client"
                assert at.delete(f"/v1/grants/{grant['id']}", headers=own).status_code == 200
                assert not (await _call(client, "memory_search", query="tea")).is_error
                assert (asked, len(kept.given)) == (2, 3)  # it had to ask again

        asyncio.run(talk())


async def _call(client: Client, tool: str, **arguments: str) -> Any:
    return await client.call_tool(tool, arguments)
