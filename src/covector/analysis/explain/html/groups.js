// Groups of operations: what the graph shows at each detail.
//
// A group is a run of operations, in an order in which the program could run, with one
// scope, function or line. Whatever is grouped, the graph of runs has no cycles.

// The operations that stand directly in a program: the outermost, or that of a loop.
function operationsIn(program, frame) {
  if (frame !== null) return program.equations[frame].inside;
  return program.equations.filter((e) => e.parent === null).map((e) => e.id);
}

// From the outermost scope to the line: what an operation belongs to.
function groupKeys(program, id) {
  const line = program.lines[program.equations[id].line];
  const where = `${line.file}:${line.enclosing}`;
  return [
    ...scopePaths(line.scope).map((path) => ({
      kind: "scope",
      name: `scope ${path}`,
      label: scopeName(path),
    })),
    { kind: "function", name: `function ${where}`, label: line.enclosing },
    { kind: "line", name: `line ${where}:${line.line}`, label: lineName(line) },
  ];
}

// "a/b" → "a", "a/b";  "transpose(a/b)" → "transpose(a)", "transpose(a/b)"
function scopePaths(scope) {
  if (!scope) return [];
  const wrapped = /^([\w.]+)\((.*)\)$/.exec(scope);
  const [before, parts, after] = wrapped
    ? [`${wrapped[1]}(`, wrapped[2].split("/"), ")"]
    : ["", scope.split("/"), ""];
  return parts.map((_, k) => before + parts.slice(0, k + 1).join("/") + after);
}

// An order of the operations in which neighbours belong together as far as possible.
function gatheredOrder(program, ids, keys) {
  const here = new Set(ids);
  const waiting = new Map();
  const ready = new Map();
  const name = new Map(
    ids.map((id) => [
      id,
      keys
        .get(id)
        .map((key) => key.name)
        .join("\n"),
    ]),
  );
  const makers = (id) =>
    program.equations[id].inputs.map((v) => program.values[v].made_by).filter((m) => here.has(m));
  const enter = (id) => {
    if (!ready.has(name.get(id))) ready.set(name.get(id), []);
    ready.get(name.get(id)).push(id);
  };
  for (const id of ids) {
    waiting.set(id, new Set(makers(id)).size);
    if (!waiting.get(id)) enter(id);
  }
  const order = [];
  let last = "";
  while (ready.size) {
    last = nearest(ready, last);
    const members = ready.get(last);
    const id = members.splice(members.indexOf(Math.min(...members)), 1)[0];
    if (!members.length) ready.delete(last);
    order.push(id);
    for (const user of usersOf(program, id)) {
      if (!here.has(user)) continue;
      waiting.set(user, waiting.get(user) - 1);
      if (!waiting.get(user)) enter(user);
    }
  }
  return order;
}

// Those ready that share most with the last; among equals, those that come first.
function nearest(ready, last) {
  if (ready.has(last)) return last;
  const parts = last.split("\n");
  let best = null;
  for (const [name, members] of ready) {
    const others = name.split("\n");
    let common = 0;
    while (common < others.length && others[common] === parts[common]) common += 1;
    if (
      best === null ||
      common > best.common ||
      (common === best.common && members[0] < best.first)
    ) {
      best = { name, common, first: members[0] };
    }
  }
  return best.name;
}

function usersOf(program, id) {
  return new Set(program.equations[id].outputs.flatMap((v) => program.values[v].used_by));
}

// The groups of a program as a tree; leaves are single operations. The rank of a group
// says what it is: scopes by their depth, then functions, then lines.
function groupTree(program, frame) {
  const ids = operationsIn(program, frame);
  const keys = new Map(ids.map((id) => [id, groupKeys(program, id)]));
  const most = Math.max(0, ...new Set([...keys.values()].map((path) => path.length)));
  const leaf = (id) => ({
    key: `operation ${id}`,
    kind: "operation",
    equations: [id],
    children: [],
  });
  const split = (members, depth) =>
    runs(members, (id) => keys.get(id)[depth]?.name).flatMap((run) => {
      const key = keys.get(run[0])[depth];
      if (run.length === 1 || key === undefined) return run.map(leaf);
      const children = split(run, depth + 1);
      if (children.length === 1 && key.kind === "function") return children;
      const inner = children.length === 1 ? children[0].children : children;
      const rank = key.kind === "scope" ? depth : most - (key.kind === "function" ? 2 : 1);
      return [
        {
          key: `${key.name} from ${run[0]}`,
          kind: key.kind,
          rank,
          label: key.label,
          equations: run,
          children: inner,
        },
      ];
    });
  return withParents(split(gatheredOrder(program, ids, keys), 0), null);
}

function withParents(nodes, parent) {
  for (const node of nodes) {
    node.parent = parent;
    withParents(node.children, node);
  }
  return nodes;
}

function runs(items, name) {
  const found = [];
  for (const [k, item] of items.entries()) {
    if (k && name(item) === name(items[k - 1])) found[found.length - 1].push(item);
    else found.push([item]);
  }
  return found;
}

// The groups and operations that are seen, when groups below this rank are open.
// ``toggled`` has the groups that are open, or not, whatever their rank.
function groupsShown(tree, detail, toggled = new Map()) {
  return tree.flatMap((node) => {
    const open = node.children.length > 0 && (toggled.get(node.key) ?? node.rank < detail);
    return open ? groupsShown(node.children, detail, toggled) : [node];
  });
}

// The detail at which all operations are seen.
function mostDetail(tree) {
  return tree.reduce(
    (most, node) =>
      Math.max(most, node.children.length ? Math.max(node.rank + 1, mostDetail(node.children)) : 0),
    0,
  );
}

// The most detail at which no more nodes than these are seen.
function fittingDetail(tree, most) {
  let detail = 0;
  while (detail < mostDetail(tree) && groupsShown(tree, detail + 1).length <= most) detail += 1;
  return detail;
}

// The graph of what is seen: nodes, inputs and results, and edges from makers to users.
function shownGraph(program, frame, shown) {
  const nodes = shown.map((node) => ({ ...node, values: [] }));
  const at = new Map(nodes.flatMap((node, k) => node.equations.map((id) => [id, k])));
  const edges = new Map();
  const outside = new Map();
  const link = (from, to, value) => {
    if (from === to) return;
    const key = `${from} ${to}`;
    if (!edges.has(key)) edges.set(key, { from, to, values: [] });
    edges.get(key).values.push(value);
  };
  for (const [id, to] of at) {
    for (const value of program.equations[id].inputs) {
      const from = at.get(program.values[value].made_by);
      if (from !== undefined) link(from, to, value);
      else reader(outside, value).add(to);
    }
  }
  for (const [values, users] of together(outside)) {
    nodes.push({ key: `input ${values[0]}`, kind: "input", equations: [], values, children: [] });
    for (const user of users) link(nodes.length - 1, user, values[0]);
  }
  for (const { from, results } of resultsBy(program, frame, at)) {
    nodes.push({
      key: `result ${results[0].value}`,
      kind: "result",
      equations: [],
      values: results.map((r) => r.value),
      results,
      children: [],
    });
    link(from, nodes.length - 1, results[0].value);
  }
  return { nodes, edges: [...edges.values()] };
}

function reader(outside, value) {
  if (!outside.has(value)) outside.set(value, new Set());
  return outside.get(value);
}

// Inputs with the same readers, together.
function together(outside) {
  const groups = new Map();
  for (const [value, users] of outside) {
    const key = [...users].join();
    if (!groups.has(key)) groups.set(key, [[], users]);
    groups.get(key)[0].push(value);
  }
  return groups.values();
}

// Results by the node that makes them.
function resultsBy(program, frame, at) {
  const all =
    frame === null
      ? (program.results ?? [])
      : program.equations[frame].outputs.flatMap((out) =>
          (program.values[out].ties ?? []).map((value) => ({
            path: `result ${program.values[out].name}`,
            value,
          })),
        );
  const groups = new Map();
  for (const result of all) {
    const from = result.value === null ? undefined : at.get(program.values[result.value].made_by);
    if (from === undefined) continue;
    if (!groups.has(from)) groups.set(from, []);
    groups.get(from).push(result);
  }
  return [...groups].map(([from, results]) => ({ from, results }));
}
