// The data flow: a graph that is moved, searched, opened, and asked for slices.

const FITTING = 120;

function graphView(program) {
  const state = { frame: null, depth: 0, toggled: new Map(), critical: false, hovered: null, slices: null };
  const trees = new Map();
  let scene = { nodes: [], edges: [], width: 0, height: 0 };
  let colors = themeColors();
  let waiting = false;

  const canvas = make("canvas", {
    tabindex: "0", role: "application", class: "graph",
    "aria-label": "Graph of operations. Arrow keys go from node to node, Enter opens a group or a loop, Escape takes the selection back, plus and minus zoom.",
  });
  const camera = makeCamera(canvas, () => scene, () => refresh());
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
    camera.home();
  }

  // A program that is one call of another is shown by that.
  function outermost(frame = null) {
    const [first, ...others] = operationsIn(program, frame);
    const isCall = first !== undefined && !others.length && program.equations[first].inside.length > 0;
    return isCall ? outermost(first) : frame;
  }

  function rebuild() {
    const tree = treeOf(state.frame);
    const graph = shownGraph(program, state.frame, groupsShown(tree, state.depth, state.toggled));
    graph.nodes.forEach((node) => describe(program, node));
    markPath(graph, criticalPath(program, state.frame));
    Object.assign(graph, layOut(graph.nodes, graph.edges));
    scene = graph;
    const cost = largest(scene.nodes, (node) => node.cost) || 1;
    for (const node of scene.nodes) node.share = node.cost / cost;
    const hidden = depthOf(tree) - state.depth;
    detail.textContent = `${counted(scene.nodes.length, "node")}${hidden > 0 ? "" : ", all operations"}`;
    showWay();
    lightSlices();
    tellDetails();
    refresh();
  }

  function tellDetails() {
    showDetails(program, panel, selection.current, state.slices, { open: toggle, enter, frame: state.frame });
  }

  function changeDepth(by) {
    const anchor = middleNode();
    state.depth = Math.min(Math.max(state.depth + by, 0), depthOf(treeOf(state.frame)));
    state.toggled.clear();
    rebuild();
    camera.centre(nodeWith(anchor?.equations[0]) ?? scene.nodes[0]);
  }

  function toggle(node) {
    const loop = loopIn(node);
    if (node.children.length) {
      state.toggled.set(node.key, true);
      rebuild();
      camera.centre(nodeWith(node.equations[0]));
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

  // The node of what is selected, in the program in which it is.
  function reach(chosen) {
    const [id] = chosen.equations;
    const frame = id === undefined ? null : program.equations[id].parent;
    if (frame !== state.frame) enter(frame);
    return id === undefined ? scene.nodes.find((node) => node.values.includes(chosen.values[0])) : nodeWith(id);
  }

  function nodeWith(id) {
    return scene.nodes.find((node) => node.equations.includes(id));
  }

  // -- where it is seen ------------------------------------------------------------------

  function middleNode() {
    const { x, y } = camera.at(canvas.clientWidth / 2, canvas.clientHeight / 2);
    const far = (node) => Math.hypot(node.x - x, node.y - y);
    const groups = scene.nodes.filter((node) => node.equations.length);
    return groups.reduce((best, node) => (best === null || far(node) < far(best) ? node : best), null);
  }

  function nodeAt(x, y) {
    const place = camera.at(x, y);
    return scene.nodes.find((node) =>
      Math.abs(node.x - place.x) <= NODE.width / 2 && Math.abs(node.y - place.y) <= NODE.height / 2) ?? null;
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
      if (width && height) paint(canvas, scene, camera, lightsOf(scene, colors, state));
    });
  }

  function lightSlices() {
    const chosen = selection.current;
    state.slices = chosen === null ? null : slicesOf(program, chosen.equations, chosen.values);
    markNodes(scene.nodes, chosen, state.slices);
  }

  // -- what one does ---------------------------------------------------------------------

  function choose(node) {
    if (node === null) return selection.set(null, "graph");
    if (node.kind === "operation") return selectEquation(program, node.equations[0], "graph");
    selection.set({ kind: "group", key: node.key, equations: node.equations, values: node.equations.length ? [] : node.values, title: node.title, node }, "graph");
  }

  function toolbar() {
    const critical = make("input", { type: "checkbox", id: "critical", onchange: () => {
      state.critical = critical.checked;
      refresh();
    } });
    return make("div", { class: "toolbar" },
      searchBox(program, () => canvas.focus({ preventScroll: true })),
      make("span", { class: "group" }, button("less detail", () => changeDepth(-1)), button("more detail", () => changeDepth(1)), detail),
      make("label", { class: "check" }, critical, " critical path"));
  }

  function zoomButtons() {
    return make("div", { class: "zoom" },
      button("+", () => camera.zoom(1.4), { "aria-label": "zoom in" }),
      button("−", () => camera.zoom(1 / 1.4), { "aria-label": "zoom out" }),
      button("all", camera.fitAll, { "aria-label": "show all" }));
  }

  handlePointers(canvas, {
    move: camera.move,
    zoom: camera.zoom,
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
    const action = {
      "+": () => camera.zoom(1.4),
      "-": () => camera.zoom(1 / 1.4),
      0: camera.fitAll,
      Escape: () => choose(null),
      Enter: () => node && toggle(node),
    }[event.key];
    if (action) action();
    else if (event.key.startsWith("Arrow")) step(node, event.key);
    else return;
    event.preventDefault();
  });

  function step(node, key) {
    const next = neighbour(scene, node, key) ?? node ?? scene.nodes[0];
    if (!next) return;
    choose(next);
    camera.centre(next);
  }

  selection.watch((chosen, from) => {
    if (chosen !== null && from !== "graph") camera.centre(reach(chosen));
    lightSlices();
    tellDetails();
    refresh();
  });
  onTheme(() => {
    colors = themeColors();
    refresh();
  });
  new ResizeObserver(refresh).observe(canvas);
  enter(outermost());
}
