"""Pictures of embeddings and retrieval scores."""

from __future__ import annotations

import numpy as np
import pytest

import curvedp as cdp
from curvedp.mail.display import EmbeddingDisplay, RetrievalDisplay

pytest.importorskip("matplotlib")


def test_iterations_are_drawn_from_the_release_alone():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 30)
    mail = cdp.PrivateMail(2, guarantee=cdp.GDP(1.0), private_iterations=2)
    mail.fit(rng.standard_normal((30, 3)), labels)
    display = EmbeddingDisplay.from_iterations(mail)
    drawn = [ax.collections[0].get_offsets() for ax in display.ax_]
    expected = [*(part.value for part in mail.release_.parts), mail.release_.value]
    assert len(drawn) == 3
    for points, value in zip(drawn, expected, strict=True):
        assert np.array_equal(points, value)
    coloured = EmbeddingDisplay.from_iterations(mail, labels=labels)
    assert len(np.unique(coloured.ax_[0].collections[0].get_array())) == 2


def test_alignment_brings_the_embeddings_together():
    rng = np.random.default_rng(1)
    target = rng.standard_normal((20, 2))
    display = EmbeddingDisplay.from_alignment(target[:, ::-1] * 3.0 + 1.0, target)
    before, after = (
        np.abs(ax.collections[0].get_offsets() - ax.collections[1].get_offsets()).max()
        for ax in display.ax_
    )
    assert before > 1.0
    assert after < 1e-12
    display.figure_.savefig("/dev/null", format="png")


def test_scores_are_drawn_against_the_budget():
    display = RetrievalDisplay([1, 2], {"cell": [0.2, 0.5], "noise": [0.1, 0.2]}, baseline=0.9)
    lines = display.plot().ax_.get_lines()
    assert [line.get_label() for line in lines] == ["cell", "noise", "not private"]
    assert lines[0].get_ydata().tolist() == [0.2, 0.5]


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(ValueError, match="two components"):
        EmbeddingDisplay([{"a": np.zeros((3, 1))}], ["x"])
    with pytest.raises(ValueError, match="titles"):
        EmbeddingDisplay([], [])
    with pytest.raises(ValueError, match="one score"):
        RetrievalDisplay([1, 2], {"cell": [0.2]})
