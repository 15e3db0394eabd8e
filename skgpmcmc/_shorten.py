"""Long texts, shortened for messages and pictures."""


def shortened(text: str, n_most: int) -> str:
    """Return a text without its middle, if it is too long: names differ at either end."""
    if len(text) <= n_most:
        return text
    n_end = (n_most - 1) // 2
    return f"{text[: n_most - 1 - n_end].rstrip()}…{text[-n_end:].lstrip()}"
