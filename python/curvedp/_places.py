"""Names of places of files in messages: without the keys and options that a URI may hold."""

from __future__ import annotations

import re

__all__ = ["public_name"]

#: Name of a protocol, and what stands for a place of which no part is surely public.
_WORD, _HIDDEN = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*"), "..."


def public_name(place: str) -> str:
    """A path, or a URI without user, keys and options.

    Parameters
    ----------
    place : str
        Also a chain, such as ``"simplecache::s3://bucket/file"``.

    Returns
    -------
    str
        With "..." for a part in which keys cannot be separated from the rest.

    Examples
    --------
    >>> public_name("simplecache::https://me:key@host/a.parquet?signature=1")
    'simplecache::https://host/a.parquet'
    """
    if "://" not in place:
        return place
    links = place.split("::")
    if all("://" in link or _WORD.fullmatch(link) for link in links):
        return "::".join(map(_without_keys, links))
    word = links[0].partition("://")[0]
    return f"{word if _WORD.fullmatch(word) else ''}://{_HIDDEN}"


def _without_keys(link: str) -> str:
    """One link of a chain."""
    scheme, mark, rest = link.partition("://")
    if not mark:
        return link
    named, *options = re.split(r"[?#]", rest, maxsplit=1)
    if not _WORD.fullmatch(scheme):
        return f"://{_HIDDEN}"
    if any("@" in own for own in options):  # of a key that holds ? or #, or of the options
        return f"{scheme}://{_HIDDEN}"
    return f"{scheme}://{named.rpartition('@')[2]}"
