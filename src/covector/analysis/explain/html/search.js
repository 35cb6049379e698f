// A search for operations, lines and arguments, by any part of their text.

const FOUND = 30;

// done() is called when something was chosen.
function searchBox(program, done) {
  const list = make("ul", { class: "found", id: "found", hidden: true });
  const input = make("input", {
    type: "search",
    id: "search",
    placeholder: "operation, line or argument",
    autocomplete: "off",
    "aria-controls": "found",
    oninput: () => showFound(program, input, list, done),
    onkeydown: (event) => {
      if (event.key === "Enter") list.querySelector("button")?.click();
    },
  });
  const holder = make(
    "div",
    {
      class: "search",
      onkeydown: (event) => walkFound(event, holder),
      onfocusout: (event) => {
        if (!holder.contains(event.relatedTarget)) list.hidden = true;
      },
    },
    make("label", {}, "Search ", input),
    list,
  );
  return holder;
}

function showFound(program, input, list, done) {
  const text = input.value.trim().toLowerCase();
  const hits = text ? searchProgram(program, text) : [];
  const choose = (hit) => {
    list.hidden = true;
    hit.select();
    done();
  };
  list.replaceChildren(
    ...hits.slice(0, FOUND).map((hit) =>
      make(
        "li",
        {},
        button(hit.title, () => choose(hit)),
        make("span", { class: "soft" }, hit.note),
      ),
    ),
  );
  if (text && !hits.length) list.append(make("li", { class: "soft" }, "Nothing has this name."));
  if (hits.length > FOUND)
    list.append(make("li", { class: "soft" }, `and ${count(hits.length - FOUND)} more`));
  list.hidden = !text;
  if (text) speak(counted(hits.length, "result"));
}

// Arrow keys go through what was found, and Escape closes it.
function walkFound(event, holder) {
  const stops = [holder.querySelector("input"), ...holder.querySelectorAll("button")];
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) {
    stops[stops.indexOf(document.activeElement) + step]?.focus();
    event.preventDefault();
  } else if (event.key === "Escape") {
    stops[0].focus();
    holder.querySelector(".found").hidden = true;
  }
}

// Operations, lines, scopes and arguments with a text.
function searchProgram(program, text) {
  const has = (...texts) => texts.some((t) => t && t.toLowerCase().includes(text));
  const lines = program.lines.filter(
    (line) => line.equations.length && has(line.source, line.function, line.scope, lineName(line)),
  );
  const values = program.values.filter((value) => value.argument !== null && has(value.argument));
  const equations = program.equations.filter((e) => has(e.operation, e.parameters));
  return [
    ...values.map((value) => ({
      title: value.argument,
      note: `argument ${value.type}`,
      select: () => selectValue(program, value.id, "search"),
    })),
    ...lines.map((line) => ({
      title: line.source || lineName(line),
      note: [lineName(line), scopeName(line.scope)].filter(Boolean).join(" · "),
      select: () => selectLine(program, [line.id], "search"),
    })),
    ...equations.map((e) => ({
      title: e.operation,
      note: `${typeOf(program, e)} · ${lineName(program.lines[e.line])}`,
      select: () => selectEquation(program, e.id, "search"),
    })),
  ];
}
