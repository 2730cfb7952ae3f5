"""Motions as arrays: batches that fit together, shapes that do not, and a machine's fingerprint."""

import inspect
from dataclasses import replace

import numpy as np
import pytest
from platform_legs import replace_leg
from stewart_oracles import random_oracle, rotation

from robot_dynamics import stewart
from robot_dynamics.errors import BackendError, StateError
from robot_dynamics.native.evaluator import Evaluator
from robot_dynamics.native.library import NativeKernel
from robot_dynamics.stewart import compiled
from robot_dynamics.stewart.compiled import CompiledStewart, compile_stewart, machine_fingerprint, pack
from robot_dynamics.stewart.motion import Motion, check_motion, common_batch, motion_of, vector
from robot_dynamics.stewart.program import DESCRIPTION

NAMES = (
    "position",
    "orientation",
    "linear_velocity",
    "angular_velocity",
    "linear_acceleration",
    "angular_acceleration",
    "force",
    "torque",
)


def parts(*leading):
    """Different numbers everywhere, the sizes 3 and 4 of the quaternion."""
    rng = np.random.default_rng(2)
    return [rng.normal(size=(*leading, 4 if name == "orientation" else 3)) for name in NAMES]


def test_a_packed_motion_is_its_parts_in_order():
    given = parts()
    np.testing.assert_array_equal(pack(*given), np.concatenate(given))
    np.testing.assert_array_equal(pack(*given[:6])[19:], np.zeros(6))
    batch = parts(5)
    np.testing.assert_array_equal(pack(*batch), np.hstack(batch))
    batch[0], batch[7] = batch[0][0], batch[7][:1]
    packed = pack(*batch)
    assert packed.shape == (5, 25)
    for k in range(5):
        row = [batch[0], *(part[k] for part in batch[1:7]), batch[7][0]]
        np.testing.assert_array_equal(packed[k], np.concatenate(row))
    few = parts(3)
    few[2] = few[2][1]
    np.testing.assert_array_equal(pack(*few)[:, 7:10], [few[2]] * 3)
    assert pack(*(part[:0] for part in parts(2))).shape == (0, 25)
    one = parts(1)
    one[2] = one[2][:0]
    assert pack(*one).shape == (0, 25)


@pytest.mark.parametrize("k", range(8), ids=NAMES)
def test_a_part_of_a_wrong_shape_or_that_is_not_finite_is_named(k):
    name, size = NAMES[k], 4 if k == 1 else 3
    for wrong in (np.ones(size - 1), np.ones((2, size + 1)), np.ones((2, 2, size)), np.array(1.0)):
        given = parts()
        given[k] = wrong
        with pytest.raises(StateError) as caught:
            pack(*given)
        assert str(caught.value) == f"{name} has shape {wrong.shape}; expected ({size},) or (N, {size})"
    for number in (np.nan, -np.inf):
        given = parts()
        given[k] = given[k].tolist()
        given[k][1] = number
        with pytest.raises(StateError, match=rf"^{name} is \[.*; every number must be finite$"):
            pack(*given)
    given = parts(3)
    given[k] = np.ones((2, size))
    with pytest.raises(StateError, match=rf"^the batches do not fit together: .*\b{name} \(2, {size}\)"):
        pack(*given)


def test_a_motion_has_one_batch_shape_and_zeros_for_what_is_omitted():
    position, angles = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), np.array([0.1, -0.2, 0.3])
    found = motion_of(position, angles, force=[7.0, 8.0, 9.0])
    np.testing.assert_array_equal(found.position, position)
    np.testing.assert_allclose(found.rotation, [rotation(angles)] * 2, atol=1e-15)
    np.testing.assert_array_equal(found.force, [[7.0, 8.0, 9.0]] * 2)
    for name in (*NAMES[2:6], "torque"):
        np.testing.assert_array_equal(getattr(found, name), np.zeros((2, 3)))
    turned = motion_of([1.0, 2.0, 3.0], np.array([angles] * 4))
    assert turned.position.shape == (4, 3) and turned.rotation.shape == (4, 3, 3)
    with pytest.raises(StateError) as caught:
        motion_of(np.zeros((2, 3)), np.zeros((3, 3)))
    shapes = [(2, 3), *[(3,)] * 6, (3, 3)]
    names = [name for name in NAMES if name != "orientation"]
    assert str(caught.value) == "the batches do not fit together: " + ", ".join(
        f"{name} {shape}" for name, shape in zip([*names, "orientation"], shapes, strict=True)
    )


def test_vectors_have_three_finite_numbers():
    np.testing.assert_array_equal(vector("speed", None), np.zeros(3))
    assert vector("speed", [[1, 2, 3]]).tolist() == [[1.0, 2.0, 3.0]]
    for wrong in (2.5, [1.0, 2.0], [[1.0, 2.0, 3.0, 4.0]]):
        with pytest.raises(StateError) as caught:
            vector("speed", wrong)
        assert str(caught.value) == f"speed has shape {np.shape(wrong)}; expected (3,) or (N, 3)"
    with pytest.raises(StateError) as caught:
        vector("speed", [1.0, np.nan, 2.0])
    assert str(caught.value) == "speed is not finite"


def test_batches_are_broadcast_against_each_other():
    shapes = {"a": np.zeros((4, 1, 3)), "b": np.zeros((2, 5)), "c": np.zeros(7)}
    assert common_batch(shapes) == (4, 2)
    assert common_batch({"a": np.zeros(3)}) == ()


@pytest.mark.parametrize("name", Motion._fields)
def test_what_is_no_motion_of_arrays_is_refused(name):
    given = motion_of(np.zeros((2, 3)), np.zeros(3))
    check_motion(given)
    ends, size = ((3, 3), 9) if name == "rotation" else ((3,), 3)
    wrong = np.zeros((2, *ends[:-1], 4))
    with pytest.raises(StateError) as caught:
        check_motion(given._replace(**{name: wrong}))
    assert str(caught.value) == (
        f"{name} of the motion is float64 {wrong.shape}; expected numbers, axes (..., {ends})"
    )
    narrow = np.zeros((2, *ends[:-1], 2))
    with pytest.raises(StateError, match=f"^{name} of the motion is float64 .*, 2\\); expected numbers"):
        check_motion(given._replace(**{name: narrow}))
    with pytest.raises(StateError, match=f"^{name} of the motion is int64"):
        check_motion(given._replace(**{name: np.zeros((2, *ends), dtype=int)}))
    with pytest.raises(StateError, match=f"^{name} of the motion is float64"):
        check_motion(given._replace(**{name: np.zeros(size + 1)}))
    with pytest.raises(TypeError, match=f"^{name} of the motion is"):
        check_motion(given._replace(**{name: [0.0, 0.0, 0.0]}))
    with pytest.raises(TypeError, match=r"^motion is"):
        check_motion(tuple(given))


@pytest.fixture(scope="module")
def machine():
    return stewart.load(random_oracle(2).mapping).machine


def test_a_fingerprint_tells_machines_of_other_forces_apart(machine):
    leg, body = machine.legs[4], machine.platform
    nudge = np.array([1e-12, 0.0, 0.0])
    heavier = replace(body, mass=body.mass * (1.0 + 1e-12))
    shifted = replace(body, center_of_mass=body.center_of_mass + nudge)
    turned = replace(body, inertia=body.inertia * (1.0 + 1e-12))
    others = [
        replace(machine, gravity=machine.gravity + nudge),
        replace(machine, platform=heavier),
        replace(machine, platform=shifted),
        replace(machine, platform=turned),
        replace(machine, home_position=machine.home_position + 1e-3),
        replace_leg(machine, 4, base_point=leg.base_point + nudge),
        replace_leg(machine, 4, platform_point=leg.platform_point + nudge),
        replace_leg(machine, 4, universal_axis=leg.universal_axis + nudge),
        replace_leg(machine, 4, universal_axis=None),
        replace_leg(machine, 4, lower=heavier),
        replace_leg(machine, 4, upper=heavier),
        *(
            replace_leg(machine, 4, friction=replace(leg.friction, **{name: 77.0}))
            for name in ("universal", "prismatic", "spherical", "coulomb")
        ),
        replace_leg(machine, 4, drive=stewart.Drive(0.01, 1e-4, 0.0, 1.0)),
        replace_leg(machine, 4, spring=stewart.Spring(0.0, 3.0, 0.0)),
        replace_leg(machine, 4, spring=stewart.Spring(1.0, -3.0, 3.0)),
        replace(machine, legs=(machine.legs[1], machine.legs[0], *machine.legs[2:])),
    ]
    prints = [machine_fingerprint(one) for one in (machine, *others)]
    assert len(set(prints)) == len(prints) and all(len(text) == 64 for text in prints)


def test_names_and_limits_do_not_count_in_a_fingerprint(machine):
    renamed = replace(replace_leg(machine, 4, name="other", limits=stewart.LegLimits(0.1, 0.9)), name="else")
    assert machine_fingerprint(renamed) == machine_fingerprint(machine)
    same = replace_leg(machine, 4, drive=stewart.Drive(0.5, 0.0, 0.0, 3.0))
    assert machine_fingerprint(same) == machine_fingerprint(machine)


def test_what_is_no_machine_or_no_backend_is_refused(machine):
    with pytest.raises(TypeError, match=r"^machine is"):
        CompiledStewart(3, "auto")
    for make in (compile_stewart, CompiledStewart):
        with pytest.raises(BackendError, match="'shout'"):
            make(machine, "shout")
    assert inspect.signature(compile_stewart).parameters["backend"].default == "auto"
    with pytest.raises(TypeError, match=r"^machine is"):
        compile_stewart(3)


class Kernel:
    """Takes the place of generated Python: forces that show what they were given."""

    def __call__(self, *given):
        raise AssertionError("not called")


def test_the_program_of_a_machine_is_made_once(machine, monkeypatch):
    asked = []
    monkeypatch.setattr(compiled, "make_program", lambda given: asked.append(given) or "a program")
    monkeypatch.setattr(compiled, "load_kernel", lambda **given: asked.append(given) or Kernel())
    monkeypatch.setattr(compiled, "fast_function", lambda *given: "never")
    made = CompiledStewart(machine, "python")
    assert (made.machine, made.backend, made.kernel) == (machine, "python", None)
    assert (made.program, made.program) == ("a program", "a program")
    loading, *others = asked
    assert others == [machine]
    assert loading["key"] == f"stewart {machine_fingerprint(machine)}"
    assert (loading["generator"], loading["outputs"]) == ("robot_dynamics.stewart.program", 1)
    assert loading["backend"] == "python" and isinstance(made.actuator_forces, Evaluator)


def test_native_kernels_are_called_without_a_detour(machine, monkeypatch):
    kernel = NativeKernel.__new__(NativeKernel)
    monkeypatch.setattr(compiled, "load_kernel", lambda **given: kernel)
    monkeypatch.setattr(compiled, "fast_function", lambda evaluator, text: (evaluator, text))
    made = CompiledStewart(machine, "c")
    assert made.kernel is kernel and made.backend == "c"
    evaluator, text = made.actuator_forces
    assert isinstance(evaluator, Evaluator)
    assert text == f"Forces (6,) or (N, 6) [N].\n\nmotion: {DESCRIPTION}."
