"""Rules of the first second, weight, contacts, repeated faults and their words, from within."""

from __future__ import annotations

import numpy as np
import pytest
from test_supervision_within import FOLLOWING, REST, SPEED, Watched, one

EFFORT = np.array([6.0, 9.0, 3.0])


class Beginning(Watched):
    """Control began at 4 s; a tenth of the velocity limits and half of the following errors are allowed."""

    def __init__(self, mode="COMPUTED_TORQUE", stray=None, **rules):
        super().__init__(stray)
        self.settings.mode = getattr(self.calls, f"RD_{mode}")
        self.rules.start_speed, self.rules.start_displacement = 0.5, 0.5
        self.rules.start_effort = self._array([*EFFORT, 1e-9])
        for name, value in rules.items():
            setattr(self.rules, name, value)
        watch = self.core.supervision
        watch.begins, watch.began, watch.first = 1, 4.0, -1.0
        self.setting(kp=[0.01] * 4)
        # External efforts of the observer, then their thresholds, then an array of its own.
        self.external = self.ffi.cast("double *", self.calls.rd_observer_external(self.core.observer))
        self.touch()

    def touch(self, efforts=REST, thresholds=(1e6, 1e6, 1e6)):
        for k, value in enumerate([*efforts, *thresholds, 1e-9]):
            self.external[k] = value

    def depart(self):
        """Take up a plan that rests."""
        self.plan = self.ffi.new("rd_plan *")
        self.core.current.plan = self.plan

    def share(self, name, *states, **fields):
        """Share of a threshold in the last one of some states, each of them 4 ms after another."""
        for k, state in enumerate(states):
            self.supervise(4.004 + 0.004 * k, **state, **fields)
        return self.rule(f"START_{name}").share


@pytest.mark.parametrize("joint", range(3))
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_speed_displacement_and_effort_of_the_first_second_trip_after_ten_milliseconds(joint, side):
    for name, value, allowed in (
        ("SPEED", 0.6 * SPEED, 0.5 * SPEED),
        ("DISPLACEMENT", 0.6 * FOLLOWING, 0.5 * FOLLOWING),
        ("EFFORT", 1.2 * EFFORT, EFFORT),
    ):
        made, given = Beginning(), one(joint, side * value[joint])
        if name == "EFFORT":
            made.touch(given)
        state = {"SPEED": {"velocity": given}, "DISPLACEMENT": {"error": given}}.get(name, {})
        assert not made.supervise(4.0), "at rest"
        if name == "SPEED":
            assert made.core.supervision.first == 0.0
        times = [4.004, 4.008, 4.0139, 4.015] if name != "EFFORT" else [4.005, 4.009, 4.0101]
        assert made.first(times, **state) == len(times) - 1
        rule = f"RD_START_{name}"
        assert made.trip == (rule, joint, round(value[joint], 9), round(allowed[joint], 9), 1, 1)


def test_a_stiff_joint_may_be_as_fast_as_its_following_error_makes_it():
    made = Beginning()
    made.setting(kp=[900.0, 0.01, 0.01, 1.0])
    made.core.ahead.position[0] = 77.0  # behind the last velocity
    assert made.share("SPEED", {}, {"velocity": one(0, 2.5)}) == pytest.approx(
        2.5 / (0.75 * 30.0 * FOLLOWING[0])
    )
    assert made.share("SPEED", {"velocity": one(1, 0.5)}) == 0.5


def test_what_departs_is_as_fast_as_its_reference_within_twice_as_much():
    made = Beginning()
    made.depart()
    state = {"velocity": one(2, -1.5), "error": one(1, 0.2)}
    assert made.share("SPEED", {}, state, reference__velocity=one(2, 0.75)) == pytest.approx(2.25 / 3.0)
    assert made.core.supervision.begins == 2
    assert made.rule("START_DISPLACEMENT").share == 0.0
    made.core.current.plan = made.ffi.NULL
    assert made.share("SPEED", state, reference__velocity=one(2, 0.75)) == pytest.approx(2.25 / 3.0)
    assert made.core.supervision.begins == 2, "its end is no new beginning"


def test_efforts_of_what_departs_are_watched_for_a_tenth_of_a_second():
    made = Beginning()
    made.core.supervision.began = 0.0
    made.touch(one(0, 4.5))
    made.depart()
    for time, share in ((0.0, 0.75), (0.0999, 0.75), (0.1, 0.0), (0.5, 0.0)):
        made.supervise(time)
        assert made.rule("START_EFFORT").share == share
    made = Beginning()
    made.touch(one(0, 4.5))
    made.depart()
    made.supervise(4.05)
    assert made.rule("START_EFFORT").share == 0.75
    made = Beginning()
    made.touch(one(0, 4.5))
    made.supervise(4.5)
    assert made.rule("START_EFFORT").share == 0.75, "at rest for as long as the others"
    made.touch(one(0, 4.5), (np.inf, 1.0, 1.0))
    made.supervise(4.6)
    assert made.rule("START_EFFORT").share == 0.0, "it is not known yet"


@pytest.mark.parametrize(("first", "faster", "share"), [
    (0.0, 1.2, 1.2), (0.5, 1.2, 1.2), (1.5, 1.6, 1.6 / 1.65), (2.0, 2.4, 2.4 / 2.2), (1.0, 1.2, 1.2 / 1.1),
])  # fmt: skip
def test_a_robot_that_moves_already_may_be_a_tenth_faster(first, faster, share):
    made = Beginning()
    states = [{"velocity": one(1, each)} for each in (first, faster, faster)]
    assert made.share("SPEED", *states) == pytest.approx(share)
    assert made.core.supervision.first == first


@pytest.mark.parametrize(("mode", "seconds"), [
    ("COMPUTED_TORQUE", 1.0), ("JOINT_IMPEDANCE", 1.0), ("GRAVITY_COMPENSATION", 0.1),
])  # fmt: skip
def test_the_first_second_ends(mode, seconds):
    made = Beginning(mode)
    watch = made.core.supervision
    watch.began = 0.0
    fast = {"velocity": one(0, 0.3 * SPEED[0]), "error": one(0, 0.03)}
    made.supervise(0.0, velocity=REST)
    made.touch(one(1, 4.5))
    for time, begins in ((0.5 * seconds, 1), (seconds, 1), (seconds + 1e-6, 0), (9.0, 0)):
        made.supervise(time, **fast)
        assert watch.begins == begins
    assert watch.began == 9.0 and watch.first == -1.0
    shares = {name: made.rule(f"START_{name}").largest for name in ("SPEED", "DISPLACEMENT", "EFFORT")}
    follows = mode != "GRAVITY_COMPENSATION"
    assert shares["SPEED"] == pytest.approx(0.6 * follows) and shares["EFFORT"] == 0.5
    assert shares["DISPLACEMENT"] == (pytest.approx(0.48) if mode == "COMPUTED_TORQUE" else 0.0)


def test_it_ends_with_a_stop_and_where_a_hand_moves_the_arm():
    for change in ({"latched": 1}, {"pressed": 1}, {}):
        made = Beginning("HAND_GUIDING")
        made.core.trip.latched, made.core.pressed = change.get("latched", 0), change.get("pressed", 0)
        made.supervise(4.01)
        assert made.core.supervision.begins == (not change)


def test_it_begins_when_brakes_have_let_go():
    made = Beginning()
    watch = made.core.supervision
    for time, braked, begins, began, first in (
        (4.1, 0, 1, 4.0, 0.0), (4.2, 1, 1, 4.2, -1.0), (4.3, 1, 1, 4.3, -1.0), (4.4, 0, 1, 4.3, 0.0),
        (5.4, 0, 0, 4.3, 0.0), (5.5, 1, 1, 5.5, -1.0),
    ):  # fmt: skip
        made.core.braked = braked
        assert made.supervise(time) == 0
        assert (watch.begins, watch.began) == (begins, began) and np.sign(watch.first) == first


def test_without_a_speed_of_the_start_none_of_it_is_watched():
    made = Beginning(start_speed=0.0)
    made.core.supervision.weighs = 1
    made.setting(limits=np.full(4, 1e-3))
    made.touch(9.0 * EFFORT)
    assert made.share("SPEED", {}, {"velocity": 0.9 * SPEED}) == 0.0
    assert made.rule("START_EFFORT").share == 0.0 and made.rule("START_LOAD").largest == 0.0
    made = Beginning(start_effort=Watched().ffi.NULL)
    made.touch(9.0 * EFFORT)
    assert made.share("SPEED", {}, {"velocity": one(0, 1.0)}) == 0.5
    assert made.rule("START_EFFORT").share == 0.0
    assert Beginning(start_displacement=0.0).share("DISPLACEMENT", {"error": one(0, 9.0)}) == 0.0


@pytest.mark.parametrize(("case", "learns"), [
    ("begins", True), ("departs", False), ("over", False), ("long over", False), ("braked", False),
])  # fmt: skip
def test_the_inertia_is_learned_while_the_robot_stays_where_it_is(case, learns):
    """Efforts are 0.6 of the model's, so its links have 0.6 of their inertia."""
    made = Beginning()
    watch, s = made.core.supervision, made.settings
    if case == "departs":
        made.depart()
    watch.began = 3.0 if case == "over" else 4.0
    watch.begins = case != "long over"
    made.core.braked = case == "braked"
    made.supervise(4.004)

    def momentum(given, out):
        for j in range(3):
            out[0][j], out[1][j], out[2][j] = 2.0 * given[1][j], 0.0, 0.0
        return 1

    s.momentum = kernel = made.ffi.callback("int(const double *const *, double *const *)", momentum)
    s.observer_gain, s.contact_points = 20.0, 1
    s.contact_floor = made._array([1.0] * 3)
    about, rate, zero = made.ffi.new("rd_observed *"), np.zeros(3), made.ffi.new("double[3]")
    for k in range(40):
        a = 9.0 * np.sin(0.7 * k + np.arange(3.0))
        given = [made.ffi.new("double[]", list(values)) for values in (rate, 0.6 * 2.0 * a)]
        # The effort is that since the last state.
        made.calls.rd_observer_update(made.core.observer, s, 4.004 + 0.004 * k, zero, *given, about)
        rate = rate + 0.004 * 9.0 * np.sin(0.7 * (k + 1) + np.arange(3.0))
    made.calls.rd_observer_find_ratios(made.core.observer, made._array([0.1] * 3))
    ratios = [made.calls.rd_observer_ratio(made.core.observer, j) for j in range(3)]
    assert kernel is not None
    if learns:
        assert min(ratios) > 0.5 and max(ratios) < 0.75
    else:
        assert ratios == [1.0] * 3


# Weight and contacts


@pytest.mark.parametrize("joint", range(3))
def test_efforts_that_cannot_carry_the_arm_trip_at_once(joint):
    place = np.array([0.3, -0.4, 0.5])
    for share, trips in ((1.0, 0), (0.99, 1), (0.4, 1)):
        made = Beginning()
        weight = made.weight(place)
        made.heavy *= np.sign(weight) * np.array([1.0, -1.0, 1.0])
        weight = made.weight(place)
        made.setting(limits=[*np.where(np.arange(3) == joint, share * np.abs(weight), 1e6), 1e-9])
        made.core.supervision.weighs, made.core.scratch[0][0] = 1, 77.0
        state = {"place": place, "time": 4.004}
        assert made.supervise(**state) == trips and made.core.supervision.weighs == 0
        assert made.rule("START_LOAD").largest == pytest.approx(1.0 / share)
        if trips:
            told = round(abs(weight[joint]), 9), round(share * abs(weight[joint]), 9)
            assert made.trip == ("RD_START_LOAD", joint, *told, 1, 1)
        made.core.trip.latched = 0
        assert made.supervise(**state) == 0 and made.trip[-1] == trips, "once only"


@pytest.mark.parametrize("case", ["latched", "no model", "platform"])
def test_weights_are_not_compared(case):
    made = Beginning(stray=(0.0,) * 5 if case == "platform" else None)
    made.rules.pose = [1.0, 1.0]
    made.setting(limits=np.full(4, 1e-3))
    made.core.supervision.weighs, made.core.trip.latched = 1, case == "latched"
    made.fails = "dynamics" if case == "no model" else None
    assert made.supervise(4.004) == 0 and made.trip[-1] == 0
    assert made.core.supervision.weighs == (case == "platform")
    assert (made.rule("START_LOAD").largest > 1.0) == (case == "latched")


@pytest.mark.parametrize("joint", range(3))
def test_a_contact_stops_at_once_or_is_reported_or_nothing(joint):
    thresholds = np.array([4.0, 7.0, 2.0])
    for kind, states in (("HOLD", [0, 0, 1]), ("REPORT", [0, 0, 0]), ("OFF", [0, 0, 0])):
        made = Watched()
        made.rules.contact, made.rules.observes = getattr(made.calls, f"RD_CONTACT_{kind}"), 1
        beginning = Beginning.touch
        made.external = made.ffi.cast("double *", made.calls.rd_observer_external(made.core.observer))
        beginning(made, one(joint, -thresholds[joint]), thresholds)
        assert made.supervise(4.9) == 0 and made.rule("CONTACT").share == (kind != "OFF")
        beginning(made, one(joint, -1.25 * thresholds[joint]), thresholds)
        assert [made.supervise(5.0 + 1e-4 * k) for k in range(3)] == states
        told = ("RD_CONTACT", joint, 1.25 * thresholds[joint], thresholds[joint], int(kind == "HOLD"), 1)
        assert made.trip == told if kind != "OFF" else made.trip[-1] == 0
    made = Watched()
    made.settings.mode, made.rules.contact = made.calls.RD_GRAVITY_COMPENSATION, made.calls.RD_CONTACT_HOLD
    made.external = made.ffi.cast("double *", made.calls.rd_observer_external(made.core.observer))
    beginning(made, 9.0 * thresholds, thresholds)
    assert made.first([5.0, 5.1, 5.2, 5.3]) is None, "a hand touches it all the time"


# All rules together


def test_without_rules_nothing_stops():
    made = Watched()
    made.settings.rules = made.ffi.NULL
    assert made.first([5.0, 5.1, 5.2, 5.3], error=9.0 * FOLLOWING, velocity=9.0 * SPEED) is None
    assert made.core.supervision.moved == 5.3, "motion is watched nevertheless"


def test_the_place_of_a_stop_is_where_it_holds():
    made = Watched()
    for latched, kind, kept in ((0, 0, False), (1, 1, False), (0, 1, False), (1, 0, True)):
        made.put(hold=(0.1, 0.2, 0.3), supervision__stopped=9.0)
        made.core.trip.latched, made.core.stopping.kind = latched, kind
        made.supervise(5.0)
        expected = (0.1, 0.2, 0.3) if kept else (9.0,) * 3
        assert made.get("supervision__stopped").tolist() == list(expected)


@pytest.mark.parametrize(
    ("before", "wanted", "stops"),
    [(1.0, 0.49, 1), (1.0, 0.5, 0), (0.8, 0.39, 1), (0.8, 0.5, 0), (0.8, 0.9, 0)],
)
def test_gains_that_fall_by_half_count_for_the_effort_of_the_same_state(before, wanted, stops):
    made = Watched()
    made.rules.delay, made.core.pace.seen, made.core.pace.unseen = 0.0, 1, 1
    made.core.pace.share, made.core.pace.wanted = before, wanted
    made.core.pace.last = made.core.pace.began = 4.996
    assert made.supervise(5.0) == stops and made.trip[-1] == 0
    assert made.core.pace.share == pytest.approx(min(wanted, before + 0.004))


def test_states_that_come_too_seldom_stop_by_their_rule():
    made = Watched()
    made.rules.delay, made.core.pace.seen = 0.0, 1
    made.core.pace.median = made.core.pace.rare = 0.9
    assert made.supervise(5.0) == 1 and made.trip[0] == "RD_SLOW_STATES"


def test_after_a_break_every_rule_counts_anew_and_control_begins_with_its_first_second():
    made = Watched()
    core, watch = made.core, made.core.supervision
    for begins in (False, True):
        for rule in range(1, 13):
            watch.rules[rule].states = 7
        for j in range(3):
            core.swings[j].count = 5
        made.put(supervision__shaken=(3.0, 4.0, 5.0))
        core.former, core.time, watch.seen, core.pace.seen = made.settings, 8.0, 1.0, 1
        watch.begins, watch.weighs, watch.began, watch.first = 2, 0, 3.0, 0.7
        getattr(made.calls, "rd_supervision_begin" if begins else "rd_supervision_restart")(core)
        assert {watch.rules[rule].states for rule in range(1, 13)} == {0} and watch.seen == 8.0
        assert not core.former and core.pace.seen == 0 and core.pace.began == 8.0
        assert made.get("supervision__shaken").tolist() == [0.0] * 3
        assert [core.swings[j].count for j in range(3)] == [0] * 3
        found = watch.begins, watch.weighs, watch.began, np.sign(watch.first)
        assert found == ((1, 1, 8.0, -1.0) if begins else (2, 0, 3.0, 1.0))


# Repeated faults


def test_three_faults_within_five_seconds_latch():
    made = Watched()
    core, watch = made.core, made.core.supervision

    def fault(time):
        core.time = time
        latches = made.calls.rd_count_fault(core)
        return latches, list(watch.fault_times[0 : watch.faults])

    assert fault(10.0) == (0, [10.0])
    assert fault(12.0) == (0, [10.0, 12.0])
    assert fault(15.5) == (0, [12.0, 15.5]), "the first one is over"
    assert made.trip[-1] == 0
    assert fault(17.0) == (1, [12.0, 15.5, 17.0]), "five seconds just count"
    assert made.trip == ("RD_REPEATED_FAULTS", -1, 3.0, 2.0, 1, 1) and core.trip.latched
    assert fault(17.0) == (0, [12.0, 15.5, 17.0]), "no more are kept"
    assert fault(18.0) == (0, [15.5, 17.0, 18.0]) and made.trip[-1] == 1, "it is latched already"
    assert fault(30.0) == (0, [30.0])
    watch.faults = 0
    made.settings.rules = made.ffi.NULL
    assert fault(31.0) == (0, [])


@pytest.mark.parametrize("joint", range(3))
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_speed_beyond_all_bounds_is_real_where_the_state_before_and_both_positions_show_it(joint, side):
    def confirmed(last=2.5, way=0.5, elapsed=0.25, knows=1, rules=True, speed=9.0):
        made = Watched()
        made.rules.speed[joint] = 2.0
        made.core.knows_last = knows
        made.put(last_velocity=one(joint, side * last), last_position=one(joint, 0.75))
        if not rules:
            made.settings.rules = made.ffi.NULL
        place = 0.75 + side * way
        return made.calls.rd_confirmed_speed(made.core, joint, elapsed, place, side * speed)

    assert confirmed()
    assert confirmed(way=0.3125) and not confirmed(way=0.3124), "half of the way of the speed before"
    assert not confirmed(way=-0.5) and not confirmed(last=-2.5)
    assert confirmed(last=2.001) and not confirmed(last=2.0)
    assert not confirmed(elapsed=0.0) and not confirmed(elapsed=-0.25)
    assert not confirmed(knows=0) and not confirmed(rules=False)


# Words


def test_the_table_of_rules_has_all_of_them_and_no_other():
    made = Watched()
    names = {made.ffi.string(made.calls.rd_rule_table(k).name).decode() for k in range(1, 13)}
    assert len(names) == 12 and {"following_error", "dispute", "start_effort"} < names
    for number in (-1000, -1, 0, 13, 1000):
        assert not made.calls.rd_rule_table(number)


WORDS = {
    "FOLLOWING_ERROR": "knee is 1.234 rad from its reference, allowed are 0.5679 rad",
    "POSE_ERROR": "knee is 1.234 rad from its reference, allowed are 0.5679 rad",
    "OVERSPEED": "knee moves at 1.234 rad/s, allowed are 0.5679 rad/s",
    "OSCILLATION": "knee oscillates at 1.234 rad/s, allowed are 0.5679 rad/s",
    "START_SPEED": "knee moves at 1.234 rad/s just after the start, allowed are 0.5679 rad/s",
    "START_DISPLACEMENT": "knee is 1.234 rad from where the start found it, allowed are 0.5679 rad",
    "START_EFFORT": "knee bears 1.234 N·m beside its model's weight just after the start,"
    " allowed are 0.5679 N·m",
    "START_LOAD": "knee needs 1.234 N·m to hold the arm at rest, allowed are 0.5679 N·m",
    "REPEATED_FAULTS": "knee has had 1 faults within 5 s, allowed are 1",
    "SLOW_STATES": "knee gets a state every 1.23 s, allowed are 0.568 s",
    "CONTACT": "knee feels an external effort of 1.234 N·m, allowed are 0.5679 N·m",
}


def told(name, stops=1, reverted=0, unit=b"rad"):
    made = Watched()
    number = getattr(made.calls, f"RD_{name}") if isinstance(name, str) else name
    trip = made.ffi.new("rd_trip *", {
        "rule": number, "measured": 1.23412, "allowed": 0.567891, "stops": stops, "reverted": reverted,
    })  # fmt: skip
    written = made.ffi.new("char[]", 600)
    made.calls.rd_trip_text(trip, made.ffi.new("char[]", b"knee"), made.ffi.new("char[]", unit), written, 600)
    info = made.calls.rd_rule_table(number)
    words = (
        [made.ffi.string(each).decode() for each in (info.reaction, info.remedy)] if info else [None, None]
    )
    return made.ffi.string(written).decode(), *words


@pytest.mark.parametrize("name", WORDS)
def test_a_trip_says_what_was_measured_what_is_allowed_what_happens_and_what_to_do(name):
    text, reaction, remedy = told(name)
    does = "protective stop with lower gains" if name == "SLOW_STATES" else reaction
    assert text == f"{WORDS[name]}: {does}; {remedy}" and "~/reset_fault" in remedy
    text, _, _ = told(name, stops=0)
    does = {
        "CONTACT": "reported only (on_contact: report)",
        "SLOW_STATES": "its gains are lower until they come faster",
    }.get(name, "reported only (supervision: observe)")
    assert text == f"{WORDS[name]}: {does}; {remedy}"
    slides = WORDS[name].replace("N·m", "N").replace("rad", "m")
    assert told(name, unit=b"m")[0] == f"{slides}: {told(name)[0].partition(': ')[2]}"
    again = f"{reaction}, on the model before the last change, which is in force again; {remedy}"
    if name != "SLOW_STATES":
        assert told(name, reverted=3)[0] == f"{WORDS[name]}: {again}"


@pytest.mark.parametrize("name", ["NO_RULE", "DISPUTE", -5, 13])
def test_a_stop_without_a_measured_value_says_that_its_cause_is_to_be_removed(name):
    assert told(name)[0] == "protective stop; remove its cause, then call ~/reset_fault"
