"""Tables 1 to 4 of Turney, Mudge and Lee 1980, and what became of each line when it was run.

Remarks state what the runs of `measure` and the paper's own algebra show; the tests hold every line to them.
"""

from __future__ import annotations

from fractions import Fraction

from robot_dynamics.papers.counts.published import ALPHA_REMARK, PublishedLine, PublishedTable, formula

_THIRD, _HALF, _SIXTH = Fraction(1, 3), Fraction(1, 2), Fraction(1, 6)

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
            formula((Fraction(81, 6), Fraction(165, 2), 5, 0), (40 * _THIRD, 58, -64 * _THIRD, 0)),
            (),
            "differs in one line of table 2; the appendix ends with the same two totals, but calls this"
            " column"
            " additions and the other one multiplications. Its own lines agree with table 1",
            "lagrange",
        ),
        PublishedLine(
            "Newton-Euler",
            formula((108, -12), (100, -9)),
            (),
            "see table 3, line by line",
            "newton-euler",
        ),
        PublishedLine(
            "Modified Newton-Euler",
            formula((90, -27), (88, -24)),
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
        PublishedLine("T_j^i", formula((32, -32, 0), (24, -24, 0)), ("T_j^i",)),
        PublishedLine("[dT_0^i/dq_j]", formula((32, -32, 0), (24, -24, 0)), ("dT/dq_j",)),
        PublishedLine(
            "[d2T_0^i/dq_j dq_k]",
            formula((32 * _THIRD, 0, -32 * _THIRD, 0), (8, 0, -8, 0)),
            ("d2T/dq_j dq_k",),
            "the appendix prints 16n(n^2-1) additions for it; its own count of i(i-1)/2 products a link"
            " gives the"
            " table's 8n(n^2-1)",
        ),
        PublishedLine(
            "sum_j {[.] qdd_j + sum_k [.] qd_j qd_k} J_q",
            formula((17 * _SIXTH, 17 * _HALF, 209 * _THIRD, 0), (16 * _THIRD, 0, 80 * _THIRD, 0)),
            ("[sum ...] J_q",),
            "multiplications: the appendix multiplies q(q-1)/2 matrices by qd_j qd_k, which leaves out the"
            " q with"
            " j = k; they cost 16q a link, 8n^2 + 8n in all, just what the run has more. Additions: the"
            " appendix's summand 16q(q+1) + 32 adds up to (16/3)n(n+1)(n+2) + 32n, but is printed as"
            " (16/3)n(n^2-1) + 32n; by the symmetry that it uses elsewhere, 8q^2 + 24q + 32 are enough, as"
            " run",
        ),
        PublishedLine("Tr{[.] dT_0^q/dq_i}", formula((8, 8, 0), (8, 7, 0)), ("Tr{[...] dT/dq_i}",)),
        PublishedLine(
            "sum_q z_0 dT_0^q/dq_i m_q g rbar_q",
            formula((2, 2, 0), (2, 1, 0)),
            ("gravity",),
            "holds for gravity along z_0; every further component of gravity costs as much again",
        ),
    ),
    total=formula((Fraction(81, 6), Fraction(165, 2), 5, 0), (40 * _THIRD, 58, -64 * _THIRD, 0)),
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
        PublishedLine("omega_i", formula((9, 0), (7, 0)), ("omega_i",)),
        PublishedLine("alpha_i", formula((9, 0), (9, 0)), ("alpha_i",), ALPHA_REMARK),
        PublishedLine(
            "A_i",
            formula((6, 0), (9, 0)),
            ("A_i",),
            "so even this table takes its accelerations from A_i; with the cross products of 3.17 and 3.18 as"
            " printed, a_i and abar_i cost 45n multiplications and 36n additions instead of 33n and 33n",
        ),
        PublishedLine("a_i", formula((18, 0), (15, 0)), ("a_i",)),
        PublishedLine("abar_i", formula((9, 0), (9, 0)), ("abar_i",)),
        PublishedLine(
            "f_i",
            formula((12, -12), (9, -9)),
            ("f_i",),
            "12(n-1) leaves out the last link's m_n abar_n: 3 products that its moment and tau_n do not"
            " supply",
        ),
        PublishedLine("I_i alpha_i", formula((9, 0), (6, 0)), ("I_i alpha_i",)),
        PublishedLine("omega_i x (I_i omega_i)", formula((15, 0), (9, 0)), ("omega_i x (I_i omega_i)",)),
        PublishedLine("m (r_i + rbar_i) x abar_i", formula((6, 0), (3, 0)), ("m (r_i + rbar_i) x abar_i",)),
        PublishedLine("r_i x R f_{i+1}", formula((6, 0), (3, 0)), ("r_i x R f_{i+1}",), _LAST),
        PublishedLine("R n_{i+1}", formula((9, 0), (6, 0)), ("R n_{i+1}",), _LAST),
        PublishedLine(
            "add n",
            formula((0,), (15, 0)),
            ("add n",),
            "n_i is a sum of five vectors: 4 x 3 = 12 additions, not 15, and 6 at the last link",
        ),
    ),
    total=formula((108, -12), (100, -9)),
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
        PublishedLine("omega_i", formula((9, 0), (7, 0)), ("omega_i",)),
        PublishedLine("alpha_i", formula((9, 0), (9, 0)), ("alpha_i",), ALPHA_REMARK),
        PublishedLine("A_i", formula((6, 0), (9, 0)), ("A_i",)),
        PublishedLine(
            "a_i",
            formula((18, -18), (15, -15)),
            ("a_i",),
            "a_n is not needed, but f_n needs R a_{n-1} (5.1), which this line computes: only the 9"
            " multiplications and 9 additions of A_n r_n + ... can be left out",
        ),
        PublishedLine("m_i abar_i", formula((12, 0), (9, 0)), ("m_i abar_i",)),
        PublishedLine("f_i", formula((9, -9), (9, -9)), ("f_i",)),
        PublishedLine(
            "Tr{A_i K_i (sigma)^t}",
            formula((6, 0), (3, 0)),
            ("Tr{A_i K_i sigma}",),
            "for principal axes parallel to the link frame, as printed; full inertias take 18n and 15n",
        ),
        PublishedLine("m (r_i + rbar_i) x abar_i", formula((6, 0), (3, 0)), ("m (r_i + rbar_i) x abar_i",)),
        PublishedLine("r_i x R f_{i+1}", formula((6, 0), (3, 0)), ("r_i x R f_{i+1}",), _LAST),
        PublishedLine("R n_{i+1}", formula((9, 0), (6, 0)), ("R n_{i+1}",), _LAST),
        PublishedLine(
            "add n",
            formula((0,), (15, 0)),
            ("add n",),
            "n_i is now a sum of four vectors: 3 x 3 = 9 additions; the 15 is carried over from table 3",
        ),
    ),
    total=formula((90, -27), (88, -24)),
    outside=("R_i", "tau_i"),
    remarks=(
        "not in the table: the 4 products in each R_i, and tau_i (2 multiplications, 1 addition a link)",
        "K_i is printed about the center of mass but said to be about origin i-1; only the former goes with"
        " m (r_i + rbar_i) x abar_i. The printed (A K)_yz - (A K)_zy has the wrong sign",
    ),
)
