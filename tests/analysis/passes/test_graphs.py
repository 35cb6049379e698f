"""Programs as graphs, for networkx and Graphviz."""

import sys

import networkx
import pytest

import covector as cv
import covector.numpy as cnp
from covector import analysis, errors, lax
from covector.analysis.walk import visits


def f(x, n):
    y = lax.fori_loop(0, n, lambda i, c: cnp.sin(c) * 2, x)
    z = lax.cond(y.sum() > 0, cnp.cos, cv.jit(cnp.tan), y)
    return z * cnp.array([1.0, 2.0, 3.0])


@pytest.fixture(scope="module")
def jaxpr():
    return cv.make_jaxpr(f)(cnp.ones(3), 5)


def test_the_graph_has_each_equation_by_its_number(jaxpr):
    graph = analysis.to_networkx(jaxpr)
    assert networkx.is_directed_acyclic_graph(graph)
    numbered = {
        n: of["operation"] for n, of in graph.nodes.items() if "operation" in of
    }
    assert numbered == {i: v.equation.op.name for i, v in enumerate(visits(jaxpr))}
    assert {"input 0", "input 1", "constant 0", "output 0"} == graph.nodes - {*numbered}
    for i, visit in enumerate(visits(jaxpr)):
        around = graph.nodes[i]["inside"]
        assert (around is None) == (visit.around == ())


def test_what_a_node_reaches_depends_on_it(jaxpr):
    graph = analysis.to_networkx(jaxpr, inside=False)
    by_path = networkx.descendants(graph, "input 0")
    by_sweep = analysis.dependence(jaxpr, inputs=[0])
    tops = [i for i, v in enumerate(visits(jaxpr)) if not v.around]
    wanted = {k for k, i in enumerate(tops) if i in by_sweep.equations}
    assert {n for n in by_path if isinstance(n, int)} == wanted


def test_an_operand_that_is_read_twice_has_two_edges():
    graph = analysis.to_networkx(cv.make_jaxpr(lambda x: x * x)(1.0))
    edges = graph.get_edge_data("input 0", 0).values()
    assert [e["operand"] for e in edges] == [0, 1]


def test_the_text_has_boxes_around_loops_and_fills_what_is_chosen(jaxpr):
    text = analysis.to_dot(jaxpr, highlight=["output 0"])
    assert text.count("subgraph") == 3
    assert text.count("{") == text.count("}")
    assert '"output 0" [label="output 0\\nf32[3]", shape=ellipse, style=' in text
    assert "subgraph" not in analysis.to_dot(jaxpr, inside=False)


def test_without_networkx_the_error_says_what_to_install(jaxpr, monkeypatch):
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(
        errors.MissingLibrary, match=r"pip install 'covector\[inspect\]'"
    ):
        analysis.to_networkx(jaxpr)
