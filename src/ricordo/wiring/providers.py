"""What makes vectors and what reads conversations, as the operator has set them."""

from typing import Final

from ricordo.errors import InvalidValue
from ricordo.index.embedders import Embedders
from ricordo.metering import MeteredModel
from ricordo.providers.chat import ChatModel
from ricordo.providers.chat_model import ModelChoice
from ricordo.providers.embedder import Embedder
from ricordo.providers.embedding_choice import EmbedderRegistry, EmbeddingChoice, detect_llamacpp
from ricordo.providers.encryption import SecretBox
from ricordo.settings import Settings
from ricordo.storage.database import Database

_SECRET_FILE: Final = "secret.key"  # noqa: S105 - the name of a file


def language_model(database: Database, settings: Settings) -> MeteredModel | None:
    """The language model that the operator has set, if any."""
    if settings.model_provider is None:
        unused = {
            "model_name": settings.model_name,
            "model_base_url": settings.model_base_url,
            "model_api_key": settings.model_api_key,
        }
        for name, value in unused.items():
            if value is not None:
                raise InvalidValue(f"setting {name}", "needs model_provider, too")
        return None
    key = settings.model_api_key
    try:
        choice = ModelChoice.parse(
            settings.model_provider,
            model=settings.model_name,
            base_url=settings.model_base_url,
            api_key=None if key is None else key.get_secret_value(),
        )
    except InvalidValue as problem:
        name = "name" if problem.field == "model" else problem.field
        raise InvalidValue(f"setting model_{name}", problem.problem) from None
    model = ChatModel(choice, deadline_seconds=settings.model_deadline_seconds)
    return MeteredModel(database, model, settings.model_daily_tokens)


def embedders(database: Database, settings: Settings, given: Embedder | None) -> Embedders:
    """What makes everybody's vectors: what is given, or else what is set.

    Raises:
        InvalidValue: the settings do not fit together.
    """
    registry = EmbedderRegistry(
        threads=settings.embedding_threads,
        max_width=settings.vector_width,
        allow_private=settings.allow_private_embedding_targets,
    )
    key = settings.secret_key
    secrets = SecretBox(
        settings.home.expanduser() / _SECRET_FILE,
        None if key is None else key.get_secret_value(),
    )
    deadline_seconds = settings.embedding_deadline_seconds
    operator = _operator_choice(settings)
    return Embedders(database, registry, secrets, operator, given, deadline_seconds)


def _operator_choice(settings: Settings) -> EmbeddingChoice | None:
    """What the operator wants for everybody; a llama.cpp server that is there counts as that."""
    if settings.embedding_provider is None:
        unused = {
            "embedding_model": settings.embedding_model,
            "embedding_base_url": settings.embedding_base_url,
            "embedding_api_key": settings.embedding_api_key,
            "embedding_dimensions": settings.embedding_dimensions,
        }
        for name, value in unused.items():
            if value is not None:
                raise InvalidValue(f"setting {name}", "needs embedding_provider, too")
        return None if settings.llamacpp_url is None else detect_llamacpp(settings.llamacpp_url)
    key = settings.embedding_api_key
    return EmbeddingChoice.parse(
        settings.embedding_provider,
        model=settings.embedding_model,
        base_url=settings.embedding_base_url,
        api_key=None if key is None else key.get_secret_value(),
        dimensions=settings.embedding_dimensions,
    )
