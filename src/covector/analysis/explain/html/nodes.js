// What nodes of the graph are called, and which is next to which.

function nameOfFrame(program, id) {
  const equation = program.equations[id];
  const line = program.lines[equation.line];
  const steps = stepsOf(program, equation);
  return `${equation.operation}${steps > 1 ? ` × ${count(steps)}` : ""} (${lineName(line)})`;
}

// The title of a node, what is below it, and what it costs.
function describe(program, node) {
  const equations = node.equations.map((id) => program.equations[id]);
  const cost = equations.reduce((sum, e) => sum + e.total.share, 0);
  node.cost = cost;
  node.critical = equations.some((e) => e.critical);
  if (node.kind === "operation") {
    const [e] = equations;
    node.title = e.inside.length ? `${e.operation} ▸` : e.operation;
    node.note = typeOf(program, e);
  } else if (node.kind === "input") {
    const names = node.values.map((v) => inputName(program, program.values[v]));
    node.title = names.length === 1 ? names[0] : counted(names.length, "input");
    node.note = names.length === 1 ? program.values[node.values[0]].type : names.join(", ");
  } else if (node.kind === "result") {
    node.title =
      node.results.length === 1 ? node.results[0].path : counted(node.results.length, "result");
    node.note =
      node.results.length === 1
        ? program.values[node.values[0]].type
        : node.results.map((r) => r.path).join(", ");
  } else {
    const line = program.lines[equations[0].line];
    node.title = node.kind === "line" && line.source ? line.source : node.label;
    const where =
      node.kind === "line" ? lineName(line) : node.kind === "function" ? fileName(line.file) : null;
    node.note = [counted(equations.length, "operation"), where].filter(Boolean).join(" · ");
  }
}

// The operations of a program that are on its critical path, in their order.
function criticalPath(program, frame) {
  const path = operationsIn(program, frame).filter((id) => program.equations[id].critical);
  return path.sort((a, b) => program.equations[a].level - program.equations[b].level);
}

// Sets on each edge whether the critical path goes along it.
function setCriticalEdges({ nodes, edges }, path) {
  const at = new Map(nodes.flatMap((node, k) => node.equations.map((id) => [id, k])));
  const steps = new Set(path.slice(1).map((id, k) => `${at.get(path[k])} ${at.get(id)}`));
  for (const edge of edges) edge.critical = steps.has(`${edge.from} ${edge.to}`);
}

function inputName(program, value) {
  if (value.argument !== null) return value.argument;
  const outside = (value.ties ?? [])
    .map((id) => program.values[id])
    .find(
      (tied) =>
        tied.made_by === null || !program.equations[tied.made_by].around.includes(value.born),
    );
  if (outside) return valueName(program, outside);
  return value.ties?.length ? "previous step" : value.name;
}

// The next node in the direction of an arrow: along edges upwards and downwards.
function neighbour(scene, node, key) {
  if (node === null) return null;
  const at = scene.nodes.indexOf(node);
  if (key === "ArrowUp" || key === "ArrowDown") {
    const [here, there] = key === "ArrowUp" ? ["to", "from"] : ["from", "to"];
    const near = scene.edges
      .filter((edge) => edge[here] === at)
      .map((edge) => scene.nodes[edge[there]]);
    return closest(near, node);
  }
  const side = scene.nodes.filter(
    (n) => n.layer === node.layer && (key === "ArrowLeft" ? n.x < node.x : n.x > node.x),
  );
  return closest(side, node);
}

function closest(nodes, to) {
  const far = (node) => Math.hypot(node.x - to.x, node.y - to.y);
  return nodes.reduce((best, node) => (best === null || far(node) < far(best) ? node : best), null);
}
