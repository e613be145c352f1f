"""A pipeline file of MOABB: private logistic regression on logarithms; labels are private, too.

As ``private_mdm.py`` beside it, which says more.
"""

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import curvedp as cdp
from curvedp.learning import TangentLogisticRegression

RIDGE = 0.1
BALL = cdp.Ball("spd:3", center=15.0 * np.eye(3), radius=np.sqrt(3) * np.log(15.0))

PIPELINE = {
    "name": "private tangent logistic, mu = 1",
    "paradigms": ["LeftRightImagery"],
    "pipeline": make_pipeline(
        FunctionTransformer(cdp.descriptors.time_series_covariance, kw_args={"ridge": RIDGE}),
        TangentLogisticRegression(BALL, cdp.GDP(mu=1.0), classes=[0, 1]),
    ),
}
