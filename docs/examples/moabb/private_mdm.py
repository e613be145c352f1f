"""A pipeline file of MOABB: minimum distance to private means of three channels' covariances.

``benchmark(pipelines="docs/examples/moabb", ...)`` reads it. MOABB hands over epochs in microvolts;
ask its paradigm for three channels, say ``LeftRightImagery(channels=["C3", "Cz", "C4"])``. What is
protected is an epoch, of which a person has hundreds. Each fold is a release; they add up.
"""

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import curvedp as cdp
from curvedp.learning import PrivateMDM

#: µV², the noise of an amplifier.
RIDGE = 0.1
#: Between 8 and 32 Hz an EEG has a standard deviation of 1 to 15 µV; no record was looked at.
BALL = cdp.Ball("spd:3", center=15.0 * np.eye(3), radius=np.sqrt(3) * np.log(15.0))

PIPELINE = {
    "name": "private MDM, mu = 1",
    "paradigms": ["LeftRightImagery"],
    "pipeline": make_pipeline(
        FunctionTransformer(cdp.descriptors.time_series_covariance, kw_args={"ridge": RIDGE}),
        PrivateMDM(BALL, cdp.GDP(mu=1.0)),
    ),
}
