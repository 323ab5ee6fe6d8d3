"""How long fuzzing takes: a fixed number of examples in every run of the tests, and as many as are
asked for with ``make fuzz``."""

import os
from pathlib import Path
from typing import Final

from hypothesis import HealthCheck, settings
from hypothesis.database import DirectoryBasedExampleDatabase

EXAMPLES_VARIABLE: Final = "RICORDO_FUZZ_EXAMPLES"
"""How many examples a test looks at; where it is not set, few ones, and always the same."""
UNTIL_VARIABLE: Final = "RICORDO_FUZZ_UNTIL"
"""When to begin with no further test, in seconds since 1970."""
DATABASE: Final = Path(__file__).parents[2] / ".hypothesis" / "fuzz"
"""Where examples are kept that have failed: the next run begins with them."""

_USUAL_EXAMPLES: Final = 50
_LAX: Final = settings(
    deadline=None,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.large_base_example,
        # What the fixtures make is never changed for another example by those who use them.
        HealthCheck.function_scoped_fixture,
    ],
)


def _chosen() -> settings:
    asked = os.environ.get(EXAMPLES_VARIABLE)
    if asked is None:
        return settings(_LAX, max_examples=_USUAL_EXAMPLES, derandomize=True, database=None)
    kept = DirectoryBasedExampleDatabase(DATABASE)
    return settings(_LAX, max_examples=int(asked), database=kept, print_blob=True)


FUZZ: Final = _chosen()
"""For what takes a moment."""
FUZZ_SLOWLY: Final = settings(FUZZ, max_examples=max(10, FUZZ.max_examples // 5))
"""For what writes files or asks a database or a service."""
