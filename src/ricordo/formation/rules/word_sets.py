"""Sets of words written as running text, which is easier to read and to extend."""


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


def phrases(text: str) -> frozenset[str]:
    """The phrases of a text, between commas."""
    return frozenset(" ".join(phrase.split()) for phrase in text.split(","))
