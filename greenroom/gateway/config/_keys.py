"""Keys of the file, and the attributes of the classes."""


def key_of(attribute: str) -> str:
    """Return the key in the file of an attribute: `maxConcurrent` of `max_concurrent`."""
    first, *rest = attribute.split("_")
    return first + "".join(word.capitalize() for word in rest)
