// Draws the graph on a canvas: only what is in view, and text only where it is legible.

const LEGIBLE = 0.45;
// Below that a node is a spot, the stronger the more it costs.
const COARSE = 0.2;

function themeColors() {
  const style = getComputedStyle(document.documentElement);
  const names = [
    "ink",
    "soft",
    "line",
    "card",
    "page",
    "accent",
    "accent-faint",
    "other",
    "raised",
  ];
  return Object.fromEntries(
    names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]),
  );
}

// scene: {nodes, edges}; view: {x, y, scale}; emphasis: how nodes and edges are shown
function paint(canvas, scene, view, emphasis) {
  const context = canvas.getContext("2d");
  const density = canvas.width / canvas.clientWidth;
  const colors = emphasis.colors;
  context.setTransform(density, 0, 0, density, 0, 0);
  context.clearRect(0, 0, canvas.clientWidth, canvas.clientHeight);
  context.translate(view.x, view.y);
  context.scale(view.scale, view.scale);
  const seen = {
    left: -view.x / view.scale,
    top: -view.y / view.scale,
    right: (canvas.clientWidth - view.x) / view.scale,
    bottom: (canvas.clientHeight - view.y) / view.scale,
  };
  const strong = [];
  for (const edge of scene.edges) {
    if (!edgeInView(scene, edge, seen)) continue;
    if (emphasis.edge(edge)) strong.push(edge);
    else
      paintEdge(context, scene, edge, {
        color: colors.soft,
        alpha: (emphasis.dim ? 0.2 : 1) * (edge.across ? 0.07 : edge.lane ? 0.25 : 0.5),
        width: 1,
      });
  }
  for (const edge of strong) paintEdge(context, scene, edge, emphasis.edge(edge));
  for (const node of scene.nodes) {
    const inside =
      node.x > seen.left - NODE.width &&
      node.x < seen.right + NODE.width &&
      node.y > seen.top - NODE.height &&
      node.y < seen.bottom + NODE.height;
    if (inside) paintNode(context, node, view.scale, emphasis);
  }
}

function edgeInView(scene, edge, seen) {
  const from = scene.nodes[edge.from];
  const to = scene.nodes[edge.to];
  if (Math.max(from.y, to.y) < seen.top || Math.min(from.y, to.y) > seen.bottom) return false;
  return (
    Math.max(from.x, to.x, edge.lane ?? 0) > seen.left - NODE.width &&
    Math.min(from.x, to.x) < seen.right + NODE.width
  );
}

function paintEdge(context, scene, edge, { color, alpha, width }) {
  const from = scene.nodes[edge.from];
  const to = scene.nodes[edge.to];
  const half = NODE.height / 2;
  context.strokeStyle = color;
  context.globalAlpha = alpha;
  context.lineWidth = width;
  context.beginPath();
  if (edge.lane) {
    const radius = 14;
    context.moveTo(from.x + NODE.width / 2, from.y);
    context.arcTo(edge.lane, from.y, edge.lane, from.y + radius, radius);
    context.arcTo(edge.lane, to.y, edge.lane - radius, to.y, radius);
    context.lineTo(to.x + NODE.width / 2, to.y);
  } else if (edge.across) {
    const bend = 60 + Math.abs(to.x - from.x) / 4;
    context.moveTo(from.x, from.y + half);
    context.bezierCurveTo(
      from.x,
      from.y + half + bend,
      to.x,
      to.y - half - bend,
      to.x,
      to.y - half,
    );
  } else {
    const points = [
      { x: from.x, y: from.y + half },
      ...edge.points.slice(1, -1),
      { x: to.x, y: to.y - half },
    ];
    context.moveTo(points[0].x, points[0].y);
    for (let k = 1; k < points.length; k += 1) {
      const [a, b] = [points[k - 1], points[k]];
      const middle = (a.y + b.y) / 2;
      context.bezierCurveTo(a.x, middle, b.x, middle, b.x, b.y);
    }
  }
  context.stroke();
  context.globalAlpha = 1;
}

function paintNode(context, node, scale, emphasis) {
  const { colors } = emphasis;
  const state = emphasis.node(node);
  const left = node.x - NODE.width / 2;
  const top = node.y - NODE.height / 2;
  const round = node.kind === "input" || node.kind === "result" ? NODE.height / 2 : 8;
  context.globalAlpha = state.dim ? 0.3 : 1;
  if (scale < COARSE) return paintCoarsely(context, node, left, top, state, colors);
  context.beginPath();
  context.roundRect(left, top, NODE.width, NODE.height, round);
  context.fillStyle = state.chosen
    ? colors["accent-faint"]
    : node.kind === "operation"
      ? colors.card
      : colors.raised;
  context.fill();
  paintShare(context, node, left, top, colors);
  context.strokeStyle = state.color ?? colors.line;
  context.lineWidth = Math.max(state.width, state.width > 1 ? 1.2 / scale : 0);
  context.stroke();
  if (node.children.length) paintStack(context, left, top, colors);
  if (scale > LEGIBLE) paintText(context, node, left, top, state, colors);
  context.globalAlpha = 1;
}

function paintCoarsely(context, node, left, top, state, colors) {
  context.fillStyle = state.color ?? colors.accent;
  context.globalAlpha = state.dim ? 0.12 : state.color ? 1 : 0.25 + 0.75 * (node.share ?? 0);
  context.fillRect(left, top, NODE.width, NODE.height);
  context.globalAlpha = 1;
}

// How much of the cost of the program is here: a bar at the bottom.
function paintShare(context, node, left, top, colors) {
  const width = (NODE.width - 20) * Math.min(1, node.share ?? 0);
  if (width < 1) return;
  context.fillStyle = colors.accent;
  context.fillRect(left + 10, top + NODE.height - 5, width, 3);
}

// A group looks like a pile.
function paintStack(context, left, top, colors) {
  context.strokeStyle = colors.soft;
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(left + 6, top - 3);
  context.lineTo(left + NODE.width - 6, top - 3);
  context.stroke();
}

function paintText(context, node, left, top, state, colors) {
  const room = NODE.width - 20 - (state.symbol ? 14 : 0);
  context.textBaseline = "middle";
  context.fillStyle = colors.ink;
  context.font =
    node.kind === "line"
      ? "12px ui-monospace, Menlo, Consolas, monospace"
      : "600 13px system-ui, sans-serif";
  const middle = node.kind === "input" || node.kind === "result";
  node.shownTitle ??= fitting(context, node.title, NODE.width - 34, middle);
  context.fillText(node.shownTitle, left + 10, top + 15, room);
  context.fillStyle = colors.soft;
  context.font = "11px system-ui, sans-serif";
  node.shownNote ??= fitting(context, node.note, NODE.width - 20, false);
  context.fillText(node.shownNote, left + 10, top + 31, NODE.width - 20);
  if (!state.symbol) return;
  context.fillStyle = state.color;
  context.font = "600 12px system-ui, sans-serif";
  context.fillText(state.symbol, left + NODE.width - 20, top + 14);
}

// Paths of arguments are shortened in their middle.
function fitting(context, text, room, middle) {
  const cut = middle ? shortened : (whole, most) => `${whole.slice(0, most - 1)}…`;
  if (context.measureText(text).width <= room) return text;
  let most = Math.ceil((text.length * room) / context.measureText(text).width);
  while (most > 1 && context.measureText(cut(text, most)).width > room) most -= 1;
  return cut(text, most);
}
