"""``python -m ricordo``: the command ``ricordo``, where its script is not on the PATH."""

from ricordo.cli.main import run

if __name__ == "__main__":
    run()
