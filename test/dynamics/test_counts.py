"""Counts of the papers, as literal numbers, and what running the formulations gives beside them."""

import json
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
import random_robots

from robot_dynamics import compile_dynamics, load_urdf
from robot_dynamics.cli.main import main
from robot_dynamics.dynamics.formulations import FORMULATIONS, modified_newton_euler
from robot_dynamics.dynamics.quantities import QUANTITIES
from robot_dynamics.dynamics.scalar import cross
from robot_dynamics.dynamics.serial_model import SerialModel
from robot_dynamics.papers.count_report.generated import counts_document, counts_table, quantity_counts
from robot_dynamics.papers.count_report.report import comparisons
from robot_dynamics.papers.counts.general_arm import general_arm
from robot_dynamics.papers.counts.measure import (
    concurrent_formula,
    count_robot,
    feedback_formula,
    general_formulas,
    total,
)
from robot_dynamics.papers.counts.polynomial import Polynomial
from robot_dynamics.papers.counts.scalars import OperationCounter, Tally, concurrent_steps
from robot_dynamics.papers.renaud.arm import renaud_arm
from robot_dynamics.resources import resource


@cache
def tables():
    return {table.key: table for table in comparisons(tuple(FORMULATIONS))}


def row(table, label):
    return next(row for row in tables()[table].rows if row.label == label)


def at_six(formula):
    tally = formula.at(6)
    return tally.multiplications, tally.additions


def test_a_scalar_counts_by_the_stated_convention():
    counter = OperationCounter(general=True)
    x, y = counter.variables(2)
    a, b = counter.parameters([0.0, 3.0])
    assert counter.parameters([0.0], structural_zeros=True)[0] == 0.0
    counter.step("free", 1)
    _ = (a + b) * b, -x, x + 0.0, 0.0 * x, x * 1.0, x * -1.0, counter.sin(x), counter.cos(a * b)
    assert counter.total() == Tally(0, 0)
    counter.step("counted", 1)
    _ = a * x, x - y, 2.0 * x, cross(counter.variables(3), counter.variables(3))
    assert counter.by_step()["counted"] == Tally(8, 4)


def test_this_robots_zeros_and_ones_cost_nothing():
    counter = OperationCounter(general=False)
    x = counter.variables(3)
    zero, one, two = counter.parameters([0.0, 1.0, 2.0])
    _ = zero * x[0] + one * x[1] + two * x[2]
    assert counter.total() == Tally(1, 1)


def test_matrix_products_count_in_full():
    counter = OperationCounter(general=True)
    matrices = counter.variables(32).reshape(2, 4, 4)
    _ = matrices[0] @ matrices[1]
    assert counter.total() == Tally(64, 48)


def test_concurrent_tasks_take_as_long_as_the_longest_chain():
    tasks = {("a", 1): Tally(3, 1), ("b", 1): Tally(2, 5), ("c", 1): Tally(4, 0), ("d", 1): Tally(9, 0)}
    schedule = concurrent_steps(tasks, {("c", 1): {("a", 1), ("b", 1)}})
    assert (schedule.multiplications, schedule.additions) == (9, 5)


@pytest.mark.parametrize(
    ("table", "label", "printed"),
    [
        ("turney-1", "Lagrange", (5916, 4840)),
        ("turney-1", "Newton-Euler", (636, 591)),
        ("turney-1", "Modified Newton-Euler", (513, 504)),
        ("turney-2", "Total", (5916, 4840)),
        ("turney-3", "Total", (636, 591)),
        ("turney-4", "Total", (513, 504)),
        ("turney-5", "Total", (204, 203)),
        ("lee-1", "Total", (102740, 78479)),
        ("lee-2", "Total", (690, 621)),
        ("renaud", "Total", (181, 127)),
        ("renaud", "with y^5 - z^6 as one parameter", (164, 115)),
    ],
)
def test_printed_totals_at_six_links(table, label, printed):
    assert at_six(row(table, label).printed) == printed


@pytest.mark.parametrize(
    ("table", "label", "operations"),
    [
        ("turney-2", "T_j^i", (960, 720)),
        ("turney-2", "[d2T_0^i/dq_j dq_k]", (2240, 1680)),
        ("turney-2", "Tr{[.] dT_0^q/dq_i}", (336, 330)),
        ("turney-3", "a_i", (108, 90)),
        ("turney-3", "omega_i x (I_i omega_i)", (90, 54)),
        ("turney-4", "m_i abar_i", (72, 54)),
        ("turney-4", "Tr{A_i K_i (sigma)^t}", (36, 18)),
        ("lee-1", "-m_j g dT_0^j/dq_i rbar_j", (1128, 783)),
        ("lee-1", "Tr{dT_0^k/dq_j J_k (dT_0^k/dq_i)^t}", (14336, 10920)),
        ("lee-1", "tau = D (...) + H + G", (288, 252)),
        ("lee-2", "a_j", (162, 132)),
        ("lee-2", "abar_j", (90, 84)),
        ("lee-2", "N_j", (144, 108)),
        ("renaud", "1a, 1b: omega", (18, 12)),
        ("renaud", "3a, 3b: a", (28, 22)),
        ("renaud", "4: b", (0, 15)),
        ("renaud", "6a, 6b, 6c: alpha", (22, 12)),
        ("renaud", "7a, 7b: e", (26, 16)),
        ("renaud", "9a, 9b: n", (62, 50)),
        ("renaud", "with y^5 - z^6 as one parameter", (164, 115)),
    ],
)
def test_lines_that_are_reached_exactly(table, label, operations):
    line = row(table, label)
    assert line.reached
    assert at_six(line.measured) == operations


@pytest.mark.parametrize(
    ("table", "label", "difference"),
    [
        ("turney-2", "sum_j {[.] qdd_j + sum_k [.] qd_j qd_k} J_q", (8 * 36 + 8 * 6, 112)),
        ("turney-3", "alpha_i", (12, 0)),
        ("turney-3", "f_i", (3, 0)),
        ("turney-3", "add n", (0, -24)),
        ("turney-4", "alpha_i", (12, 0)),
        ("turney-4", "a_i", (9, 6)),
        ("turney-4", "add n", (0, -42)),
        ("lee-1", "Tr{d2T_0^m/dq_j dq_k J_m (dT_0^m/dq_i)^t}", (-70 * 256, -70 * 195)),
        ("lee-2", "f_j", (0, -3)),
        ("lee-2", "n_j", (0, -18)),
        ("renaud", "2: delta", (-2, 0)),
    ],
)
def test_lines_that_cannot_be_reached_differ_by_what_the_remark_says(table, label, difference):
    line = row(table, label)
    assert not line.reached
    assert line.remark
    printed, measured = at_six(line.printed), at_six(line.measured)
    assert (measured[0] - printed[0], measured[1] - printed[1]) == difference


def test_every_line_that_differs_is_explained():
    for table in tables().values():
        assert [line.label for line in table.rows if not line.reached and not line.remark] == []


def test_the_appendix_of_turney_contradicts_its_table():
    """Its summand 16q(q+1) + 32 adds up to more than is printed, and its 16n(n^2-1) is twice the products."""
    n = 6
    summed = sum(16 * q * (q + 1) + 32 for q in range(1, n + 1))
    assert summed == 16 * n * (n + 1) * (n + 2) // 3 + 32 * n
    assert summed != row("turney-2", "sum_j {[.] qdd_j + sum_k [.] qd_j qd_k} J_q").printed.at(n).additions
    assert sum(48 * i * (i - 1) // 2 for i in range(1, n + 1)) == 8 * n * (n * n - 1)


def test_traces_of_lee_with_and_without_the_zero_ones():
    n = 6
    kept = sum(
        1
        for i in range(1, n + 1)
        for k in range(1, n + 1)
        for j in range(1, k + 1)
        for m in range(max(i, k), n + 1)
    )
    assert kept == n * (n + 1) * (n + 2) * (3 * n + 1) // 24
    assert row("lee-1", "Tr{d2T_0^m/dq_j dq_k J_m (dT_0^m/dq_i)^t}").measured.at(n) == Tally(
        256 * kept, 195 * kept
    )


def test_totals_of_the_general_arm():
    expected = {
        "newton-euler": (672, 564),
        "newton-euler-lee": (726, 582),
        "newton-euler-nested": (744, 582),
        "modified-newton-euler": (555, 465),
        "craig": (732, 576),
        "augmented-body": (588, 522),
    }
    for name, count in expected.items():
        assert at_six(total(general_formulas(name))) == count
    assert str(concurrent_formula("modified-newton-euler").multiplications) == "27n + 23"
    assert at_six(feedback_formula()) == (12, 24)


def test_full_inertias_cost_what_the_remark_says():
    arm = general_arm(4)
    tilted = np.array([[0.0, 0.1, 0.2], [0.1, 0.0, 0.3], [0.2, 0.3, 0.0]])
    full = replace(arm, links=tuple(replace(link, inertia=link.inertia + tilted) for link in arm.links))
    counter = OperationCounter(general=True)
    modified_newton_euler(
        full, counter.variables(4), counter.variables(4), counter.variables(4), None, counter
    )
    assert counter.by_step()["Tr{A_i K_i sigma}"] == Tally(18 * 4, 15 * 4)


def test_renauds_regrouping_changes_no_torque():
    """z^6 lies on joint 6's axis, so it may belong to link 5 as -y^5."""
    arm = renaud_arm()
    fifth, sixth = arm.links[4:]
    moved = replace(fifth, first_moment=fifth.first_moment - np.array([0.0, sixth.first_moment[2], 0.0]))
    grouped = replace(arm, links=(*arm.links[:4], moved, replace(sixth, first_moment=np.zeros(3))))
    q, qd, qdd = np.random.default_rng(0).uniform(-2, 2, (3, 6))
    torques = [FORMULATIONS["augmented-body"](model, q, qd, qdd) for model in (arm, grouped)]
    np.testing.assert_allclose(torques[0], torques[1], rtol=1e-12)
    assert count_robot("augmented-body", grouped).shared == Tally(164, 115)


def test_a_robots_count_never_exceeds_the_general_arms():
    model = SerialModel.from_chain(random_robots.chain(2, n=3, kinds=[random_robots.JointKind.REVOLUTE] * 3))
    for name in FORMULATIONS:
        count, general = count_robot(name, model), total(general_formulas(name)).at(3)
        assert count.shared.multiplications <= count.as_run.multiplications
        assert count.as_run.additions <= general.additions + 60


def test_polynomials():
    assert str(Polynomial.of(Fraction(17, 6), Fraction(-1, 2), 0, 1)) == "(17/6)n^3 - (1/2)n^2 + 1"
    assert str(Polynomial.of()) == "0"
    assert Polynomial.through({n: n**3 - 2 * n for n in range(1, 7)}) == Polynomial.of(1, 0, -2, 0)
    with pytest.raises(ValueError, match="confirmed"):
        Polynomial.through({n: 2**n for n in range(1, 7)})


def test_count_command(capsys):
    assert main(["count", "--links", "4", "--formulation", "modified-newton-euler"]) == 0
    text = capsys.readouterr().out
    assert "98n - 33" in text
    assert "27n + 42" in text
    assert "Counting convention" in text
    assert main(["count", "--links", "0"]) == 1
    assert "--links" in capsys.readouterr().err


def test_count_command_for_a_robot(capsys, own_urdf):
    assert main(["count", str(own_urdf), "--format", "json", "--formulation", "augmented-body"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["links"] == 6
    shared = document["formulations"][0]["robot"]["shared"]
    assert 0 < shared["multiplications"] < 588
    assert main(["count", "--format", "csv", "--formulation", "craig"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("table,line,printed_multiplications")
    assert any(line.startswith("general arm: craig,N_i,,,24n,18n") for line in lines)


def test_every_quantity_is_counted():
    chain = load_urdf(resource("urdf/scara.urdf"))
    counts = quantity_counts(SerialModel.from_chain(chain, np.array([0.0, 0.0, -9.81])))
    dynamics = compile_dynamics(chain, backend="python", quantities=(), friction=False)
    assert list(counts) == list(QUANTITIES)
    for name in ("inverse_dynamics", "energy", "inverse_dynamics_derivatives"):
        assert counts[name] == dynamics.operation_count(name)
    lines = counts_table(counts).splitlines()
    assert len(lines) == 1 + len(QUANTITIES) and lines[1].endswith(" 1.00")
    assert counts_document(counts)["gravity"]["sines_and_cosines"] == counts["gravity"].sines_and_cosines
