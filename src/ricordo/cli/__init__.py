"""The command ``ricordo``: reads the command line, calls the library, shows the answer."""
