// What is selected: shared by all views. A selection has a kind ("line", "equation",
// "group", "value"), a key within its kind, and the equations and values that it means.

const selection = {
  current: null,
  listeners: [],

  watch(listener) {
    this.listeners.push(listener);
  },

  set(chosen, from = null) {
    this.current = chosen;
    for (const listener of this.listeners) listener(chosen, from);
  },

  is(kind, key) {
    return this.current !== null && this.current.kind === kind && this.current.key === key;
  },
};

function selectLine(program, ids, from) {
  const lines = ids.map((id) => program.lines[id]);
  const equations = lines.flatMap((line) => line.equations);
  selection.set(
    { kind: "line", key: ids.join(), lines: ids, equations, values: [], title: lineName(lines[0]) },
    from,
  );
}

function selectEquation(program, id, from) {
  const title = program.equations[id].operation;
  selection.set({ kind: "equation", key: id, equations: [id], values: [], title }, from);
}

function selectValue(program, id, from) {
  const value = program.values[id];
  if (value.made_by !== null) return selectEquation(program, value.made_by, from);
  selection.set(
    { kind: "value", key: id, equations: [], values: [id], title: valueName(program, value) },
    from,
  );
}

// What changed, for those who do not see it.
function speak(text) {
  document.getElementById("spoken").textContent = text;
}

// Scrolls to a view, unless it is seen already.
function show(id) {
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  document
    .getElementById(id)
    .scrollIntoView({ behavior: calm ? "auto" : "smooth", block: "start" });
}
