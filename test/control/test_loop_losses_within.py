"""The loop around a core, driven by hand: a silent front, old and lost states, and simulated clocks."""

from __future__ import annotations

import pytest
from test_loop_ends_within import Ending, moving
from test_loop_within import MS, NEVER, SECOND

# The front


def test_the_front_may_be_silent_as_long_as_something_is_left_to_do():
    made = Ending(front_timeout=0.5).begin()
    made.loop.front_seen = made.steady
    made.plan(1.0)
    busy = None
    while not made.loop.safe:
        made.follow(1, after=10 * MS)
        busy = made.steady if made.core.current.plan else busy
        made.tick()
    assert made.steady - busy == 520 * MS
    [(age, back)] = [(age, back) for kind, _, back, age in made.records() if kind == made.calls.RD_FRONT_LOST]
    assert age == pytest.approx(0.51) and back == 0 and made.loop.safe_for_front == 1


@pytest.mark.parametrize(("timeout", "waits", "lost"), [
    (0.5, 500 * MS, False), (0.5, 500 * MS + 1000, True), (0.0, 90 * SECOND, False),
    (-1.0, 90 * SECOND, False),
])  # fmt: skip
def test_a_silence_of_the_front_ends_at_its_timeout(timeout, waits, lost):
    made = Ending(lockstep=1).begin()
    made.settings.front_timeout = timeout
    made.loop.front_seen, made.loop.last_busy = made.steady, made.steady - 9 * SECOND
    made.tick(waits)
    assert bool(made.loop.safe) == lost
    if lost:
        made.state(after=MS)
        assert made.kinds()[-1] == made.calls.RD_OBSERVED
        made.loop.front_seen = made.steady
        made.state(after=500 * MS)
        assert made.kinds()[-1] == made.calls.RD_ANSWERED


def test_a_stop_is_something_that_is_left_to_do():
    made = moving(lockstep=1, front_timeout=0.5)
    made.request("HOLD")
    made.follow(1)
    assert made.phase == made.calls.RD_STOPPING
    made.loop.front_seen = made.loop.last_busy = made.steady - 9 * SECOND
    made.tick()
    assert not made.loop.safe and made.loop.last_busy == made.steady


def test_states_end_the_safe_output_of_another_loss_although_the_front_is_silent():
    made = Ending(front_timeout=0.5).begin()
    made.loop.front_seen = made.steady
    made.tick(100 * MS)
    assert made.sends_safe and made.loop.safe_for_front == 0
    made.loop.front_seen = made.loop.last_busy = made.steady - 9 * SECOND
    made.state(after=MS)
    assert not made.loop.safe and made.kinds()[-1] == made.calls.RD_ANSWERED


# Old states


@pytest.mark.parametrize(("lag", "old"), [(99 * MS, False), (100 * MS - 1, False), (100 * MS, True)])
def test_after_a_loss_states_are_old_whose_age_has_grown_by_the_timeout(lag, old):
    made = Ending().begin()
    made.tick(200 * MS)
    made.kinds()
    made.state(stamp=made.steady + MS - SECOND - lag, after=MS)
    assert made.kinds() == [made.calls.RD_OBSERVED if old else made.calls.RD_ANSWERED]
    assert (made.loop.old_since == made.steady) == old
    made.state(after=MS, stamp=0)
    assert made.holds, "states without a stamp are not judged"


def test_a_state_exactly_at_the_timeout_may_be_old():
    made = Ending().begin()
    made.state(after=100 * MS, stamp=made.steady - SECOND - 50 * MS)
    assert made.kinds() == [made.calls.RD_STATES_LOST, made.calls.RD_OBSERVED]
    assert made.phase == made.calls.RD_STALE and made.loop.old_since == made.steady


def test_old_states_are_of_another_clock_after_a_second():
    made = Ending().begin()
    made.tick(200 * MS)
    made.kinds()
    made.state(after=MS, stamp=1)
    began = made.loop.old_since
    made.state(after=SECOND, stamp=2)
    assert made.kinds() == [made.calls.RD_OBSERVED] * 2 and made.loop.old_since == began
    made.state(after=1, stamp=3)
    assert made.kinds() == [made.calls.RD_ANSWERED] and made.loop.lag == made.steady - 3


def test_the_least_age_of_states_grows_slowly():
    made, least = Ending().begin(1), SECOND
    assert made.loop.lag == SECOND
    for age in (SECOND + 50 * MS, SECOND + 9 * MS, SECOND - 4 * MS, SECOND + MS, SECOND - 3 * MS - 999):
        made.state(after=MS, stamp=made.steady + MS - age)
        least = min(age, least)
        least += (age - least) // 1024
        assert made.loop.lag == least and made.loop.old_since == NEVER
    made.steady += 150 * MS
    made.state(after=MS, stamp=made.steady + MS - least - 60 * MS)
    assert made.loop.lag == least, "but not by the first one after a loss"


@pytest.mark.parametrize(("lockstep", "used", "stamp"), [(1, 0, 5), (0, 1, 5), (0, 0, 0)])
def test_ages_are_judged_by_the_wall_clock_and_a_stamp_alone(lockstep, used, stamp):
    made = Ending(lockstep)
    made.loop.time.used = used
    made.loop.time.now = made.loop.time.moved = made.steady
    made.calls.rd_loop_offer(made.loop, made.session)
    made.request("ACTIVATE")
    made.state(stamp=stamp)
    assert made.loop.lag == NEVER


@pytest.mark.parametrize(
    ("seconds", "known"), [(1.5, True), (999_999_999.0, True), (1e9, False), (-1e9, False)]
)
def test_the_clocks_are_compared_unless_one_is_of_another_time(seconds, known):
    made = Ending(lockstep=1).begin(1)
    epoch = made.session.epoch
    stamp = epoch + round(seconds * 1e9)
    made.state(stamp=stamp)
    expected = made.steady - round(seconds * 1e9) if known else NEVER
    assert abs(made.loop.ahead - expected) <= 256
    assert made.loop.shown_ahead == made.loop.ahead


def test_velocities_that_no_state_has_are_those_of_the_positions():
    made = Ending().begin()
    for k in range(60):
        made.state(0.3 + 0.001 * k, after=MS, velocity=None)
    assert made.core.state.velocity[0] == pytest.approx(1.0, rel=1e-3)


# Losses


def test_a_loss_before_the_first_state_is_none():
    made = Ending()
    made.calls.rd_loop_offer(made.loop, made.session)
    made.request("ACTIVATE")
    assert made.tick(SECOND) == pytest.approx(100.0) and not made.loop.safe
    made.loop.last_state = made.steady - SECOND
    made.tick()
    assert not made.loop.safe
    made.state()
    assert made.holds and [kind for kind in made.kinds() if kind != made.calls.RD_ANSWERED] == []


def test_a_state_after_an_unnoticed_loss_is_where_the_robot_is():
    made = Ending().begin()
    made.core.unseen = 9.0
    made.state(after=100 * MS)
    (kind, phase, back, age), answered = made.records()
    assert (kind, phase, back, age) == (made.calls.RD_STATES_LOST, made.calls.RD_STALE, 1, pytest.approx(0.1))
    assert made.core.unseen == 0.0 and answered[0] == made.calls.RD_ANSWERED and answered[2] == 0


def test_a_front_that_was_lost_beside_a_state_begins_the_safe_output():
    made = Ending(lockstep=1, front_timeout=0.5).begin()
    made.loop.front_seen = made.steady
    made.state(after=501 * MS)
    (kind, _, back, age), observed = made.records()
    assert (kind, back, age) == (made.calls.RD_FRONT_LOST, 0, pytest.approx(0.501))
    assert observed[0] == made.calls.RD_OBSERVED and made.sends_safe and made.loop.safe_for_front == 1


def test_states_are_observed_while_nothing_is_controlled():
    made = Ending()
    made.calls.rd_loop_offer(made.loop, made.session)
    made.state(0.4)
    made.state(0.5, after=SECOND)
    assert made.kinds() == [made.calls.RD_OBSERVED] * 2 and not made.sent
    assert made.core.state.position[0] == 0.5


@pytest.mark.parametrize(
    ("timeout", "due"), [(0.5, 100.0), (0.1, 100.0), (0.0999, 99.900001), (0.02, 20.000001)]
)
def test_the_next_look_is_at_the_loss_but_after_a_tenth_of_a_second_at_the_latest(timeout, due):
    made = Ending(state_timeout=timeout).begin()
    assert made.tick() == pytest.approx(due, abs=1e-7)


# Hangs


def hung(made, began, rest=(0.25, 0.5)):
    left, ends = made.ffi.new("double[]", [1.25]), made.ffi.new("double[]", rest)
    made.calls.rd_loop_hung(made.loop, made.steady, began, 0.3, left, ends)


@pytest.mark.parametrize("command", ["EFFORT", "VELOCITY", "POSITION"])
def test_after_a_hang_drives_go_on_from_the_setpoints_of_the_watchdog(command):
    made = Ending().begin()
    made.settings.command = getattr(made.calls, f"RD_COMMAND_{command}")
    made.core.setpoints.position[0], made.core.setpoints.velocity[0] = 0.75, 0.125
    made.core.unseen = 9.0
    made.steady += 300 * MS
    hung(made, made.steady - 200 * MS)
    drives = command != "EFFORT"
    found = made.core.setpoints.position[0], made.core.setpoints.velocity[0]
    assert found == ((0.25, 0.5) if drives else (0.75, 0.125))
    assert made.core.left[0] == 1.25 and made.core.unseen == 0.0
    assert (made.loop.safe_began, made.loop.safe_due) == (made.steady - 200 * MS, made.steady)
    assert made.sends_safe and made.loop.safe_for_front == 0 and made.loop.shown_halting


def test_a_hang_beside_a_safe_output_leaves_its_beginning():
    made = Ending(front_timeout=0.5).begin()
    made.loop.front_seen = made.loop.last_busy = made.steady - SECOND
    made.tick()
    began = made.loop.safe_began
    assert made.loop.safe_for_front == 1
    made.steady += 50 * MS
    hung(made, made.steady)
    assert (made.loop.safe_began, made.loop.safe_due, made.loop.safe_for_front) == (began, made.steady, 1)
    found = made.records()[-1]
    assert (found[0], found[3]) == (made.calls.RD_LOOP_HUNG, 0.3)


def test_a_hang_without_a_core_is_nothing():
    made = Ending().begin()
    made.calls.rd_loop_offer(made.loop, made.ffi.NULL)
    made.tick()
    hung(made, made.steady)
    assert not made.loop.safe


# Stamps and records


def test_states_keep_their_stamps():
    made = Simulated(lockstep=1).run(3)
    for stamp in (made.now + 3 * MS, made.now + 5 * MS):
        made.state(after=2 * MS, stamp=stamp)
        assert made.sent[-1][0] == stamp
    made.says(7 * MS)
    made.state(after=2 * MS, stamp=0)
    assert made.sent[-1][0] == made.now, "one without a stamp has the clock's time"
    made = Ending()
    made.calls.rd_loop_offer(made.loop, made.session)
    made.request("ACTIVATE")
    made.state(stamp=0)
    assert made.sent[-1][0] == 0, "there is no clock"


def test_records_that_find_no_room_are_counted_one_by_one():
    made = Ending().begin()
    note = made.ffi.new("rd_record *", {"kind": made.calls.RD_ANSWERED})
    for k in range(40):
        made.calls.rd_session_note(made.session, note)
        assert made.calls.rd_session_lost(made.session) == max(0, k - 31)


@pytest.mark.parametrize(("fields", "fit"), [
    ({}, 32), ({"discontinuity": 2}, 48), ({"kind": "RD_NO_EFFORT"}, 32), ({"kind": "RD_STATES_LOST"}, 64),
    ({"kind": "RD_FRONT_LOST"}, 64), ({"back": 1}, 64),
])  # fmt: skip
def test_room_is_kept_for_losses_and_jumps(fields, fit):
    made = Ending().begin()
    given = {name: getattr(made.calls, v) if isinstance(v, str) else v for name, v in fields.items()}
    note = made.ffi.new("rd_record *", given)
    for _ in range(70):
        made.calls.rd_session_note(made.session, note)
    assert made.calls.rd_session_lost(made.session) == 70 - fit


def test_what_is_urgent_stays_so_until_somebody_has_looked():
    made = Ending().begin()
    for fields in ({"back": 1}, {}):
        made.calls.rd_session_note(made.session, made.ffi.new("rd_record *", fields))
        assert made.session.ring.urgent == 1


def test_nothing_is_freed_of_no_session():
    made = Ending()
    made.calls.rd_session_free(made.ffi.NULL)
    assert made.calls.rd_session_lost(made.session) == 0


def test_many_records_are_read_one_behind_the_other():
    made = Ending().begin()
    size = made.calls.rd_session_record_size(made.session)
    for k in range(5):
        made.calls.rd_session_note(made.session, made.ffi.new("rd_record *", {"stamp": 10 + k}))
    room = made.ffi.new("char[]", 6 * size)
    many = made.ffi.cast("char *", room) + size
    assert made.calls.rd_session_read_many(made.session, many, 3) == 3
    found = [made.ffi.cast("rd_record *", room + k * size).stamp for k in range(6)]
    assert found == [0, 10, 11, 12, 0, 0]
    assert made.calls.rd_session_read_many(made.session, many, 9) == 2


def test_a_record_of_an_answer_has_the_discontinuity_of_its_state():
    made, found = Ending().begin(), []

    def note():
        while made.calls.rd_session_read(made.session, made.record):
            r = made.record
            found.append((r.kind, r.discontinuity, r.discontinuity_size, r.discontinuity_more))

    made.records = note
    made.calls.rd_loop_state(
        made.loop, made.steady - SECOND + MS, made.steady + MS, made.ffi.new("double[]", [1.9]),
        made.ffi.new("double[]", [0.0]),
    )  # fmt: skip
    note()
    core = made.core
    assert core.discontinuity == made.calls.RD_JUMPED and core.discontinuity_size > 1.0
    assert found == [(0, core.discontinuity, core.discontinuity_size, core.discontinuity_more)]
    core.discontinuity_more = 0.5
    made.loop.active = 0
    made.calls.rd_loop_state(
        made.loop, made.steady - SECOND + 2 * MS, made.steady + 2 * MS, made.ffi.new("double[]", [1.9]),
        made.ffi.new("double[]", [0.0]),
    )  # fmt: skip
    note()
    assert found[1:] == [(made.calls.RD_OBSERVED, 0, 0.0, 0.0)]


# Simulated clocks


class Simulated(Ending):
    """A loop by a simulated clock, which says so with every state."""

    def __init__(self, **given):
        super().__init__(**given)
        self.loop.time.used, self.now = 1, 5 * SECOND

    def says(self, by):
        self.now += by
        self.calls.rd_loop_clock(self.loop, self.now, self.steady)

    def run(self, count):
        self.calls.rd_loop_offer(self.loop, self.session)
        self.request("ACTIVATE")
        for _ in range(count):
            self.says(MS)
            self.state(after=MS, stamp=self.now)
        self.kinds()
        return self


def test_states_are_lost_by_the_simulated_clock():
    made = Simulated().run(4)
    for later in (100 * MS + 1, 400 * MS):
        assert made.tick(later) == pytest.approx(100.0)
    assert not made.loop.safe, "a pause"
    made.says(150 * MS)
    made.tick()
    [(kind, _, _, age)] = made.records()
    assert (kind, age) == (made.calls.RD_STATES_LOST, pytest.approx(0.15))


def test_senders_that_are_gone_are_reported_as_such():
    made = Simulated().run(4)
    made.loop.time.alone = 1
    made.tick(250 * MS)
    [(kind, _, _, age)] = made.records()
    assert (kind, age) == (made.calls.RD_SENDERS_GONE, pytest.approx(0.25))
    made = Ending().begin()
    made.loop.time.alone = 1
    made.tick(250 * MS)
    assert made.kinds() == [made.calls.RD_STATES_LOST], "without simulated time states are lost"


@pytest.mark.parametrize("lockstep", [0, 1])
def test_states_that_run_away_from_a_clock_that_stands_are_a_fault(lockstep):
    made = Simulated(lockstep=lockstep).run(4)
    moved = made.steady - MS
    for k in range(300):
        made.state(after=MS, stamp=made.now + 150 * MS + k)
        if made.loop.safe:
            break
    if lockstep:
        assert made.kinds() == [made.calls.RD_ANSWERED] * 300
        return
    assert made.steady - moved == 200 * MS and made.loop.time.reported == 1
    *answered, (kind, phase, _, age), (last, *_) = made.records()
    assert (kind, phase) == (made.calls.RD_CLOCK_STANDS, made.calls.RD_STALE)
    assert age == pytest.approx(0.2) and last == made.calls.RD_OBSERVED and len(answered) == 198
    assert made.loop.safe_for_front == 0
    made.state(after=MS, stamp=made.now + 400 * MS)
    assert made.kinds() == [made.calls.RD_OBSERVED], "it is reported once"
    made.says(401 * MS)
    made.state(after=MS, stamp=made.now)
    assert made.loop.time.reported == 0 and made.holds


def test_a_clock_that_was_never_published_is_reported_after_the_timeout():
    made = Simulated()
    made.calls.rd_loop_offer(made.loop, made.session)
    made.request("ACTIVATE")
    for k in range(101):
        assert not made.loop.time.reported
        made.state(after=MS, stamp=made.now + k)
    found = made.records()
    assert [kind for kind, *_ in found].count(made.calls.RD_CLOCK_STANDS) == 1
    kind, phase, _, age = found[-2]
    assert (kind, phase, age) == (made.calls.RD_CLOCK_STANDS, made.calls.RD_WAITING, -1.0)
    assert not made.loop.safe and not made.sent
