"""Finding out whether a llama.cpp server is there and was started for embeddings."""

from typing import TYPE_CHECKING, Any, Final

from ricordo.embedding.choice import EmbeddingChoice
from ricordo.embedding.wire import read_vectors, request_body
from ricordo.endpoints.certificates import trusted_at
from ricordo.errors import RicordoError

if TYPE_CHECKING:
    import httpx2

# What every version of its /props says about itself.
_MARKS: Final = ("default_generation_settings", "total_slots", "model_path", "build_info")


def detect_llamacpp(url: str, timeout_seconds: float = 0.3) -> EmbeddingChoice | None:
    """The choice of the llama.cpp server at an operator's address; None when there is none.

    Three short questions: is it llama.cpp (``/props``), which model (``/v1/models``), and, as
    neither tells, does it embed one word. Never raises; a server that is slow counts as absent.
    """
    import httpx2

    root = url.rstrip("/").removesuffix("/v1")
    try:
        with httpx2.Client(
            verify=trusted_at(url), timeout=timeout_seconds, trust_env=False, follow_redirects=False
        ) as client:
            return _ask(client, root)
    except (httpx2.HTTPError, httpx2.InvalidURL, RicordoError, ValueError):
        return None


def _ask(client: "httpx2.Client", root: str) -> EmbeddingChoice | None:
    props = _json(client.get(f"{root}/props"))
    if not isinstance(props, dict) or not any(mark in props for mark in _MARKS):
        return None
    model = _first_model(_json(client.get(f"{root}/v1/models")))
    if model is None:
        return None
    choice = EmbeddingChoice.parse("llamacpp", model=model, base_url=f"{root}/v1")
    answer = client.post(
        f"{root}/v1/embeddings",
        content=request_body(model, ["hello"], {}),
        headers={"Content-Type": "application/json"},
    )
    if answer.status_code != 200:
        return None
    read_vectors(answer.content, 1)
    return choice


def _json(response: "httpx2.Response") -> Any:
    return response.json() if response.status_code == 200 else None


def _first_model(listed: Any) -> str | None:
    entries = listed.get("data") if isinstance(listed, dict) else None
    if not isinstance(entries, list) or not entries or not isinstance(entries[0], dict):
        return None
    name = entries[0].get("id")
    return name if isinstance(name, str) else None
