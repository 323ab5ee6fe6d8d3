"""This process's configuration. Celery imports this module when it first needs it."""

import os
from typing import Any, Final

import click

from ricordo.errors import InvalidInput
from ricordo.wiring import read_settings
from ricordo.workers.configuration import worker_configuration


def _configuration() -> dict[str, Any]:
    try:
        return worker_configuration(read_settings(os.environ, {}))
    except InvalidInput as problem:  # Celery's commands show this exception as one line
        raise click.UsageError(str(problem)) from problem


CONFIGURATION: Final = _configuration()
