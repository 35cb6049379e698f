// What is emphasised in the graph: the selection, its slices, the critical path.

// Sets on each node whether it is chosen, needed (up), or needs what is chosen (down).
function setRoles(nodes, chosen, slices) {
  const has = (ids, set) => ids.some((id) => set.has(id));
  const equations = new Set(chosen?.equations);
  const values = new Set(chosen?.values);
  for (const node of nodes) {
    node.chosen = has(node.equations, equations) || has(node.values, values);
    const free = slices !== null && !node.chosen;
    node.up =
      free &&
      (has(node.equations, slices.up.equations) ||
        (node.kind === "input" && has(node.values, slices.up.values)));
    node.down =
      free &&
      (has(node.equations, slices.down.equations) ||
        (node.kind === "result" && has(node.values, slices.down.values)));
  }
}

// How nodes and edges are drawn; edges that are not emphasised have null.
function emphasisOf(scene, colors, { critical, hovered, slices }) {
  const dim = slices !== null || critical;
  const isCritical = (n) => critical && n.critical;
  const node = (n) => {
    const shown = n === hovered ? { color: colors.ink, width: 1.5 } : { width: 1 };
    if (n.chosen) return { ...shown, chosen: true, color: colors.accent, width: 3 };
    if (isCritical(n)) return { ...shown, color: colors.ink, width: 3, symbol: "●" };
    if (n.up) return { ...shown, color: colors.accent, width: 2, symbol: "▲" };
    if (n.down) return { ...shown, color: colors.other, width: 2, symbol: "▼" };
    return { ...shown, dim };
  };
  const edge = ({ from, to, across, critical: isOnPath }) => {
    const [a, b] = [scene.nodes[from], scene.nodes[to]];
    const alpha = across ? 0.3 : 0.8;
    if (critical && isOnPath) return { color: colors.ink, alpha, width: 2.5 };
    if ((a.up || a.chosen) && (b.up || b.chosen))
      return { color: colors.accent, alpha, width: 1.6 };
    if ((a.down || a.chosen) && (b.down || b.chosen))
      return { color: colors.other, alpha, width: 1.6 };
    return null;
  };
  return { colors, dim, node, edge };
}
