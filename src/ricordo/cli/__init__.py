"""The command ``ricordo``: reads the command line, calls the library, shows the answer."""

import gc

# Collecting garbage among freshly loaded modules would take a tenth of a short command.
gc.set_threshold(50_000)
