"""What systems differ in, beyond what ``hasattr`` tells."""

import os
import sys
from typing import Final

REPLACES_OPEN_FILES: Final = os.name == "posix"
"""Whether a file that is open can be renamed, replaced and removed; on Windows it cannot."""

SHARES_PORTS: Final = sys.platform == "win32"
"""Whether SO_REUSEADDR would let a second process listen where one does already."""
