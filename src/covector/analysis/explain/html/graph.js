// The data flow: a graph that is moved, searched, opened, and asked for slices.

const FITTING = 120;
const SCALES = { least: 0.02, most: 2.5 };
const FOUND = 30;
const EDGE = 20;

function graphView(program) {
  const state = { frame: null, depth: 0, toggled: new Map(), critical: false, hovered: null, slices: null };
  const view = { x: 0, y: 0, scale: 1 };
  const trees = new Map();
  let scene = { nodes: [], edges: [], width: 0, height: 0 };
  let byKey = new Map();
  let colors = themeColors();
  let waiting = false;

  const canvas = make("canvas", {
    tabindex: "0", role: "application", class: "graph",
    "aria-label": "Graph of operations. Arrow keys go from node to node, Enter opens a group or a loop, Escape takes the selection back, plus and minus zoom.",
  });
  const tip = make("div", { class: "tip", hidden: true });
  const way = make("nav", { class: "way", "aria-label": "Programs around this one" });
  const panel = make("aside", { class: "panel", "aria-label": "Selected operation" });
  const detail = make("output", { class: "soft" });
  viewOf("flow").append(
    toolbar(), way,
    make("div", { class: "split" }, make("div", { class: "stage" }, canvas, tip, zoomButtons()), panel),
    make("p", { class: "note" }, "Drag to move. Zoom with a wheel or two fingers, after a click into the graph. A double click opens a group or a loop. ▲ is needed by what is selected, ▼ needs it; a bar in a node is its share of the cost."));

  function treeOf(frame) {
    if (!trees.has(frame)) trees.set(frame, groupTree(program, frame));
    return trees.get(frame);
  }

  // -- what is seen ----------------------------------------------------------------------

  function enter(frame) {
    state.frame = frame;
    state.toggled.clear();
    state.depth = fittingDepth(treeOf(frame), FITTING);
    rebuild();
    home();
  }

  function rebuild() {
    const tree = treeOf(state.frame);
    const graph = shownGraph(program, state.frame, groupsShown(tree, state.depth, state.toggled));
    graph.nodes.forEach((node) => describe(program, node));
    Object.assign(graph, layOut(graph.nodes, graph.edges));
    scene = graph;
    byKey = new Map(scene.nodes.map((node) => [node.key, node]));
    const cost = largest(scene.nodes, (node) => node.cost) || 1;
    for (const node of scene.nodes) node.share = node.cost / cost;
    const hidden = depthOf(tree) - state.depth;
    detail.textContent = `${counted(scene.nodes.length, "node")}${hidden > 0 ? "" : ", all operations"}`;
    showWay();
    lightSlices();
    refresh();
  }

  function changeDepth(by) {
    const anchor = middleNode();
    state.depth = Math.min(Math.max(state.depth + by, 0), depthOf(treeOf(state.frame)));
    state.toggled.clear();
    rebuild();
    centre(nodeWith(anchor?.equations[0]) ?? scene.nodes[0]);
  }

  function toggle(node) {
    const loop = loopIn(node);
    if (node.children.length) {
      state.toggled.set(node.key, true);
      rebuild();
      centre(nodeWith(node.equations[0]));
    } else if (loop !== null) enter(loop);
  }

  function loopIn(node) {
    const id = node.kind === "operation" ? node.equations[0] : null;
    return id !== null && program.equations[id].inside.length ? id : null;
  }

  function showWay() {
    const around = state.frame === null ? [] : [...program.equations[state.frame].around, state.frame];
    const steps = [["program", null], ...around.map((id) => [nameOfFrame(program, id), id])];
    way.replaceChildren(...steps.flatMap(([name, frame], k) => [
      k ? " › " : "",
      k === steps.length - 1 ? make("b", {}, name) : button(name, () => enter(frame)),
    ]));
    way.hidden = steps.length === 1;
  }

  // Opens what hides an operation, and the loops around it.
  function reach(id) {
    const frame = program.equations[id].parent;
    if (frame !== state.frame) enter(frame);
    return nodeWith(id);
  }

  function nodeWith(id) {
    return scene.nodes.find((node) => node.equations.includes(id));
  }

  // -- where it is seen ------------------------------------------------------------------

  function home() {
    const whole = Math.min(canvas.clientWidth / (scene.width + 40), canvas.clientHeight / (scene.height + 40));
    view.scale = Math.min(1, Math.max(whole, 0.75));
    const first = scene.nodes.reduce((above, node) => (above === null || node.y < above.y ? node : above), null);
    centre(first, true);
    if (scene.columns > 1) view.x = within(Infinity, canvas.clientWidth, scene.width * view.scale);
    refresh();
  }

  function fitAll() {
    const whole = Math.min(canvas.clientWidth / (scene.width + 40), canvas.clientHeight / (scene.height + 40));
    view.scale = Math.min(1, Math.max(whole, SCALES.least));
    view.x = (canvas.clientWidth - scene.width * view.scale) / 2;
    view.y = (canvas.clientHeight - scene.height * view.scale) / 2;
    refresh();
  }

  function centre(node, atTop = false) {
    if (!node) return;
    view.x = canvas.clientWidth / 2 - node.x * view.scale;
    view.y = atTop ? 16 - (node.y - NODE.height) * view.scale : canvas.clientHeight / 2 - node.y * view.scale;
    view.x = within(view.x, canvas.clientWidth, scene.width * view.scale);
    view.y = within(view.y, canvas.clientHeight, scene.height * view.scale);
    refresh();
  }

  function zoom(factor, x = canvas.clientWidth / 2, y = canvas.clientHeight / 2) {
    const scale = Math.min(Math.max(view.scale * factor, SCALES.least), SCALES.most);
    view.x = x - ((x - view.x) * scale) / view.scale;
    view.y = y - ((y - view.y) * scale) / view.scale;
    view.scale = scale;
    refresh();
  }

  function middleNode() {
    const y = (canvas.clientHeight / 2 - view.y) / view.scale;
    const x = (canvas.clientWidth / 2 - view.x) / view.scale;
    const far = (node) => Math.hypot(node.x - x, node.y - y);
    const groups = scene.nodes.filter((node) => node.equations.length);
    return groups.reduce((best, node) => (best === null || far(node) < far(best) ? node : best), null);
  }

  function nodeAt(x, y) {
    const [graphX, graphY] = [(x - view.x) / view.scale, (y - view.y) / view.scale];
    return scene.nodes.find((node) =>
      Math.abs(node.x - graphX) <= NODE.width / 2 && Math.abs(node.y - graphY) <= NODE.height / 2) ?? null;
  }

  // -- how it is shown -------------------------------------------------------------------

  function refresh() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      const density = window.devicePixelRatio || 1;
      const [width, height] = [Math.round(canvas.clientWidth * density), Math.round(canvas.clientHeight * density)];
      if (canvas.width !== width) canvas.width = width;
      if (canvas.height !== height) canvas.height = height;
      if (width && height) paint(canvas, scene, view, lights());
    });
  }

  function lightSlices() {
    const chosen = selection.current;
    state.slices = chosen === null ? null : slicesOf(program, chosen.equations, chosen.values);
    const within = (set, ids) => ids.some((id) => set.has(id));
    for (const node of scene.nodes) {
      node.chosen = chosen !== null && (within(new Set(chosen.equations), node.equations) || within(new Set(chosen.values), node.values));
      node.up = state.slices !== null && !node.chosen && (within(state.slices.up.equations, node.equations) || (node.kind === "input" && within(state.slices.up.values, node.values)));
      node.down = state.slices !== null && !node.chosen && (within(state.slices.down.equations, node.equations) || (node.kind === "result" && within(state.slices.down.values, node.values)));
    }
  }

  function lights() {
    const critical = (node) => state.critical && node.critical;
    return {
      colors,
      dim: state.slices !== null || state.critical,
      node: (node) => {
        const shown = { chosen: node.chosen, width: 1, dim: false };
        if (node === state.hovered) Object.assign(shown, { color: colors.ink, width: 1.5 });
        if (node.chosen) return { ...shown, color: colors.accent, width: 3 };
        if (critical(node)) return { ...shown, color: colors.critical ?? colors.ink, width: 3, mark: "●" };
        if (node.up) return { ...shown, color: colors.accent, width: 2, mark: "▲" };
        if (node.down) return { ...shown, color: colors.other, width: 2, mark: "▼" };
        return { ...shown, dim: state.slices !== null || state.critical };
      },
      edge: ({ from, to, across }) => {
        const [a, b] = [scene.nodes[from], scene.nodes[to]];
        const alpha = across ? 0.3 : 0.8;
        if (critical(a) && critical(b)) return { color: colors.ink, alpha: 0.9, width: 2.5 };
        if ((a.up || a.chosen) && (b.up || b.chosen)) return { color: colors.accent, alpha, width: 1.6 };
        if ((a.down || a.chosen) && (b.down || b.chosen)) return { color: colors.other, alpha, width: 1.6 };
        return null;
      },
    };
  }

  // -- what one does ---------------------------------------------------------------------

  function choose(node) {
    if (node === null) return selection.set(null, "graph");
    if (node.kind === "operation") return selectEquation(program, node.equations[0], "graph");
    selection.set({ kind: "group", key: node.key, equations: node.equations, values: node.equations.length ? [] : node.values, title: node.title, node }, "graph");
  }

  function toolbar() {
    const found = make("ul", { class: "found", role: "listbox", id: "found", hidden: true });
    const search = make("input", {
      type: "search", id: "search", placeholder: "operation, line or argument", role: "combobox", autocomplete: "off",
      "aria-expanded": "false", "aria-controls": "found", "aria-autocomplete": "list",
      oninput: () => showFound(search, found),
      onkeydown: (event) => {
        if (event.key === "Escape") closeFound(search, found);
        if (event.key === "Enter") found.querySelector("button")?.click();
        if (event.key === "ArrowDown") found.querySelector("button")?.focus();
      },
    });
    const critical = make("input", { type: "checkbox", id: "critical", onchange: () => {
      state.critical = critical.checked;
      refresh();
    } });
    return make("div", { class: "toolbar" },
      make("div", { class: "search" }, make("label", {}, "Search ", search), found),
      make("span", { class: "group" }, button("less detail", () => changeDepth(-1)), button("more detail", () => changeDepth(1)), detail),
      make("label", { class: "check" }, critical, " critical path"));
  }

  function showFound(input, list) {
    const text = input.value.trim().toLowerCase();
    const hits = text ? searchProgram(program, text) : [];
    list.replaceChildren(...hits.slice(0, FOUND).map((hit) => make("li", { role: "option" }, button(hit.title, () => {
      closeFound(input, list);
      hit.select();
      canvas.focus({ preventScroll: true });
    }), make("span", { class: "soft" }, hit.note))));
    if (text && !hits.length) list.append(make("li", { class: "soft" }, "Nothing has this name."));
    if (hits.length > FOUND) list.append(make("li", { class: "soft" }, `and ${count(hits.length - FOUND)} more`));
    list.hidden = !text;
    input.setAttribute("aria-expanded", String(Boolean(text)));
    if (text) speak(counted(hits.length, "result"));
  }

  function closeFound(input, list) {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
  }

  function zoomButtons() {
    return make("div", { class: "zoom" },
      button("+", () => zoom(1.4), { "aria-label": "zoom in" }),
      button("−", () => zoom(1 / 1.4), { "aria-label": "zoom out" }),
      button("all", fitAll, { "aria-label": "show all" }));
  }

  handlePointers(canvas, {
    move: (dx, dy) => {
      view.x += dx;
      view.y += dy;
      refresh();
    },
    zoom,
    click: (x, y) => choose(nodeAt(x, y)),
    open: (x, y) => {
      const node = nodeAt(x, y);
      if (node !== null) toggle(node);
    },
    hover: (x, y) => {
      const node = x === null ? null : nodeAt(x, y);
      if (node !== state.hovered) {
        state.hovered = node;
        refresh();
      }
      canvas.style.cursor = node === null ? "grab" : "pointer";
      tip.hidden = node === null;
      if (node === null) return;
      tip.replaceChildren(make("b", {}, node.title), make("br"), node.note);
      tip.style.left = `${Math.min(x + 14, canvas.clientWidth - 220)}px`;
      tip.style.top = `${y + 18}px`;
    },
  });

  canvas.addEventListener("keydown", (event) => {
    const node = scene.nodes.find((n) => n.chosen) ?? null;
    const action = { "+": () => zoom(1.4), "-": () => zoom(1 / 1.4), 0: fitAll, Escape: () => choose(null), Enter: () => node && toggle(node) }[event.key];
    if (action) action();
    else if (event.key.startsWith("Arrow")) {
      const next = neighbour(scene, node, event.key) ?? node ?? scene.nodes[0];
      if (next) {
        choose(next);
        centre(next);
      }
    } else return;
    event.preventDefault();
  });

  selection.watch((chosen, from) => {
    if (chosen !== null && from !== "graph" && chosen.equations.length) {
      const node = reach(chosen.equations[0]);
      lightSlices();
      centre(node);
    } else if (chosen !== null && from !== "graph") centre(scene.nodes.find((n) => n.values.includes(chosen.values[0])));
    lightSlices();
    showDetails(program, panel, chosen, state.slices, { open: toggle, enter, nodeOf: nodeWith });
    refresh();
  });
  onTheme(() => {
    colors = themeColors();
    refresh();
  });
  new ResizeObserver(refresh).observe(canvas);
  showDetails(program, panel, null, null, {});
  enter(null);
}

// Where the graph begins, so that no room is empty which the graph could fill.
function within(start, room, size) {
  if (size + 2 * EDGE < room) return (room - size) / 2;
  return Math.min(Math.max(start, room - size - EDGE), EDGE);
}

function nameOfFrame(program, id) {
  const equation = program.equations[id];
  const line = program.lines[equation.line];
  const steps = stepsOf(program, equation);
  return `${equation.operation}${steps > 1 ? ` × ${count(steps)}` : ""} (${lineName(line)})`;
}

// The title of a node, what is below it, and what it costs.
function describe(program, node) {
  const equations = node.equations.map((id) => program.equations[id]);
  const cost = equations.reduce((sum, e) => sum + e.estimated_share, 0);
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
    node.title = node.results.length === 1 ? node.results[0].path : counted(node.results.length, "result");
    node.note = node.results.length === 1 ? program.values[node.values[0]].type : node.results.map((r) => r.path).join(", ");
  } else {
    const line = program.lines[equations[0].line];
    node.title = node.kind === "line" && line.source ? line.source : node.label;
    const where = node.kind === "line" ? lineName(line) : node.kind === "function" ? fileName(line.file) : null;
    node.note = [counted(equations.length, "operation"), where].filter(Boolean).join(" · ");
  }
}

function inputName(program, value) {
  if (value.argument !== null) return value.argument;
  const tie = (value.ties ?? [])[0];
  return tie === undefined ? value.name : valueName(program, program.values[tie]);
}

// Operations, lines, scopes and arguments with a text.
function searchProgram(program, text) {
  const has = (...texts) => texts.some((t) => t && t.toLowerCase().includes(text));
  const lines = program.lines.filter((line) => line.equations.length && has(line.source, line.function, line.scope, lineName(line)));
  const values = program.values.filter((value) => value.argument !== null && has(value.argument));
  const equations = program.equations.filter((e) => has(e.operation, e.parameters));
  return [
    ...values.map((value) => ({ title: value.argument, note: `argument ${value.type}`, select: () => selectValue(program, value.id, "search") })),
    ...lines.map((line) => ({ title: line.source || lineName(line), note: [lineName(line), scopeName(line.scope)].filter(Boolean).join(" · "), select: () => selectLine(program, [line.id], "search") })),
    ...equations.map((e) => ({ title: e.operation, note: `${typeOf(program, e)} · ${lineName(program.lines[e.line])}`, select: () => selectEquation(program, e.id, "search") })),
  ];
}

// The next node in the direction of an arrow: along edges upwards and downwards.
function neighbour(scene, node, key) {
  if (node === null) return null;
  const at = scene.nodes.indexOf(node);
  if (key === "ArrowUp" || key === "ArrowDown") {
    const [here, there] = key === "ArrowUp" ? ["to", "from"] : ["from", "to"];
    const near = scene.edges.filter((edge) => edge[here] === at).map((edge) => scene.nodes[edge[there]]);
    return closest(near, node);
  }
  const side = scene.nodes.filter((n) => n.layer === node.layer && (key === "ArrowLeft" ? n.x < node.x : n.x > node.x));
  return closest(side, node);
}

function closest(nodes, to) {
  const far = (node) => Math.hypot(node.x - to.x, node.y - to.y);
  return nodes.reduce((best, node) => (best === null || far(node) < far(best) ? node : best), null);
}
