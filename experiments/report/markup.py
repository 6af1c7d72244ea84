"""HTML from nested calls, in which nothing but `Markup` passes unescaped."""

import html


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def element(tag: str, *children: str, **attributes: str | bool) -> Markup:
    """Return an element; children and attributes are escaped, `Markup` is not.

    Args:
        tag: Its name.
        children: Text and elements.
        attributes: By name, with ``_`` for ``-`` and ``class_`` for ``class``; True for one without value, and
            False for none.
    """
    words = [tag]
    for name, value in attributes.items():
        name = name.rstrip("_").replace("_", "-")
        if value is True:
            words.append(name)
        elif value is not False:
            words.append(f'{name}="{html.escape(value)}"')
    start = f"<{' '.join(words)}>"
    return Markup(start if tag in _VOID else f"{start}{join(*children)}</{tag}>")


def join(*children: str) -> Markup:
    """Put text and elements one after another."""
    return Markup(
        "".join(child if isinstance(child, Markup) else html.escape(child, quote=False) for child in children)
    )


def raw(tag: str, content: str, **attributes: str | bool) -> Markup:
    """Return a script or style element with content of our own.

    Raises:
        ValueError: If the content could end the element.
    """
    if f"</{tag}" in content.lower():
        raise ValueError(f"the content of <{tag}> must not hold </{tag}")
    return element(tag, Markup(content), **attributes)


_VOID = {"meta", "br", "hr"}
