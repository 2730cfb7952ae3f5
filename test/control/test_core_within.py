"""The core's own bookkeeping from within: periods, plans that come, measured efforts, new models."""

from __future__ import annotations

import numpy as np
import pytest
from arms import Pendulum, pendulum_chain, two_joint_chain
from inner_core import Inner

from robot_dynamics.control.arm.controller import ArmController
from robot_dynamics.control.arm.parameters import ArmParameters


@pytest.fixture
def inner():
    return Inner(ArmController(two_joint_chain(), None, ArmParameters()))


def periods(pendulum, elapsed):
    """The period after each state; they come so long after one another."""
    time, found = 0.0, []
    for step in (0.0, *elapsed):
        time += step
        pendulum.controller.update(time, np.zeros(1), np.zeros(1))
        found.append(pendulum.core.period)
    return found[1:]


def test_a_period_follows_by_a_twentieth_and_a_gap_is_none():
    def found(*elapsed):
        made = Inner(ArmController(pendulum_chain(), Pendulum(), ArmParameters()))
        return periods(made, elapsed)

    np.testing.assert_allclose(found(0.01, 0.014), [0.01, 0.0102])
    np.testing.assert_allclose(found(0.01, 0.0199), [0.01, 0.01 + 0.05 * 0.0099])
    np.testing.assert_allclose(found(0.01, 0.0201), [0.01, 0.01])
    np.testing.assert_allclose(found(0.01, 0.0051), [0.01, 0.01 - 0.05 * 0.0049])
    np.testing.assert_allclose(found(0.01, 0.0049), [0.01, 0.01])
    np.testing.assert_allclose(found(0.01, 0.03, 0.04)[-1], 0.04, err_msg="two alike are a new period")
    np.testing.assert_allclose(found(0.01, 0.03, 0.061)[-1], 0.01)
    np.testing.assert_allclose(found(0.01, 0.03, 0.01, 0.03)[-1], 0.01, err_msg="not one after the other")
    np.testing.assert_allclose(found(0.01, 0.199, 0.15)[-1], 0.15)
    np.testing.assert_allclose(found(0.01, 0.201, 0.15)[-1], 0.01, err_msg="longer than any period")


def offered(inner, **fields):
    """Outcome of a plan from 5 to 6 s, in a core that has had its last state at 4 s."""
    core, ffi = inner.core, inner.ffi
    times, coefficients = ffi.new("double[2]", [5.0, 6.0]), ffi.new("double[12]")
    plan = ffi.new("rd_plan *", {"knots": 2, "times": times, "coefficients": coefficients, "number": 9})
    core.time, core.phase, core.trip.latched = 4.0, inner.calls.RD_HOLDING, 0
    core.waits, core.current.plan, core.stopping.kind = 0, ffi.NULL, 0
    plan.epoch, kept = core.epoch, [plan, times, coefficients]
    for name, value in fields.items():
        setattr(core, name, value)
    inner.calls.rd_core_offer_plan(core, plan)
    inner.calls.rd_core_take_plan(core)
    return core.verdict, kept


def test_verdicts_on_plans(inner):
    core, calls = inner.core, inner.calls
    epoch = core.epoch
    verdict, _kept = offered(inner)  # memory that the plan points to
    assert verdict == calls.RD_ACCEPTED and core.epoch == epoch + 1 and core.waits == 1
    assert (core.phase, core.considered, core.late) == (calls.RD_TRACKING, 9, -1.0)
    assert calls.rd_core_withdraw_plan(core, 8) == 0 and core.waits == 1
    assert calls.rd_core_withdraw_plan(core, 9) == 1
    assert (core.waits, core.phase, core.epoch) == (0, calls.RD_HOLDING, epoch + 2)
    assert calls.rd_core_withdraw_plan(core, 9) == 0, "only once"
    for time, expected in ((5.0, calls.RD_ACCEPTED), (5.001, calls.RD_LATE)):
        assert offered(inner, time=time)[0] == expected
    for phase in ("WAITING", "STALE", "FAULT"):
        assert offered(inner, phase=getattr(calls, f"RD_{phase}"))[0] == calls.RD_SUPERSEDED


def test_in_a_protective_stop_only_a_way_to_brakes_is_taken(inner):
    core, ffi, calls = inner.core, inner.ffi, inner.calls
    times, coefficients = ffi.new("double[2]", [5.0, 6.0]), ffi.new("double[12]")
    core.time, core.phase, core.trip.latched = 4.0, calls.RD_PROTECTIVE_STOP, 1
    for way, expected in ((0, calls.RD_LATCHED), (1, calls.RD_ACCEPTED)):
        plan = ffi.new("rd_plan *", {
            "knots": 2, "times": times, "coefficients": coefficients, "number": 9,
            "epoch": core.epoch, "while_latched": way,
        })  # fmt: skip
        calls.rd_core_offer_plan(core, plan)
        calls.rd_core_take_plan(core)
        assert core.verdict == expected


def test_a_plan_that_goes_on_with_another_is_taken_as_long_as_that_one_is_followed(inner):
    core, ffi, calls = inner.core, inner.ffi, inner.calls
    core.time, core.phase = 4.0, calls.RD_HOLDING
    kept = []

    def offer(number, start, **fields):
        times, coefficients = ffi.new("double[2]", [start, start + 1.0]), ffi.new("double[12]")
        given = {"knots": 2, "times": times, "coefficients": coefficients, "number": number}
        plan = ffi.new("rd_plan *", given | fields)
        kept.append((times, coefficients, plan))
        calls.rd_core_offer_plan(core, plan)
        calls.rd_core_take_plan(core)
        return core.verdict

    assert offer(1, 5.0, epoch=core.epoch) == calls.RD_ACCEPTED
    epoch = core.epoch
    assert offer(2, 6.0, continues=1) == calls.RD_ACCEPTED and core.epoch == epoch
    assert offer(3, 7.0, continues=7) == calls.RD_SUPERSEDED
    assert offer(4, 7.0, continues=2) == calls.RD_ACCEPTED and core.waits == 3
    calls.rd_core_drop(core)
    assert core.waits == 0 and core.phase == calls.RD_HOLDING
    assert offer(5, 8.0, continues=2) == calls.RD_SUPERSEDED


def test_of_two_measured_efforts_the_mean_has_acted(inner):
    core, ffi = inner.core, inner.ffi

    def measure(*effort):
        inner.calls.rd_core_measure(core, ffi.new("double[]", effort) if effort else ffi.NULL)
        return bool(core.measures), list(core.acted[0:2])

    assert measure(3.0, -1.0) == (True, [3.0, -1.0])
    assert measure(5.0, 2.0) == (True, [4.0, 0.5])
    assert measure(np.nan, 2.0)[0] is False
    assert measure(7.0, 6.0) == (True, [7.0, 6.0])
    assert measure()[0] is False


def test_a_model_is_new_for_two_seconds(inner):
    core = inner.core
    core.former, core.changed_at = core.settings, 3.0
    for time, new in ((3.0, 1), (5.0, 1), (5.001, 0)):
        core.time = time
        assert inner.calls.rd_has_new_model(core) == new
    core.former = inner.ffi.NULL
    core.time = 3.0
    assert not inner.calls.rd_has_new_model(core)


def test_what_supervision_remembers_stays_as_long_ago_when_the_clock_is_set_back(inner):
    watch = inner.core.supervision
    watch.stopped_at, watch.began, watch.doubted, watch.faults = 7.0, 6.0, 8.0, 2
    watch.fault_times = [5.0, 5.5, 1.0]
    inner.calls.rd_supervision_set_back(inner.core, 2.0)
    assert (watch.stopped_at, watch.began, watch.doubted) == (5.0, 4.0, 6.0)
    assert list(watch.fault_times) == [3.0, 3.5, 1.0]


@pytest.mark.parametrize("values", [[0.0, 1.0], [1e308, -1e308], [5e-324, -0.0]])
def test_numbers_are_finite_but_for_infinities_and_nan(inner, values):
    finite = inner.calls.rd_all_finite
    for wrong in (np.inf, -np.inf, np.nan):
        for at in range(3):
            assert not finite(inner.ffi.new("double[]", [*values[:at], wrong, *values[at:]]), 3)
    assert finite(inner.ffi.new("double[]", [*values, np.nan]), 2), "of these two"


@pytest.mark.parametrize(
    ("given", "looks", "half"), [(0.0, 1, 0.002), (0.01, 1, 0.005), (-1.0, 1, -0.5), (0.01, 0, 0.0)]
)
def test_a_law_looks_half_a_period_ahead(inner, given, looks, half):
    core, settings = inner.core, inner.settings
    core.period, settings.control_period, settings.looks_ahead = 0.004, given, looks
    found = inner.ffi.new("double *")
    for j in range(2):
        core.hold[j] = 0.3 + j
    ahead = inner.calls.rd_look_ahead(core, 4.0, found)
    assert found[0] == pytest.approx(half)
    assert (ahead == inner.ffi.addressof(core, "ahead")) == (half > 0.0)
    if half > 0.0:
        assert list(ahead.position[0:2]) == [0.3, 1.3]


def test_the_reference_ahead_is_that_of_a_plan_half_a_period_later(inner):
    core, ffi = inner.core, inner.ffi
    times, rows = ffi.new("double[2]", [3.0, 5.0]), ffi.new("double[12]", [0.3, 1.3, 0.8, -0.6])
    plan = ffi.new("rd_plan *", {"knots": 2, "times": times, "coefficients": rows})
    core.current.plan, core.waits = plan, 0
    inner.settings.looks_ahead, inner.settings.control_period = 1, 0.5
    ahead = inner.calls.rd_look_ahead(core, 4.0, ffi.new("double *"))
    assert list(ahead.position[0:2]) == pytest.approx([0.3 + 0.625 * 0.8, 1.3 - 0.625 * 0.6])
    assert list(ahead.velocity[0:2]) == pytest.approx([0.4, -0.3])
