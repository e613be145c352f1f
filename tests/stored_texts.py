"""Texts of every kind of stored object, and hostile edits of them."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import curvedp as cdp
import drawn_keys
from curvedp.conformal import density, fibonacci_mesh
from curvedp.mail import Client, Reply, Request, Session


def but_for_provenance(release: Any) -> Any:
    """A release's JSON without who paid for it and whether its time is public, at every depth."""

    def rest(item: Any) -> Any:
        if isinstance(item, dict):
            return {key: rest(own) for key, own in item.items() if key != "provenance"}
        return [rest(own) for own in item] if isinstance(item, list) else item

    return rest(json.loads(release.to_json()))


BALL = cdp.Ball(cdp.Sphere(2), [0.0, 0.0, 1.0], 0.5)
ROWS = BALL.project(BALL.center + 0.1 * np.random.default_rng(0).standard_normal((300, 3)))


@drawn_keys.cache
def texts() -> dict[str, tuple[str, Callable[[str], Any]]]:
    """A text of each kind, and what reads it."""
    mu, x = cdp.GDP(2.0), np.linspace(0.0, 1.0, 300)
    fit = cdp.geodesic_regression(x, ROWS, BALL, mu, x_range=(0.0, 1.0))
    anchors, labels = np.eye(3)[[0, 1, 2] * 10], [0, 1, 2] * 10
    mail = cdp.PrivateMail(2, guarantee=cdp.PureDP(3.0))
    client = Client(mail, anchors, labels)
    releases = {
        "mean": cdp.frechet_mean(ROWS, BALL, mu),
        "variance": cdp.frechet_variance(ROWS, BALL, mu),
        "k-means": cdp.k_means(ROWS, 3, BALL, mu),
        "logistic": cdp.tangent_logistic(ROWS, x > 0.5, BALL, mu, classes=[0, 1]),
        "adaptive": cdp.adaptive_mean(ROWS, BALL, mu),
        "unproved": cdp.frechet_mean(ROWS, BALL, mu, seed=1),
        "regression": fit,
        "explained": cdp.r_squared(x, ROWS, fit, cdp.GDP(2.0)),
        "trend": cdp.trend_test(x, ROWS, BALL, mu, x_range=(0.0, 1.0)),
        "two samples": cdp.two_sample_test(ROWS[:150], ROWS[150:], BALL, mu),
        "k samples": cdp.k_sample_test(ROWS, np.arange(len(ROWS)) % 3, BALL, mu),
        "density": density(ROWS, BALL, cdp.PureDP(1.0), mesh=fibonacci_mesh(60)),
    }
    read: dict[str, tuple[str, Callable[[str], Any]]] = {
        name: (release.to_json(), cdp.Release.from_json) for name, release in releases.items()
    }
    region, interval = cdp.confidence_region, cdp.variance_interval
    direction = cdp.directions.mean_direction(x, "torus:1", mu, angle_units="hours")
    axis = cdp.directions.mean_axis(ROWS, "projective:2", mu)
    return read | {
        "region": (region(ROWS, BALL, mu).to_json(), cdp.ConfidenceRegion.from_json),
        "interval": (interval(ROWS, BALL, mu).to_json(), cdp.VarianceInterval.from_json),
        "direction": (direction.to_json(), cdp.directions.MeanDirection.from_json),
        "axis": (axis.to_json(), cdp.directions.MeanAxis.from_json),
        "session": (client.session.to_json(), Session.from_json),
        "request": (client.ask(anchors[0], n_matches=4).to_json(), Request.from_json),
        "reply": (Reply(np.array([3, 1, 2])).to_json(), Reply.from_json),
    }


#: Values that no field expects.
_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2.5, -0.0, 1e308, 10**400, 2**63, "", "a", "1_0", "nan", "inf"),
    *("\x1b[31m", "../../etc/passwd", [], [[]], {}, [1, "a"], {"shape": [-1], "data": [1.0]}),
    *({"kind": "PureDP", "epsilon": 1e9}, {"shape": [10**12], "data": []}, [None], "spd:100000"),
)


def _places(data: Any) -> Iterator[tuple[Any, Any]]:
    """Every container in a tree with one of its keys."""
    entries = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in entries:
        yield data, key
        if isinstance(value, (dict, list)):
            yield from _places(value)


def edited(text: str, draw: random.Random) -> str | bytes:
    """The text with one to three edits, of its tree or of its letters."""
    if draw.random() < 0.7:
        data = json.loads(text)
        for _ in range(draw.choice((1, 1, 1, 2, 3))):
            place, key = draw.choice(list(_places(data)))
            action = draw.randrange(4)
            if action == 0:
                del place[key]
            elif action == 1 and isinstance(place, dict):
                name = draw.choice(("extra", "kind", "n", "value", ""))
                place[name] = copy.deepcopy(draw.choice(_VALUES))
            elif action == 2:
                other, name = draw.choice(list(_places(data)))
                place[key] = copy.deepcopy(other[name])
            else:
                place[key] = copy.deepcopy(draw.choice(_VALUES))
            if not data:
                break
        return json.dumps(data)
    raw = bytearray(text.encode())
    for _ in range(draw.choice((1, 2, 5))):
        at = draw.randrange(len(raw))
        action = draw.randrange(3)
        if action == 0:
            raw[at] = draw.randrange(256)
        elif action == 1:
            del raw[at : at + draw.randrange(1, 40)]
        else:
            raw[at:at] = draw.choice((b"[" * 5000, b"1e999", b"9" * 5000, b'"', b"}", b"\\u0000"))
        if not raw:
            break
    return bytes(raw)
