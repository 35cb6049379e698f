// The program by source line: a tree of functions, lines, and what runs inside of them.

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

// The children of a line, or the outermost lines: by function where there are several,
// and those of one source line in several scopes together.
function lineTree(program) {
  const below = (ids, key) => {
    const functions = grouped(ids, (id) => `${program.lines[id].file}:${program.lines[id].home}`);
    if (functions.length === 1) return sources(functions[0][1], key);
    return functions.map(([name, members]) =>
      folder("function", `${key}/${name}`, members, sources(members, `${key}/${name}`)));
  };
  const sources = (ids, key) =>
    grouped(ids, (id) => lineName(program.lines[id])).map(([name, members]) =>
      members.length === 1
        ? leaf(members[0], `${key}/${name}`)
        : folder("source", `${key}/${name}`, members, members.map((id) => leaf(id, `${key}/${name}/${id}`, true))));
  const leaf = (id, key, scoped = false) =>
    withTotals({ kind: "line", key, ids: [id], scoped, children: below(program.lines[id].inside, key) });
  const folder = (kind, key, ids, children) => withTotals({ kind, key, ids, scoped: false, children });
  const withTotals = (node) => ({ ...node, totals: lineTotals(program, node) });
  return below(program.lines.filter((line) => line.parent === null).map((line) => line.id), "");
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
  const sum = (key) => parts.reduce((all, part) => (part[key] === null ? all : (all ?? 0) + part[key]), null);
  const totals = Object.fromEntries(["share", "measured", "flops", "bytes", "made", "kept"].map((key) => [key, sum(key)]));
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

function linesView(program) {
  const tree = lineTree(program);
  const open = new Set();
  const state = { sort: "program", text: "", flat: false, focus: null, all: false };
  const body = make("div", { role: "rowgroup" });
  const grid = make("div", { role: "treegrid", "aria-label": "Source lines and their costs", class: "lines" }, header(), body);
  const more = button("", () => {
    state.all = true;
    fill();
  }, { class: "more" });
  openFirst();
  viewOf("lines").append(toolbar(), grid, more);
  if (program.totals.measured_s !== null) viewOf("lines").append(make("p", { class: "note" }, "Time: estimated (full bars) and measured (striped bars)."));
  fill();
  selection.watch((chosen) => {
    if (chosen !== null && chosen.kind === "line") reveal(chosen.lines);
    fill();
  });

  // Opens what costs most, as long as the rows fit on a screen.
  function openFirst() {
    let rows = tree.length;
    let front = tree.filter((node) => node.children.length);
    while (front.length) {
      front.sort((a, b) => (b.totals.share ?? 0) - (a.totals.share ?? 0));
      const node = front.shift();
      if (rows + node.children.length > SHOWN_AT_FIRST && rows > tree.length) continue;
      open.add(node.key);
      rows += node.children.length;
      front.push(...node.children.filter((child) => child.children.length && child.kind !== "source"));
    }
  }

  function toolbar() {
    const sort = make("select", { id: "sort", onchange: (event) => sortBy(event.target.value) },
      make("option", { value: "program" }, "program order"),
      COST_COLUMNS.map((column) => make("option", { value: column.key }, column.title)));
    const filter = make("input", {
      type: "search", id: "filter", placeholder: "text, function or file", oninput: (event) => {
        state.text = event.target.value.trim().toLowerCase();
        fill();
      },
    });
    const flat = make("input", { type: "checkbox", id: "flat", onchange: (event) => {
      state.flat = event.target.checked;
      fill();
    } });
    return make("div", { class: "toolbar" },
      make("label", {}, "Filter ", filter),
      make("label", {}, "Sort by ", sort),
      make("label", { class: "check" }, flat, " without folders"),
      button("open all", () => setAll(true)), button("fold all", () => setAll(false)));
  }

  function header() {
    const titles = COST_COLUMNS.map((column) =>
      make("span", { role: "columnheader", "data-sort": column.key, class: "number" },
        button(column.title, () => sortBy(state.sort === column.key ? "program" : column.key))));
    return make("div", { role: "row", class: "head" }, make("span", { role: "columnheader" }, "Source"), titles);
  }

  function sortBy(key) {
    state.sort = key;
    document.getElementById("sort").value = key;
    for (const title of grid.querySelectorAll("[data-sort]")) {
      title.setAttribute("aria-sort", title.dataset.sort === key ? "descending" : "none");
    }
    fill();
  }

  function setAll(opened) {
    open.clear();
    const visit = (node) => {
      if (node.children.length) open.add(node.key);
      node.children.forEach(visit);
    };
    if (opened) tree.forEach(visit);
    fill();
  }

  // Opens the rows above those of these lines.
  function reveal(ids) {
    const visit = (node) => {
      const here = node.kind === "line" && ids.includes(node.ids[0]);
      const inside = node.children.map(visit).some(Boolean);
      if (inside && !node.ids.every((id) => ids.includes(id))) open.add(node.key);
      return here || inside;
    };
    tree.forEach(visit);
  }

  function rowsShown() {
    const rows = [];
    const visit = (nodes, depth) => {
      for (const node of sorted(nodes)) {
        if (state.flat || state.text) {
          if (node.kind === "line" && matches(node)) rows.push({ node, depth: 0 });
          visit(node.children, 0);
        } else {
          rows.push({ node, depth });
          if (open.has(node.key)) visit(node.children, depth + 1);
        }
      }
    };
    visit(tree, 0);
    return state.flat || state.text ? sorted(rows, (row) => row.node) : rows;
  }

  function sorted(items, nodeOf = (item) => item) {
    if (state.sort === "program") return items;
    return [...items].sort((a, b) => compare(nodeOf(b).totals[state.sort], nodeOf(a).totals[state.sort]));
  }

  function matches(node) {
    const line = program.lines[node.ids[0]];
    return [line.source, line.function, line.scope, lineName(line)].some((text) => text.toLowerCase().includes(state.text));
  }

  function fill() {
    const rows = rowsShown();
    const shown = state.all ? rows : rows.slice(0, MOST_ROWS);
    if (!rows.some((row) => row.node.key === state.focus)) state.focus = rows.length ? rows[0].node.key : null;
    const hadFocus = body.contains(document.activeElement);
    body.replaceChildren(...shown.flatMap(({ node, depth }) => rowElements(node, depth)));
    if (!rows.length) body.append(make("p", { class: "note" }, state.text ? "No line has this text." : "The program has no operations."));
    more.textContent = `show all ${count(rows.length)} rows`;
    more.hidden = shown.length === rows.length;
    if (hadFocus) body.querySelector('[tabindex="0"]')?.focus({ preventScroll: true });
  }

  function rowElements(node, depth) {
    const chosen = selection.is("line", node.ids.join());
    const folds = node.children.length > 0 && !state.flat && !state.text;
    const row = make("div", {
      role: "row", class: "row", tabindex: node.key === state.focus ? "0" : "-1",
      "aria-level": depth + 1, "aria-selected": String(chosen), "aria-current": isNear(node) ? "true" : null,
      "aria-expanded": folds ? String(open.has(node.key)) : null,
      onclick: (event) => activate(node, event), onkeydown: (event) => press(event, node, folds),
    }, codeCell(node, depth, folds), COST_COLUMNS.map((column) => costCell(column, node)));
    return chosen ? [row, lineDetails(program, node)] : [row];
  }

  // Whether what is selected in another view is of this line.
  function isNear(node) {
    const chosen = selection.current;
    return chosen !== null && chosen.kind !== "line" && node.kind !== "function" && chosen.equations.some((id) => node.ids.includes(program.equations[id].line));
  }

  function activate(node, event) {
    state.focus = node.key;
    if (event.target.closest(".fold")) return toggle(node);
    if (selection.is("line", node.ids.join())) selection.set(null);
    else selectLine(program, node.ids, "lines");
  }

  function toggle(node) {
    if (!open.delete(node.key)) open.add(node.key);
    fill();
  }

  function press(event, node, folds) {
    const rows = [...body.querySelectorAll(".row")];
    const at = rows.indexOf(event.currentTarget);
    const go = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key];
    if (go !== undefined && rows[go]) {
      rows[at].tabIndex = -1;
      rows[go].tabIndex = 0;
      rows[go].focus();
      state.focus = rowsShown()[go]?.node.key ?? null;
    } else if (event.key === "ArrowRight" && folds && !open.has(node.key)) toggle(node);
    else if (event.key === "ArrowLeft" && folds && open.has(node.key)) toggle(node);
    else if (event.key === "Enter" || event.key === " ") activate(node, { target: body });
    else return;
    event.preventDefault();
  }

  function codeCell(node, depth, folds) {
    const line = program.lines[node.ids[0]];
    const fold = make("span", { class: "fold", "aria-hidden": "true" }, folds ? (open.has(node.key) ? "▾" : "▸") : "");
    const style = `padding-left:${Math.min(depth, 8) * 0.9}rem`;
    return make("span", { role: "rowheader", class: "code", style }, fold, make("span", { class: "title" }, rowTitle(node, line)));
  }

  function rowTitle(node, line) {
    if (node.kind === "function") {
      return [make("b", {}, line.home), make("span", { class: "soft" }, fileName(line.file))];
    }
    const badges = [kindText(program, line), ...gainBadges(node)].filter(Boolean);
    const scopes = node.kind === "source" ? `${node.ids.length} scopes` : scopeName(line.scope);
    const where = node.scoped ? scopes || "forward" : [lineName(line), scopes].filter(Boolean).join(" · ");
    return [
      node.scoped ? null : sourceText(program, line.id),
      make("span", { class: "soft where" }, where),
      badges.map((text) => make("span", { class: "badge" }, text)),
    ];
  }

  function gainBadges(node) {
    const gains = program.roofline?.gains ?? [];
    return gains.flatMap((gain, k) => (node.ids.includes(gain.line) ? [`gain ${k + 1}: up to ${seconds(gain.seconds)}`] : []));
  }

  function costCell(column, node) {
    const totals = node.totals;
    const inside = column.key === "share"
      ? [bar(totals.share, percent(totals.share)), totals.measured === null ? null : bar(totals.measured, percent(totals.measured), "measured")]
      : column.text(totals[column.key]);
    return make("span", { role: "gridcell", class: `cost number ${column.key}`, "data-title": column.title }, inside);
  }
}

// Below a chosen row: its operations, the kernels that they became, and where to look.
function lineDetails(program, node) {
  const equations = node.ids.flatMap((id) => program.lines[id].equations).map((id) => program.equations[id]);
  const kinds = kindsOf(program, equations.map((e) => e.id));
  const shown = kinds.slice(0, 8).map(([name, ids]) => make("li", {},
    button(name, () => {
      selectEquation(program, ids[0], "lines");
      show("flow");
    }, { class: "chip" }), ids.length > 1 ? ` × ${ids.length}` : ""));
  const fusions = [...new Set(equations.map((e) => e.fusion).filter((id) => id !== null))];
  const kernels = program.optimisation?.fusions ?? [];
  const names = fusions.slice(0, 4).map((id) => kernels[id]?.name).filter(Boolean).join(", ");
  const line = program.lines[node.ids[0]];
  return make("div", { class: "details", role: "row" }, make("div", { role: "gridcell" },
    make("p", {}, `${line.file}:${line.line}`, line.function ? ` in ${line.function}` : ""),
    make("ul", { class: "chips" }, shown, kinds.length > 8 ? make("li", { class: "soft" }, `and ${kinds.length - 8} more kinds`) : null),
    names ? make("p", {}, `Part of ${counted(fusions.length, "kernel")}: ${names}${fusions.length > 4 ? ", …" : ""}.`) : null,
    button("Show in the data flow", () => {
      selectLine(program, node.ids, "graph");
      show("flow");
    })));
}
