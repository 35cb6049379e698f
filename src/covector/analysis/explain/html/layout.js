// A layered layout of a graph without cycles: nodes get ``layer``, ``x`` and ``y`` (of
// their middle), edges the points that they pass, or a lane beside the graph.
//
// Layers by longest path; an order in each layer by barycentres; and then the positions
// that are nearest to those of the neighbours, in that order (least squares). Many layers
// are divided into columns.

const NODE = { width: 176, height: 46, gapX: 22, gapY: 34, bend: 10 };
// Longer edges pass beside the graph: on the way through they would hold up the layers.
const LONGEST = 12;
const SWEEPS = 8;
// The longest paths are straight: what stands at their side gives way.
const LIGHT = 0.001;
const COLUMN_GAP = 90;
// Width by height of all columns together.
const SHAPE = 1.4;

function layOut(nodes, edges) {
  if (!nodes.length) return { width: 0, height: 0 };
  assignLayers(nodes, edges);
  assignWeights(nodes, edges);
  const cells = nodes.map((node) => ({
    layer: node.layer,
    x: 0,
    above: [],
    below: [],
    width: NODE.width + NODE.gapX,
    weight: node.weight,
  }));
  const chains = new Map();
  for (const edge of edges) {
    if (nodes[edge.to].layer - nodes[edge.from].layer <= LONGEST)
      chains.set(edge, chain(cells, edge));
  }
  const layers = inLayers(cells);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) orderLayers(layers, sweep % 2 === 0);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) placeLayers(layers, sweep % 2 === 0);
  const columns = inColumns(layers);
  for (const column of columns)
    addLanes(
      column,
      edges.filter((edge) => !chains.has(edge)),
      nodes,
      cells,
    );
  const size = sideBySide(columns);
  for (const [k, node] of nodes.entries()) {
    node.column = columns.findIndex((column) => node.layer < column.end);
    node.x = cells[k].x;
    node.y = heightIn(columns[node.column], node.layer);
  }
  for (const edge of edges) settle(edge, nodes, columns, chains.get(edge));
  return { ...size, columns: columns.length };
}

function heightIn(column, layer) {
  return (layer - column.start) * (NODE.height + NODE.gapY) + NODE.height / 2;
}

// The longest path before a node. What only inputs and constants lead to, and is not
// needed at once, stands right above its reader.
function assignLayers(nodes, edges) {
  const above = nodes.map(() => []);
  const below = nodes.map(() => []);
  for (const { from, to } of edges) {
    below[from].push(to);
    above[to].push(from);
  }
  const order = topological(above, below);
  for (const k of order)
    nodes[k].layer = 1 + above[k].reduce((most, j) => Math.max(most, nodes[j].layer), -1);
  const loose = looseNodes(nodes, above, below, order);
  for (const k of order.reverse()) {
    if (loose[k] && below[k].length)
      nodes[k].layer = below[k].reduce((least, j) => Math.min(least, nodes[j].layer), Infinity) - 1;
  }
  const first = nodes.reduce((least, node) => Math.min(least, node.layer), Infinity);
  for (const node of nodes) node.layer -= first;
}

function topological(above, below) {
  const waiting = above.map((others) => others.length);
  const order = [...waiting.keys()].filter((k) => waiting[k] === 0);
  for (let at = 0; at < order.length; at += 1) {
    for (const to of below[order[at]]) {
      waiting[to] -= 1;
      if (waiting[to] === 0) order.push(to);
    }
  }
  return order;
}

// Inputs, and what comes after nothing else and is on no longest path.
function looseNodes(nodes, above, below, order) {
  const latest = nodes.map(() => Infinity);
  const last = largest(nodes, (node) => node.layer);
  for (const k of [...order].reverse()) {
    latest[k] = below[k].reduce((least, j) => Math.min(least, latest[j] - 1), last);
  }
  const loose = nodes.map(() => false);
  for (const k of order) {
    const hasSlack = nodes[k].kind === "input" || latest[k] > nodes[k].layer;
    loose[k] = hasSlack && above[k].every((j) => loose[j]);
  }
  return loose;
}

// By the longest path through a node, if something comes before it and after it.
function assignWeights(nodes, edges) {
  const after = nodes.map(() => 0);
  const before = nodes.map(() => 0);
  const downwards = [...edges].sort((a, b) => nodes[b.from].layer - nodes[a.from].layer);
  for (const { from, to } of downwards) after[from] = Math.max(after[from], after[to] + 1);
  for (const { from, to } of downwards.reverse())
    before[to] = Math.max(before[to], before[from] + 1);
  const longest = largest(after, (steps) => steps) || 1;
  for (const [k, node] of nodes.entries()) {
    const between = before[k] && after[k];
    node.weight = between ? Math.max(LIGHT, ((before[k] + after[k]) / longest) ** 8) : LIGHT;
  }
}

// The cells that an edge passes, one in each layer.
function chain(cells, edge) {
  const passed = [cells[edge.from]];
  for (let layer = cells[edge.from].layer + 1; layer < cells[edge.to].layer; layer += 1) {
    const cell = { layer, x: 0, above: [], below: [], width: NODE.bend, weight: LIGHT };
    cells.push(cell);
    passed.push(cell);
  }
  passed.push(cells[edge.to]);
  for (let k = 1; k < passed.length; k += 1) {
    passed[k].above.push(passed[k - 1]);
    passed[k - 1].below.push(passed[k]);
  }
  return passed;
}

function inLayers(cells) {
  const layers = [];
  for (const cell of cells) (layers[cell.layer] ??= []).push(cell);
  for (let k = 0; k < layers.length; k += 1) layers[k] ??= [];
  layers.forEach(number);
  return layers;
}

function number(layer) {
  layer.forEach((cell, k) => {
    cell.rank = k;
  });
}

function orderLayers(layers, downwards) {
  const visited = downwards ? layers : [...layers].reverse();
  for (const layer of visited) {
    for (const cell of layer) {
      const near = downwards ? cell.above : cell.below;
      cell.desired = near.length ? mean(near, (other) => other.rank) : cell.rank;
    }
    layer.sort((a, b) => a.desired - b.desired || a.rank - b.rank);
    number(layer);
  }
}

function placeLayers(layers, downwards) {
  const visited = downwards ? layers : [...layers].reverse();
  for (const layer of visited) {
    for (const cell of layer) {
      const near = downwards ? cell.above : cell.below;
      cell.desired = near.length ? mean(near, (other) => other.x) : cell.x;
    }
    fit(layer);
  }
}

// Of many: as arguments of Math.max they would be too many.
function largest(items, value) {
  return items.reduce((most, item) => Math.max(most, value(item)), 0);
}

function mean(cells, value) {
  const weight = cells.reduce((sum, cell) => sum + cell.weight, 0);
  return cells.reduce((sum, cell) => sum + cell.weight * value(cell), 0) / weight;
}

// The positions nearest to the desired ones in which neighbours keep their order and
// distance. With the distances subtracted it is an isotonic regression: neighbours whose
// desired positions decrease are joined in a block, at the weighted mean of them.
function fit(layer) {
  const blocks = [];
  let offset = 0;
  for (const [k, cell] of layer.entries()) {
    if (k) offset += (layer[k - 1].width + cell.width) / 2;
    cell.offset = offset;
    let block = { sum: cell.weight * (cell.desired - offset), weight: cell.weight, cells: [cell] };
    while (blocks.length && top(blocks).sum / top(blocks).weight >= block.sum / block.weight) {
      const before = blocks.pop();
      for (const member of block.cells) before.cells.push(member);
      block = {
        sum: before.sum + block.sum,
        weight: before.weight + block.weight,
        cells: before.cells,
      };
    }
    blocks.push(block);
  }
  for (const block of blocks) {
    for (const cell of block.cells) cell.x = block.sum / block.weight + cell.offset;
  }
}

function top(items) {
  return items[items.length - 1];
}

// Long programs are a long string: the layers are divided into columns, like a text,
// so that all of it fits on a screen.
function inColumns(layers) {
  const tall = layers.length * (NODE.height + NODE.gapY);
  const widths = layers.map((layer) => extent(layer).width).sort((a, b) => a - b);
  const wide = widths[Math.floor(0.97 * layers.length)] + COLUMN_GAP;
  const count =
    tall > 4 * wide && layers.length > 40 ? Math.ceil(Math.sqrt((SHAPE * tall) / wide)) : 1;
  const each = Math.ceil(layers.length / count);
  return Array.from({ length: Math.ceil(layers.length / each) }, (_, k) => {
    const [start, end] = [k * each, Math.min((k + 1) * each, layers.length)];
    return { start, end, layers: layers.slice(start, end), lanes: [] };
  });
}

function extent(layer) {
  const right = largest(layer, (cell) => cell.x + cell.width / 2);
  const left = layer.reduce((least, cell) => Math.min(least, cell.x - cell.width / 2), Infinity);
  return { left, right, width: layer.length ? right - left : 0 };
}

// Lanes at the right of a column for its long edges, the shorter nearer to it.
function addLanes(column, edges, nodes, cells) {
  const within = (k) => nodes[k].layer >= column.start && nodes[k].layer < column.end;
  const span = (edge) => nodes[edge.to].layer - nodes[edge.from].layer;
  const right = column.layers.map((layer) => extent(layer).right);
  const here = edges
    .filter((edge) => within(edge.from) && within(edge.to))
    .sort((a, b) => span(a) - span(b));
  here.forEach((edge, k) => {
    const passed = right.slice(
      nodes[edge.from].layer - column.start,
      nodes[edge.to].layer + 1 - column.start,
    );
    column.lanes.push({ edge, x: largest(passed, (x) => x) + 24 + Math.min(300, 5 * k) });
  });
}

function sideBySide(columns) {
  let left = 0;
  for (const column of columns) {
    const extents = column.layers.filter((layer) => layer.length).map(extent);
    const start = extents.reduce((least, { left: x }) => Math.min(least, x), Infinity);
    const end = Math.max(...extents.map(({ right }) => right), ...column.lanes.map(({ x }) => x));
    for (const cell of column.layers.flat()) cell.x += left - start;
    for (const lane of column.lanes) lane.edge.lane = lane.x + left - start;
    left += end - start + COLUMN_GAP;
  }
  const longest = columns[0].end - columns[0].start - 1;
  return { width: left - COLUMN_GAP, height: heightIn({ start: 0 }, longest) + NODE.height / 2 };
}

// The points of an edge, unless it has a lane; from one column to another only its ends.
function settle(edge, nodes, columns, passed) {
  const [from, to] = [nodes[edge.from], nodes[edge.to]];
  edge.across = from.column !== to.column;
  if (edge.across || !passed) return;
  edge.points = passed.map((cell) => ({
    x: cell.x,
    y: heightIn(columns[from.column], cell.layer),
  }));
}
