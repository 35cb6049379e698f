"""``to_networkx`` and ``to_dot``: programs as graphs of operations.

A node for each input, constant array, equation and output, an edge for each operand.
What is inside of an equation that carries programs is drawn where operands and results
meet it: an edge leads from what makes an operand to what reads it inside, and from what
makes a result inside to what reads it outside. Of a loop that is one step.
"""

from collections.abc import Collection, Hashable, Sequence
from typing import Any

from covector.analysis.passes.programs import as_program
from covector.core.jaxpr import Atom, Equation, Jaxpr, Var
from covector.core.show import show_operation
from covector.errors import MissingLibrary
from covector.programs.higher_order.regions import Kind, Region

__all__ = ["to_dot", "to_networkx"]

#: an equation by its number; anything else by a text such as ``"input 0"``
Node = int | str


class _Graph:
    """Nodes and edges, as they are collected."""

    def __init__(self, program: Jaxpr, inside: bool) -> None:
        self.nodes: dict[Node, dict[str, Any]] = {}
        self.edges: list[tuple[Node, Node, int, str]] = []
        self.inside = inside
        self.count = 0
        self.constants: dict[int, Node] = {}
        sources: dict[Var, list[Node]] = {}
        for i, v in enumerate(program.inputs):
            sources[v] = [self._end(f"input {i}", "input", v)]
        self._equations(program, sources, None)
        for k, atom in enumerate(program.outputs):
            end = self._end(f"output {k}", "output", atom)
            self._edges(self._of(atom, sources), end, 0, atom)

    def _end(self, name: str, kind: str, atom: Atom) -> Node:
        label = f"{name}\n{atom.type}"
        self.nodes[name] = {"kind": kind, "label": label, "types": (str(atom.type),)}
        return name

    def _of(self, atom: Atom, sources: dict[Var, list[Node]]) -> list[Node]:
        """The nodes that may make a value; none for a number."""
        if type(atom) is Var:
            return sources[atom]
        if not atom.type.ndim:
            return []
        known = self.constants.get(id(atom))
        if known is None:
            name = f"constant {len(self.constants)}"
            known = self.constants[id(atom)] = self._end(name, "constant", atom)
        return [known]

    def _edges(
        self, makers: Sequence[Node], to: Node, operand: int, atom: Atom
    ) -> None:
        self.edges += [(maker, to, operand, str(atom.type)) for maker in makers]

    def _equations(
        self, jaxpr: Jaxpr, sources: dict[Var, list[Node]], parent: int | None
    ) -> None:
        for e in jaxpr.equations:
            number = self._equation(e, parent)
            operands = [self._of(a, sources) for a in e.inputs]
            regions = [r for r in e.op.regions if r.kind is not Kind.RULE]
            results: list[list[Node]] = [[] for _ in e.outputs]
            entering = set(range(len(operands)))
            for region in regions if self.inside else []:
                entering -= {*region.operands}
                self._region(region, operands, results, number)
            for i in sorted(entering):
                self._edges(operands[i], number, i, e.inputs[i])
            for v, makers in zip(e.outputs, results, strict=True):
                sources[v] = list(dict.fromkeys(makers)) or [number]

    def _equation(self, e: Equation, parent: int | None) -> int:
        number = self.count
        self.count += 1
        types = tuple([str(v.type) for v in e.outputs])
        self.nodes[number] = {
            "kind": "equation",
            "label": "\n".join([e.op.name, ", ".join(types)]),
            "types": types,
            "operation": e.op.name,
            "parameters": show_operation(e.op).removeprefix(e.op.name),
            "line": None if e.line is None else str(e.line),
            "inside": parent,
        }
        return number

    def _region(
        self,
        region: Region,
        operands: list[list[Node]],
        results: list[list[Node]],
        number: int,
    ) -> None:
        inputs = [makers or [] for makers in region.taken(operands)]
        sources = dict(zip(region.jaxpr.inputs, inputs, strict=True))
        self._equations(region.jaxpr, sources, number)
        pairs = zip(region.results, region.decides, region.jaxpr.outputs, strict=True)
        for result, decides, atom in pairs:
            if result is not None:
                results[result] += self._of(atom, sources)
            elif decides:
                self._edges(self._of(atom, sources), number, len(operands), atom)


def to_networkx(jaxpr: Jaxpr, inside: bool = True) -> Any:
    """A program as a ``networkx.MultiDiGraph``, which has algorithms for graphs.

    Nodes are the equations by number, and ``"input 0"``, ``"constant 0"``, ``"output
    0"``. Their attributes: ``kind`` ("equation", "input", …), ``label``, ``types``; of
    equations ``operation``, ``parameters``, ``line`` and ``inside`` (the number of the
    equation that carries it, or None). An edge has the ``operand`` that it is and its
    ``type``. The graph is acyclic: of a loop it has one step.

    Args:
      jaxpr: a program, as ``covector.make_jaxpr(f)(*args)`` returns.
      inside: show programs that equations carry. Numbers are then those of equations at
        any depth (``dependence``, ``cost``); without, those of ``jaxpr.equations``
        (``topological_levels``, ``critical_path``).

    Raises:
      ArgumentError: a function was given.
      MissingLibrary: networkx is not installed: ``pip install 'covector[inspect]'``.

    >>> import covector as cv, covector.numpy as cnp
    >>> graph = to_networkx(cv.make_jaxpr(lambda x: cnp.sin(x) * x)(1.0))
    >>> list(graph.successors("input 0")), graph.nodes[1]["operation"]
    ([0, 1], 'mul')
    """
    networkx = _networkx()
    found = _Graph(as_program("to_networkx", jaxpr), inside)
    graph = networkx.MultiDiGraph()
    graph.add_nodes_from(found.nodes.items())
    for maker, reader, operand, type_ in found.edges:
        graph.add_edge(maker, reader, operand=operand, type=type_)
    return graph


def _networkx() -> Any:
    try:
        import networkx  # noqa: PLC0415  an extra of the package
    except ImportError as error:
        raise MissingLibrary(
            "to_networkx makes a graph of networkx, which is not installed. Install it "
            "with: pip install 'covector[inspect]'"
        ) from error
    return networkx


def to_dot(
    jaxpr: Jaxpr, inside: bool = True, highlight: Collection[Hashable] = ()
) -> str:
    """A program as text in the DOT language, which Graphviz and many editors draw.

    Equations that carry programs are boxes around these.

    Args:
      jaxpr: a program, as ``covector.make_jaxpr(f)(*args)`` returns.
      inside: show programs that equations carry.
      highlight: nodes to fill, by the numbers and names of ``to_networkx``: a slice
        (``dependence(…).equations``), or without ``inside`` a critical path.

    Raises:
      ArgumentError: a function was given.

    >>> import covector as cv, covector.numpy as cnp
    >>> text = to_dot(cv.make_jaxpr(lambda x: cnp.sin(x))(1.0), highlight=[0])
    >>> print(text.splitlines()[-3])
      "input 0" -> "0" [tooltip="f32[]"];
    """
    program = as_program("to_dot", jaxpr)
    graph = _Graph(program, inside)
    edges = [
        f"  {_quoted(maker)} -> {_quoted(reader)} [tooltip={_quoted(type_)}];"
        for maker, reader, _, type_ in graph.edges
    ]
    return "\n".join(
        [
            f"digraph {_quoted(program.name)} {{",
            '  node [shape=box, style=rounded, fontname="sans-serif"];',
            *_statements(graph, None, set(highlight), "  "),
            *edges,
            "}",
        ]
    )


def _statements(
    graph: _Graph,
    parent: Node | None,
    highlight: Collection[Hashable],
    indent: str,
) -> list[str]:
    """The nodes that stand in one box."""
    carriers = {of.get("inside") for of in graph.nodes.values()}
    tied = {node for edge in graph.edges for node in edge[:2]}
    lines = []
    for node, of in graph.nodes.items():
        if of.get("inside") != parent:
            continue
        if node in carriers:
            lines += [
                f"{indent}subgraph {_quoted(f'cluster_{node}')} {{",
                f"{indent}  label={_quoted(of['label'])}; style=rounded;",
                *_statements(graph, node, highlight, indent + "  "),
                f"{indent}}}",
            ]
        if node not in carriers or node in tied:
            lines.append(f"{indent}{_quoted(node)} [{_style(node, of, highlight)}];")
    return lines


def _style(node: Node, of: dict[str, Any], highlight: Collection[Hashable]) -> str:
    parts = [f"label={_quoted(of['label'])}"]
    if of.get("line"):
        parts.append(f"tooltip={_quoted(of['line'])}")
    if of["kind"] != "equation":
        parts.append("shape=ellipse")
    if node in highlight:
        parts.append('style="rounded,filled", fillcolor="#ffd166"')
    return ", ".join(parts)


def _quoted(text: object) -> str:
    escaped = str(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
