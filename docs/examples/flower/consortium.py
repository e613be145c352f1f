"""One mean of the diffusion tensors of two hospitals, by Flower."""

import os
from pathlib import Path

import numpy as np

import curvedp as cdp
from curvedp.sites import Agreement, SiteMean
from curvedp.sites.flower import client_app, server_app

GUARANTEE = cdp.GDP(mu=1.0, neighbours="add-remove")
ROSTER = ["Aachen", "Bologna"]
STUDY = Agreement("spd:3", GUARANTEE, ROSTER, masks=True, study="mean tensor")


def site_of(context):
    """The site of a node, whose folder has its records, its ledger and its state."""
    folder = Path(str(context.node_config["folder"]))
    return SiteMean(
        np.load(folder / "tensors.npy"),
        STUDY,
        str(context.node_config["name"]),
        ledger=cdp.Ledger(GUARANTEE, path=folder / "ledger"),
        state=folder / "state",
    )


def write(release):
    """Keeps the release where the server was started, or where RELEASE says."""
    Path(os.environ.get("RELEASE", "mean.json")).write_text(release.to_json())


client = client_app(site_of)
server = server_app(STUDY, write, state=os.environ.get("STATE"))
