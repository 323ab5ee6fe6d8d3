"""Tables of texts: a line for each case, or phrases between strokes."""

import re


def cases(table: str) -> list[tuple[str, str]]:
    """Lines of ``what is given => what is expected``; a long one goes on after a line break."""
    lines = re.sub(r"\n\s*=>", " =>", table.strip()).splitlines()
    made = [(left, right) for left, right in (line.strip().split(" => ") for line in lines)]
    return [(left.replace("\\n", "\n"), right) for left, right in made]


def phrases(text: str) -> list[str]:
    made = text.replace("\n", " ").split(" | ")
    return [phrase.strip().replace("\\n", "\n") for phrase in made]
