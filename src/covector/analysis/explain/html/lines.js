// The program by source line: rows that fold, are sorted, filtered, and chosen.

const COST_COLUMNS = [
  { key: "share", title: "Time" },
  { key: "flops", title: "FLOPs", text: flops },
  { key: "bytes", title: "Bytes", text: bytes },
  { key: "intensity", title: "FLOP/B", text: ratio },
  { key: "made", title: "Made", text: bytes },
  { key: "kept", title: "At peak", text: bytes },
];
const SHOWN_AT_FIRST = matchMedia("(max-width: 44rem)").matches ? 14 : 40;
const MOST_ROWS = 400;

class LinesView {
  constructor(program) {
    this.program = program;
    this.tree = lineTree(program);
    this.open = new Set();
    this.state = { sort: "program", text: "", flat: false, focus: null, all: false };
    this.body = make("div", { role: "rowgroup" });
    this.grid = make(
      "div",
      { role: "treegrid", "aria-label": "Source lines and their costs", class: "lines" },
      this.header(),
      this.body,
    );
    this.more = button(
      "",
      () => {
        this.state.all = true;
        this.fill();
      },
      { class: "more" },
    );
    const measured = program.totals.measured_s !== null;
    viewOf("lines").append(
      this.toolbar(),
      this.grid,
      this.more,
      make(
        "p",
        { class: "note", hidden: !measured },
        "Time: estimated (full bars) and measured (striped bars).",
      ),
    );
    this.openFirst();
    this.fill();
    selection.watch((chosen) => {
      if (chosen !== null && chosen.kind === "line") this.reveal(chosen.lines);
      this.fill();
    });
  }

  // Opens what costs most, as long as the rows fit on a screen.
  openFirst() {
    let rows = this.tree.length;
    let front = this.tree.filter((node) => node.children.length);
    while (front.length) {
      front.sort((a, b) => (b.totals.share ?? 0) - (a.totals.share ?? 0));
      const node = front.shift();
      if (rows + node.children.length > SHOWN_AT_FIRST && rows > this.tree.length) continue;
      this.open.add(node.key);
      rows += node.children.length;
      front.push(
        ...node.children.filter((child) => child.children.length && child.kind !== "source"),
      );
    }
  }

  toolbar() {
    const sort = make(
      "select",
      { id: "sort", onchange: (event) => this.sortBy(event.target.value) },
      make("option", { value: "program" }, "program order"),
      COST_COLUMNS.map((column) => make("option", { value: column.key }, column.title)),
    );
    const filter = make("input", {
      type: "search",
      id: "filter",
      placeholder: "text, function or file",
      oninput: (event) => {
        this.state.text = event.target.value.trim().toLowerCase();
        this.fill();
      },
    });
    const flat = make("input", {
      type: "checkbox",
      id: "flat",
      onchange: (event) => {
        this.state.flat = event.target.checked;
        this.fill();
      },
    });
    return make(
      "div",
      { class: "toolbar" },
      make("label", {}, "Filter ", filter),
      make("label", {}, "Sort by ", sort),
      make("label", { class: "check" }, flat, " without folders"),
      button("open all", () => this.setAll(true)),
      button("fold all", () => this.setAll(false)),
    );
  }

  header() {
    const titles = COST_COLUMNS.map((column) =>
      make(
        "span",
        { role: "columnheader", "data-sort": column.key, class: "number" },
        button(column.title, () =>
          this.sortBy(this.state.sort === column.key ? "program" : column.key),
        ),
      ),
    );
    return make(
      "div",
      { role: "row", class: "head" },
      make("span", { role: "columnheader" }, "Source"),
      titles,
    );
  }

  sortBy(key) {
    this.state.sort = key;
    document.getElementById("sort").value = key;
    for (const title of this.grid.querySelectorAll("[data-sort]")) {
      title.setAttribute("aria-sort", title.dataset.sort === key ? "descending" : "none");
    }
    this.fill();
  }

  setAll(opened) {
    this.open.clear();
    const visit = (node) => {
      if (node.children.length) this.open.add(node.key);
      node.children.forEach(visit);
    };
    if (opened) this.tree.forEach(visit);
    this.fill();
  }

  // Opens the rows above those of these lines.
  reveal(ids) {
    const visit = (node) => {
      const here = node.kind === "line" && ids.includes(node.ids[0]);
      const inside = node.children.map(visit).some(Boolean);
      if (inside && !node.ids.every((id) => ids.includes(id))) this.open.add(node.key);
      return here || inside;
    };
    this.tree.forEach(visit);
  }

  rowsShown() {
    const rows = [];
    const visit = (nodes, depth) => {
      for (const node of this.sorted(nodes)) {
        if (this.state.flat || this.state.text) {
          if (node.kind === "line" && this.matches(node)) rows.push({ node, depth: 0 });
          visit(node.children, 0);
        } else {
          rows.push({ node, depth });
          if (this.open.has(node.key)) visit(node.children, depth + 1);
        }
      }
    };
    visit(this.tree, 0);
    return this.state.flat || this.state.text ? this.sorted(rows, (row) => row.node) : rows;
  }

  sorted(items, nodeOf = (item) => item) {
    if (this.state.sort === "program") return items;
    return [...items].sort((a, b) =>
      compare(nodeOf(b).totals[this.state.sort], nodeOf(a).totals[this.state.sort]),
    );
  }

  matches(node) {
    const line = this.program.lines[node.ids[0]];
    return [line.source, line.function, line.scope, lineName(line)].some((text) =>
      text.toLowerCase().includes(this.state.text),
    );
  }

  fill() {
    const chosen = selection.current;
    const elsewhere = chosen === null || chosen.kind === "line" ? [] : chosen.equations;
    this.near = new Set(elsewhere.map((id) => this.program.equations[id].line));
    const rows = this.rowsShown();
    const shown = this.state.all ? rows : rows.slice(0, MOST_ROWS);
    if (!rows.some((row) => row.node.key === this.state.focus))
      this.state.focus = rows.length ? rows[0].node.key : null;
    const hadFocus = this.body.contains(document.activeElement);
    this.body.replaceChildren(...shown.flatMap(({ node, depth }) => this.rowElements(node, depth)));
    if (!rows.length)
      this.body.append(
        make(
          "p",
          { class: "note" },
          this.state.text ? "No line has this text." : "The program has no operations.",
        ),
      );
    this.more.textContent = `show all ${count(rows.length)} rows`;
    this.more.hidden = shown.length === rows.length;
    if (hadFocus) this.body.querySelector('[tabindex="0"]')?.focus({ preventScroll: true });
  }

  rowElements(node, depth) {
    const chosen = selection.is("line", node.ids.join());
    const folds = node.children.length > 0 && !this.state.flat && !this.state.text;
    const row = make(
      "div",
      {
        role: "row",
        class: "row",
        tabindex: node.key === this.state.focus ? "0" : "-1",
        "aria-level": depth + 1,
        "aria-selected": String(chosen),
        "aria-current": this.isNear(node) ? "true" : null,
        "aria-expanded": folds ? String(this.open.has(node.key)) : null,
        onclick: (event) => this.activate(node, event),
        onkeydown: (event) => this.press(event, node, folds),
      },
      this.codeCell(node, depth, folds),
      COST_COLUMNS.map((column) => this.costCell(column, node)),
    );
    return chosen ? [row, lineDetails(this.program, node)] : [row];
  }

  // Whether what is selected in another view is of this line.
  isNear(node) {
    return node.kind !== "function" && node.ids.some((id) => this.near.has(id));
  }

  activate(node, event) {
    this.state.focus = node.key;
    if (event.target.closest(".fold")) return this.toggle(node);
    if (selection.is("line", node.ids.join())) selection.set(null);
    else selectLine(this.program, node.ids, "lines");
  }

  toggle(node) {
    if (!this.open.delete(node.key)) this.open.add(node.key);
    this.fill();
  }

  press(event, node, folds) {
    const rows = [...this.body.querySelectorAll(".row")];
    const at = rows.indexOf(event.currentTarget);
    const go = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key];
    if (go !== undefined && rows[go]) {
      rows[at].tabIndex = -1;
      rows[go].tabIndex = 0;
      rows[go].focus();
      this.state.focus = this.rowsShown()[go]?.node.key ?? null;
    } else if (event.key === "ArrowRight" && folds && !this.open.has(node.key)) this.toggle(node);
    else if (event.key === "ArrowLeft" && folds && this.open.has(node.key)) this.toggle(node);
    else if (event.key === "Enter" || event.key === " ") this.activate(node, { target: this.body });
    else return;
    event.preventDefault();
  }

  codeCell(node, depth, folds) {
    const line = this.program.lines[node.ids[0]];
    const fold = make(
      "span",
      { class: "fold", "aria-hidden": "true" },
      folds ? (this.open.has(node.key) ? "▾" : "▸") : "",
    );
    const style = `padding-left:${Math.min(depth, 8) * 0.9}rem`;
    return make(
      "span",
      { role: "rowheader", class: "code", style },
      fold,
      make("span", { class: "title" }, this.rowTitle(node, line)),
    );
  }

  rowTitle(node, line) {
    if (node.kind === "function") {
      return [make("b", {}, line.enclosing), make("span", { class: "soft" }, fileName(line.file))];
    }
    const badges = [kindText(this.program, line), ...this.gainBadges(node)].filter(Boolean);
    const scoped = node.scoped && !this.state.flat && !this.state.text;
    const scopes = node.kind === "source" ? `${node.ids.length} scopes` : scopeName(line.scope);
    const where = scoped
      ? scopes || "forward"
      : [lineName(line), scopes].filter(Boolean).join(" · ");
    return [
      scoped ? null : sourceText(this.program, line.id),
      make("span", { class: "soft where" }, where),
      badges.map((text) => make("span", { class: "badge" }, text)),
    ];
  }

  gainBadges(node) {
    const gains = this.program.roofline?.gains ?? [];
    return gains.flatMap((gain, k) =>
      node.ids.includes(gain.line) ? [`gain ${k + 1}: up to ${seconds(gain.seconds)}`] : [],
    );
  }

  costCell(column, node) {
    const totals = node.totals;
    const inside =
      column.key === "share"
        ? [
            bar(totals.share, percent(totals.share)),
            totals.measured === null
              ? null
              : bar(totals.measured, percent(totals.measured), "measured"),
          ]
        : column.text(totals[column.key]);
    return make(
      "span",
      { role: "gridcell", class: `cost number ${column.key}`, "data-title": column.title },
      inside,
    );
  }
}

// Below a chosen row: its operations, the kernels that they became, and where to look.
function lineDetails(program, node) {
  const equations = node.ids
    .flatMap((id) => program.lines[id].equations)
    .map((id) => program.equations[id]);
  const kinds = kindsOf(
    program,
    equations.map((e) => e.id),
  );
  const shown = kinds.slice(0, 8).map(([name, ids]) =>
    make(
      "li",
      {},
      button(
        name,
        () => {
          selectEquation(program, ids[0], "lines");
          show("flow");
        },
        { class: "chip" },
      ),
      ids.length > 1 ? ` × ${ids.length}` : "",
    ),
  );
  const fusions = [...new Set(equations.map((e) => e.fusion).filter((id) => id !== null))];
  const kernels = program.optimisation?.fusions ?? [];
  const names = fusions
    .slice(0, 4)
    .map((id) => kernels[id]?.name)
    .filter(Boolean)
    .join(", ");
  const line = program.lines[node.ids[0]];
  return make(
    "div",
    { class: "details", role: "row" },
    make(
      "div",
      { role: "gridcell" },
      make("p", {}, `${line.file}:${line.line}`, line.function ? ` in ${line.function}` : ""),
      make(
        "ul",
        { class: "chips" },
        shown,
        kinds.length > 8
          ? make("li", { class: "soft" }, `and ${kinds.length - 8} more kinds`)
          : null,
      ),
      names
        ? make(
            "p",
            {},
            `Part of ${counted(fusions.length, "kernel")}: ${names}${fusions.length > 4 ? ", …" : ""}.`,
          )
        : null,
      button("Show in the data flow", () => {
        selectLine(program, node.ids, "graph");
        show("flow");
      }),
    ),
  );
}
