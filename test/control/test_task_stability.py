"""Cartesian impedance: the period of the states that it stands, by closed forms and general eigenvalues."""

import math

import numpy as np
import pytest
import scipy.linalg
from sprung import Sprung, halton

from robot_dynamics.control.arm.task_impedance import AXES, PROJECTORS, TaskImpedanceParameters, six
from robot_dynamics.control.core.library import doubles, ffi
from robot_dynamics.errors import ParameterError

RANDOM = np.random.default_rng(8)
ROTATION = scipy.linalg.qr(RANDOM.normal(size=(6, 6)))[0]
CRITICAL = np.full(6, -1.0)


# Oracles


def damping_matrix(stiffness, damping, mobility):
    """(6, 6) damping of springs: given, and critical with the mobility (6, 6) where it is negative."""
    root = np.sqrt(np.where(damping < 0.0, stiffness, 0.0))
    values, axes = np.linalg.eigh(root[:, None] * mobility * root)
    floor = 1e-12 * values.max()
    scaled = axes * (2.0 / np.sqrt(np.maximum(values, floor)) if floor > 0.0 else np.zeros(6)) @ axes.T
    return np.asarray(np.diag(np.maximum(damping, 0.0)) + root[:, None] * scaled * root)


def limited_inverse(mobility, regularization, squares=False):
    """(6, 6) inverse, of directions that can hardly be moved as task_impedance.c limits or regularizes it.

    Args:
        mobility: (6, 6) symmetric.
        regularization: 0: limited.
        squares: whether its eigenvalues are squares of what is regularized.
    """
    scale = np.array([1.0, 1.0, 1.0, 0.1, 0.1, 0.1]) if regularization == 0.0 else np.ones(6)
    values, axes = np.linalg.eigh(scale[:, None] * mobility * scale)
    if regularization == 0.0:
        least = 0.03 * max(values[2], 1e-6 * values[-1])
        inverses = 1.0 / np.maximum(values, least) if least > 0.0 else np.zeros(6)
    else:
        values = np.maximum(values, 0.0)
        added = regularization**2
        inverses = 1.0 / (values + added) if squares else values / (values**2 + added)
    return np.asarray(scale[:, None] * (axes * inverses @ axes.T) * scale)


def spread(values, scale=(1.0,) * 6, axes=ROTATION):
    """(6, 6) symmetric with eigenvalues, in units of a scale."""
    return axes * values @ axes.T / np.outer(scale, scale)


def test_the_damping_of_springs_is_critical_with_the_mobility_where_none_is_given():
    """2 K^½ (K^½ W K^½)^-½ K^½ by general square roots of matrices."""
    mobility = spread([0.3, 0.5, 0.9, 2.0, 5.0, 11.0])
    stiffness = np.array([600.0, 300.0, 900.0, 30.0, 20.0, 0.5])
    root = np.diag(np.sqrt(stiffness))
    critical = 2.0 * root @ np.linalg.inv(scipy.linalg.sqrtm(root @ mobility @ root)) @ root
    np.testing.assert_allclose(damping_matrix(stiffness, CRITICAL, mobility), critical, rtol=1e-9, atol=1e-9)
    given = np.array([4.0, -1.0, 0.0, 0.7, -1.0, 0.3])
    free = np.where(given < 0.0)[0]
    part = root[np.ix_(free, free)]
    inner = scipy.linalg.sqrtm(part @ mobility[np.ix_(free, free)] @ part)
    expected = np.diag(np.maximum(given, 0.0))
    expected[np.ix_(free, free)] += 2.0 * part @ np.linalg.inv(inner) @ part
    # Directions without springs count as hardly any: 1e-12 of the largest eigenvalue.
    np.testing.assert_allclose(damping_matrix(stiffness, given, mobility), expected, rtol=1e-6, atol=1e-6)


def test_a_direction_that_cannot_be_moved_is_damped_as_one_that_hardly_can():
    values = np.array([0.0, 1e-14, 0.5, 2.0, 4.0, 9.0])
    found = damping_matrix(np.full(6, 1.0), CRITICAL, spread(values))
    np.testing.assert_allclose(
        np.linalg.eigvalsh(found), np.sort(2.0 / np.sqrt(np.maximum(values, 9e-12))), rtol=1e-3
    )
    for stiffness in (np.zeros(6), np.full(6, 70.0)):
        for damping in (np.arange(1.0, 7.0), np.zeros(6)):
            np.testing.assert_array_equal(
                damping_matrix(stiffness, damping, spread(values)), np.diag(damping)
            )
    assert not damping_matrix(np.zeros(6), CRITICAL, spread(values)).any()


@pytest.mark.parametrize(
    ("values", "least"),
    [
        ((0.3, 0.5, 0.9, 2.0, 5.0, 11.0), 0.0),
        ((1e-4, 0.5, 2.0, 3.0, 5.0, 9.0), 0.06),
        ((0.0, 0.0, 1e-9, 1.0, 2.0, 5.0), 1.5e-7),
        ((1e-3, 0.01, 0.04, 0.1, 20.0, 50.0), 0.0012),
    ],
)
def test_mobilities_below_three_hundredths_of_the_third_are_limited(values, least):
    """Angular directions count with a lever of 0.1 m, and the third with a millionth of the largest."""
    scale = np.array([1.0, 1.0, 1.0, 0.1, 0.1, 0.1])
    found = limited_inverse(spread(values, scale), 0.0)
    expected = spread(1.0 / np.maximum(values, least), 1.0 / scale)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())
    assert not limited_inverse(np.zeros((6, 6)), 0.0).any()


@pytest.mark.parametrize("e", [0.3, 2.0])
def test_a_regularized_inverse_has_x_plus_e_squared_over_x_for_its_singular_values(e):
    values = np.array([1e-3, 0.5, 0.9, 2.0, 5.0, 11.0])
    found = limited_inverse(spread(values), e)
    np.testing.assert_allclose(found, spread(1.0 / (values + e**2 / values)), rtol=1e-9, atol=1e-9)
    squares = limited_inverse(spread(values**2), e, squares=True)
    np.testing.assert_allclose(squares, spread(1.0 / (values**2 + e**2)), rtol=1e-7, atol=1e-7)
    none = limited_inverse(spread(np.array([-1e-3, 0.5, 0.9, 2.0, 5.0, 11.0])), e)
    np.testing.assert_allclose(none @ ROTATION[:, 0], np.zeros(6), atol=1e-12)


def test_two_values_are_one_for_each_kind_of_direction():
    assert six("x", (3.0, 4.0)) == (3.0, 3.0, 3.0, 4.0, 4.0, 4.0)
    assert six("x", (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)) == (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    for count in (0, 1, 3, 5, 7):
        with pytest.raises(ParameterError) as told:
            six("cartesian_damping", (1.0,) * count)
        assert str(told.value) == (
            f"parameter 'cartesian_damping' has {count} values; give 2 (linear, angular) or 6 (x, y, z of"
            " each)"
        )


class Arm:
    """An arm of made-up matrices: its inverse dynamics, and the Jacobian of its links."""

    def __init__(self, mass, jacobian, swing=0.0):
        self.dof = len(mass)
        self._mass, self._rows, self._swing = np.asarray(mass), np.asarray(jacobian), swing
        self.joint_names = tuple(f"joint{k}" for k in range(self.dof))

    def mass(self, q):
        return self._mass + self._swing * np.diag(1.0 + np.sin(q))

    def jacobian(self, q):
        return self._rows + self._swing * 0.3 * np.outer(np.cos(np.arange(6)), np.sin(q))

    @property
    def bounds(self):
        return np.array([[-1.0] * self.dof, 0.5 + np.arange(self.dof)])

    def poses(self):
        lower, upper = self.bounds
        return [(q, self.mass(q)) for q in lower + halton(self.dof) * (upper - lower)]

    def sprung(self, given, delay=0.0005, **other):
        """Its settings with the springs of these parameters."""
        task = ffi().new("rd_task *")
        for name in ("stiffness", "damping", "error_clip"):
            setattr(task, name, list(six(name, getattr(given, f"cartesian_{name}"))))
        self.posture = doubles(np.array(np.broadcast_to(given.nullspace_stiffness, self.dof)))
        task.posture_stiffness = self.posture
        task.posture_damping, task.posture_effort = given.nullspace_damping, given.nullspace_max_effort
        task.regularization = [given.operational_space_regularization, given.nullspace_regularization]
        task.limit_range, task.limit_effort = given.limit_repulsion_range, given.limit_repulsion_effort
        task.axes = AXES.index(given.cartesian_axes)
        task.projector = [*PROJECTORS].index(given.nullspace_projector)
        task.decoupled = given.operational_space
        return Sprung(self.bounds, self.mass, {}, task, self.jacobian, delay=delay, **other)


def redundant():
    random = np.random.default_rng(2)
    shape = random.normal(size=(7, 7))
    return Arm(shape @ shape.T / 7.0 + 0.4 * np.eye(7), random.normal(size=(6, 7)), 0.5)


def law(**values):
    return TaskImpedanceParameters(**values)


STIFF = (600.0, 300.0, 900.0, 30.0, 20.0, 10.0)
POSTURE = (4.0, 5.0, 6.0, 7.0, 80.0, 9.0, 10.0)
LAWS = {
    "dynamic": {"nullspace_projector": "dynamic"},
    "kinematic": {"nullspace_projector": "kinematic", "nullspace_damping": 3.0},
    "none": {
        "nullspace_projector": "none",
        "nullspace_max_effort": 0.5,
        "cartesian_damping": (40.0, 50.0, -1.0, 3.0, -1.0, 2.0),
    },
    "decoupled": {"operational_space": True, "cartesian_damping": (40.0, 0.0, -1.0, 0.6, -1.0, 2.0)},
    "decoupled and free": {
        "operational_space": True,
        "nullspace_projector": "none",
        "nullspace_damping": 0.0,
    },
    "decoupled and hardly damped": {
        "operational_space": True,
        "nullspace_projector": "none",
        "nullspace_damping": 0.0,
        "cartesian_damping": (0.5, 0.3, 0.0, 0.4, 0.2, 0.1),
    },
    "regularized": {"operational_space": True, "operational_space_regularization": 0.7},
    "kinematic and regularized": {"nullspace_projector": "kinematic", "nullspace_regularization": 1.5},
}


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("posture", [(0.0,), POSTURE])
def test_gains_are_the_largest_eigenvalues_over_the_poses(name, posture):
    """M⁻¹ K and M⁻¹ D by general inverses, where no pose is near a singular one."""
    arm = redundant()
    given = law(cartesian_stiffness=STIFF, nullspace_stiffness=posture, **LAWS[name])
    k, d = np.array(STIFF), np.array(six("d", given.cartesian_damping))
    kp = kv = 0.0
    e, f = given.operational_space_regularization, given.nullspace_regularization
    for q, mass in arm.poses():
        jacobian = arm.jacobian(q)
        mobility = jacobian @ np.linalg.inv(mass) @ jacobian.T
        if e == 0.0:
            scaled = np.diag([1, 1, 1, 0.1, 0.1, 0.1])
            values = np.linalg.eigvalsh(scaled @ mobility @ scaled)
            inertia = (
                np.linalg.inv(mobility) if values[0] > 0.03 * values[2] else limited_inverse(mobility, 0.0)
            )
        else:
            inertia = mobility @ np.linalg.inv(mobility @ mobility + e**2 * np.eye(6))
        if given.operational_space:
            spring, damper = inertia @ np.diag(k), inertia @ np.diag(np.where(d < 0.0, 2.0 * np.sqrt(k), d))
        else:
            spring, damper = np.diag(k), damping_matrix(k, d, mobility)
        free = np.eye(7)
        if given.nullspace_projector == "dynamic":
            free = free - jacobian.T @ inertia @ jacobian @ np.linalg.inv(mass)
        elif given.nullspace_projector == "kinematic" and f:
            free = free - jacobian.T @ np.linalg.inv(jacobian @ jacobian.T + f**2 * np.eye(6)) @ jacobian
        elif given.nullspace_projector == "kinematic":
            squares = limited_inverse(jacobian @ jacobian.T, 0.0, squares=True)
            free = free - jacobian.T @ squares @ jacobian
        own = np.broadcast_to(posture, 7)
        damped = given.nullspace_damping
        dampers = 2.0 * np.sqrt(own * np.diag(mass)) if damped < 0.0 else np.full(7, damped)
        kp = max(
            kp, *np.linalg.eigvals(np.linalg.inv(mass) @ (jacobian.T @ spring @ jacobian + free * own)).real
        )
        kv = max(
            kv,
            *np.linalg.eigvals(np.linalg.inv(mass) @ (jacobian.T @ damper @ jacobian + free * dampers)).real,
        )
    ratio = max((x / y for x, y in zip(k, d, strict=True) if y > 0.0), default=0.0)
    found = arm.sprung(given).gains()
    expected = np.outer((kp, min(kv, kp / ratio) if ratio > kv else kv), np.ones(7))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


LINEAR, ANGULAR = 2.0, 0.05
LATENCY = 1.3 * (0.5 * 0.002 + 0.0005)


def plain():
    """Every joint moves one direction of the frame by itself."""
    return Arm(np.diag([LINEAR] * 3 + [ANGULAR] * 3), np.eye(6))


def refusal(**values):
    free = {"nullspace_projector": "none", "nullspace_stiffness": (0.0,)}
    arm = plain()
    return arm.sprung(law(**free | values)).refusal(0.002)


def rounded(value):
    digits = 10.0 ** (math.floor(math.log10(value)) - 1)
    return f"{math.floor(value / digits * (1.0 + 1e-12)) * digits:g}"


def test_stiffness_with_critical_damping_stands_a_quarter_of_the_latency_s_square():
    """2 sqrt(k / m) times the latency is one at most: k = m / (4 latency²)."""
    most = [mass / (4.0 * LATENCY**2) for mass in (LINEAR, ANGULAR)]
    assert refusal(cartesian_stiffness=(0.999 * most[0], 0.999 * most[1])) == ""
    for stiff in ((1.01 * most[0], 30.0), (500.0, 1.01 * most[1]), (1e6, 1e6)):
        allowed = [rounded(min(k, at)) for k, at in zip(stiff, most, strict=True)]
        assert refusal(cartesian_stiffness=stiff) == (
            f"parameter 'cartesian_stiffness' is {stiff[0]:g}, {stiff[1]:g}: with a state every 2 ms at most"
            f" {allowed[0]}, {allowed[1]} is stable"
        )
    six_of = (1e6, 0.7, 0.3, 1e5, 40.0, 1e4)
    # Directions of one kind give way together.
    shares = [most[0] / 1e6] * 3 + [most[1] / 1e5] * 3
    allowed = ", ".join(rounded(k * share) for k, share in zip(six_of, shares, strict=True))
    assert refusal(cartesian_stiffness=six_of) == (
        "parameter 'cartesian_stiffness' is 1e+06, 0.7, 0.3, 100000, 40, 10000: with a state every 2 ms at"
        f" most {allowed} is stable"
    )


def test_damping_that_is_given_stands_the_latency_and_stiffness_needs_enough_of_it():
    """d latency / m is one at most; k / d times the latency too."""
    most = [mass / LATENCY for mass in (LINEAR, ANGULAR)]
    stiff = {"cartesian_stiffness": (500.0, 10.0)}
    assert refusal(**stiff, cartesian_damping=(0.999 * most[0], 0.999 * most[1])) == ""
    for damping in ((1.01 * most[0], 20.0), (900.0, 1.01 * most[1])):
        allowed = [rounded(min(d, at)) for d, at in zip(damping, most, strict=True)]
        assert refusal(**stiff, cartesian_damping=damping) == (
            f"parameter 'cartesian_damping' is {damping[0]:g}, {damping[1]:g}: with a state every 2 ms at"
            f" most {allowed[0]}, {allowed[1]} is stable"
        )
    weak = (1.0, 0.02)
    limits = [d / LATENCY for d in weak]
    assert refusal(cartesian_damping=weak, cartesian_stiffness=[0.999 * x for x in limits]) == ""
    found = refusal(cartesian_damping=weak, cartesian_stiffness=(2.0 * limits[0], 0.5 * limits[1]))
    assert found.endswith(f"at most {rounded(limits[0])}, {rounded(0.5 * limits[1])} is stable")
    assert refusal(cartesian_damping=(0.0, 0.0), cartesian_stiffness=(500.0, 10.0)) == (
        "parameter 'cartesian_stiffness' is 500, 10: no stiffness is stable without damping; a damping of -1"
        " is critical"
    )


def test_both_kinds_of_springs_together_are_looked_at_too():
    """Two kinds of directions that move the same joints, each of which is stable by itself."""
    arm = Arm(np.eye(6) * 0.5, np.vstack([np.eye(6)[:3], 1.0 * np.eye(6)[:3]]))
    most = 0.5 / (4.0 * LATENCY**2)
    half = {"nullspace_projector": "none", "nullspace_stiffness": (0.0,)}
    alone = law(cartesian_stiffness=(0.9 * most, 0.0), **half)
    assert arm.sprung(alone, 0.0005).refusal(0.002) == ""
    unlike = law(cartesian_stiffness=(0.7 * most, 0.6 * most), **half)
    # Together they are one spring of 1.3 times what is stable.
    allowed = ", ".join(rounded(share / 1.3 * most) for share in (0.7, 0.6))
    assert arm.sprung(unlike, 0.0005).refusal(0.002).endswith(f" at most {allowed} is stable")
    both = law(cartesian_stiffness=(0.9 * most, 0.9 * most), cartesian_damping=(900.0, 300.0), **half)
    dampings = arm.sprung(both, 0.0005).refusal(0.002)
    assert dampings.startswith("parameter 'cartesian_damping' is 900, 300")
    # With less damping the stiffness, which stands as given, would be too large: the next refusal.
    strong = 0.9 * 0.5 / LATENCY
    heavy = law(cartesian_stiffness=(3.0 * most, 3.0 * most), cartesian_damping=(strong, strong), **half)
    assert arm.sprung(heavy, 0.0005).refusal(0.002).startswith("parameter 'cartesian_damping' is ")


def test_the_spring_at_a_position_limit_is_as_fast_as_the_lightest_joint():
    most = 0.2 * ANGULAR / (4.0 * LATENCY**2)
    soft = {"cartesian_stiffness": (1.0, 0.1), "limit_repulsion_range": 0.2}
    assert refusal(**soft, limit_repulsion_effort=0.999 * most) == ""
    assert refusal(**soft, limit_repulsion_effort=0.0) == ""
    for factor in (1.001, 30.0):
        assert refusal(**soft, limit_repulsion_effort=factor * most) == (
            f"parameter 'limit_repulsion_effort' is {factor * most:g}: with a state every 2 ms at most"
            f" {rounded(most)} is stable"
        )
    assert refusal(**soft | {"limit_repulsion_range": 0.0}, limit_repulsion_effort=1e6) == ""


def test_slow_states_stand_a_weak_spring_at_a_limit():
    """A state each second: 0.15/s² at most, where the springs of the frame have less."""
    arm, latency = plain(), 1.3 * (0.5 * 1.0 + 0.5)
    most = 0.2 * ANGULAR / (4.0 * latency**2)
    weak = {"cartesian_stiffness": (0.01, 0.001), "nullspace_stiffness": (0.0,)}
    for factor in (0.99, 1.5):
        given = law(**weak, limit_repulsion_range=0.2, limit_repulsion_effort=factor * most)
        reason = arm.sprung(given, 0.5).refusal(1.0)
        assert reason.startswith("parameter 'limit_repulsion_effort'") == (factor > 1.0) == bool(reason)


def test_the_posture_is_judged_with_the_springs_of_the_frame():
    most = ANGULAR / (4.0 * LATENCY**2)
    soft = {"cartesian_stiffness": (1e-3, 1e-3), "nullspace_projector": "none"}
    posture = (1.0, 2.0, 3.0, 4.0, 5.0, 0.9 * most)
    assert refusal(**soft, nullspace_stiffness=posture) == ""
    posture = (*posture[:5], 2.0 * most)
    found = refusal(**soft, nullspace_stiffness=posture)
    begin, _, end = found.partition(": with a state every 2 ms at most ")
    assert begin == "parameter 'nullspace_stiffness' is 1, 2, 3, 4, 5, " + f"{2.0 * most:g}"
    stable = [float(word) for word in end.removesuffix(" is stable").split(", ")]
    np.testing.assert_allclose(stable, [0.5, 1.0, 1.5, 2.0, 2.5, most], rtol=0.1)
    assert stable[0] <= 0.5 and stable[5] <= most
    damped = {"nullspace_stiffness": (0.4,), "cartesian_damping": (0.01, 0.001), **soft}
    allowed = ANGULAR / LATENCY
    assert refusal(**damped, nullspace_damping=0.9 * allowed) == ""
    assert refusal(**damped, nullspace_damping=3.0 * allowed) == (
        f"parameter 'nullspace_damping' is {3.0 * allowed:g}: with a state every 2 ms at most"
        f" {stable_damping(allowed)} is stable"
    )


def test_little_damping_of_the_posture_is_at_fault_where_states_are_slow():
    arm, latency = plain(), 1.3 * 0.5 * 0.2
    soft = {"cartesian_stiffness": (1e-5, 1e-5), "cartesian_damping": (0.01, 0.001)}
    given = law(**soft, nullspace_projector="none", nullspace_stiffness=(0.01,), nullspace_damping=0.5)
    assert arm.sprung(given, 0.0).refusal(0.2) == (
        "parameter 'nullspace_damping' is 0.5: with a state every 200 ms at most"
        f" {stable_damping(ANGULAR / latency)} is stable"
    )


def stable_damping(allowed):
    """The frame's own damping is a thousandth of it."""
    return rounded(allowed * (1.0 - 1e-3 * 0.001 / allowed))


def test_a_frame_without_effort_for_its_posture_is_judged_alone():
    most = ANGULAR / (4.0 * LATENCY**2)
    stiff = {"cartesian_stiffness": (1e-3, 1e-3), "nullspace_stiffness": (30.0 * most,)}
    assert refusal(**stiff).startswith("parameter 'nullspace_stiffness' is ")
    assert refusal(**stiff, nullspace_max_effort=0.0) == ""


def test_a_guided_frame_is_judged_by_the_springs_that_hold_it():
    """Filters of the impedances do not count there."""
    most = LINEAR / (4.0 * LATENCY**2)
    free = {"nullspace_projector": "none", "nullspace_max_effort": 0.0}
    for x, accepted in ((0.9, True), (1.1, False)):
        given = law(
            cartesian_stiffness=(x * most, 0, 0, 0, 0, 0), cartesian_damping=(-1, 0, 0, 0, 0, 0), **free
        )
        arm = plain().sprung(given, mode="hand_guiding")
        arm.settings.smoothing = [0.05, 0.05, 0.05]
        text = "guide_axes holds the frame in some directions: parameter 'cartesian_stiffness' is "
        assert arm.refusal(0.002).startswith(text) != accepted
    given = law(cartesian_stiffness=(0, 9e5, 9e5, 9e5, 9e5, 9e5), cartesian_damping=(0, *[-1] * 5), **free)
    found = plain().sprung(given, mode="hand_guiding").refusal(0.002)
    allowed = [rounded(mass / (4.0 * LATENCY**2)) for mass in (LINEAR, ANGULAR)]
    assert found == (
        f"{text}900000, 900000: with a state every 2 ms at most {allowed[0]}, {allowed[1]} is stable"
    )
    given = law(cartesian_stiffness=(0, 9e5, 8e5, 9e5, 9e5, 9e5), cartesian_damping=(0, *[-1] * 5), **free)
    found = plain().sprung(given, mode="hand_guiding").refusal(0.002)
    assert found.startswith(f"{text}900000, 800000, 900000, 900000, 900000: ")  # the directions held
    assert (
        plain()
        .sprung(given)
        .refusal(0.002)
        .startswith("parameter 'cartesian_stiffness' is 0, 900000, 800000, 900000, 900000, 900000: ")
    )
