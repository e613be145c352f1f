"""Names of places in messages hold no user, key or option of a URI, however it is written."""

from __future__ import annotations

import pytest

from curvedp._places import public_name

#: Places by what may be said of them.
PLACES = {
    "data/in.parquet": "data/in.parquet",
    "a?b/part-[0-9].parquet": "a?b/part-[0-9].parquet",
    "s3://bucket/in.parquet": "s3://bucket/in.parquet",
    "s3://SECRET:SECRET@bucket/in.parquet": "s3://bucket/in.parquet",
    "s3://SECRET:SEC/RET@bucket/in.parquet": "s3://bucket/in.parquet",
    "https://host/in.parquet?sig=SECRET": "https://host/in.parquet",
    "https://host/in.parquet#SECRET": "https://host/in.parquet",
    "https://host/in.parquet?who=me@x&sig=SECRET": "https://...",
    "s3://SECRET?SECRET@bucket/in.parquet": "s3://...",
    "s3://SECRET#SECRET@bucket/in.parquet": "s3://...",
    "s3://SECRET::SECRET@bucket/in.parquet": "s3://...",
    "simplecache::s3://SECRET:SECRET@bucket/in.parquet": "simplecache::s3://bucket/in.parquet",
    "zip://a.parquet::https://SECRET@h/z.zip?SECRET": "zip://a.parquet::https://h/z.zip",
    "SE CRET://bucket": "://...",
    "SECRET/::s3://bucket": "://...",
}


@pytest.mark.parametrize("place", PLACES)
def test_nothing_but_the_public_part_is_named(place):
    assert public_name(place) == PLACES[place]
    assert "SECRET" not in public_name(place)


@pytest.mark.parametrize("place", PLACES)
def test_a_public_name_is_its_own(place):
    named = public_name(place)
    assert public_name(named) == named
