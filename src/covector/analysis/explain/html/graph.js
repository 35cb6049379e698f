// The data flow: a graph that is moved, searched, opened, and asked for slices.

const FITTING = 120;
const HINT =
  "Drag to move. Zoom with a wheel or two fingers, after a click into the graph. " +
  "A double click opens a group or a loop. " +
  "▲ is needed by what is selected, ▼ needs it; a bar in a node is its share of the cost.";
const KEYS =
  "Graph of operations. Arrow keys go from node to node, Enter opens a group or a loop, " +
  "Escape clears the selection, plus and minus zoom.";

class GraphView {
  constructor(program) {
    this.program = program;
    this.state = {
      frame: null,
      detail: 0,
      toggled: new Map(),
      critical: false,
      hovered: null,
      slices: null,
    };
    this.trees = new Map();
    this.scene = { nodes: [], edges: [], width: 0, height: 0 };
    this.colors = themeColors();
    this.waiting = false;
    this.canvas = make("canvas", {
      tabindex: "0",
      role: "application",
      class: "graph",
      "aria-label": KEYS,
    });
    this.camera = makeCamera(
      this.canvas,
      () => this.scene,
      () => this.refresh(),
    );
    this.tip = make("div", { class: "tip", hidden: true });
    this.breadcrumb = make("nav", {
      class: "breadcrumb",
      "aria-label": "Programs around this one",
    });
    this.panel = make("aside", { class: "panel", "aria-label": "Selected operation" });
    this.shown = make("output", { class: "soft" });
    const stage = make("div", { class: "stage" }, this.canvas, this.tip, this.zoomButtons());
    viewOf("flow").append(
      this.toolbar(),
      this.breadcrumb,
      make("div", { class: "split" }, stage, this.panel),
      make("p", { class: "note" }, HINT),
    );
    this.listen();
    this.enter(this.outermost());
  }

  treeOf(frame) {
    if (!this.trees.has(frame)) this.trees.set(frame, groupTree(this.program, frame));
    return this.trees.get(frame);
  }

  // -- what is seen ----------------------------------------------------------------------

  enter(frame) {
    this.state.frame = frame;
    this.state.toggled.clear();
    this.state.detail = fittingDetail(this.treeOf(frame), FITTING);
    this.rebuild();
    this.camera.home();
  }

  // A program that is one call of another is shown by that.
  outermost(frame = null) {
    const [first, ...others] = operationsIn(this.program, frame);
    const isCall =
      first !== undefined && !others.length && this.program.equations[first].inside.length > 0;
    return isCall ? this.outermost(first) : frame;
  }

  rebuild() {
    const tree = this.treeOf(this.state.frame);
    const graph = shownGraph(
      this.program,
      this.state.frame,
      groupsShown(tree, this.state.detail, this.state.toggled),
    );
    graph.nodes.forEach((node) => describe(this.program, node));
    setCriticalEdges(graph, criticalPath(this.program, this.state.frame));
    Object.assign(graph, layOut(graph.nodes, graph.edges));
    this.scene = graph;
    const cost = largest(this.scene.nodes, (node) => node.cost) || 1;
    for (const node of this.scene.nodes) node.share = node.cost / cost;
    const hidden = mostDetail(tree) - this.state.detail;
    this.shown.textContent = `${counted(this.scene.nodes.length, "node")}${hidden > 0 ? "" : ", all operations"}`;
    this.showBreadcrumb();
    this.emphasise();
    this.tellDetails();
    this.refresh();
  }

  tellDetails() {
    const chosen = selection.current;
    showDetails(this.program, this.panel, {
      chosen,
      slices: this.state.slices,
      frame: this.state.frame,
      node: chosen === null ? null : this.nodeOf(chosen),
      open: (node) => this.setOpen(node, true),
      fold: (node) => this.setOpen(node, false),
      enter: (frame) => this.enter(frame),
    });
  }

  changeDetail(by) {
    const anchor = this.middleNode();
    this.state.detail = Math.min(
      Math.max(this.state.detail + by, 0),
      mostDetail(this.treeOf(this.state.frame)),
    );
    this.state.toggled.clear();
    this.rebuild();
    this.camera.centre(this.nodeWith(anchor?.equations[0]) ?? this.scene.nodes[0]);
  }

  // Opens a group, or goes into a loop.
  toggle(node) {
    if (node === null) return;
    const loop = this.loopIn(node);
    if (node.children.length) this.setOpen(node, true);
    else if (loop !== null) this.enter(loop);
  }

  setOpen(group, open) {
    this.state.toggled.set(group.key, open);
    this.rebuild();
    this.camera.centre(this.nodeWith(group.equations[0]));
  }

  loopIn(node) {
    const id = node.kind === "operation" ? node.equations[0] : null;
    return id !== null && this.program.equations[id].inside.length ? id : null;
  }

  showBreadcrumb() {
    const around =
      this.state.frame === null
        ? []
        : [...this.program.equations[this.state.frame].around, this.state.frame];
    const steps = [["program", null], ...around.map((id) => [nameOfFrame(this.program, id), id])];
    this.breadcrumb.replaceChildren(
      ...steps.flatMap(([name, frame], k) => [
        k ? " › " : "",
        k === steps.length - 1 ? make("b", {}, name) : button(name, () => this.enter(frame)),
      ]),
    );
    this.breadcrumb.hidden = steps.length === 1;
  }

  // The node of what is selected, in the program in which it is.
  reach(chosen) {
    const [id] = chosen.equations;
    const frame = id === undefined ? null : this.program.equations[id].parent;
    if (frame !== this.state.frame) this.enter(frame);
    if (chosen.kind === "equation") this.uncover(id);
    return this.nodeOf(chosen);
  }

  // Opens the groups that an operation is in.
  uncover(id) {
    const hidden = this.nodeWith(id);
    if (!hidden.children.length) return;
    for (let group = hidden; group; group = group.children.find((n) => n.equations.includes(id))) {
      this.state.toggled.set(group.key, true);
    }
    this.rebuild();
  }

  nodeOf(chosen) {
    if (chosen.equations.length) return this.nodeWith(chosen.equations[0]);
    return this.scene.nodes.find((node) => node.values.includes(chosen.values[0]));
  }

  nodeWith(id) {
    return this.scene.nodes.find((node) => node.equations.includes(id));
  }

  // -- where it is seen ------------------------------------------------------------------

  middleNode() {
    const { x, y } = this.camera.at(this.canvas.clientWidth / 2, this.canvas.clientHeight / 2);
    const far = (node) => Math.hypot(node.x - x, node.y - y);
    const groups = this.scene.nodes.filter((node) => node.equations.length);
    return groups.reduce(
      (best, node) => (best === null || far(node) < far(best) ? node : best),
      null,
    );
  }

  nodeAt(x, y) {
    const position = this.camera.at(x, y);
    return (
      this.scene.nodes.find(
        (node) =>
          Math.abs(node.x - position.x) <= NODE.width / 2 &&
          Math.abs(node.y - position.y) <= NODE.height / 2,
      ) ?? null
    );
  }

  // -- how it is shown -------------------------------------------------------------------

  refresh() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      const density = window.devicePixelRatio || 1;
      const [width, height] = [
        Math.round(this.canvas.clientWidth * density),
        Math.round(this.canvas.clientHeight * density),
      ];
      if (this.canvas.width !== width) this.canvas.width = width;
      if (this.canvas.height !== height) this.canvas.height = height;
      if (width && height)
        paint(
          this.canvas,
          this.scene,
          this.camera,
          emphasisOf(this.scene, this.colors, this.state),
        );
    });
  }

  emphasise() {
    const chosen = selection.current;
    this.state.slices =
      chosen === null ? null : slicesOf(this.program, chosen.equations, chosen.values);
    setRoles(this.scene.nodes, chosen, this.state.slices);
  }

  // -- what one does ---------------------------------------------------------------------

  choose(node) {
    if (node === null) return selection.set(null, "graph");
    if (node.kind === "operation") return selectEquation(this.program, node.equations[0], "graph");
    selection.set(
      {
        kind: "group",
        key: node.key,
        equations: node.equations,
        values: node.equations.length ? [] : node.values,
        title: node.title,
      },
      "graph",
    );
  }

  toolbar() {
    const critical = make("input", {
      type: "checkbox",
      id: "critical",
      onchange: () => {
        this.state.critical = critical.checked;
        this.refresh();
      },
    });
    return make(
      "div",
      { class: "toolbar" },
      searchBox(this.program, () => this.canvas.focus({ preventScroll: true })),
      make(
        "span",
        { class: "group" },
        button("less detail", () => this.changeDetail(-1)),
        button("more detail", () => this.changeDetail(1)),
        this.shown,
      ),
      make("label", { class: "check" }, critical, " critical path"),
    );
  }

  zoomButtons() {
    return make(
      "div",
      { class: "zoom" },
      button("+", () => this.camera.zoom(1.4), { "aria-label": "zoom in" }),
      button("−", () => this.camera.zoom(1 / 1.4), { "aria-label": "zoom out" }),
      button("all", this.camera.fitAll, { "aria-label": "show all" }),
    );
  }

  listen() {
    handlePointers(this.canvas, {
      move: this.camera.move,
      zoom: this.camera.zoom,
      click: (x, y) => this.choose(this.nodeAt(x, y)),
      open: (x, y) => this.toggle(this.nodeAt(x, y)),
      hover: (x, y) => this.hover(x, y),
    });
    this.canvas.addEventListener("keydown", (event) => this.press(event));
    selection.watch((chosen, from) => {
      if (chosen !== null && from !== "graph") this.camera.centre(this.reach(chosen));
      this.emphasise();
      this.tellDetails();
      this.refresh();
    });
    onTheme(() => {
      this.colors = themeColors();
      this.refresh();
    });
    new ResizeObserver(() => this.refresh()).observe(this.canvas);
  }

  hover(x, y) {
    const node = x === null ? null : this.nodeAt(x, y);
    if (node !== this.state.hovered) {
      this.state.hovered = node;
      this.refresh();
    }
    this.canvas.style.cursor = node === null ? "grab" : "pointer";
    this.tip.hidden = node === null;
    if (node === null) return;
    this.tip.replaceChildren(make("b", {}, node.title), make("br"), node.note);
    this.tip.style.left = `${Math.min(x + 14, this.canvas.clientWidth - 220)}px`;
    this.tip.style.top = `${y + 18}px`;
  }

  press(event) {
    const node = this.scene.nodes.find((n) => n.chosen) ?? null;
    const action = {
      "+": () => this.camera.zoom(1.4),
      "-": () => this.camera.zoom(1 / 1.4),
      0: this.camera.fitAll,
      Escape: () => this.choose(null),
      Enter: () => this.toggle(node),
    }[event.key];
    if (action) action();
    else if (event.key.startsWith("Arrow")) this.step(node, event.key);
    else return;
    event.preventDefault();
  }

  step(node, key) {
    const next = neighbour(this.scene, node, key) ?? node ?? this.scene.nodes[0];
    if (!next) return;
    this.choose(next);
    this.camera.centre(next);
  }
}
