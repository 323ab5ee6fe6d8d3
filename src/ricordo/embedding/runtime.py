"""onnxruntime, loaded so that it sends nothing. Nothing else in ricordo may import it."""

import importlib
import os
from types import ModuleType
from typing import Final

from ricordo.errors import EmbedderUnavailable

_NO_TELEMETRY: Final = "ORT_DISABLE_TELEMETRY"


def load_onnxruntime() -> ModuleType:
    """The onnxruntime package.

    Its released builds report their use to the maker by default (on Windows through the system,
    since 1.29 also on Linux and macOS). Set before the first import, the variable keeps all of
    it from starting: no upload, no device id on the disk, no thread that a fork would lose.

    Raises:
        EmbedderUnavailable: it is not installed, or does not run here.
    """
    os.environ[_NO_TELEMETRY] = "1"
    try:
        onnxruntime = importlib.import_module("onnxruntime")  # it has no type information
    except ImportError as error:
        raise EmbedderUnavailable(f"local model: onnxruntime cannot be loaded: {error}") from None
    onnxruntime.disable_telemetry_events()  # Windows; and where somebody imported it before us
    return onnxruntime
