"""Fewer operations by the distributive, associative and commutative laws.

Chains of additions and of multiplications whose inner results are used once are read as sums of many terms
and products of many factors. Then, until nothing is gained:

- a factor that several terms of a sum share is taken out, x a + x b = x (a + b), where the products have no
  other use;
- a pair of terms, or of factors, that occurs in several sums, or products, is computed once.

Each round collects all candidates and applies them, the most profitable first, as long as what they were
collected from is still there. All orders are fixed by node numbers.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations

from robot_dynamics.codegen.expression import Expression, ExpressionGraph
from robot_dynamics.codegen.lowering import reachable
from robot_dynamics.codegen.nodes import ADD, CONSTANT, COS, DIV, INPUT, MUL, PICK, SIN, SQRT, SUB
from robot_dynamics.codegen.program import Argument, Program

_FUNCTIONS = (SIN, COS, SQRT, PICK)
# Sums longer than this are left alone: the number of their pairs would dominate everything else.
_LONGEST = 60

Outputs = Sequence[tuple[Argument, Sequence[Expression]]]


def factored_program(graph: ExpressionGraph, name: str, outputs: Outputs) -> Program:
    """The program of ``outputs`` after factoring, or as it is where that gains nothing."""
    values = [value for _, scalars in outputs for value in scalars]
    rebuilt, simpler = factored(graph, values)
    if rebuilt.count(simpler).total >= graph.count(values).total:
        return graph.build_program(name, outputs)
    following = iter(simpler)
    return rebuilt.build_program(name, [(a, [next(following) for _ in given]) for a, given in outputs])


def factored(
    graph: ExpressionGraph, values: Sequence[Expression]
) -> tuple[ExpressionGraph, list[Expression]]:
    """A graph with the same inputs, and the same values in it with fewer operations."""
    network = _Network(graph, [value.literal for value in values])
    network.simplify()
    rebuilt, literals = network.rebuilt()
    return rebuilt, [Expression(rebuilt, literal) for literal in literals]


class _Network:
    """Sums (lists of literals) and products (lists of node numbers) by node number."""

    def __init__(self, graph: ExpressionGraph, results: list[int]) -> None:
        self.graph = graph
        self.results = results
        self.sums: dict[int, list[int]] = {}
        self.products: dict[int, list[int]] = {}
        self.others: list[int] = []
        self.next = len(graph.nodes)
        used = reachable(graph.nodes, results)
        uses = self._uses(used)
        inner: set[int] = set()
        for number in used:
            kind, a, b = graph.nodes[number]
            family = {ADD: (ADD, SUB), SUB: (ADD, SUB), MUL: (MUL,)}.get(kind)
            if family:
                inner.update(x for x in (a, b) if uses[x] == 1 and graph.nodes[x][0] in family)
        for number in used:
            kind = graph.nodes[number][0]
            if number in inner:
                continue
            if kind in (ADD, SUB):
                self.sums[number] = list(self._terms(2 * number, inner))
            elif kind == MUL:
                self.products[number] = list(self._factors(number, inner))
            else:
                self.others.append(number)

    def _uses(self, used: Iterable[int]) -> Counter[int]:
        uses: Counter[int] = Counter()
        for number in used:
            kind, a, b = self.graph.nodes[number]
            if kind in _FUNCTIONS:
                uses[a >> 1] += 1
            elif kind not in (INPUT, CONSTANT):
                uses.update((a, b))
        # A result must remain a node of its own.
        uses.update(literal >> 1 for literal in self.results)
        return uses

    def _terms(self, literal: int, inner: set[int]) -> Iterable[int]:
        kind, a, b = self.graph.nodes[literal >> 1]
        for term in ((2 * a) ^ (literal & 1), (2 * b) ^ (literal & 1) ^ (kind == SUB)):
            if term >> 1 in inner:
                yield from self._terms(term, inner)
            else:
                yield term

    def _factors(self, number: int, inner: set[int]) -> Iterable[int]:
        for factor in self.graph.nodes[number][1:]:
            if factor in inner:
                yield from self._factors(factor, inner)
            else:
                yield factor

    def simplify(self) -> None:
        """Apply the laws until nothing is gained."""
        gained = True
        while gained:
            gained = self._take_out_factors()
            gained |= self._share(self.sums, signed=True)
            gained |= self._share(self.products, signed=False)

    def _occurrences(self) -> Counter[int]:
        count: Counter[int] = Counter()
        for terms in self.sums.values():
            count.update(term >> 1 for term in terms)
        for factors in self.products.values():
            count.update(factors)
        for number in self.others:
            kind, a, b = self.graph.nodes[number]
            if kind in _FUNCTIONS:
                count[a >> 1] += 1
            elif kind == DIV:
                count.update((a, b))
        count.update(literal >> 1 for literal in self.results)
        return count

    def _take_out_factors(self) -> bool:
        """Take factors out; return whether there were any."""
        count = self._occurrences()
        candidates = []
        for number in sorted(self.sums):
            by_factor = defaultdict(list)
            for term in self.sums[number]:
                if len(self.products.get(term >> 1, ())) > 1 and count[term >> 1] == 1:
                    for factor in sorted(set(self.products[term >> 1])):
                        by_factor[factor].append(term)
            candidates += [(-len(t), number, f, t) for f, t in by_factor.items() if len(t) > 1]
        found = False
        for _, number, factor, terms in sorted(candidates):
            if number not in self.sums or not set(terms) <= set(self.sums[number]):
                continue
            inner = []
            for term in terms:
                factors = self.products.pop(term >> 1)
                factors.remove(factor)
                rest = factors[0]
                if len(factors) > 1:
                    rest = self._new(self.products, factors)
                inner.append(2 * rest + (term & 1))
            remaining = [term for term in self.sums[number] if term not in terms]
            bracket = self._new(self.sums, inner)
            if remaining:
                self.sums[number] = [*remaining, 2 * self._new(self.products, [factor, bracket])]
            else:
                del self.sums[number]
                self.products[number] = [factor, bracket]
            found = True
        return found

    def _share(self, table: dict[int, list[int]], *, signed: bool) -> bool:
        """Compute pairs that several members of a table have once; return whether there were any."""
        where: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
        for number in sorted(table):
            if len(table[number]) <= _LONGEST:
                for pair in {_pair(x, y, signed) for x, y in combinations(table[number], 2)}:
                    where[pair].append(number)
        found = False
        candidates = sorted((-len(owners), pair) for pair, owners in where.items() if len(owners) > 1)
        for _, pair in candidates:
            owners = [(n, s) for n in where[pair] if (s := _sign(table.get(n, []), pair, signed)) is not None]
            if len(owners) < 2:
                continue
            # A sum that is nothing but the pair serves as it is; otherwise the pair becomes a node.
            whole = next(((n, s) for n, s in owners if len(table[n]) == 2), None)
            shared, shared_sign = whole or (self._new(table, list(pair)), 0)
            for number, sign in owners:
                if number != shared:
                    for member in pair:
                        table[number].remove(member ^ sign)
                    table[number].append(2 * shared + (sign ^ shared_sign) if signed else shared)
            found = True
        return found

    def _new(self, table: dict[int, list[int]], members: list[int]) -> int:
        number = self.next
        self.next += 1
        table[number] = members
        return number

    def rebuilt(self) -> tuple[ExpressionGraph, list[int]]:
        """A graph with the same inputs, and the results' literals in it."""
        graph = ExpressionGraph()
        inputs = [
            scalar.literal
            for argument in self.graph.inputs
            for scalar in graph.input(argument.name, argument.size, argument.description)
        ]
        literals: dict[int, int] = {}
        for root in [literal >> 1 for literal in self.results]:
            stack = [root]
            while stack:
                number = stack[-1]
                missing = [x for x in self._operands(number) if x not in literals]
                if number in literals or not missing:
                    stack.pop()
                    if number not in literals:
                        literals[number] = self._build(graph, number, literals, inputs)
                else:
                    stack += reversed(missing)
        return graph, [literals[literal >> 1] ^ (literal & 1) for literal in self.results]

    def _operands(self, number: int) -> list[int]:
        if number in self.sums:
            return [term >> 1 for term in self.sums[number]]
        if number in self.products:
            return self.products[number]
        kind, a, b = self.graph.nodes[number]
        if kind in _FUNCTIONS:
            return [a >> 1]
        return [a, b] if kind == DIV else []

    def _build(self, graph: ExpressionGraph, number: int, literals: dict[int, int], inputs: list[int]) -> int:
        if number in self.sums:
            total = graph.zero
            for term in self.sums[number]:
                total = graph.add(total, literals[term >> 1] ^ (term & 1))
            return total
        if number in self.products:
            product = graph.one
            for factor in self.products[number]:
                product = graph.multiply(product, literals[factor])
            return product
        kind, a, b = self.graph.nodes[number]
        if kind == INPUT:
            return inputs[a]
        if kind == CONSTANT:
            return graph.constant(self.graph.values[number])
        if kind == DIV:
            return graph.divide(literals[a], literals[b])
        if kind == PICK:
            return graph.pick(literals[a >> 1], b)
        return graph.function(kind, literals[a >> 1] ^ (a & 1))


def _pair(x: int, y: int, signed: bool) -> tuple[int, int]:
    """Two members in a fixed order, up to their common sign."""
    if x >> 1 > y >> 1 if signed else x > y:
        x, y = y, x
    return (x ^ 1, y ^ 1) if signed and x & 1 else (x, y)


def _sign(members: list[int], pair: tuple[int, int], signed: bool) -> int | None:
    """The sign with which ``pair`` is contained in ``members``; None when it is not."""
    for sign in (0, 1) if signed else (0,):
        x, y = pair[0] ^ sign, pair[1] ^ sign
        if x in members and y in members and (x != y or members.count(x) > 1):
            return sign
    return None
