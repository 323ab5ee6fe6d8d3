"""Say clearly what is missing before make tries to use it."""

import importlib.util
import sys

if sys.version_info < (3, 11):
    sys.exit(
        f"ricordo needs Python 3.11 or newer; this is {sys.version.split()[0]}."
        " Choose another one: make PYTHON=python3.12 try"
    )
if importlib.util.find_spec("ensurepip") is None:
    sys.exit(
        "This Python cannot make virtual environments: install its venv package (python3-venv)"
    )
