"""Cartesian impedance: its parameters, and the law that the control core gets from them."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
from two_arms import TWO_ARMS

import robot_dynamics as rd
from robot_dynamics.control.arm.task_impedance import TaskImpedanceParameters
from robot_dynamics.control.core.library import array_at, ffi
from robot_dynamics.dynamics.compiled import CompiledDynamics
from robot_dynamics.errors import ParameterError
from robot_dynamics.native.library import NativeKernel
from robot_dynamics.parameters import describe

QUANTITIES = ("forward_kinematics", "jacobian", "jacobian_rate", "mass_matrix")


class Links(CompiledDynamics):
    """Links whose kernels are mere addresses; they note what they are asked for."""

    friction = False

    def __init__(self, python=()):
        self.asked, self.compiled, self._python = [], [], python

    def evaluator(self, name, **options):
        self.asked.append((name, options))

        def kernel():
            self.compiled.append(name)
            if name in self._python:
                return SimpleNamespace()
            made = object.__new__(NativeKernel)
            made.single_address = 4096 + 16 * QUANTITIES.index(name)
            return made

        return SimpleNamespace(kernel=kernel)


def law(**values):
    return TaskImpedanceParameters(**values)


def address(pointer):
    return int(ffi().cast("intptr_t", pointer))


GIVEN = {
    "cartesian_axes": "frame",
    "cartesian_stiffness": (1.0, 2.0, 3.0, 4.0, 5.0, 6.0),
    "cartesian_damping": (7.0, -1.0, 8.0, 9.0, 10.0, 11.0),
    "cartesian_error_clip": (0.12, 0.34),
    "operational_space": True,
    "nullspace_stiffness": (13.0, 14.0),
    "nullspace_damping": 15.0,
    "nullspace_max_effort": 16.0,
    "nullspace_projector": "none",
    "operational_space_regularization": 0.17,
    "nullspace_regularization": 0.18,
    "limit_repulsion_range": 0.19,
    "limit_repulsion_effort": 20.0,
}


def test_the_core_gets_every_parameter_and_the_kernels_of_the_tip(chain):
    links = Links()
    task = law(**GIVEN).task(chain, links)
    value = task.value
    assert list(value.stiffness) == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert list(value.damping) == [7.0, -1.0, 8.0, 9.0, 10.0, 11.0]
    assert list(value.error_clip) == [0.12] * 3 + [0.34] * 3
    assert array_at(value.posture_stiffness, 2).tolist() == [13.0, 14.0]
    assert (value.posture_damping, value.posture_effort) == (15.0, 16.0)
    assert list(value.regularization) == [0.17, 0.18]
    assert (value.limit_range, value.limit_effort) == (0.19, 20.0)
    assert (value.axes, value.projector, value.decoupled) == (1, 2, 1)
    assert [
        address(pointer) for pointer in (value.pose, value.jacobian, value.jacobian_rate, value.mass_matrix)
    ] == [4096, 4112, 4128, 4144]
    root = {"axes": "root"}
    assert dict(links.asked) == dict(zip(QUANTITIES, ({}, root, root, {}), strict=True))
    assert len(task.kept[1]) == 4 and all(isinstance(kernel, NativeKernel) for kernel in task.kept[1])


@pytest.mark.parametrize(("name", "number"), [("dynamic", 0), ("kinematic", 1), ("none", 2)])
def test_axes_and_projectors_have_the_core_s_numbers(chain, name, number):
    value = law(nullspace_projector=name).task(chain, Links()).value
    assert (value.axes, value.projector, value.decoupled) == (0, number, 0)


def test_a_frame_of_its_own_is_evaluated_in_all_quantities_but_the_mass(chain):
    links = Links()
    law(cartesian_frame="boom").task(chain, links)
    frame = {"frame": "boom"}
    expected = (frame, {**frame, "axes": "root"}, {**frame, "axes": "root"}, {})
    assert dict(links.asked) == dict(zip(QUANTITIES, expected, strict=True))
    with pytest.raises(ParameterError, match="no frame 'thumb'; choose from"):
        law(cartesian_frame="thumb").task(chain, Links())


def test_a_guided_frame_is_held_along_some_axes_and_free_otherwise(chain):
    held = np.array([True, False, True, False, False, True])
    value = law(**GIVEN).task(chain, Links(), held).value
    assert list(value.stiffness) == [1.0, 0.0, 3.0, 0.0, 0.0, 6.0]
    assert list(value.damping) == [7.0, 0.0, 8.0, 0.0, 0.0, 11.0]
    assert list(value.error_clip) == [0.12] * 3 + [0.34] * 3
    assert (value.posture_effort, value.projector, value.decoupled) == (0.0, 2, 0)


def test_a_law_needs_a_compiled_model_of_one_tip_without_friction(chain):
    needed = "mode 'cartesian_impedance' needs compiled dynamics without friction in them"
    rough = Links()
    rough.friction = True
    for links in (SimpleNamespace(friction=False), rough):
        with pytest.raises(ParameterError) as told:
            law().task(chain, links)
        assert str(told.value) == needed
    with pytest.raises(ParameterError) as told:
        law().task(rd.load_urdf(TWO_ARMS, tips="all"), Links())
    assert str(told.value) == (
        "mode 'cartesian_impedance' moves one frame, and this robot has the tips left_hand, right_hand: load"
        " one of its arms, or choose 'joint_impedance'"
    )
    for name in QUANTITIES:
        with pytest.raises(ParameterError) as told:
            law().task(chain, Links(python={name}))
        assert str(told.value) == f"mode 'cartesian_impedance' needs a C compiler: {name} is not compiled"
    with pytest.raises(ParameterError, match="'nullspace_stiffness' has 3 values; give 1, or 2 in the order"):
        law(nullspace_stiffness=(1.0, 2.0, 3.0)).task(chain, Links())


def test_what_the_law_calls_is_compiled_ahead(chain):
    links = Links()
    law(cartesian_frame="boom").prepare(links)
    assert sorted(links.compiled) == sorted(QUANTITIES)
    assert dict(links.asked)["jacobian"] == {"frame": "boom", "axes": "root"}
    law().prepare(SimpleNamespace())  # other models have nothing to compile


def test_a_change_of_any_gain_is_another_law():
    """The frame is fixed, and the time of a wrench belongs to no law."""
    whole = law(**GIVEN).task_law
    for name, value in GIVEN.items():
        other = dataclasses.replace(law(**GIVEN), **{name: getattr(law(), name)})
        assert other.task_law != whole, name
        assert value != getattr(law(), name)
    assert law(**GIVEN, wrench_timeout=3.0, cartesian_frame="boom").task_law == whole
    hash(whole)


BOUNDS = {
    "cartesian_frame": ("", None),
    "cartesian_axes": ("root", None),
    "cartesian_stiffness": ((500.0, 30.0), 0.0),
    "cartesian_damping": ((-1.0, -1.0), -1.0),
    "cartesian_error_clip": ((0.1, 0.5), 1e-6),
    "operational_space": (False, None),
    "nullspace_stiffness": ((5.0,), 0.0),
    "nullspace_damping": (-1.0, -1.0),
    "nullspace_max_effort": (5.0, 0.0),
    "nullspace_projector": ("dynamic", None),
    "operational_space_regularization": (0.0, 0.0),
    "nullspace_regularization": (0.0, 0.0),
    "limit_repulsion_range": (0.0, 0.0),
    "limit_repulsion_effort": (5.0, 0.0),
    "wrench_timeout": (0.5, 0.02),
}


def test_parameters_have_their_defaults_and_bounds():
    assert {one.name: (one.default, one.minimum) for one in describe(TaskImpedanceParameters)} == BOUNDS
    described = {one.name: one for one in describe(TaskImpedanceParameters)}
    assert [one.name for one in described.values() if one.read_only] == ["cartesian_frame"]
    assert described["cartesian_axes"].choices == ("root", "frame")
    assert described["nullspace_projector"].choices == ("dynamic", "kinematic", "none")
    assert described["nullspace_projector"].text.startswith(
        "Quantity that the effort towards the posture does not change in the mode cartesian_impedance:"
        " dynamic: "
    )
    assert described["nullspace_projector"].text.count("; ") == 2


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (
            {"cartesian_damping": (-0.25, 3.0)},
            "parameter 'cartesian_damping' is -0.25; it must not be negative, or -1: critical",
        ),
        (
            {"cartesian_damping": (3.0, -1e-9)},
            "parameter 'cartesian_damping' is -1e-09; it must not be negative, or -1: critical",
        ),
        (
            {"nullspace_damping": -0.5},
            "parameter 'nullspace_damping' is -0.5; it must not be negative, or -1: critical",
        ),
        (
            {"nullspace_stiffness": ()},
            "parameter 'nullspace_stiffness' is empty; give one value, or one per joint",
        ),
        (
            {"operational_space": True, "nullspace_projector": "kinematic"},
            "parameter 'nullspace_projector' is 'kinematic', which moves the frame where operational_space"
            " decouples it: choose 'dynamic'",
        ),
        (
            {"cartesian_error_clip": (1.0, 2.0, 3.0)},
            "parameter 'cartesian_error_clip' has 3 values; give 2 (linear, angular) or 6 (x, y, z of each)",
        ),
    ],
)
def test_values_that_make_no_law_are_refused(values, words):
    with pytest.raises(ParameterError) as told:
        law(**values)
    assert str(told.value) == words


def test_values_on_their_bounds_are_accepted():
    assert law(cartesian_damping=(-1.0, 0.0), nullspace_damping=0.0).nullspace_damping == 0.0
    assert law(cartesian_damping=(0.5, 2.0), nullspace_damping=-1).nullspace_damping == -1.0
    assert law(operational_space=True, nullspace_projector="none").operational_space
    assert law(operational_space=True).nullspace_projector == "dynamic"
    assert not law(nullspace_projector="kinematic").operational_space
