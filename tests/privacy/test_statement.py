"""The five sentences of a report, entries of a registry, and the page about a release."""

from __future__ import annotations

import dataclasses
import json
import math
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

import curvedp as cdp
import curvedp.batch
from curvedp.privacy import registry
from curvedp.privacy.guarantees import composed
from curvedp.privacy.provenance import Provenance
from curvedp.privacy.statement import cost_of
from registry_entries import PRODUCT, check_entry
from statistic_list import STATISTICS

BALL = cdp.Ball("sphere:2", center=[0.0, 0.0, 1.0], radius=0.5)
ROWS = np.tile([0.0, 0.1, 1.0] / np.sqrt(1.01), (300, 1))
KINDS = [cdp.PureDP(1.0), cdp.ApproxDP(1.0, 1e-6), cdp.ZCDP(0.5), cdp.GDP(1.0)]


# --------------------------------------------------------------------------- power of a test


@given(st.floats(1e-6, 30.0), st.floats(1e-6, 1 - 1e-6))
def test_power_under_gdp_is_that_of_shifted_normals(mu, false_alarms):
    exact = norm.sf(norm.isf(false_alarms) - mu)
    assert exact <= cdp.GDP(mu).power(false_alarms) * (1 + 1e-13)
    assert cdp.GDP(mu).power(false_alarms) <= min(1.0, exact * (1 + 1e-10))


@given(st.floats(1e-6, 20.0), st.floats(1e-6, 1 - 1e-6))
def test_power_under_pure_privacy_is_reached_by_randomised_response(epsilon, false_alarms):
    """Of the pair (p, 1 - p) with odds e^epsilon: its test with a coin has the largest power."""
    p, lie = 1.0 / (1.0 + math.exp(-epsilon)), 1.0 / (1.0 + math.exp(epsilon))
    exact = (
        false_alarms * math.exp(epsilon)
        if false_alarms <= lie
        else p + (false_alarms - lie) * math.exp(-epsilon)
    )
    assert cdp.PureDP(epsilon).power(false_alarms) == pytest.approx(exact, rel=1e-10)
    assert cdp.PureDP(epsilon).power(false_alarms) >= exact * (1 - 1e-13)


@pytest.mark.parametrize("guarantee", KINDS, ids=str)
@pytest.mark.parametrize("false_alarms", [0.001, 0.05, 0.4])
def test_no_pair_of_laws_within_a_guarantee_is_told_apart_better(guarantee, false_alarms):
    """Pairs that are as far apart as each kind allows: half-lines of shifted normals."""
    mu = {
        "PureDP": 0.0,
        "ApproxDP": guarantee.sufficient_gdp().mu if isinstance(guarantee, cdp.ApproxDP) else 0.0,
        "ZCDP": math.sqrt(2 * guarantee.rho) if isinstance(guarantee, cdp.ZCDP) else 0.0,
        "GDP": guarantee.mu if isinstance(guarantee, cdp.GDP) else 0.0,
    }[type(guarantee).__name__]
    power = norm.sf(norm.isf(false_alarms) - mu)
    assert guarantee.power(false_alarms) >= power * (1 - 1e-13)
    assert guarantee.power(false_alarms) < 1.0


def test_an_implied_guarantee_never_allows_less():
    for false_alarms in (1e-4, 0.05, 0.5):
        for pure in (0.1, 1.0, 4.0):
            own = cdp.PureDP(pure).power(false_alarms)
            assert cdp.PureDP(pure).to_gdp().power(false_alarms) >= own * (1 - 1e-12)
            assert cdp.PureDP(pure).to_zcdp().power(false_alarms) >= own * (1 - 1e-12)
        for mu in (0.1, 1.0, 4.0):
            own = cdp.GDP(mu).power(false_alarms)
            assert cdp.GDP(mu).to_zcdp().power(false_alarms) >= own
            assert cdp.GDP(mu).to_approx_dp(1e-5).power(false_alarms) >= own


@pytest.mark.parametrize("false_alarms", [0.0, 1.0, -0.1, math.nan])
def test_false_alarms_are_a_probability(false_alarms):
    with pytest.raises(ValueError, match="false_alarms"):
        cdp.GDP(1.0).power(false_alarms)


# ------------------------------------------------------------------------------ the sentences


def test_the_cost_is_rounded_up_and_a_large_budget_is_named():
    assert "in at most 26 % of cases" in cost_of(cdp.GDP(1.0))  # 25.95 %
    assert "which of two values a protected record has" in cost_of(cdp.GDP(1.0))
    named = cost_of(cdp.GDP(1.0), by_name=True)
    assert "which of two sets of records a protected person has" in named
    assert "in at most 14 % of cases" in cost_of(cdp.PureDP(1.0))  # 13.59 %
    assert "PROTECTS NOBODY" in cost_of(cdp.PureDP(50.0))
    assert "PROTECTS NOBODY" in cost_of(cdp.GDP(10.0))
    assert "PROTECTS NOBODY" not in cost_of(cdp.GDP(3.0))


def test_a_release_names_data_unit_and_ledger(tmp_path):
    path = tmp_path / "study.ledger"
    with cdp.Ledger(cdp.GDP(2.0), path=path, data="visits", unit="patient") as ledger:
        first = cdp.frechet_mean(ROWS, BALL, cdp.GDP(1.0), ledger=ledger)
        second = cdp.frechet_variance(ROWS, BALL, cdp.GDP(1.0), ledger=ledger)
        assert [entry.number for entry in ledger.entries] == [1, 2]
    assert first.provenance.payment.number == 1
    assert second.provenance.payment.number == 2
    assert second.provenance.payment.spent == cdp.compose(cdp.GDP(1.0), cdp.GDP(1.0))
    assert second.provenance.data == "visits"
    assert "the record of one patient" in second.statement.protected
    assert "entry 2 of the ledger study.ledger charged GDP(mu=1)" in second.statement.cost.replace(
        "Entry", "entry"
    )
    assert str(tmp_path) not in second.to_json()
    again = cdp.Ledger.open(path)
    assert (again.data, again.unit) == ("visits", "patient")
    with pytest.raises(cdp.errors.LedgerError, match="data='visits'"):
        cdp.Ledger(cdp.GDP(2.0), path=path, data="others")
    assert cdp.Release.from_json(second.to_json()).provenance == second.provenance


@pytest.mark.parametrize("unit", ["subject", "record", ""])
def test_a_name_of_the_unit_is_not_said_to_protect_all_records_of_one(unit):
    """Six records each of fifty subjects: the name alone protects one of the six."""
    subjects = np.arange(300) // 6
    ledger = cdp.Ledger(cdp.GDP(9.0), unit=unit)
    owner = "subject" if unit == "subject" else "person"
    warning = f"If one {owner} has several records, this protects one of them: say units="
    bare = cdp.frechet_mean(ROWS, BALL, cdp.GDP(1.0), ledger=ledger)
    groups = cdp.frechet_mean(ROWS, BALL, cdp.GDP(1.0), ledger=ledger, groups=subjects % 2)
    for told in (bare, groups):
        for text in (told.report(), told.document()):
            assert warning in " ".join(text.split())
    for own in ({"units": subjects}, {"records_per_unit": 6}):
        told = cdp.frechet_mean(ROWS, BALL, cdp.GDP(1.0), ledger=ledger, **own)
        assert "has several records" not in told.report()


@pytest.mark.parametrize(("own", "most"), [({}, "GDP(mu=2)"), ({"guarantee": 0.4}, "nothing")])
def test_a_report_about_groups_tells_what_a_person_in_all_of_them_gets(own, most):
    guarantee = cdp.ApproxDP(1.0, own["guarantee"]) if own else cdp.GDP(1.0)
    groups = np.arange(300) % 4
    told = cdp.frechet_mean(ROWS, BALL, guarantee, groups=groups, coverage=False)
    text = " ".join(told.report().split())
    assert f"at most 1 group, {most}" in text
    assert "if in all 4" in text
    named = cdp.frechet_mean(ROWS, BALL, guarantee, groups=groups, units=np.arange(300))
    assert "if in all" not in named.report(), "who is in more groups than said is refused"


@pytest.mark.parametrize("guarantee", KINDS, ids=str)
def test_a_guarantee_given_often_is_that_of_as_many(guarantee):
    for times in (1, 2, 7, 1000):
        assert composed(guarantee, times) == cdp.compose(*[guarantee] * times)
    if isinstance(guarantee, cdp.ApproxDP):
        with pytest.raises(ValueError, match="promises nothing"):
            composed(guarantee, 10**7)


def test_what_is_left_is_exact():
    ledger = cdp.Ledger(cdp.PureDP(1.0))
    for k in range(1, 4):
        release = cdp.frechet_mean(ROWS, BALL, cdp.PureDP(0.25), ledger=ledger)
        assert Fraction(release.provenance.payment.remaining.epsilon) == 1 - k * Fraction(1, 4)


def test_without_a_ledger_the_report_says_so():
    release = cdp.frechet_mean(ROWS, BALL, cdp.GDP(1.0))
    assert "No ledger was asked" in release.statement.cost
    assert release.provenance.payment is None


def test_the_day_is_todays():
    code = "from curvedp.privacy.provenance import Provenance; print(Provenance.now().day)"
    before = datetime.now(UTC).date()
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    days = {before + timedelta(days=k) for k in (0, 1)}
    assert told.stdout.strip() in {day.isoformat() for day in days}


def test_equality_does_not_ask_who_paid():
    secret = cdp.NoiseSecret(bytes(32))
    one = cdp.frechet_mean(ROWS, BALL, cdp.GDP(1.0), secret=secret)
    ledger = cdp.Ledger(cdp.GDP(1.0))
    two = cdp.frechet_mean(ROWS, BALL, cdp.GDP(1.0), secret=secret, ledger=ledger)
    assert one == two
    assert hash(one) == hash(two)
    assert one.provenance != two.provenance


def test_a_seeded_release_is_never_called_proved():
    report = cdp.frechet_mean(ROWS, BALL, cdp.GDP(1.0), seed=1).report()
    assert "NO GUARANTEE" in report
    assert "calibration:    proved" not in report
    assert "protected:  nobody" in report
    assert "calibration:    proved" in cdp.frechet_mean(ROWS, BALL, cdp.GDP(1.0)).report()


def test_a_steady_answer_does_not_exclude_the_time():
    prompt = cdp.frechet_mean(ROWS, BALL, cdp.GDP(1.0))
    steady = cdp.frechet_mean(ROWS, BALL, cdp.GDP(1.0), timing="steady")
    assert "how long the computation took" in prompt.statement.against
    assert "how long the computation took" not in steady.statement.against


@pytest.mark.parametrize("own", STATISTICS, ids=repr)
def test_every_statistic_and_its_groups_have_a_statement(own):
    groups = np.repeat(["north", "south"], 150)
    one = own.call(ROWS, BALL, own.guarantee)
    many = own.call(ROWS, BALL, own.guarantee, groups=groups)
    for found in (one, many):
        names = [name for name, _ in found.statement.items()]
        assert names == ["protected", "against", "assuming", "cost", "accuracy"]
        text = found.report()
        assert all(line in text for line in found.statement.lines())
        assert json.loads(json.dumps(found.statement.to_dict())) == dict(found.statement.items())
    assert "Public, so not protected: the sizes of 2 groups" in many.statement.protected
    assert "the groups" in many.statement.assuming
    assert "north" in many.report()


def test_the_parts_of_a_region_add_up():
    for coverage, together in ((False, "(together "), (True, "(together with the count ")):
        region = cdp.confidence_region(ROWS, BALL, cdp.GDP(1.0), coverage=coverage)
        report = " ".join(region.report().split())
        assert f"{together}GDP(mu=1)" in report
    assert "GDP(mu=1)" in region.statement.cost


def test_estimators_report_what_they_released():
    model = cdp.learning.FrechetMean(ball=BALL, guarantee=cdp.GDP(1.0)).fit(ROWS)
    own, told = model.release_.statement, model.statement
    further = told.assuming.removeprefix(own.assuming)
    assert further.startswith(" Where a search chose")
    assert dataclasses.replace(told, assuming=own.assuming) == own
    assert " ".join(model.report().split()).replace(further, "") == " ".join(
        model.release_.report().split()
    )


# ------------------------------------------------------------------- registry and document


@pytest.mark.parametrize("own", STATISTICS, ids=repr)
def test_entries_of_all_statistics_have_the_registrys_form(own):
    """Of one data set, its parts, and groups; stages name the count of the records."""
    found = own.call(ROWS, BALL, own.guarantee)
    parts = () if isinstance(found, cdp.Release) else found.parts
    for release in (found, *parts):
        told = check_entry(release)
        counted = release.coverage is not None
        stages = told["implementation"]["composition"]
        assert ("count of the records inside the ball" in stages) == counted
    many = own.call(ROWS, BALL, own.guarantee, groups=np.repeat(["a", "b"], 150), groups_per_unit=2)
    told = check_entry(many)
    assert str(cdp.compose(own.guarantee, own.guarantee)) in told["implementation"]["composition"]
    assert told["deployment_model"]["release_type"] == "Many releases"
    assert "number_of_privacy_units" not in told["privacy_loss"]
    for release in many:
        check_entry(release)


@pytest.mark.parametrize("own", STATISTICS, ids=repr)
def test_entries_of_batches_have_the_registrys_form(own, tmp_path):
    """Of tables, and of files as they are opened again."""
    points = pa.FixedSizeListArray.from_arrays(pa.array(ROWS.ravel()), 3)
    data = pa.table({"site": np.repeat(["a", "b"], 150), "point": points})
    ball = BALL.manifold if own.name == "located" else BALL
    how = {"by": "site", "points": "point", "ball": ball, "public_keys": True}
    how["guarantee"] = own.guarantee
    if own.statistic.beside is not None:
        values = np.tile([0.0, 1.0], 150)
        values = values.astype(int) if own.statistic.beside == "labels" else values
        data = data.append_column("own", pa.array(values))
        how[own.statistic.beside] = "own"
    if own.statistic.beside_width > 1:
        pytest.skip("a table has one column of covariates")
    told = check_entry(cdp.batch.release(own.statistic, data, **how))
    assert told["privacy_loss"]["number_of_privacy_units"] == 300
    if own.statistic.has_parts:  # no file tells their sizes before it is read
        return
    pq.write_table(data, tmp_path / "in.parquet")
    out = tmp_path / "out.parquet"
    cdp.batch.release(own.statistic, tmp_path / "in.parquet", out=out, **how)
    check_entry(cdp.batch.BatchReleases.open(out))


def test_a_page_names_the_groups_and_the_stages():
    found = cdp.confidence_region(ROWS, BALL, cdp.GDP(1.0), groups=[0, 150, 300])
    page = found.document()
    assert page.startswith("# The confidence region of the Fréchet mean of each of 2 groups on")
    assert "- covariance of the logarithms: GDP" in page
    assert "- count of the records inside the ball: GDP" in page


def test_stages_that_hold_the_number_of_records_do_not_compose_to_the_whole():
    """Each of them promises the whole: the count is a part of all."""
    own = cdp.GDP(2.0, neighbours="add-remove")
    region = cdp.confidence_region(ROWS, BALL, own, n_guess=300)
    told = check_entry(region)["implementation"]["composition"]
    assert f"mean Hessian of the squared distance: {own}) are covered together by {own}." in told
    groups = {"groups": np.repeat(["a", "b"], 150), "keys": ["a", "b"], "groups_per_unit": 2}
    means = cdp.frechet_mean(ROWS, BALL, own, n_guess=150, coverage=True, **groups)
    told = check_entry(means)["implementation"]["composition"]
    assert f"inside the ball: {means.total}) are covered together by {means.total}." in told


def test_one_count_of_all_groups_of_a_unit_does_not_compose_to_the_guarantee_of_each():
    rows, groups = np.resize(ROWS, (6000, 3)), np.repeat(np.arange(100), 60)
    how = {"groups": groups, "groups_per_unit": 100, "coverage": True}
    means = cdp.frechet_mean(rows, BALL, cdp.GDP(1.0), **how)
    assert means.coverage.guarantee.mu > 0.99  # and the rest is more than nothing
    told = check_entry(means)["implementation"]["composition"]
    assert f") are covered together by {means.total}." in told


def test_what_is_computed_without_privacy_has_no_entry():
    rows = BALL.manifold.project(0.1 * BALL.manifold.random_point(50, rng=0) + BALL.center)
    interval = cdp.nonprivate.variance_interval(rows, BALL.manifold)
    for publish in (lambda: interval.to_registry(**PRODUCT), interval.document):
        with pytest.raises(ValueError, match="without privacy"):
            publish()


#: Fields of the form that are for others to fill in, or have nothing to say of a single release.
LEFT_OUT = {
    "evidence_sources",
    "data_product_sector",
    "model_name_details",
    "data_source_type_details",
    "access_type_details",
    "additional_information",
}


def leaves(form):
    """Names of the fields of a form that hold no others."""
    for name, inner in form.items():
        if isinstance(inner, dict) and "privacy_parameters" not in name:
            yield from leaves(inner)
        else:
            yield name.rstrip("?")


def test_an_entry_fills_in_every_field_of_its_tier():
    entry = cdp.frechet_mean(ROWS, BALL, cdp.GDP(1.0)).to_registry(**PRODUCT)
    assert set(leaves(registry._FORM)) - set(leaves(entry)) == LEFT_OUT


@pytest.mark.parametrize("guarantee", KINDS, ids=str)
def test_parameters_are_never_below_the_guarantee(guarantee):
    entry = cdp.frechet_mean(ROWS, BALL, guarantee).to_registry(**PRODUCT, delta=1e-5)
    assert registry.problems(entry) == []
    loss = entry["deployment"]["privacy_loss"]
    given = loss["privacy_parameters"]
    is_custom = entry["deployment"]["dp_variant"]["variant_name"] == "Custom"
    assert is_custom == isinstance(guarantee, cdp.GDP)
    assert ("Input metric" in loss["privacy_parameters_details"]) == is_custom
    assert loss["number_of_privacy_units"] == 300
    delta = given.get("delta", 0.0)
    if delta:
        assert given["epsilon"] >= guarantee.to_epsilon(delta)
    else:
        assert given["epsilon"] >= guarantee.epsilon
    if "rho" in given:
        assert given["rho"] >= guarantee.to_zcdp().rho


def administrative(deployment, **changes):
    """Other fields of the entry itself."""
    deployment["administrative"].update(changes)


def test_a_number_of_units_is_stated_only_where_it_is_known():
    by_name = cdp.frechet_mean(ROWS, BALL, cdp.GDP(1.0), units=np.arange(300) // 3)
    loss = by_name.to_registry(**PRODUCT)["deployment"]["privacy_loss"]
    assert (loss["privacy_unit"], loss["number_of_privacy_units"]) == ("person-level", 100)
    several = cdp.frechet_mean(ROWS, BALL, cdp.GDP(1.0), records_per_unit=3)
    assert (
        "number_of_privacy_units"
        not in several.to_registry(**PRODUCT)["deployment"]["privacy_loss"]
    )


def test_an_entry_that_lacks_or_invents_a_field_has_not_the_form():
    entry = cdp.frechet_mean(ROWS, BALL, cdp.GDP(1.0)).to_registry(**PRODUCT)
    for place, change in (
        ("/basic/name: missing", lambda own: own["basic"].pop("name")),
        ("/new: unknown", lambda own: own.update(new="")),
        ("/administrative/status: 'Done' is none", lambda own: administrative(own, status="Done")),
        ("/administrative/tier: no int", lambda own: administrative(own, tier="3")),
        (
            "/administrative/registry_authors: no list",
            lambda own: administrative(own, registry_authors=[]),
        ),
        ("/basic/publication_date: no", lambda own: own["basic"].update(publication_date="today")),
        (
            "/basic/data_curators/0/data_curator_type: 'Club' is none",
            lambda own: own["basic"]["data_curators"][0].update(data_curator_type="Club"),
        ),
        (
            "/privacy_loss/number_of_privacy_units: no int",
            lambda own: own["privacy_loss"].update(number_of_privacy_units=3.5),
        ),
    ):
        copy = json.loads(json.dumps(entry))
        change(copy["deployment"])
        place = f"/deployment{place}"
        assert any(told.startswith(place) for told in registry.problems(copy)), place


def test_what_cannot_be_entered_is_refused():
    seeded = cdp.frechet_mean(ROWS, BALL, cdp.GDP(1.0), seed=1)
    with pytest.raises(ValueError, match="without a guarantee"):
        seeded.to_registry(**PRODUCT)
    proved = cdp.frechet_mean(ROWS, BALL, cdp.GDP(1.0))
    with pytest.raises(ValueError, match="region must be a text"):
        proved.to_registry(**PRODUCT | {"region": " "})
    with pytest.raises(ValueError, match="curator_type"):
        proved.to_registry(**PRODUCT | {"curator_type": "Club"})
    with pytest.raises(ValueError, match="sector"):
        proved.to_registry(**PRODUCT, sector="Sport")


@pytest.mark.parametrize("guarantee", KINDS, ids=str)
def test_the_page_shows_curves_that_hold(guarantee):
    page = cdp.frechet_mean(ROWS, BALL, guarantee).document()
    for name in ("Privacy parameters", "Unit of privacy", "Side channels", "to judge"):
        assert f"## {name}" in page or name in page
    rows = [line.split("|")[1:3] for line in page.splitlines() if line.startswith("| 1e-")]
    assert rows
    for delta, epsilon in rows:
        assert float(epsilon) >= guarantee.to_epsilon(float(delta))
    powers = [line.split("|")[1:3] for line in page.splitlines() if line.endswith("% |")]
    assert len(powers) == 3
    for share, power in powers:
        exact = guarantee.power(float(share.replace("%", "")) / 100)
        assert float(power.replace("%", "")) / 100 >= exact * (1 - 1e-12)


def test_the_page_of_an_unproved_release_claims_no_proof():
    """A drawn seed and a paper's own calibration; the control is a proved release."""
    from curvedp.published import frechet_mean as published_mean

    seeded = cdp.frechet_mean(ROWS, BALL, cdp.GDP(1.0), seed=1)
    for page in (seeded.document(), published_mean(ROWS, BALL, cdp.PureDP(1.0)).document()):
        assert "NO GUARANTEE" in page
        assert "not proved" in page
        assert "Its proof stands" not in page
        assert "noise covers" not in page
        assert "It holds if" not in page
    assert "Its proof stands" in cdp.frechet_mean(ROWS, BALL, cdp.GDP(1.0)).document()


def test_provenance_of_another_form_is_refused():
    with pytest.raises(ValueError, match="isoformat"):
        Provenance(version="1", day="yesterday")
    with pytest.raises(TypeError, match="data"):
        Provenance(version="1", day="2026-11-25", data=None)
