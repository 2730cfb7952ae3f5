"""Settings that are handed over to a core, from within: what they change, and models that are taken back."""

from __future__ import annotations

import numpy as np
import pytest
from made_up_arm import MadeUpArm

N = 3
FOLLOWED, STRAYING, FREE, CALLED = 0, 2, 3, 7


class Mailbox(MadeUpArm):
    """Three joints under a machine of its own, which notes when it is called."""

    def __init__(self):
        super().__init__(N)
        ffi, calls = self.ffi, self.calls
        self.called, self.kept_load, self.efforts = [], 1, [4.0, -7.0, 2.5]
        machine = self.machine = ffi.new("rd_machine *", calls.rd_machine_arm()[0])
        machine.without_feedback, machine.without_reference = 1 << STRAYING, 1 << FREE
        machine.held_to_run, machine.yielding = 1 << 5, 1 << 4
        machine.keep_load = self.own("int(rd_core *, const rd_settings *)", self._keep_load)
        machine.change_law = self.own("void(rd_core *)", lambda core: self.called.append("law"))
        machine.effort = self.own(
            "int(rd_core *, const rd_settings *, const rd_motion *, double, double *)", self._effort
        )
        self.settings.machine, self.settings.mode = machine, FOLLOWED
        self.settings.number, self.settings.model, self.settings.law = 1, 1, 1
        self.core = ffi.gc(calls.rd_core_new(N, self.settings), calls.rd_core_free)

    def own(self, kind, function):
        made = self.ffi.callback(kind, function)
        self._kept.append(made)
        return made

    def _keep_load(self, core, before):
        self.called.append(("load", before.number))
        return self.kept_load

    def _effort(self, core, settings, ahead, half, effort):
        if self.efforts is None:
            return 0
        for j in range(N):
            effort[j] = self.efforts[j]
        return 1

    def other(self, **fields):
        """Settings like those in force but for some fields; lists become arrays."""
        made = self.ffi.new("rd_settings *", self.core.settings[0])
        self._kept.append(made)
        for name, value in fields.items():
            setattr(made, name, self._array(value) if isinstance(value, list) else value)
        return made

    def offer(self, **fields):
        """Hand settings over, and take them."""
        made = self.other(**fields)
        self.calls.rd_core_offer_settings(self.core, made)
        self.calls.rd_core_take_settings(self.core)
        return made

    def control(self):
        """In a cycle that controls, at 5 s, with a last effort."""
        core = self.core
        core.phase, core.time, core.knows_effort, core.knows_last = self.calls.RD_HOLDING, 5.0, 1, 1
        self.put(last_effort=(9.0, -8.0, 6.0))
        return self


@pytest.fixture
def mailbox():
    return Mailbox()


# Handing over


def test_a_push_has_six_numbers_and_a_time(mailbox):
    core, ffi = mailbox.core, mailbox.ffi
    mailbox.calls.rd_core_push(core, ffi.new("double[]", [1.5, -2.5, 3.5, 4.5, -5.5, 6.5, 9.0]), 7.25)
    assert list(core.push) == [1.5, -2.5, 3.5, 4.5, -5.5, 6.5] and core.pushed_until == 7.25
    mailbox.calls.rd_core_guide(core, 8.5)
    assert core.guided_until == 8.5
    mailbox.calls.rd_core_succeed(core, core)
    assert core.predecessor == core
    core.predecessor = ffi.NULL


def test_without_an_offer_nothing_is_taken(mailbox):
    core = mailbox.control().core
    core.set_back, core.has_sent, core.armed = 3.0, 1, 1
    mailbox.calls.rd_core_take_settings(core)
    assert core.settings == mailbox.settings and not mailbox.called
    assert (core.set_back, core.has_sent, core.armed, core.departs) == (3.0, 1, 1, 0)


def test_settings_with_another_number_change_neither_law_nor_model(mailbox):
    core = mailbox.control().core
    core.set_back, core.has_sent, core.armed = 3.0, 1, 1
    made = mailbox.offer(number=2)
    assert core.settings == made and not mailbox.called
    assert (core.set_back, core.has_sent, core.armed, core.departs) == (0.0, 0, 1, 0)
    assert not core.replaced and not core.former
    mailbox.calls.rd_core_take_settings(core)
    assert core.settings == made, "an offer is taken once"


def test_the_first_model_of_a_moment_may_come_back(mailbox):
    core = mailbox.control().core
    mailbox.offer(number=2, model=2)
    assert core.former == mailbox.settings and core.changed_at == 5.0
    core.time = 6.9
    second = mailbox.offer(number=3, model=3)
    assert core.former == mailbox.settings and core.changed_at == 5.0
    core.time = 7.1
    mailbox.calls.rd_core_take_settings(core)
    assert not core.former
    mailbox.offer(number=4, model=4)
    assert core.former == second and core.changed_at == 7.1
    mailbox.calls.rd_core_publish(core)
    assert mailbox.core.shown.former == 3


def test_a_model_that_came_while_nothing_was_controlled_stays(mailbox):
    mailbox.control().core.phase = mailbox.calls.RD_STALE
    mailbox.offer(model=2)
    assert not mailbox.core.former
    mailbox.calls.rd_core_publish(mailbox.core)
    assert mailbox.core.shown.former == 0


def test_the_model_before_fades_out_until_it_is_gone(mailbox):
    core = mailbox.control().core
    mailbox.kept_load = 0
    mailbox.offer(number=2, law=2)
    assert not core.replaced
    second = mailbox.offer(number=3, model=2)
    assert core.replaced.number == 2
    mailbox.offer(number=4, model=3)
    assert core.replaced.number == 2, "the fade that has begun goes on"
    mailbox.calls.rd_core_publish(core)
    assert mailbox.core.shown.oldest_settings == 2
    core.replaced = mailbox.ffi.NULL
    mailbox.calls.rd_core_publish(core)
    assert mailbox.core.shown.oldest_settings == 4 and second.number == 3


@pytest.mark.parametrize(("before", "after", "stops", "begins"), [
    (STRAYING, FOLLOWED, "NO_STOP", "STOP_HOLD"),
    (FOLLOWED, FREE, "NO_STOP", "STOP_HOLD"),
    (STRAYING, FREE, "NO_STOP", "STOP_HOLD"),
    (FOLLOWED, 1, "NO_STOP", "NO_STOP"),
    (FOLLOWED, STRAYING, "NO_STOP", "NO_STOP"),
    (FREE, FOLLOWED, "NO_STOP", "NO_STOP"),
    (STRAYING, STRAYING, "NO_STOP", "NO_STOP"),
    (FREE, FREE, "NO_STOP", "NO_STOP"),
    (STRAYING, FOLLOWED, "STOP_EMERGENCY", "STOP_EMERGENCY"),
    (FOLLOWED, 1, "STOP_HOLD", "STOP_HOLD"),
])  # fmt: skip
def test_where_the_reference_was_not_kept_the_next_state_is_the_place(mailbox, before, after, stops, begins):
    core = mailbox.control().core
    mailbox.settings.mode = before
    core.recaptures, core.armed, core.guides = getattr(mailbox.calls, f"RD_{stops}"), 1, 1
    mailbox.offer(mode=after, law=2)
    assert core.recaptures == getattr(mailbox.calls, f"RD_{begins}")
    assert core.armed == int(before == after)


@pytest.mark.parametrize(("latched", "rule", "mode", "guides"), [
    (1, "RD_CONTACT", FREE, 1), (0, "RD_CONTACT", FREE, 0), (1, "RD_OVERSPEED", FREE, 0),
    (1, "RD_CONTACT", 1, 0), (0, "RD_NO_RULE", 1, 0),
])  # fmt: skip
def test_a_mode_that_is_chosen_in_a_stop_guides_unless_the_states_are_doubted(
    mailbox, latched, rule, mode, guides
):
    core = mailbox.control().core
    core.trip.latched, core.trip.rule, core.guides = latched, getattr(mailbox.calls, rule), 1 - guides
    mailbox.offer(mode=mode)
    assert core.guides == guides
    core.guides = 1 - guides
    mailbox.offer(number=3)
    assert core.guides == 1 - guides, "the mode is the same"


@pytest.mark.parametrize(("fields", "called"), [
    ({"law": 2}, [("load", 1), "law"]), ({"model": 2}, [("load", 1)]),
    ({"law": 2, "model": 2}, [("load", 1), "law"]), ({"mode": 1}, []),
])  # fmt: skip
def test_another_law_or_model_keeps_the_load(mailbox, fields, called):
    mailbox.control()
    mailbox.offer(number=2, **fields)
    assert mailbox.called == called
    mailbox.machine.keep_load = mailbox.machine.change_law = mailbox.ffi.NULL
    mailbox.offer(number=3, model=3, law=3)
    assert mailbox.called == called


@pytest.mark.parametrize(("fields", "ends"), [
    ({"kp": [80.0, 80.0, 81.0]}, True), ({"kv": [14.0, 15.0, 15.0]}, True), ({"mode": 1}, True),
    ({"kp": [80.0, 80.0, 80.0, 81.0]}, False),
    ({"kp": [81.0, 80.0, 80.0]}, True), ({"kp": [81.0] * 3, "kv": [16.0] * 3}, True), ({}, False),
])  # fmt: skip
def test_other_gains_or_another_mode_end_what_stiffened_the_gains(mailbox, fields, ends):
    mailbox.control()
    mailbox.put(stiffened=(2.0, 3.0, 4.0))
    mailbox.offer(number=2, law=2, **fields)
    np.testing.assert_array_equal(mailbox.get("stiffened"), 1.0 if ends else (2.0, 3.0, 4.0))


def test_gains_that_come_with_the_same_law_end_nothing(mailbox):
    mailbox.control()
    mailbox.put(stiffened=2.0)
    mailbox.offer(number=2, kp=[81.0] * 3)
    np.testing.assert_array_equal(mailbox.get("stiffened"), 2.0)


@pytest.mark.parametrize(("change", "departs"), [
    ({}, 2), ({"mode": 1}, 1), ({"was": STRAYING}, 1), ({"was": 5}, 1), ({"was": 4}, 1), ({"was": CALLED}, 1),
    ({"was": 6}, 2), ({"recaptures": 1}, 1), ({"knows_last": 0}, 1), ({"efforts": None}, 1),
    ({"efforts": [1.0, 2.0, np.nan]}, 1), ({"efforts": [np.inf, 2.0, 3.0]}, 1),
    ({"knows_effort": 0}, 0), ({"phase": "RD_STALE"}, 0), ({"phase": "RD_FAULT", "knows_effort": 0}, 0),
    ({"law": 1}, 0),
])  # fmt: skip
def test_another_law_departs_from_what_left_beside_it(mailbox, change, departs):
    core, given = mailbox.control().core, dict(change)
    mailbox.put(difference=(0.1, 0.2, 0.3))
    core.scratch[0][0] = 0.5  # beyond the efforts of the law
    mailbox.efforts = given.pop("efforts", mailbox.efforts)
    mailbox.settings.mode = given.pop("was", FOLLOWED)
    offered = {name: given.pop(name) for name in ("mode", "law") if name in given}
    for name, value in given.items():
        setattr(core, name, getattr(mailbox.calls, value) if isinstance(value, str) else value)
    mailbox.offer(**{"number": 2, "law": 2, **offered})
    assert core.departs == departs
    left = np.array([9.0, -8.0, 6.0])
    expected = left - [4.0, -7.0, 2.5] if departs == 2 else left if departs == 1 else np.zeros(3)
    np.testing.assert_array_equal(mailbox.get("departing"), expected)
    np.testing.assert_array_equal(mailbox.get("difference"), (0.1, 0.2, 0.3))


@pytest.mark.parametrize(("kept", "fades", "departs", "replaced"), [
    (1, 0, 2, 0), (0, 0, 0, 1), (1, 9, 0, 9), (0, 9, 0, 9),
])  # fmt: skip
def test_a_model_whose_load_was_kept_does_not_fade_out_by_its_law(mailbox, kept, fades, departs, replaced):
    core = mailbox.control().core
    mailbox.kept_load = kept
    if fades:
        core.replaced = mailbox.other(number=fades)
    mailbox.offer(number=2, model=2)
    assert core.departs == departs
    assert (core.replaced.number if core.replaced else 0) == replaced


# Taking back


def taken_back(mailbox, changes=1):
    core = mailbox.control().core
    for k in range(changes):
        mailbox.offer(number=2 + k, model=5 + k)
    core.knows_inertia = core.has_sent = 1
    core.replaced, mailbox.called = mailbox.settings, []
    return core


def test_a_new_model_that_fails_is_taken_back_and_refused(mailbox):
    mailbox.settings.model = 3
    core = taken_back(mailbox, changes=2)
    assert mailbox.calls.rd_take_back_model(core) == 3
    assert core.settings == mailbox.settings and list(core.refused) == [4, 6] and not core.former
    assert (core.knows_inertia, core.has_sent) == (0, 0) and not core.replaced
    assert mailbox.called == [("load", 3)]
    for model, taken in ((4, 0), (5, 0), (6, 0), (3, 1), (7, 1)):
        made = mailbox.offer(number=10 + model, model=model)
        assert (core.settings == made) == taken, model


@pytest.mark.parametrize("change", [{"braked": 1}, {"time": 7.01}, {"law": 9}, {"former": None}])
def test_a_model_stays_that_is_old_braked_or_of_another_law(mailbox, change):
    core = taken_back(mailbox)
    for name, value in change.items():
        if name == "law":
            mailbox.settings.law = value
        else:
            setattr(core, name, mailbox.ffi.NULL if value is None else value)
    before = core.settings
    assert mailbox.calls.rd_take_back_model(core) == 0
    assert core.settings == before and not core.former and list(core.refused) == [0, 0]
    assert (core.knows_inertia, core.has_sent) == (1, 1) and not mailbox.called


def test_a_model_is_taken_back_from_a_machine_that_keeps_no_load(mailbox):
    mailbox.machine.keep_load = mailbox.ffi.NULL
    core = taken_back(mailbox)
    assert mailbox.calls.rd_take_back_model(core) == 1 and core.settings == mailbox.settings
