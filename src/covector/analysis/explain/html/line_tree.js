// The lines of the program as a tree, each with what it and those below it cost.

// The children of a line, or the outermost lines: by function where there are several,
// and those of one source line in several scopes together.
function lineTree(program) {
  const below = (ids, key) => {
    const functions = grouped(
      ids,
      (id) => `${program.lines[id].file}:${program.lines[id].enclosing}`,
    );
    if (functions.length === 1) return sources(functions[0][1], key);
    return functions.map(([name, members]) =>
      folder("function", `${key}/${name}`, members, sources(members, `${key}/${name}`)),
    );
  };
  const sources = (ids, key) =>
    grouped(ids, (id) => lineName(program.lines[id])).map(([name, members]) =>
      members.length === 1
        ? leaf(members[0], `${key}/${name}`)
        : folder(
            "source",
            `${key}/${name}`,
            members,
            members.map((id) => leaf(id, `${key}/${name}/${id}`, true)),
          ),
    );
  const leaf = (id, key, scoped = false) =>
    withTotals({
      kind: "line",
      key,
      ids: [id],
      scoped,
      children: below(program.lines[id].inside, key),
    });
  const folder = (kind, key, ids, children) =>
    withTotals({ kind, key, ids, scoped: false, children });
  const withTotals = (node) => ({ ...node, totals: lineTotals(program, node) });
  return below(
    program.lines.filter((line) => line.parent === null).map((line) => line.id),
    "",
  );
}

function grouped(ids, name) {
  const groups = new Map();
  for (const id of ids) {
    if (!groups.has(name(id))) groups.set(name(id), []);
    groups.get(name(id)).push(id);
  }
  return [...groups];
}

// What a row costs, together with the rows below it.
function lineTotals(program, node) {
  const parts = node.children.map((child) => child.totals);
  if (node.kind === "line") parts.push(costOf(program.lines[node.ids[0]]));
  const sum = (key) =>
    parts.reduce((all, part) => (part[key] === null ? all : (all ?? 0) + part[key]), null);
  const totals = Object.fromEntries(
    ["share", "measured", "flops", "bytes", "made", "kept"].map((key) => [key, sum(key)]),
  );
  return { ...totals, intensity: totals.bytes ? totals.flops / totals.bytes : null };
}

function costOf(line) {
  return {
    share: line.estimated_share,
    measured: line.measured_share,
    flops: line.flops,
    bytes: line.bytes,
    made: line.memory_made,
    kept: line.memory_kept,
  };
}
