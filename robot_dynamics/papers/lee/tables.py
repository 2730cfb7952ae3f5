"""Tables 1 and 2 of Lee, Chung, Mudge and Turney, and what became of each line when it was run.

Remarks state what the runs of `measure` and the paper's own algebra show; the tests hold every line to them.
"""

from __future__ import annotations

from fractions import Fraction

from robot_dynamics.papers.counts.published import ALPHA_REMARK, PublishedLine, PublishedTable, formula

_THIRD, _HALF, _SIXTH = Fraction(1, 3), Fraction(1, 2), Fraction(1, 6)

LEE_1 = PublishedTable(
    key="lee-1",
    title="Lee, Chung, Mudge, Turney, table 1: Lagrange-Euler term by term, with the feedback of eq. 4.1",
    formulation="lagrange-direct",
    lines=(
        PublishedLine("T_j^i", formula((32, -32, 0), (24, -24, 0)), ("T_j^i",)),
        PublishedLine(
            "-m_j g dT_0^j/dq_i rbar_j",
            formula((36, -28, 0), (51 * _HALF, -45 * _HALF, 0)),
            ("-m_j g dT/dq_i rbar_j",),
        ),
        PublishedLine("sum_j of the above", formula((0,), (_HALF, -_HALF, 0)), ("sum of the above",)),
        PublishedLine(
            "Tr{dT_0^k/dq_j J_k (dT_0^k/dq_i)^t}",
            formula((128 * _THIRD, 128, 256 * _THIRD, 0), (65 * _HALF, 195 * _HALF, 65, 0)),
            ("Tr{dT/dq_j J_k dT/dq_i}",),
            "n(n+1)(n+2)/6 traces of four full 4x4 products and 3 additions: 256 and 195 each. The trace"
            " alone"
            " needs 16 and 15 where 64 and 51 are counted",
        ),
        PublishedLine("sum_k of the above", formula((0,), (_SIXTH, 0, -_SIXTH, 0)), ("D: sum of the above",)),
        PublishedLine(
            "Tr{d2T_0^m/dq_j dq_k J_m (dT_0^m/dq_i)^t}",
            formula(
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
            formula((0,), (_SIXTH, 0, -_SIXTH, 0, 0)),
            ("H: sum of the above",),
            "again n times the line for D; without the zero terms fewer sums remain",
        ),
        PublishedLine("qdd_d + K_v e' + K_p e", formula((2, 0), (4, 0)), ("feedback",)),
        PublishedLine("tau = D (...) + H + G", formula((1, 2, 0, 0), (1, 1, 0, 0)), ("tau = D qdd + H + G",)),
    ),
    total=formula(
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
        PublishedLine("omega_j", formula((9, 0), (7, 0)), ("omega_i",)),
        PublishedLine("alpha_j", formula((9, 0), (9, 0)), ("alpha_i",), ALPHA_REMARK),
        PublishedLine(
            "a_j",
            formula((27, 0), (22, 0)),
            ("a_i",),
            "reached with omega x (omega x r) = (omega.r) omega - (omega.omega) r (2.15); as 3.23 is"
            " written it"
            " is 27n and 21n",
        ),
        PublishedLine(
            "abar_j",
            formula((15, 0), (14, 0)),
            ("abar_i",),
            "reached when omega.omega is kept from a_j; as 3.24 is written it is 18n and 15n",
        ),
        PublishedLine("F_j", formula((3, 0), (0,)), ("F_i",)),
        PublishedLine(
            "f_j",
            formula((9, -9), (9, -6)),
            ("f_i",),
            "9n-6 adds f_{n+1} at the last link (3 additions) but does not rotate it, and n_j leaves out its"
            " moment; without a tip load it is 9n-9",
        ),
        PublishedLine("N_j", formula((24, 0), (18, 0)), ("N_i",)),
        PublishedLine(
            "n_j",
            formula((21, -15), (24, -15)),
            ("n_i",),
            "the 3n more are rbar_i + r_i, constant in the link frame of a revolute joint: added beforehand",
        ),
        PublishedLine("qdd_d + K_v e' + K_p e", formula((2, 0), (4, 0)), ("feedback",)),
    ),
    total=formula((119, -24), (107, -21)),
    outside=("R_i", "tau_i"),
    remarks=(
        "not in the table: the 4 products in each R_i, and tau_i (2 multiplications, 1 addition a link)",
    ),
)
