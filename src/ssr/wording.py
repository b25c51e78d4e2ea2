"""Words that go with numbers."""


def counted(number: int, noun: str) -> str:
    """`1 trial`, `2 trials`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
