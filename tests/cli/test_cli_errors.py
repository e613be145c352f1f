"""Errors are told in one line with an exit code of their own, and nothing is drawn or written."""

import click
import numpy as np
import pytest

import curvedp
from command_line import assert_fails, make_tensors, mean, run, save
from curvedp.cli.app import _errors_in_one_line


@pytest.fixture
def tensors():
    return make_tensors()


@pytest.mark.parametrize(
    ("budget", "word"),
    [
        ([], "--epsilon"),
        (["--epsilon", 1, "--mu", 1], "one budget"),
        (["--delta", 1e-6, "--mu", 1], "--delta goes with --epsilon"),
        (["--epsilon", 0], "epsilon"),
        (["--epsilon", -1], "epsilon"),
        (["--epsilon", "nan"], "epsilon"),
        (["--mu", -1], "mu"),
    ],
)
def test_a_wrong_budget_is_a_parameter_error(tmp_path, tensors, budget, word):
    out = tmp_path / "release.json"
    assert_fails(mean(save(tmp_path, "a.npy", tensors), out, budget=budget), 2, word)
    assert not out.exists()


@pytest.mark.parametrize(
    "options",
    [
        ["--manifold", "klein:2", "--center", "0,0", "--radius", "1"],
        ["--manifold", "sphere:2", "--center", "identity", "--radius", "1"],
        ["--manifold", "sphere:2", "--center", "origin", "--radius", "1"],
        ["--manifold", "sphere:2", "--center", "0,0,1", "--radius", "1.6"],
        ["--manifold", "sphere:2", "--center", "0,0,0", "--radius", "1"],
        ["--manifold", "spd:3", "--center", "-1*identity", "--radius", "1"],
        ["--manifold", "spd:3", "--center", "identity", "--radius", "0"],
        ["--manifold", "spd:3", "--center", "identity", "--radius", "nan"],
    ],
)
def test_a_wrong_ball_is_a_parameter_error(tmp_path, tensors, options):
    result = mean(save(tmp_path, "a.npy", tensors), tmp_path / "release.json", options=options)
    assert_fails(result, 2)


def test_missing_options_are_named(tmp_path):
    result = run("mean", tmp_path / "a.npy")
    assert result.exit_code == 2
    assert "--radius" in result.output or "--manifold" in result.output


def test_a_release_that_does_not_exist_says_what_would(tmp_path, tensors):
    out = tmp_path / "release.json"
    result = mean(save(tmp_path, "a.npy", tensors), out, budget=["--epsilon", "1e-4"])
    assert_fails(result, 4, "epsilon", "n of at least")
    assert not out.exists()


def damaged_files(folder):
    (folder / "empty.csv").write_text("")
    (folder / "names.csv").write_text("a,b,c,d,e,f,g,h,i\n")
    (folder / "short.csv").write_text("a,b\n1,2\n")
    for ending in ("npy", "npz", "parquet"):
        (folder / f"noise.{ending}").write_bytes(b"PK\x03\x04 not what it seems")
    np.save(folder / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    np.save(folder / "text.npy", np.array([["a"] * 9]))
    np.save(folder / "complex.npy", np.ones((2, 9), dtype=complex))
    np.save(folder / "scalar.npy", np.array(1.0))
    np.save(folder / "shape.npy", np.zeros((5, 3, 2)))
    np.savez(folder / "several.npz", a=np.zeros(1), b=np.zeros(1))
    (folder / "notes.txt").write_text("1,2,3")
    (folder / "folder.npy").mkdir()


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("absent.npy", [], ["no such file"]),
        ("folder.npy", [], ["no such file"]),
        ("notes.txt", [], [".parquet"]),
        ("empty.csv", [], ["empty"]),
        ("names.csv", [], ["no record below the line of names"]),
        ("short.csv", ["--no-header", "--columns", "3"], ["first line has 2 cells"]),
        ("short.csv", ["--key", "a"], ["npz file only"]),
        ("noise.npy", [], ["not a readable .npy"]),
        ("noise.npz", [], ["not a readable .npz"]),
        ("noise.parquet", [], ["not a readable parquet"]),
        ("objects.npy", [], ["not a readable .npy"]),
        ("text.npy", [], ["not real numbers"]),
        ("complex.npy", [], ["not real numbers"]),
        ("scalar.npy", [], ["single number"]),
        ("shape.npy", ["--columns", "a"], ["csv and parquet files only"]),
        ("several.npz", [], ["several members", "a, b"]),
        ("several.npz", ["--key", "c"], ["no member 'c'"]),
    ],
)
def test_an_unreadable_file_is_named_with_the_reason(tmp_path, name, arguments, words):
    damaged_files(tmp_path)
    out = tmp_path / "release.json"
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    assert_fails(mean(tmp_path / name, out, *arguments), 5, name, *words)
    assert not out.exists()


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("short.csv", [], ["2 numbers per record", "9 entries, or 6 for the upper triangle"]),
        ("short.csv", ["--columns", "b,c"], ["no column 'c'", "there are: 'a', 'b'"]),
        ("shape.npy", [], ["records of shape (3, 2)", "9 entries"]),
    ],
)
def test_what_a_file_does_not_hold_is_a_wrong_parameter(tmp_path, name, arguments, words):
    damaged_files(tmp_path)
    out = tmp_path / "release.json"
    assert_fails(mean(tmp_path / name, out, *arguments), 2, name, *words)
    assert not out.exists()


def test_an_existing_release_is_never_overwritten(tmp_path, tensors):
    out = tmp_path / "release.json"
    out.write_text("paid for")
    assert_fails(mean(save(tmp_path, "a.npy", tensors), out), 5, "exists")
    assert out.read_text() == "paid for"


def ledger_options(path, total="epsilon=2"):
    return ["--ledger", path, "--ledger-budget", total]


def test_a_ledger_refuses_what_exceeds_its_budget_and_draws_nothing(tmp_path, tensors):
    data, book = save(tmp_path, "a.npy", tensors), tmp_path / "study.ledger"
    for name in ("one.json", "two.json"):
        assert mean(data, tmp_path / name, *ledger_options(book)).exit_code == 0
    third = tmp_path / "three.json"
    assert_fails(mean(data, third, *ledger_options(book)), 3, "budget", "epsilon=2")
    assert not third.exists()
    assert len(curvedp.Ledger(curvedp.PureDP(2.0), path=book).entries) == 2


def test_a_ledger_accepts_budgets_of_the_kind_it_was_opened_with(tmp_path, tensors):
    data, book = save(tmp_path, "a.npy", tensors), tmp_path / "study.ledger"
    total = ledger_options(book, "epsilon=3,delta=1e-5")
    budget = ["--epsilon", "1", "--delta", "1e-6"]
    assert mean(data, tmp_path / "one.json", *total, budget=budget).exit_code == 0
    assert_fails(mean(data, tmp_path / "two.json", *total, budget=["--mu", "1"]), 2, "ledger")
    assert_fails(mean(data, tmp_path / "two.json", *ledger_options(book)), 5, "budget")


def test_a_seeded_release_spends_from_no_ledger(tmp_path, tensors):
    data, book = save(tmp_path, "a.npy", tensors), tmp_path / "study.ledger"
    result = mean(data, tmp_path / "one.json", "--seed", 1, *ledger_options(book))
    assert_fails(result, 2)
    assert not (tmp_path / "one.json").exists()


@pytest.mark.parametrize("total", ["3", "epsilon", "gamma=1", "epsilon=x", "delta=1e-6", "mu=0"])
def test_a_ledger_budget_must_be_readable(tmp_path, tensors, total):
    data, book = save(tmp_path, "a.npy", tensors), tmp_path / "study.ledger"
    assert_fails(mean(data, tmp_path / "one.json", *ledger_options(book, total)), 2)
    assert not book.exists()


def test_a_ledger_and_its_budget_go_together(tmp_path, tensors):
    data = save(tmp_path, "a.npy", tensors)
    halves = (["--ledger", tmp_path / "l"], "is new"), (["--ledger-budget", "mu=1"], "goes with")
    for half, word in halves:
        assert_fails(mean(data, tmp_path / "one.json", *half), 2, word)


def test_a_file_that_is_no_ledger_is_refused(tmp_path, tensors):
    data = save(tmp_path, "a.npy", tensors)
    (tmp_path / "no.ledger").write_text("hello")
    for place in ("no.ledger", "nowhere/study.ledger"):
        assert_fails(mean(data, tmp_path / "one.json", *ledger_options(tmp_path / place)), 5)


def test_a_place_that_cannot_be_written_is_refused(tmp_path, tensors):
    out = tmp_path / "nowhere" / "release.json"
    assert_fails(mean(save(tmp_path, "a.npy", tensors), out), 5, "cannot be written")


@pytest.mark.parametrize("question", [[], ["--n", 5, "--error", 0.1]])
def test_plan_answers_one_question(question):
    options = ["--manifold", "sphere:2", "--radius", 1, "--epsilon", 1]
    assert_fails(run("plan", *options, *question), 2, "--n", "--error")


@pytest.mark.parametrize("error", ["0", "-1", "nan"])
def test_plan_refuses_an_impossible_error(error):
    options = ["--manifold", "sphere:2", "--radius", 1, "--epsilon", 1]
    assert_fails(run("plan", *options, "--error", error), 2)


def test_plan_says_when_no_such_release_exists():
    options = ["--manifold", "spd:3", "--radius", 1.5, "--epsilon", 0.001, "--n", 10]
    assert_fails(run("plan", *options), 4, "epsilon")


def test_a_closed_pipe_is_no_error(capsys):
    """As when a report, printed after its release was stored, is read by ``head -1``."""

    def end(reason):
        with _errors_in_one_line([]):
            try:
                raise reason
            except reason:
                error = SystemExit(1)  # as rich ends a program
                error.add_note("the release is kept in out.json")
                raise error  # noqa: B904

    with pytest.raises(SystemExit) as ended:
        end(BrokenPipeError)
    assert ended.value.code == 0
    assert capsys.readouterr().err == "the release is kept in out.json\n"
    with pytest.raises(click.ClickException, match="cut off"):
        end(KeyError)
