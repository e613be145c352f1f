"""Options from the fields of statistics: names and defaults are theirs, help their docstrings'."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Container, Mapping
from typing import Any

import click

import curvedp
import curvedp.regression
from curvedp.mechanisms.choice import MECHANISMS
from curvedp.statistics import Statistic

__all__ = ["can_be_said", "field_options", "names_as", "names_in", "statistic_of", "taken"]

Kind = type[Statistic[Any]]
Command = Callable[..., Any]

#: Columns of what a statistic takes beside the points, by what it is called.
_BESIDE = {
    "covariate": "Column of the covariate, or member of an npz file; an empty cell counts as the "
    "middle of the range",
    "labels": "Column of the labels, or member of an npz file",
}
_SECTION = re.compile(r"(?ms)^Parameters\n-+\n(.*?)(?=^\w[\w ]*\n-+$|\Z)")
_ENTRY = re.compile(r"(?m)^([a-z_, \\\n]+?)(?: : (.*))?\n((?:[ ]+\S.*(?:\n|\Z)|\n(?=[ ]))+)")
_ELSEWHERE = re.compile(r"[Aa]s in `(\w+)`")


def _numbers(words: tuple[str, ...] = (), *, alone: bool = False) -> dict[str, Any]:
    """Numbers with commas, one `alone` as a number, or one of a few words."""

    def read(text: str) -> str | float | tuple[float, ...]:
        if text in words:
            return text
        try:
            found = tuple(float(part) for part in text.split(","))
        except ValueError:
            raise click.BadParameter("takes numbers, separated by commas") from None
        return found[0] if alone and len(found) == 1 else found

    return {"type": read, "metavar": "|".join([*words, "NUMBERS"])}


def names_in(text: str) -> list[str]:
    """Names with commas between them."""
    return [name.strip() for name in text.split(",")]


def names_as(text: str, column: Any, option: str) -> list[Any]:
    """Public labels as a column has them: integers, numbers, truth values or texts.

    Parameters
    ----------
    text : str
        Labels with commas between them.
    column : Arrow column or field, ndarray, or list of texts
    option : str
        That gave them.

    Raises
    ------
    click.UsageError
        For those that it cannot have.
    """
    kind = str(getattr(column, "type", getattr(column, "dtype", "texts")))
    read: Callable[[str], Any] = str
    for start, own in (("int", int), ("uint", int), ("float", float), ("double", float)):
        read = own if kind.startswith(start) else read
    read = {"true": True, "false": False}.__getitem__ if kind == "bool" else read
    try:
        return [read(name) for name in names_in(text)]
    except (ValueError, KeyError):
        raise click.UsageError(f"{option} {text}: the labels are {kind}") from None


def taken(options: dict[str, Any], *kinds: Kind) -> dict[str, Any]:
    """The options that are fields of the statistics, taken out of all, without those not given."""
    own = {name: options.pop(name, None) for kind in kinds for name in _fields_of(kind)}
    return {name: value for name, value in own.items() if value not in (None, ())}


@dataclasses.dataclass(frozen=True)
class _Field:
    """A field of a statistic, as an option has it."""

    name: str
    type: dict[str, Any]
    is_needed: bool
    default: Any
    help: str

    def said(self, *, with_default: bool) -> str:
        """Its help, with the default where that does not say it."""
        if not with_default or self.default is None or "by default" in self.help:
            return self.help
        of_many = isinstance(self.default, tuple)
        default = ",".join(map(str, self.default)) if of_many else self.default
        return f"{self.help} (default {default})"


def field_options(
    kinds: Mapping[str, Kind],
    *,
    only: tuple[str, ...] | None = None,
    optional: tuple[str, ...] = (),
) -> Callable[[Command], Command]:
    """The options of one statistic, or of several by their words.

    Parameters
    ----------
    kinds : mapping of str to type
        With the column of what each takes beside the points.
    only : tuple of str, optional
        Names of the fields that become options; by default all that a text can say.
    optional : tuple of str
        Names of those that need not be given, although they have no default.
    """
    found: dict[str, dict[str, _Field]] = {}
    for word, kind in kinds.items():
        for name, field in (_beside_of(kind) | _fields_of(kind)).items():
            if only is None or name in only:
                found.setdefault(name, {})[word] = field

    def with_options(command: Command) -> Command:
        for name, fields in reversed(found.items()):
            own = next(iter(fields.values()))
            required = len(kinds) == 1 and own.is_needed and name not in optional
            command = _option(name, fields, alone=len(kinds) == 1, required=required)(command)
        return command

    return with_options


def _option(
    name: str, fields: dict[str, _Field], *, alone: bool, required: bool
) -> Callable[[Command], Command]:
    first = next(iter(fields.values()))
    how = dict(first.type)
    chosen = [own.type.get("type") for own in fields.values()]
    of_all = dict.fromkeys(
        c for own in chosen if isinstance(own, click.Choice) for c in own.choices
    )
    if of_all:
        how["type"] = click.Choice(list(of_all))
    is_flag = how.get("is_flag", False)
    if alone:
        text = _sentence(first.said(with_default=not is_flag))
        return click.option(_option_of(name), required=required, help=text, **how)
    told: dict[str, list[str]] = {}
    for word, own in fields.items():
        told.setdefault(own.said(with_default=not is_flag), []).append(word)
    text = " ".join(f"Of {', '.join(words)}: {_sentence(said)}" for said, words in told.items())
    return click.option(_option_of(name), help=text, **how)


def can_be_said(kind: Kind) -> bool:
    """True if texts can say all that the statistic needs."""
    return set(_needed_of(kind)) <= _fields_of(kind).keys()


def statistic_of(kind: Kind, given: Mapping[str, Any]) -> Statistic[Any]:
    """The statistic with the options that were given, all of which must be its own.

    Raises
    ------
    click.UsageError
        For an option of other statistics, and for one that is missing.
    """
    known = _fields_of(kind)
    for name in given:
        if name not in known:
            raise click.UsageError(f"{_option_of(name)} is not an option of the {kind.title}")
    if missing := [_option_of(name) for name in _needed_of(kind) if name not in given]:
        raise click.UsageError(f"a {kind.title} needs {', '.join(missing)}")
    return kind(**given)


def _needed_of(kind: Kind) -> list[str]:
    """Names of the fields without a default."""
    own = dataclasses.fields(kind)  # type: ignore[arg-type]
    return [field.name for field in own if field.default is dataclasses.MISSING]


def _option_of(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."


def _fields_of(kind: Kind) -> dict[str, _Field]:
    """The fields that a text can say."""
    own = dataclasses.fields(kind)  # type: ignore[arg-type]
    docs, found = _described(kind), {}
    for field in own:
        type_text, text = docs.get(field.name, ("", ""))
        how = _type_of(str(field.type).removesuffix(" | None"), type_text)
        if how is not None:
            is_needed = field.default is dataclasses.MISSING
            default = None if is_needed else field.default
            found[field.name] = _Field(field.name, how, is_needed, default, text)
    return {
        name: dataclasses.replace(field, help=_plain(field.help, found))
        for name, field in found.items()
    }


def _beside_of(kind: Kind) -> dict[str, _Field]:
    """The column of what it takes beside the points."""
    name = kind.beside
    how = {"type": str, "metavar": "NAME"}
    return {} if name is None else {name: _Field(name, how, True, None, _BESIDE[name])}


def _type_of(annotation: str, described: str) -> dict[str, Any] | None:
    """Keywords of click for a field with this annotation; None where no text can say it."""
    listed = re.match(r"\{(.*?)\}", described)
    choices = tuple(re.findall(r'"(.*?)"', listed[1])) if listed else ()
    types: dict[str, dict[str, Any]] = {
        "float": {"type": float},
        "int": {"type": int},
        "bool": {"is_flag": True, "default": None},
        "str": {"type": click.Choice(choices) if choices else str},
        "str | type[Mechanism]": {"type": click.Choice(list(MECHANISMS))},
        "tuple[float, ...]": _numbers(),
        "float | Sequence[float]": _numbers(alone=True),
        "str | Sequence[float]": _numbers(choices),
        "Ranges": {"type": float, "nargs": 2, "metavar": "LOW HIGH"},
        "Sequence[Label]": {"type": str, "metavar": "LABEL,LABEL..."},
        "tuple[Hashable, ...]": {"type": str, "metavar": "LABEL,LABEL..."},
    }
    return types.get(annotation)


def _described(owner: Any) -> dict[str, tuple[str, str]]:
    """Type and first sentence of each parameter that a docstring describes, also elsewhere."""
    section = _SECTION.search(inspect.getdoc(owner) or "")
    found: dict[str, tuple[str, str]] = {}
    for names, type_text, text in _ENTRY.findall(section[1] if section else ""):
        joined = " ".join(text.split())
        elsewhere = _ELSEWHERE.match(joined)
        other = _described(getattr(curvedp, elsewhere[1])) if elsewhere else {}
        for name in re.findall(r"\w+", names):
            found[name] = other.get(name, (type_text, joined.split(". ")[0].rstrip(".")))
    return found


def _plain(text: str, fields: Container[str]) -> str:
    """Help for the eyes: names of fields as options, no marks of references and code."""

    def named(match: re.Match[str]) -> str:
        return _option_of(match[1]) if match[1] in fields else match[1]

    text = re.sub(r"[;,] see `.*?`", "", text)
    return re.sub(r"`+(.*?)`+", named, text)
