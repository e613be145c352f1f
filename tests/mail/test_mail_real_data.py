"""Private retrieval on 5,000 real images: 4,000 public anchors, 1,000 queries, 50 draws of each."""

from __future__ import annotations

import numpy as np
import pytest

import curvedp as cdp
from curvedp import _core
from curvedp.mail import PrivateMail, nearest, retrieval_score
from curvedp.mail.cells import choose_n_cells, randomised_response


@pytest.fixture(scope="module")
def images(data_dir):
    stored = np.load(data_dir / "retrieval_features" / "fashion_pca64_unit_5000.npz")
    rows, labels = stored["features"].astype(np.float64), stored["label"]
    order = np.random.default_rng(0).permutation(5000)
    rows, labels = rows[order], labels[order]
    mail = PrivateMail(64, bandwidth=0.3, alpha=0.0, guarantee=cdp.PureDP(3.0))
    return mail.anchors(rows[:4000], labels[:4000]), labels[:4000], rows[4000:], labels[4000:]


def test_features_alone_reach_the_recall_of_the_manifest(images):
    anchors, labels, queries, wanted = images
    score = retrieval_score(labels[nearest(queries, anchors.rows, 8)], wanted)
    assert score.recall[1] == pytest.approx(0.82, abs=0.01)
    assert score.recall[8] == pytest.approx(0.96, abs=0.01)


@pytest.mark.parametrize(("epsilon", "least"), [(3.0, 0.55), (5.0, 0.75)])
def test_cells_retrieve_the_class_at_everyday_budgets(images, epsilon, least):
    anchors, labels, queries, wanted = images
    cells = anchors.cells(choose_n_cells(epsilon, 4000, anchors.codes))
    matches = labels[nearest(cells.values, anchors.embedding, 8)]
    stream = _core.Stream.from_os()
    found = cells.find(queries).tolist()
    told = [randomised_response(c, cells.count, epsilon, stream) for _ in range(50) for c in found]
    score = retrieval_score(matches[told], np.tile(wanted, 50))
    print(score)
    assert score.recall[1] >= least
    assert score.precision[8] >= least
    # one draw of a query by the public method has the same odds
    mail = PrivateMail(64, bandwidth=0.3, alpha=0.0, guarantee=cdp.PureDP(epsilon))
    values = np.stack([mail.embed_query(query, anchors).value for query in queries[:300]])
    single = retrieval_score(labels[nearest(values, anchors.embedding, 8)], wanted[:300])
    assert single.recall[1] > least - 0.17
