"""C with the interface of CasADi's external functions, and their Jacobians.

A function f has ``f_n_in``, ``f_sparsity_in`` and so on beside it, and ``jac_f``, which takes the inputs of f
and its outputs (not used) and gives one block for every output and input, by columns as CasADi stores
matrices. Inverse and forward dynamics have
the blocks of their derivative quantities; those of all others come from the chain rule through their own
program.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from robot_dynamics.codegen.derivatives import jacobian
from robot_dynamics.codegen.emit_c import c_source
from robot_dynamics.codegen.expression import Expression, ExpressionGraph
from robot_dynamics.codegen.factoring import factored_program
from robot_dynamics.codegen.program import Argument, Program
from robot_dynamics.dynamics.constant_inputs import friction_vector
from robot_dynamics.dynamics.export import Export
from robot_dynamics.dynamics.languages.language import Language
from robot_dynamics.dynamics.programs import trace_of_chain
from robot_dynamics.dynamics.quantities import quantity_named
from robot_dynamics.errors import ParameterError

_BY_QUANTITY = {
    "inverse_dynamics": "inverse_dynamics_derivatives",
    "forward_dynamics": "forward_dynamics_derivatives",
}


@dataclass(frozen=True)
class _Array:
    """An input or output of a function: its name and shape (rows, columns), and whether it is all zero."""

    name: str
    shape: tuple[int, int]
    zero: bool = False


@dataclass(frozen=True)
class _Function:
    """Function as CasADi sees it, and the program that computes it; the program lacks unused inputs.

    Attributes:
        name: of the function.
        inputs, outputs: as CasADi sees them.
        used: number of the inputs that the program takes, the first ones.
        program: with one output for each output that is not all zero.
    """

    name: str
    inputs: tuple[_Array, ...]
    outputs: tuple[_Array, ...]
    used: int
    program: Program


def _files(export: Export) -> Mapping[str, str]:
    if export.wrench:
        raise ParameterError("functions for CasADi take no wrench: leave --wrench out")
    functions = [f for name in export.quantities for f in _functions(export, name)]
    notice = [
        *export.notice(),
        "Friction: " + ("that of the description." if export.friction else "none."),
        f"Compile with: cc -O2 -fPIC -shared {export.name}_casadi.c -o {export.name}_casadi.so -lm; use with",
        f'casadi.external("{functions[0].name}", "./{export.name}_casadi.so").',
    ]
    programs = [function.program for function in functions]
    friction = ""
    if export.friction:
        values = ", ".join(repr(x) for x in friction_vector(export.chain).tolist())
        friction = f"static const double friction[] = {{{values}}};\n\n"
    wrappers = "\n".join(_wrapper(function) for function in functions)
    source = c_source(programs, None, notice).replace(
        f"\nvoid {export.name}_", f"\nstatic void {export.name}_"
    )
    source = source.replace("\nvoid jac_", "\nstatic void jac_")
    return {f"{export.name}_casadi.c": f"{source}\n{_HEAD}{friction}{wrappers}"}


def _functions(export: Export, quantity_name: str) -> list[_Function]:
    """A quantity and its Jacobian."""
    quantity = quantity_named(quantity_name)
    held = [array.name for array in quantity.held if array.name == "friction" and export.friction]
    trace, sizes = trace_of_chain(
        export.chain, export.gravity, quantity_name, held, export.objective, export.settings(quantity_name)
    )
    n = export.chain.dof
    name = f"{export.name}_{quantity_name}"
    inputs = tuple(_Array(array.name, (n, 1)) for array in quantity.states)
    outputs = tuple(_Array(output.name, _matrix(output.shape(sizes))) for output in quantity.outputs)
    columns = [
        _by_columns(scalars, array.shape) for scalars, array in zip(trace.outputs, outputs, strict=True)
    ]
    function = _Function(name, inputs, outputs, len(inputs), _program(trace.graph, name, outputs, columns))

    if quantity_name in _BY_QUANTITY:
        trace, _ = trace_of_chain(
            export.chain, export.gravity, _BY_QUANTITY[quantity_name], held, export.objective
        )
        blocks = [_by_columns(scalars, (n, n)) for scalars in trace.outputs]
    else:
        states = trace.graph.input_scalars[: n * len(inputs)]
        everything = jacobian([entry for column in columns for entry in column], states)
        blocks, start = [], 0
        for column in columns:
            rows = everything[start : start + len(column)]
            start += len(column)
            blocks += [[row[n * i + j] for j in range(n) for row in rows] for i in range(len(inputs))]
    arrays = tuple(
        _Array(f"jac_{output.name}_{given.name}", (output.shape[0] * output.shape[1], n))
        for output in outputs
        for given in inputs
    )
    arrays = tuple(
        replace(array, zero=all(entry.is_zero for entry in block))
        for array, block in zip(arrays, blocks, strict=True)
    )
    given = (*inputs, *(replace(output, name=f"out_{output.name}", zero=True) for output in outputs))
    program = _program(trace.graph, f"jac_{name}", arrays, blocks)
    return [function, _Function(f"jac_{name}", given, arrays, len(inputs), program)]


def _matrix(shape: tuple[int, ...]) -> tuple[int, int]:
    *rows, columns = shape if len(shape) > 1 else (*shape, 1)
    return math.prod(rows), columns


def _by_columns(entries: Sequence[Expression], shape: tuple[int, int]) -> list[Expression]:
    rows, columns = shape
    return [entries[columns * i + j] for j in range(columns) for i in range(rows)]


def _program(
    graph: ExpressionGraph, name: str, arrays: Sequence[_Array], entries: Sequence[Sequence[Expression]]
) -> Program:
    outputs = [
        (Argument(array.name, len(scalars)), scalars)
        for array, scalars in zip(arrays, entries, strict=True)
        if not array.zero
    ]
    return factored_program(graph, f"{name}_kernel", outputs)


_HEAD = """/* The interface of CasADi's external functions. */
#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

"""


def _wrapper(function: _Function) -> str:
    name, taken = function.name, function.inputs[: function.used]
    nonzero = [(i, array) for i, array in enumerate(function.outputs) if not array.zero]
    size = sum(array.shape[0] * array.shape[1] for _, array in nonzero)
    largest = max(array.shape[0] for array in taken)
    given = [f"arg[{i}] ? arg[{i}] : nothing" for i in range(len(taken))]
    given += ["friction"] * (len(function.program.inputs) - len(taken))
    place, places = 0, []
    for i, array in nonzero:
        places.append(f"res[{i}] ? res[{i}] : w + {place}")
        place += array.shape[0] * array.shape[1]
    call = ",\n        ".join([*given, *places])
    return f"""EXPORT int {name}(const double **arg, double **res, long long *iw, double *w, int mem)
{{
    static const double nothing[{largest}] = {{0}};
    (void)iw;
    (void)mem;
    {function.program.name}(
        {call});
    return 0;
}}

EXPORT long long {name}_n_in(void) {{ return {len(function.inputs)}; }}
EXPORT long long {name}_n_out(void) {{ return {len(function.outputs)}; }}
{_names(f"{name}_name_in", function.inputs)}
{_names(f"{name}_name_out", function.outputs)}
{_sparsities(f"{name}_sparsity_in", function.inputs)}
{_sparsities(f"{name}_sparsity_out", function.outputs)}
EXPORT int {name}_work(long long *sz_arg, long long *sz_res, long long *sz_iw, long long *sz_w)
{{
    if (sz_arg) *sz_arg = {len(function.inputs)};
    if (sz_res) *sz_res = {len(function.outputs)};
    if (sz_iw) *sz_iw = 0;
    if (sz_w) *sz_w = {size};
    return 0;
}}

EXPORT void {name}_incref(void) {{}}
EXPORT void {name}_decref(void) {{}}
"""


def _names(function: str, arrays: Sequence[_Array]) -> str:
    names = ", ".join(f'"{array.name}"' for array in arrays)
    return f"""EXPORT const char *{function}(long long i)
{{
    static const char *const names[] = {{{names}}};
    return i >= 0 && i < {len(arrays)} ? names[i] : 0;
}}"""


def _sparsities(function: str, arrays: Sequence[_Array]) -> str:
    """Rows and columns, then 1 for a dense matrix, or where the columns begin in one without entries."""
    tables = []
    for array in arrays:
        rows, columns = array.shape
        pattern = [rows, columns, *([0] * (columns + 1) if array.zero else [1])]
        tables.append(f"{{{', '.join(map(str, pattern))}}}")
    width = max(4, *(3 + array.shape[1] for array in arrays))
    return f"""EXPORT const long long *{function}(long long i)
{{
    static const long long patterns[][{width}] = {{{", ".join(tables)}}};
    return i >= 0 && i < {len(arrays)} ? patterns[i] : 0;
}}"""


CASADI = Language(
    _files,
    lambda export, main: (
        f"compile with: cc -O2 -fPIC -shared {main} -o {export.name}_casadi.so -lm; then in Python:"
        f' casadi.external("{export.name}_{export.quantities[0]}", "./{export.name}_casadi.so")'
    ),
)
