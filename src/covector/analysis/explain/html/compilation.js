// Compilation: where the time went, why it happened again, and what devices exchange.

function compilationView(program) {
  const found = program.compilation;
  const holder = viewOf("compilation");
  const parts = [
    ["trace", found.trace_s],
    ["lower", found.lower_s],
    ["compile", found.compile_s],
  ].filter(([, time]) => time !== null && time !== undefined);
  if (parts.length) holder.append(timeBar(parts));
  else holder.append(make("p", { class: "note" }, "No times were taken."));
  if (found.cached)
    holder.append(make("p", {}, "The executable was known already: it came from the cache."));
  if (found.recompiled_because)
    holder.append(
      make("p", { class: "callout" }, make("b", {}, "Compiled again: "), found.recompiled_because),
    );
  if (found.functions.length) {
    holder.append(
      table(
        "Functions that were traced",
        [
          { title: "Function", cell: (f) => f.name, by: (f) => f.name },
          {
            title: "Time to trace",
            cell: (f) => seconds(f.trace_s),
            by: (f) => f.trace_s,
            number: true,
          },
        ],
        found.functions,
      ),
    );
  }
  if (found.collectives.length) {
    holder.append(
      table(
        "Communication between devices",
        [
          { title: "Operation", cell: (c) => c.operation, by: (c) => c.operation },
          { title: "Over", cell: (c) => (c.axes ?? []).join(", ") || UNKNOWN },
          { title: "Line", cell: (c) => lineButton(program, c.line) },
          { title: "Bytes", cell: (c) => bytes(c.bytes), by: (c) => c.bytes, number: true },
        ],
        found.collectives,
      ),
    );
  }
}

// One bar, divided as the time was.
function timeBar(parts) {
  const whole = parts.reduce((sum, [, time]) => sum + time, 0) || 1;
  return make(
    "div",
    { class: "times" },
    make(
      "div",
      { class: "divided", "aria-hidden": "true" },
      parts.map(([name, time]) =>
        make("span", { class: name, style: `flex-grow:${(time / whole).toFixed(4)}` }),
      ),
    ),
    make(
      "dl",
      { class: "facts across" },
      parts.map(([name, time]) =>
        make(
          "div",
          {},
          make("dt", { class: name }, name),
          make("dd", {}, `${seconds(time)} (${percent(time / whole)})`),
        ),
      ),
    ),
  );
}
