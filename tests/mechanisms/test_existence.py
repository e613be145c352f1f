"""Errors for Laplace noise that does not exist name an epsilon and an n that work."""

from __future__ import annotations

import numpy as np
import pytest

import curvedp as cdp

BALL = cdp.Ball("spd:3", center=np.eye(3), radius=2.0)


def at_center(n):
    return np.tile(np.eye(3), (n, 1, 1))


def of_two_groups(statistic):
    return lambda n, claim: statistic(at_center(2 * n), BALL, claim, groups=[0, n, 2 * n])


CALLS = {
    "frechet_mean": lambda n, claim: cdp.frechet_mean(at_center(n), BALL, claim),
    "adaptive_mean": lambda n, claim: cdp.adaptive_mean(at_center(n), BALL, claim),
    "adaptive_mean, shares": lambda n, claim: cdp.adaptive_mean(
        at_center(n), BALL, claim, schedule=(3.0, 1.0, 2.0)
    ),
    "log_covariance": lambda n, claim: cdp.log_covariance(at_center(n), BALL, claim),
    "mean_hessian": lambda n, claim: cdp.mean_hessian(
        at_center(n), BALL, claim, weights=(0.6, 0.4)
    ),
    "fourth_moment": lambda n, claim: cdp.fourth_moment(at_center(n), BALL, claim),
    "frechet_mean of groups": of_two_groups(cdp.frechet_mean),
    "log_covariance of groups": of_two_groups(cdp.log_covariance),
    "adaptive_mean of groups": of_two_groups(cdp.adaptive_mean),
    "plan of a mean": lambda n, claim: cdp.plan("frechet_mean", BALL, claim, n=n),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_epsilon_and_the_n_that_an_error_names_work_and_less_does_not(name):
    call = CALLS[name]
    with pytest.raises(cdp.ExistenceError, match="It works with") as caught:
        call(50, cdp.PureDP(0.01))
    error = caught.value
    shown = float(str(error).split("epsilon of at least ")[1].split()[0])
    assert error.smallest_epsilon <= shown <= 1.0001 * error.smallest_epsilon
    call(50, cdp.PureDP(shown))
    call(error.smallest_n, cdp.PureDP(0.01))
    for n, epsilon in ((50, 0.99 * shown), (int(0.98 * error.smallest_n), 0.01)):
        with pytest.raises(cdp.ExistenceError):
            call(n, cdp.PureDP(epsilon))
