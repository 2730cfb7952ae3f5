"""The operation counts that the papers print, line by line, and what became of each line when it was run.

Remarks state what the runs of `measure` and the papers' own algebra show; the tests hold every line to them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from robot_dynamics.papers.counts.measure import Formula
from robot_dynamics.papers.counts.polynomial import Polynomial

Number = int | Fraction


@dataclass(frozen=True)
class PublishedLine:
    """One line of a table.

    Attributes:
        label: as printed.
        printed: the printed formulas.
        steps: the formulation's steps that it counts.
        remark: why the measured count differs, or what else is to be known; empty when it is simply reached.
        formulation: where it is not the table's.
    """

    label: str
    printed: Formula
    steps: tuple[str, ...]
    remark: str = ""
    formulation: str = ""


@dataclass(frozen=True)
class PublishedTable:
    """One table.

    Attributes:
        key: short name.
        title: what it counts and where it is printed.
        formulation: the formulation that is run for it.
        lines: its lines.
        total: the printed total, None when there is none.
        outside: steps that the table leaves out.
        remarks: on the table as a whole.
    """

    key: str
    title: str
    formulation: str
    lines: tuple[PublishedLine, ...]
    total: Formula | None
    outside: tuple[str, ...]
    remarks: tuple[str, ...] = ()


def _formula(multiplications: Iterable[Number], additions: Iterable[Number]) -> Formula:
    return Formula(Polynomial.of(*multiplications), Polynomial.of(*additions))


_THIRD, _HALF, _SIXTH = Fraction(1, 3), Fraction(1, 2), Fraction(1, 6)

_ALPHA = (
    "R (alpha + omega x z qd + z qdd) takes 9 products for R and 2 for omega x z qd = (omega_y qd,"
    " -omega_x qd, 0): 11. The table drops the 2, and nothing else in it supplies them"
)
_LAST = (
    "f_{n+1} = n_{n+1} = 0, so the last link has nothing to multiply here; the table counts it all the same"
)

TURNEY_1 = PublishedTable(
    key="turney-1",
    title="Turney, Mudge, Lee 1980, table 1: three formulations",
    formulation="lagrange",
    lines=(
        PublishedLine(
            "Lagrange",
            _formula((Fraction(81, 6), Fraction(165, 2), 5, 0), (40 * _THIRD, 58, -64 * _THIRD, 0)),
            (),
            "differs in one line of table 2; the appendix ends with the same two totals, but calls this"
            " column"
            " additions and the other one multiplications. Its own lines agree with table 1",
            "lagrange",
        ),
        PublishedLine(
            "Newton-Euler",
            _formula((108, -12), (100, -9)),
            (),
            "see table 3, line by line",
            "newton-euler",
        ),
        PublishedLine(
            "Modified Newton-Euler",
            _formula((90, -27), (88, -24)),
            (),
            "see table 4, line by line",
            "modified-newton-euler",
        ),
    ),
    total=None,
    outside=("R_i", "tau_i", "T_{i-1}^i", "2 qd"),
)

TURNEY_2 = PublishedTable(
    key="turney-2",
    title="Turney, Mudge, Lee 1980, table 2 and appendix: Lagrange-Euler in O(n^3)",
    formulation="lagrange",
    lines=(
        PublishedLine("T_j^i", _formula((32, -32, 0), (24, -24, 0)), ("T_j^i",)),
        PublishedLine("[dT_0^i/dq_j]", _formula((32, -32, 0), (24, -24, 0)), ("dT/dq_j",)),
        PublishedLine(
            "[d2T_0^i/dq_j dq_k]",
            _formula((32 * _THIRD, 0, -32 * _THIRD, 0), (8, 0, -8, 0)),
            ("d2T/dq_j dq_k",),
            "the appendix prints 16n(n^2-1) additions for it; its own count of i(i-1)/2 products a link"
            " gives the"
            " table's 8n(n^2-1)",
        ),
        PublishedLine(
            "sum_j {[.] qdd_j + sum_k [.] qd_j qd_k} J_q",
            _formula((17 * _SIXTH, 17 * _HALF, 209 * _THIRD, 0), (16 * _THIRD, 0, 80 * _THIRD, 0)),
            ("[sum ...] J_q",),
            "multiplications: the appendix multiplies q(q-1)/2 matrices by qd_j qd_k, which leaves out the"
            " q with"
            " j = k; they cost 16q a link, 8n^2 + 8n in all, just what the run has more. Additions: the"
            " appendix's summand 16q(q+1) + 32 adds up to (16/3)n(n+1)(n+2) + 32n, but is printed as"
            " (16/3)n(n^2-1) + 32n; by the symmetry that it uses elsewhere, 8q^2 + 24q + 32 are enough, as"
            " run",
        ),
        PublishedLine("Tr{[.] dT_0^q/dq_i}", _formula((8, 8, 0), (8, 7, 0)), ("Tr{[...] dT/dq_i}",)),
        PublishedLine(
            "sum_q z_0 dT_0^q/dq_i m_q g rbar_q",
            _formula((2, 2, 0), (2, 1, 0)),
            ("gravity",),
            "holds for gravity along z_0; every further component of gravity costs as much again",
        ),
    ),
    total=_formula((Fraction(81, 6), Fraction(165, 2), 5, 0), (40 * _THIRD, 58, -64 * _THIRD, 0)),
    outside=("T_{i-1}^i", "2 qd", "tau_i"),
    remarks=(
        "not in the table: the 6 products in each T_{i-1}^i, the doubled rates of the symmetric sum (n"
        " additions)"
        " and adding the gravity term to each torque (n additions)",
    ),
)

TURNEY_3 = PublishedTable(
    key="turney-3",
    title="Turney, Mudge, Lee 1980, table 3: Newton-Euler",
    formulation="newton-euler",
    lines=(
        PublishedLine("omega_i", _formula((9, 0), (7, 0)), ("omega_i",)),
        PublishedLine("alpha_i", _formula((9, 0), (9, 0)), ("alpha_i",), _ALPHA),
        PublishedLine(
            "A_i",
            _formula((6, 0), (9, 0)),
            ("A_i",),
            "so even this table takes its accelerations from A_i; with the cross products of 3.17 and 3.18 as"
            " printed, a_i and abar_i cost 45n multiplications and 36n additions instead of 33n and 33n",
        ),
        PublishedLine("a_i", _formula((18, 0), (15, 0)), ("a_i",)),
        PublishedLine("abar_i", _formula((9, 0), (9, 0)), ("abar_i",)),
        PublishedLine(
            "f_i",
            _formula((12, -12), (9, -9)),
            ("f_i",),
            "12(n-1) leaves out the last link's m_n abar_n: 3 products that its moment and tau_n do not"
            " supply",
        ),
        PublishedLine("I_i alpha_i", _formula((9, 0), (6, 0)), ("I_i alpha_i",)),
        PublishedLine("omega_i x (I_i omega_i)", _formula((15, 0), (9, 0)), ("omega_i x (I_i omega_i)",)),
        PublishedLine("m (r_i + rbar_i) x abar_i", _formula((6, 0), (3, 0)), ("m (r_i + rbar_i) x abar_i",)),
        PublishedLine("r_i x R f_{i+1}", _formula((6, 0), (3, 0)), ("r_i x R f_{i+1}",), _LAST),
        PublishedLine("R n_{i+1}", _formula((9, 0), (6, 0)), ("R n_{i+1}",), _LAST),
        PublishedLine(
            "add n",
            _formula((0,), (15, 0)),
            ("add n",),
            "n_i is a sum of five vectors: 4 x 3 = 12 additions, not 15, and 6 at the last link",
        ),
    ),
    total=_formula((108, -12), (100, -9)),
    outside=("R_i", "tau_i"),
    remarks=(
        "not in the table: the 4 products in each R_i, and tau_i (2 multiplications, 1 addition a link)",
    ),
)

TURNEY_4 = PublishedTable(
    key="turney-4",
    title="Turney, Mudge, Lee 1980, table 4: modified Newton-Euler",
    formulation="modified-newton-euler",
    lines=(
        PublishedLine("omega_i", _formula((9, 0), (7, 0)), ("omega_i",)),
        PublishedLine("alpha_i", _formula((9, 0), (9, 0)), ("alpha_i",), _ALPHA),
        PublishedLine("A_i", _formula((6, 0), (9, 0)), ("A_i",)),
        PublishedLine(
            "a_i",
            _formula((18, -18), (15, -15)),
            ("a_i",),
            "a_n is not needed, but f_n needs R a_{n-1} (5.1), which this line computes: only the 9"
            " multiplications and 9 additions of A_n r_n + ... can be left out",
        ),
        PublishedLine("m_i abar_i", _formula((12, 0), (9, 0)), ("m_i abar_i",)),
        PublishedLine("f_i", _formula((9, -9), (9, -9)), ("f_i",)),
        PublishedLine(
            "Tr{A_i K_i (sigma)^t}",
            _formula((6, 0), (3, 0)),
            ("Tr{A_i K_i sigma}",),
            "for principal axes parallel to the link frame, as printed; full inertias take 18n and 15n",
        ),
        PublishedLine("m (r_i + rbar_i) x abar_i", _formula((6, 0), (3, 0)), ("m (r_i + rbar_i) x abar_i",)),
        PublishedLine("r_i x R f_{i+1}", _formula((6, 0), (3, 0)), ("r_i x R f_{i+1}",), _LAST),
        PublishedLine("R n_{i+1}", _formula((9, 0), (6, 0)), ("R n_{i+1}",), _LAST),
        PublishedLine(
            "add n",
            _formula((0,), (15, 0)),
            ("add n",),
            "n_i is now a sum of four vectors: 3 x 3 = 9 additions; the 15 is carried over from table 3",
        ),
    ),
    total=_formula((90, -27), (88, -24)),
    outside=("R_i", "tau_i"),
    remarks=(
        "not in the table: the 4 products in each R_i, and tau_i (2 multiplications, 1 addition a link)",
        "K_i is printed about the center of mass but said to be about origin i-1; only the former goes with"
        " m (r_i + rbar_i) x abar_i. The printed (A K)_yz - (A K)_zy has the wrong sign",
    ),
)

LEE_1 = PublishedTable(
    key="lee-1",
    title="Lee, Chung, Mudge, Turney, table 1: Lagrange-Euler term by term, with the feedback of eq. 4.1",
    formulation="lagrange-direct",
    lines=(
        PublishedLine("T_j^i", _formula((32, -32, 0), (24, -24, 0)), ("T_j^i",)),
        PublishedLine(
            "-m_j g dT_0^j/dq_i rbar_j",
            _formula((36, -28, 0), (51 * _HALF, -45 * _HALF, 0)),
            ("-m_j g dT/dq_i rbar_j",),
        ),
        PublishedLine("sum_j of the above", _formula((0,), (_HALF, -_HALF, 0)), ("sum of the above",)),
        PublishedLine(
            "Tr{dT_0^k/dq_j J_k (dT_0^k/dq_i)^t}",
            _formula((128 * _THIRD, 128, 256 * _THIRD, 0), (65 * _HALF, 195 * _HALF, 65, 0)),
            ("Tr{dT/dq_j J_k dT/dq_i}",),
            "n(n+1)(n+2)/6 traces of four full 4x4 products and 3 additions: 256 and 195 each. The trace"
            " alone"
            " needs 16 and 15 where 64 and 51 are counted",
        ),
        PublishedLine(
            "sum_k of the above", _formula((0,), (_SIXTH, 0, -_SIXTH, 0)), ("D: sum of the above",)
        ),
        PublishedLine(
            "Tr{d2T_0^m/dq_j dq_k J_m (dT_0^m/dq_i)^t}",
            _formula(
                (128 * _THIRD, 128, 256 * _THIRD, 0, 0),
                (65 * _HALF, 195 * _HALF, 65, 0, 0),
            ),
            ("Tr{d2T/dq_j dq_k J_m dT/dq_i}",),
            "the table takes n times the line for D, all j <= k <= m for every i; for m < i, dT_0^m/dq_i is"
            " zero."
            " n(n+1)(n+2)(3n+1)/24 traces of 256 and 195 operations remain, as run",
        ),
        PublishedLine(
            "sum_m of the above",
            _formula((0,), (_SIXTH, 0, -_SIXTH, 0, 0)),
            ("H: sum of the above",),
            "again n times the line for D; without the zero terms fewer sums remain",
        ),
        PublishedLine("qdd_d + K_v e' + K_p e", _formula((2, 0), (4, 0)), ("feedback",)),
        PublishedLine(
            "tau = D (...) + H + G", _formula((1, 2, 0, 0), (1, 1, 0, 0)), ("tau = D qdd + H + G",)
        ),
    ),
    total=_formula(
        (128 * _THIRD, 515 * _THIRD, 850 * _THIRD, 82 * _THIRD, 0),
        (98 * _THIRD, 787 * _SIXTH, 640 * _THIRD, 131 * _SIXTH, 0),
    ),
    outside=("T_{i-1}^i",),
    remarks=("not in the table: the 6 products in each T_{i-1}^i",),
)

LEE_2 = PublishedTable(
    key="lee-2",
    title="Lee, Chung, Mudge, Turney, table 2: Newton-Euler, with the feedback of eq. 4.4",
    formulation="newton-euler-lee",
    lines=(
        PublishedLine("omega_j", _formula((9, 0), (7, 0)), ("omega_i",)),
        PublishedLine("alpha_j", _formula((9, 0), (9, 0)), ("alpha_i",), _ALPHA),
        PublishedLine(
            "a_j",
            _formula((27, 0), (22, 0)),
            ("a_i",),
            "reached with omega x (omega x r) = (omega.r) omega - (omega.omega) r (2.15); as 3.23 is"
            " written it"
            " is 27n and 21n",
        ),
        PublishedLine(
            "abar_j",
            _formula((15, 0), (14, 0)),
            ("abar_i",),
            "reached when omega.omega is kept from a_j; as 3.24 is written it is 18n and 15n",
        ),
        PublishedLine("F_j", _formula((3, 0), (0,)), ("F_i",)),
        PublishedLine(
            "f_j",
            _formula((9, -9), (9, -6)),
            ("f_i",),
            "9n-6 adds f_{n+1} at the last link (3 additions) but does not rotate it, and n_j leaves out its"
            " moment; without a tip load it is 9n-9",
        ),
        PublishedLine("N_j", _formula((24, 0), (18, 0)), ("N_i",)),
        PublishedLine(
            "n_j",
            _formula((21, -15), (24, -15)),
            ("n_i",),
            "the 3n more are rbar_i + r_i, constant in the link frame of a revolute joint: added beforehand",
        ),
        PublishedLine("qdd_d + K_v e' + K_p e", _formula((2, 0), (4, 0)), ("feedback",)),
    ),
    total=_formula((119, -24), (107, -21)),
    outside=("R_i", "tau_i"),
    remarks=(
        "not in the table: the 4 products in each R_i, and tau_i (2 multiplications, 1 addition a link)",
    ),
)

POLYNOMIAL_TABLES = (TURNEY_1, TURNEY_2, TURNEY_3, TURNEY_4, LEE_1, LEE_2)
