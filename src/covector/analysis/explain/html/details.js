// What is known of the selected part of the graph, and its slices in words.

const LISTED = 12;

// shown: {chosen, slices, node, frame} of the graph, and what buttons do: open, fold, enter
function showDetails(program, panel, shown) {
  const { chosen, slices } = shown;
  if (chosen === null) return panel.replaceChildren(...overview(program, shown.frame));
  const facts =
    chosen.kind === "equation" ? ofEquation(program, chosen.key) : ofGroup(program, chosen);
  panel.replaceChildren(...facts, foldButtons(program, shown), ...ofSlices(program, slices));
  panel.append(button("Clear the selection", () => selection.set(null), { class: "more" }));
  const [up, down] = [slices.up, slices.down].map((s) => counted(s.equations.size, "operation"));
  speak(`${chosen.title} selected; it needs ${up}, and ${down} need it`);
}

// Into the node that shows what is selected, and out of it.
function foldButtons(program, { node, open, fold, enter }) {
  if (!node) return "";
  const [id] = node.equations;
  const carried = node.kind === "operation" ? program.equations[id].inside.length : 0;
  const around = node.parent;
  return make(
    "div",
    { class: "chips" },
    node.children.length ? button(`Open ${shortened(node.title, 30)}`, () => open(node)) : null,
    carried ? button(`Look inside: ${counted(carried, "operation")}`, () => enter(id)) : null,
    around ? button(`Fold into ${shortened(around.label, 30)}`, () => fold(around)) : null,
  );
}

// What is shown when nothing is selected: the program in the graph.
function overview(program, frame) {
  const ids = operationsIn(program, frame);
  const levels = levelCounts(program, ids);
  const path = criticalPath(program, frame);
  return [
    make("h3", {}, frame === null ? "The whole program" : `Inside ${nameOfFrame(program, frame)}`),
    facts([
      ["operations", frame === null ? count(program.equations.length) : count(ids.length)],
      ["levels", count(levels.length)],
      ["width (most at one level)", count(largest(levels, (n) => n))],
      ["critical path", counted(path.length, "operation")],
      ["its FLOPs", frame === null ? flops(program.graph.critical_path_flops) : null],
    ]),
    levels.length > 1 ? levelPicture(levels) : null,
    make(
      "p",
      { class: "soft" },
      "Levels are the steps in which the program could run if everything that is ready ran at once.",
    ),
  ].filter(Boolean);
}

function levelCounts(program, ids) {
  const counts = [];
  for (const id of ids) {
    const { level } = program.equations[id];
    counts[level] = (counts[level] ?? 0) + 1;
  }
  return Array.from(counts, (n) => n ?? 0);
}

// How many operations there are at each level.
function levelPicture(levels) {
  const [width, height] = [260, 56];
  const most = Math.sqrt(largest(levels, (n) => n));
  const step = width / levels.length;
  const path = levels
    .map(
      (n, k) =>
        `L${(k * step).toFixed(1)} ${(height - (height * Math.sqrt(n)) / most).toFixed(1)}h${step.toFixed(2)}`,
    )
    .join("");
  return draw(
    "svg",
    {
      viewBox: `0 0 ${width} ${height}`,
      class: "levels",
      role: "img",
      "aria-label": `operations at each of ${levels.length} levels, at most ${largest(levels, (n) => n)}`,
    },
    draw("path", { d: `M0 ${height}${path}V${height}Z`, class: "area" }),
  );
}

function facts(pairs) {
  return make(
    "dl",
    { class: "facts" },
    pairs
      .filter(([, value]) => value !== null)
      .map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))),
  );
}

function ofEquation(program, id) {
  const e = program.equations[id];
  const line = program.lines[e.line];
  const kernel = e.fusion === null ? null : program.optimisation?.fusions[e.fusion];
  return [
    make("h3", {}, e.operation),
    e.parameters ? make("p", { class: "code" }, e.parameters) : null,
    make("p", {}, lineButton(program, e.line), line.scope ? ` ${scopeName(line.scope)}` : ""),
    sourceText(program, e.line),
    facts([
      ["result", typeOf(program, e)],
      ["FLOPs", flops(e.total.flops)],
      ["bytes", bytes(e.total.bytes)],
      ["runs", e.times > 1 ? `${count(e.times)} times` : null],
      ["level", count(e.level)],
      ["critical path", e.critical ? "yes" : "no"],
      ["kernel", kernel ? kernel.name : null],
    ]),
    valueList(program, "Operands", e.inputs),
    equationList(program, "Read by", [...usersOf(program, id)]),
  ].filter(Boolean);
}

function ofGroup(program, chosen) {
  const equations = chosen.equations.map((id) => program.equations[id]);
  // Those that others of them carry are a part of those.
  const ids = new Set(chosen.equations);
  const outer = equations.filter((e) => !e.around.some((id) => ids.has(id)));
  const sum = (key) => outer.reduce((all, e) => all + e.total[key], 0);
  const lines = [...new Set(equations.map((e) => e.line))];
  return [
    make("h3", {}, chosen.title),
    equations.length ? make("p", {}, lineButtons(program, lines)) : null,
    chosen.kind === "line" ? sourceText(program, chosen.lines[0]) : null,
    equations.length
      ? facts([
          ["operations", count(equations.length)],
          ["FLOPs", flops(sum("flops"))],
          ["bytes", bytes(sum("bytes"))],
        ])
      : null,
    equations.length > 0
      ? equationList(program, "Operations", chosen.equations)
      : valueList(program, "Values", chosen.values),
  ].filter(Boolean);
}

function ofSlices(program, slices) {
  const inputs = (slice) =>
    [...slice.values].map((id) => program.values[id]).filter((value) => value.argument !== null);
  const found = inputs(slices.up);
  const results = (program.results ?? []).filter(
    (result) => result.value !== null && slices.down.values.has(result.value),
  );
  return [
    make("h3", {}, "Slices"),
    make(
      "p",
      { class: "slice-up" },
      `▲ It needs ${counted(slices.up.equations.size, "operation")}, and `,
      counted(found.length, "argument"),
      found.length ? ":" : ".",
    ),
    chips(found.map((value) => [value.argument, () => selectValue(program, value.id, "panel")])),
    make(
      "p",
      { class: "slice-down" },
      `▼ ${counted(slices.down.equations.size, "operation")} need it, and `,
      counted(results.length, "result"),
      results.length ? ":" : ".",
    ),
    chips(
      results.map((result) => [result.path, () => selectValue(program, result.value, "panel")]),
    ),
  ];
}

function chips(pairs) {
  const shown = pairs
    .slice(0, LISTED)
    .map(([name, action]) => button(name, action, { class: "chip" }));
  if (pairs.length > LISTED)
    shown.push(make("span", { class: "soft" }, `and ${count(pairs.length - LISTED)} more`));
  return make("div", { class: "chips" }, shown);
}

function valueList(program, title, ids) {
  if (!ids.length) return null;
  return make(
    "div",
    {},
    make("h4", {}, title),
    chips(
      ids.map((id) => {
        const value = program.values[id];
        return [
          `${inputOrMaker(program, value)} ${value.type}`,
          () => selectValue(program, id, "panel"),
        ];
      }),
    ),
  );
}

function inputOrMaker(program, value) {
  return value.made_by === null ? inputName(program, value) : valueName(program, value);
}

// Operations by name and type.
function kindsOf(program, ids) {
  return grouped(
    ids,
    (id) => `${program.equations[id].operation} ${typeOf(program, program.equations[id])}`,
  );
}

function equationList(program, title, ids) {
  if (!ids.length) return null;
  return make(
    "div",
    {},
    make("h4", {}, title),
    chips(
      kindsOf(program, ids).map(([name, alike]) => [
        alike.length > 1 ? `${name} × ${count(alike.length)}` : name,
        () => selectEquation(program, alike[0], "panel"),
      ]),
    ),
  );
}
