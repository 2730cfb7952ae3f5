"""The papers whose evidence can be made."""

from __future__ import annotations

from robot_dynamics.papers.craig.evidence import PAPER as CRAIG
from robot_dynamics.papers.dasgupta.evidence import PAPER as DASGUPTA
from robot_dynamics.papers.evidence.finding import Paper
from robot_dynamics.papers.lee.evidence import PAPER as LEE
from robot_dynamics.papers.renaud.evidence import PAPER as RENAUD
from robot_dynamics.papers.turney.evidence import PAPER as TURNEY

PAPERS: dict[str, Paper] = {paper.key: paper for paper in (RENAUD, TURNEY, CRAIG, LEE, DASGUPTA)}
