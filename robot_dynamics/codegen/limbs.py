"""Limbs that are alike as lanes of vectors.

Two scalars of different limbs are alike when the same operations make them from the limbs' own inputs and
from scalars that are no limb's. Constants and signs may differ. Alike scalars, one of every limb, become one
vector: one operation serves all limbs. What only some limbs have, and what belongs to none, remains scalar. A
scalar that needs a limb's value picks it from its lane.

The lanes of a vector hold the limbs' scalars up to a sign each. These signs are chosen such that sums join
vectors whose signs agree. Where that is not possible, a vector is multiplied by a constant one of signs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from robot_dynamics.codegen.expression import Expression, ExpressionGraph
from robot_dynamics.codegen.factoring import Outputs, factored_program
from robot_dynamics.codegen.lane_signs import Forms, LaneSigns, Signs, added, relative
from robot_dynamics.codegen.lowering import reachable
from robot_dynamics.codegen.nodes import ADD, CONSTANT, COS, DIV, INPUT, MUL, SIN, SQRT, SUB
from robot_dynamics.codegen.program import Limbs, Program, VectorInput

Group: TypeAlias = Sequence[Sequence[int]]
"""Of every limb its input scalars, by number; corresponding ones at the same place."""
_Nodes: TypeAlias = tuple[int, ...]
_FUNCTIONS = (SIN, COS, SQRT)
# Beside the kinds of nodes: the same node in every lane; nodes of several kinds.
_SAME, _MIXED = -1, -2

# Share of the operations that lanes must save.
WORTHWHILE = 0.1


def limbs_program(
    graph: ExpressionGraph, name: str, outputs: Outputs, groups: Sequence[Group], whole: Program
) -> Limbs | None:
    """The program of ``outputs`` with the limbs of every group as lanes; None where that does not pay.

    Args:
        graph: of the outputs.
        name: of the program.
        outputs: as of :meth:`ExpressionGraph.build_program`.
        groups: of limbs that may be alike.
        whole: the program of scalars.
    """
    results = [value.literal for _, values in outputs for value in values]
    alike = _Alike(graph, results, groups)
    if not alike.partners:
        return None
    vectors = _Vectors(graph, alike, results)
    if not vectors.results:
        return None
    following = iter(vectors.results)
    program = factored_program(vectors.graph, name, [(a, [next(following) for _ in v]) for a, v in outputs])
    if len(program.instructions) > (1.0 - WORTHWHILE) * len(whole.instructions):
        return None
    return Limbs(program, tuple(vectors.inputs))


def _operands(graph: ExpressionGraph, number: int) -> tuple[int, ...]:
    kind, a, b = graph.nodes[number]
    if kind in (INPUT, CONSTANT):
        return ()
    return (a >> 1,) if kind in _FUNCTIONS else (a, b)


class _Alike:
    """Nodes that have a counterpart in every limb of their group.

    Attributes:
        owner: group and limb of the nodes that depend on inputs of one limb alone, besides nodes of none.
        partners: of every counted node, the nodes of all limbs that it makes a vector with.
    """

    def __init__(self, graph: ExpressionGraph, results: Sequence[int], groups: Sequence[Group]) -> None:
        self._graph = graph
        self._used = reachable(graph.nodes, results)
        self.owner: dict[int, tuple[int, int]] = {}
        # By number of a node: its class whatever else is in the graph, and its class where nodes of no limb
        # are as good as each other.
        self._fine: dict[int, int] = {}
        self._coarse: dict[int, int] = {}
        self._classify(groups)
        self.partners = self._pair([len(group) for group in groups], {literal >> 1 for literal in results})

    def _classify(self, groups: Sequence[Group]) -> None:
        places = {
            number: ((g, limb), (g, place))
            for g, group in enumerate(groups)
            for limb, numbers in enumerate(group)
            for place, number in enumerate(numbers)
        }
        known: dict[tuple[object, ...], int] = {}
        # How often the values of limbs were joined on the way to a node. Alike nodes have the same number, so
        # no vector depends on itself.
        phase: dict[int, int] = {}
        turned: set[int] = set()
        for number in self._used:
            kind, a, _ = self._graph.nodes[number]
            operands = _operands(self._graph, number)
            owners = {self.owner[operand] for operand in operands if operand in self.owner}
            name = ADD if kind == SUB else kind
            if kind == INPUT and a in places:
                owner, place = places[a]
                owners = {owner}
                fine = coarse = known.setdefault((kind, *place), len(known))
            elif kind == CONSTANT:
                fine = coarse = known.setdefault((kind,), len(known))
            elif not operands or kind == SQRT or (kind in _FUNCTIONS and operands[0] in turned):
                # Square roots, and sines that are not known from the start, have no vectors.
                fine = known.setdefault((kind, "alone", number), len(known))
                coarse = fine if len(owners) == 1 else -1
            else:
                fine = known.setdefault((name, *self._ordered(kind, self._fine, operands)), len(known))
                coarse = -1
            if kind in _FUNCTIONS or not turned.isdisjoint(operands):
                turned.add(number)
            alone = len(owners) == 1
            phase[number] = max((phase[x] + (x in self.owner and not alone) for x in operands), default=0)
            if alone:
                self.owner[number] = owners.pop()
                if coarse < 0:
                    key = ("coarse", name, *self._ordered(kind, self._coarse, operands))
                    coarse = known.setdefault(key, len(known))
            elif coarse < 0:
                coarse = known.setdefault(("none", phase[number]), len(known))
            self._fine[number], self._coarse[number] = fine, coarse

    @staticmethod
    def _ordered(kind: int, classes: dict[int, int], operands: Sequence[int]) -> list[int]:
        of_operands = [classes[operand] for operand in operands]
        return of_operands if kind == DIV else sorted(of_operands)

    def _pair(self, limbs: Sequence[int], results: set[int]) -> dict[int, _Nodes]:
        """Partners of the nodes that have some, the nodes that leave their limb paired among themselves."""
        leaving = set(results)
        by_class: dict[tuple[int, int, int, int], list[list[int]]] = {}
        for number, (group, limb) in self.owner.items():
            for level, fine in enumerate((self._fine[number], -1)):
                key = (level, group, self._coarse[number], fine)
                by_class.setdefault(key, [[] for _ in range(limbs[group])])[limb].append(number)
        matched = {
            number
            for (level, *_), lanes in by_class.items()
            if level and all(lanes)
            for lane in lanes
            for number in lane
        }
        for number in self._used:
            if number in matched:
                leaving.update(x for x in _operands(self._graph, number) if x not in matched)
            else:
                leaving.update(_operands(self._graph, number))
        partners: dict[int, _Nodes] = {}
        for key in sorted(by_class, key=lambda key: key[0]):
            lanes = by_class[key]
            if not all(lanes):
                continue
            candidates = [[number for number in lane if number in leaving] or lane for lane in lanes]
            for limb, lane in enumerate(candidates):
                for k, number in enumerate(lane):
                    if number not in partners and self._graph.nodes[number][0] != INPUT:
                        alike = [other[min(k, len(other) - 1)] for other in candidates]
                        partners[number] = (*alike[:limb], number, *alike[limb + 1 :])
        return partners

    def operands(self, nodes: _Nodes) -> tuple[_Nodes, ...]:
        """The vectors that a vector is made of; empty where it has to be put together from scalars."""
        graph = self._graph
        kind = graph.nodes[nodes[0]][0]
        if any(number not in self.owner for number in nodes) and len({self._fine[n] for n in nodes}) > 1:
            return ()
        lanes = [_operands(graph, number) for number in nodes]
        if kind not in (*_FUNCTIONS, DIV):
            lanes = [lanes[0], *(self._in_order(lanes[0], operands) for operands in lanes[1:])]
        return tuple(zip(*lanes, strict=True))

    def _in_order(self, first: tuple[int, ...], operands: tuple[int, ...]) -> tuple[int, ...]:
        """Operands of a sum or product in the order of those that they are alike to."""
        for classes in (self._coarse, self._fine):
            wanted = [classes[x] for x in first]
            given = [classes[x] for x in operands]
            if wanted != given:
                if wanted == given[::-1]:
                    return operands[::-1]
                continue
            if wanted[0] != wanted[1]:
                break
        return operands


@dataclass
class _Vector:
    """A vector to be made.

    Attributes:
        kind: of its nodes, or _SAME or _MIXED.
        operands: empty where it is made of scalars.
        forms: of its signs.
        mismatch: where it is a sum, the lanes in which its second term has to change sign.
    """

    kind: int
    operands: tuple[_Nodes, ...] = ()
    forms: Forms = ()
    mismatch: Signs = ()


class _Vectors:
    """A graph with vectors, made from one of scalars alone.

    Attributes:
        graph: the new one: the inputs of the old one, then one input per vector that operations begin with.
        inputs: those vectors.
        results: in the new graph; none where vectors would depend on themselves, or be more than the scalars.
    """

    def __init__(self, graph: ExpressionGraph, alike: _Alike, results: Sequence[int]) -> None:
        self._old = graph
        self._alike = alike
        self.graph = ExpressionGraph()
        self.inputs: list[VectorInput] = []
        self._begun: dict[VectorInput, int] = {}
        self._given = [
            scalar.literal for a in graph.inputs for scalar in self.graph.input(a.name, a.size, a.description)
        ]
        self._signs = LaneSigns()
        self._planned: dict[_Nodes, _Vector] = {}
        self._scalars: dict[int, int] = {}
        self._vectors: dict[_Nodes, tuple[int, Signs]] = {}
        self.results: list[Expression] = []
        order = self._order([literal >> 1 for literal in results])
        for item in order:
            if isinstance(item, tuple):
                self._plan(item)
        for item in order:
            if isinstance(item, tuple):
                self._vectors[item] = self._vector(item)
            else:
                self._scalars[item] = self._scalar(item)
        if order:
            self.results = [Expression(self.graph, self._scalars[x >> 1] ^ (x & 1)) for x in results]

    def _order(self, roots: Sequence[int]) -> Sequence[int | _Nodes]:
        """Scalars and vectors, each after what it is made of; nothing where that cannot be."""
        done: dict[int | _Nodes, None] = {}  # in this order
        begun: set[int | _Nodes] = set()
        waiting: list[int | _Nodes] = list(roots[::-1])
        while waiting:
            item = waiting[-1]
            missing = [x for x in self._needed(item) if x not in done]
            if missing and item not in done:
                begun.add(item)
                if not begun.isdisjoint(missing) or len(done) > 2 * len(self._old.nodes):
                    return ()
                waiting += missing[::-1]
                continue
            begun.discard(item)
            waiting.pop()
            done[item] = None
        return tuple(done)

    def _needed(self, item: int | _Nodes) -> Sequence[int | _Nodes]:
        if isinstance(item, int):
            nodes = self._alike.partners.get(item)
            return _operands(self._old, item) if nodes is None else (nodes,)
        if item not in self._planned:
            self._planned[item] = _Vector(self._kind(item))
            if self._planned[item].kind not in (_SAME, INPUT, CONSTANT):
                self._planned[item].operands = self._alike.operands(item)
        if self._planned[item].kind in (INPUT, CONSTANT):
            return ()
        return self._planned[item].operands or item

    def _kind(self, nodes: _Nodes) -> int:
        """Common kind of the nodes, or _SAME or _MIXED."""
        kinds = {ADD if kind == SUB else kind for kind in (self._old.nodes[number][0] for number in nodes)}
        if len(set(nodes)) == 1 and kinds != {CONSTANT}:
            return _SAME
        return kinds.pop() if len(kinds) == 1 else _MIXED

    def _plan(self, nodes: _Nodes) -> None:
        """Signs of a vector as forms, and what they mean for those of its operands."""
        vector, none = self._planned[nodes], (0,) * (len(nodes) - 1)
        if vector.kind in (_SAME, COS):
            vector.forms = none
        elif not vector.operands:
            vector.forms = self._signs.unknown(len(nodes))
        elif vector.kind in _FUNCTIONS:
            vector.forms = self._forms(vector.operands[0])
        else:
            x, y = (self._forms(operand) for operand in vector.operands)
            if vector.kind == ADD:
                of_x, of_y = self._signs_of_terms(nodes, vector.operands)
                vector.forms = added(x, relative(of_x))
                vector.mismatch = self._signs.made_equal(vector.forms, added(y, relative(of_y)))
            else:
                vector.forms = added(x, y)

    def _forms(self, nodes: _Nodes) -> Forms:
        """Signs of an operand; those of constants can be chosen anew wherever they are used."""
        if self._planned[nodes].kind == CONSTANT:
            return self._signs.unknown(len(nodes))
        return self._planned[nodes].forms

    def _signs_of_terms(self, nodes: _Nodes, operands: tuple[_Nodes, ...]) -> tuple[Signs, Signs]:
        """Signs with which the nodes of both operands enter sums and differences."""
        subtracted = [b if kind == SUB else -1 for kind, _, b in (self._old.nodes[n] for n in nodes)]
        x, y = (tuple(int(n == s) for n, s in zip(o, subtracted, strict=True)) for o in operands)
        return x, y

    def _scalar(self, number: int) -> int:
        """The literal of a scalar."""
        graph = self.graph
        kind, a, b = self._old.nodes[number]
        if number in self._alike.partners:
            lane = self._alike.owner[number][1]
            literal, signs = self._vectors[self._alike.partners[number]]
            return graph.pick(literal, lane) ^ signs[lane]
        if kind == INPUT:
            return self._given[a]
        if kind == CONSTANT:
            return graph.constant(self._old.values[number])
        if kind in _FUNCTIONS:
            return graph.function(kind, _negated(graph, self._scalars[a >> 1], a & 1))
        x, y = self._scalars[a], self._scalars[b]
        if kind in (MUL, DIV):
            return (graph.multiply if kind == MUL else graph.divide)(x, y)
        return graph.add(x, _negated(graph, y, kind == SUB))

    def _vector(self, nodes: _Nodes) -> tuple[int, Signs]:
        """The literal of a vector and the signs of its lanes."""
        graph, vector = self.graph, self._planned[nodes]
        signs = self._signs.values(vector.forms)
        if vector.kind == _SAME:
            return self._scalars[nodes[0]], signs
        if vector.kind == CONSTANT:
            return graph.zero, signs  # made where it is used
        if vector.kind == INPUT:
            places = tuple(self._old.nodes[number][1] for number in nodes)
            return self._input(VectorInput(scalars=places, negated=signs)), signs
        if not vector.operands:
            literal = graph.zero
            for lane, number in enumerate(nodes):
                unit = tuple(float(k == lane) * (-1.0 if signs[lane] else 1.0) for k in range(len(nodes)))
                entry = graph.multiply(self._input(VectorInput(constants=unit)), self._scalars[number])
                literal = graph.add(literal, entry)
            return literal, signs
        if vector.kind in _FUNCTIONS:
            # Arguments of sines and cosines in a graph are not negated.
            literal, given = self._vectors[vector.operands[0]]
            return graph.function(vector.kind, literal), given if vector.kind == SIN else (0,) * len(nodes)
        x, y = vector.operands
        if vector.kind in (MUL, DIV):
            first, of_x = self._operand(x, y, signs)
            second, of_y = self._operand(y, x, signs)
            product = (graph.multiply if vector.kind == MUL else graph.divide)(first, second)
            return product, added(of_x, of_y)
        enter_x, enter_y = self._signs_of_terms(nodes, vector.operands)
        first, of_x = self._operand(x, y, added(enter_x, enter_y))
        second, of_y = self._operand(y, x, added(enter_x, enter_y))
        total = added(of_x, enter_x)
        unequal = added(total, added(of_y, enter_y))
        second = self._times(second, vector.mismatch)
        return graph.add(first, _negated(graph, second, unequal[0])), total

    def _operand(self, nodes: _Nodes, other: _Nodes, signs: Signs) -> tuple[int, Signs]:
        """An operand and its signs; a constant takes those that give ``signs`` with the other operand's."""
        if self._planned[nodes].kind != CONSTANT:
            return self._vectors[nodes]
        needed = added(signs, self._vectors[other][1])
        needed = tuple(sign ^ needed[0] for sign in needed)
        values = (self._old.values[number] for number in nodes)
        constants = tuple(-value if sign else value for value, sign in zip(values, needed, strict=True))
        return self._input(VectorInput(constants=constants)), needed

    def _times(self, literal: int, signs: Signs) -> int:
        """A vector times 1, or -1 where a sign is set."""
        if not any(signs):
            return literal
        factors = tuple(-1.0 if sign else 1.0 for sign in signs)
        return self.graph.multiply(literal, self._input(VectorInput(constants=factors)))

    def _input(self, vector: VectorInput) -> int:
        """The literal of a vector that operations begin with."""
        if len(set(vector.constants)) == 1:
            return self.graph.constant(vector.constants[0])
        if vector not in self._begun:
            (made,) = self.graph.input(f"vector{len(self.inputs)}", 1)
            self.inputs.append(vector)
            self._begun[vector] = made.literal
        return self._begun[vector]


def _negated(graph: ExpressionGraph, literal: int, sign: int) -> int:
    return literal if literal == graph.zero else literal ^ sign
