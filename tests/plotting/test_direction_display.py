"""Pictures of mean directions and axes show the confidence sets that these have."""

from __future__ import annotations

import numpy as np
import pytest

import curvedp as cdp
from curvedp import directions
from curvedp.plotting import DirectionDisplay
from curvedp.plotting.figures import new_figure
from curvedp.plotting.orthographic import Orthographic

pytest.importorskip("matplotlib")

MU = cdp.GDP(mu=1.0)


def draw(*shape: int) -> np.ndarray:
    return np.random.default_rng(3).standard_normal(shape)


def direction(records: np.ndarray, spec: str, **how: str) -> directions.MeanDirection:
    return directions.mean_direction(records, spec, MU, seed=1, **how)


def legend(display: DirectionDisplay) -> list[str]:
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def arrow(display: DirectionDisplay) -> np.ndarray:
    """The tip of the arrow."""
    [own] = [line for line in display.ax_.lines if line.get_label().startswith("mean, as long")]
    return np.array(own.get_data())[:, 1]


def test_on_a_clock_the_arc_is_the_interval_and_the_arrow_the_resultant() -> None:
    mean = direction(draw(900) * 4.0 + 23.5, "torus:1", angle_units="hours")
    display = mean.plot()
    [arc] = display.boundaries_
    hours = np.arctan2(arc[1], arc[0])[[0, -1]] / (2 * np.pi) * 24 % 24
    np.testing.assert_allclose(hours, mean.interval, atol=1e-9)
    np.testing.assert_allclose(np.hypot(*arc), 1.0)
    assert mean.contains(np.arctan2(arc[1], arc[0])[1:-1] / (2 * np.pi) * 24).all()
    tip = arrow(display)
    assert np.hypot(*tip) == pytest.approx(mean.mean_resultant_length)
    assert np.arctan2(tip[1], tip[0]) / (2 * np.pi) * 24 % 24 == pytest.approx(mean.mean_direction)
    assert legend(display)[0] == "95 % confidence set"
    assert {"0 hours", "6", "12", "18"} <= {text.get_text() for text in display.ax_.texts}
    assert "mean direction on torus:1" in display.ax_.get_title()
    assert "μ = 1" in display.ax_.get_title()


def test_an_axis_has_both_its_ends_and_records_all_round_the_whole_circle() -> None:
    mean = direction(draw(900) * 20.0 + 170.0, "projective:1", angle_units="degrees")
    first, second = mean.plot().boundaries_
    np.testing.assert_allclose(second, -first, atol=1e-12)
    ends = np.degrees(np.arctan2(first[1], first[0]))[[0, -1]]
    off = (ends - mean.interval + 90.0) % 180.0 - 90.0
    np.testing.assert_allclose(off, 0.0, atol=1e-9)
    vectors = direction(np.array([0.0, 1.0]) + draw(900, 2), "sphere:1")
    [arc] = vectors.plot().boundaries_
    assert vectors.contains(arc.T[1:-1]).all()
    around = direction(np.linspace(0.0, 360.0, 900), "torus:1", angle_units="degrees")
    assert around.interval is None
    [arc] = around.plot().boundaries_
    np.testing.assert_allclose(arc[:, 0], arc[:, -1], atol=1e-12)
    turned = np.unwrap(np.arctan2(arc[1], arc[0]))
    assert abs(turned[-1] - turned[0]) == pytest.approx(2 * np.pi)


@pytest.mark.parametrize("kind", ["direction", "axis"])
def test_on_the_sphere_the_rim_parts_what_the_set_holds_from_the_rest(kind: str) -> None:
    mean: directions.MeanDirection | directions.MeanAxis
    if kind == "direction":
        mean = direction(np.array([0.0, 0.6, 0.5]) + draw(900, 3), "sphere:2")
        middle = np.asarray(mean.mean_direction)
    else:
        mean = directions.mean_axis(draw(900, 3) * [1.0, 1.0, 3.0], "projective:2", MU, seed=1)
        middle = mean.mean_axis
    [rim] = mean.plot().boundaries_
    view = Orthographic(middle)
    for factor, is_in in ((0.98, True), (1.02, False)):
        x, y = factor * rim
        points = np.stack([x, y, np.sqrt(1.0 - x * x - y * y)], axis=-1)
        own = mean.contains(points @ np.stack([view.right, view.up, view.towards]))
        assert np.all(own == is_in)


def test_where_any_direction_is_possible_all_is_shaded() -> None:
    records = np.concatenate([np.eye(3), -np.eye(3)] * 100)
    mean = direction(records, "sphere:2")
    assert mean.rim is None
    display = mean.plot()
    assert display.boundaries_ == []
    assert legend(display) == ["95 % confidence set", "mean"]


def test_what_has_no_picture_is_refused() -> None:
    with pytest.raises(ValueError, match=r"sphere:3 has no picture.*report\(\)"):
        direction(draw(900, 4) + 1.0, "sphere:3").plot()
    mean = direction(draw(900, 3) + 1.0, "sphere:2")
    with pytest.raises(ValueError, match="plane axes"):
        mean.plot(new_figure(3.0, 3.0).add_subplot(projection="3d"))
    own = new_figure(3.0, 3.0).add_subplot()
    assert mean.plot(own).ax_ is own
    with pytest.raises(TypeError, match="MeanDirection or MeanAxis, got ndarray"):
        DirectionDisplay(np.zeros(3))  # type: ignore[arg-type]
