"""Options of commands are the fields of statistics, with the help of their docstrings."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import click
import pytest

import curvedp as cdp
from command_line import assert_fails, run
from curvedp.cli.app import app
from curvedp.cli.batch import _STATISTICS
from curvedp.cli.fields import field_options, statistic_of

#: Fields that no option is: releases and points are no texts.
UNSAID = {"init", "mean", "fit"}


def options_of(command: str) -> dict[str, click.Option]:
    found = app.commands[command].params
    return {own.name: own for own in found if isinstance(own, click.Option) and own.name}


@pytest.mark.parametrize("word", _STATISTICS)
def test_every_field_is_an_option_that_says_what_it_is(word: str) -> None:
    batch = options_of("batch")
    for field in dataclasses.fields(_STATISTICS[word]):  # type: ignore[arg-type]
        if field.name not in UNSAID:
            said = batch[field.name].help or ""
            [text] = [own for own in said.split("Of ")[1:] if word in own.split(":")[0].split(", ")]
            own = text.split(": ", 1)[1]
            assert len(own) > 12, (field.name, own)
            assert "`" not in own
            assert "As in" not in own


@pytest.mark.parametrize("command", app.commands)
def test_every_option_has_help(command: str) -> None:
    for name, option in options_of(command).items():
        assert option.help, name


@dataclasses.dataclass(frozen=True)
class Own:
    """A statistic of one's own.

    Parameters
    ----------
    x_range : pair of float
        Ends of `reach`, see `Ball`. More about them.
    reach : {"near", "far"} or sequence of float
        As far as it goes.
    kernel
        As in `trend_test`.
    """

    title: ClassVar[str] = "own"
    beside: ClassVar[None] = None
    x_range: Ranges  # noqa: F821
    reach: str | Sequence[float] = "near"  # noqa: F821
    kernel: str = "linear"


def own_command(found: list[Any]) -> click.Command:
    @click.command()
    @field_options({"": Own})  # type: ignore[dict-item]
    def own(**given: Any) -> None:
        found.append(statistic_of(Own, {k: v for k, v in given.items() if v is not None}))  # type: ignore[arg-type]

    return own


def test_a_field_is_read_as_its_type_and_helped_by_its_first_sentence() -> None:
    from click.testing import CliRunner

    found: list[Any] = []
    command = own_command(found)
    for texts, reach in (([], "near"), (["--reach", "far"], "far"), (["--reach", "1,2"], (1, 2))):
        result = CliRunner().invoke(command, ["--x-range", "1", "2", *texts])
        assert result.exit_code == 0, result.output
        assert found.pop() == Own((1.0, 2.0), reach)
    told = " ".join(CliRunner().invoke(command, ["--help"]).output.split())
    assert "LOW HIGH Ends of --reach." in told
    assert "auto" not in told
    assert "near|far|NUMBERS As far as it goes (default near)." in told
    assert "[linear|gaussian] Kernel of the records" in told  # as the other docstring has it
    assert CliRunner().invoke(command, []).exit_code == 2


def test_samples_are_public_where_the_number_of_records_is_not(tmp_path) -> None:
    data, out = tmp_path / "a.csv", tmp_path / "out.json"
    rows = [f"{0.1 * (k % 7) - 0.3:.1f},{k % 3}" for k in range(900)]
    data.write_text("\n".join(["x,arm", *rows]) + "\n")
    asked = ["means", data, "--manifold", "euclidean:1", "--center", "0", "--radius", 1]
    asked += ["--columns", "x", "--labels", "arm", "--mu", 2, "--out", out]
    hidden = [*asked, "--neighbours", "add-remove", "--n-guess", 900]
    assert_fails(run(*hidden), 2, "samples")
    result = run(*hidden, "--samples", "0,1,2")
    assert result.exit_code == 0, result.output
    assert cdp.KSampleRelease.from_json(out.read_text()).count is not None


def test_commands_take_what_their_statistics_take(tmp_path) -> None:
    data, out = tmp_path / "a.csv", tmp_path / "out.json"
    data.write_text("\n".join(["x", *(f"{0.1 * (k % 7) - 0.3:.1f}" for k in range(400))]) + "\n")
    asked = [data, "--manifold", "euclidean:1", "--center", "0", "--radius", 1, "--columns", "x"]
    asked += ["--mu", 2, "--seed", 1, "--no-coverage"]
    found = run("variance", *asked, "--within", 0.5, "--out", out)
    assert found.exit_code == 0, found.output
    assert cdp.VarianceRelease.from_json(out.read_text()).within == 0.5
    wrong = run("variance", *asked, "--max-dist", 1, "--out", tmp_path / "b.json")
    assert_fails(wrong, 2, "--max-dist is not an option of the Fréchet variance")
    wide = tmp_path / "c.json"
    assert run("variance", *asked, "--level", 0.9, "--max-dist", 1, "--out", wide).exit_code == 0
