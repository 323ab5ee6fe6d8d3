"""Everything that can be set, with its default. ``wiring`` fills it from the environment."""

from pydantic import ConfigDict

from ricordo.settings.service import ServiceSettings
from ricordo.settings.store import StoreSettings


class Settings(ServiceSettings, StoreSettings):
    """All settings. Each is also an environment variable: ``RICORDO_`` + NAME."""

    model_config = ConfigDict(frozen=True, extra="forbid")
