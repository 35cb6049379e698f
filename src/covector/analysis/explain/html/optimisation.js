// What optimisation did: counts before and after, changes, kernels, and what was not done.

function optimisationView(program) {
  const found = program.optimisation;
  const holder = viewOf("optimisation");
  if (!found) {
    holder.append(make("p", { class: "note" }, "The program was not compiled."));
    return;
  }
  const { before, after } = found;
  holder.append(
    make(
      "ol",
      { class: "steps" },
      step(count(before.equations), "operations, as traced"),
      step(count(before.instructions), "instructions, as given to XLA"),
      step(count(after.instructions), "instructions, optimised"),
      step(count(after.kernels), `kernels, of which ${count(after.fusions)} are fusions`),
    ),
  );
  if (found.changes.length) {
    holder.append(
      table(
        "What was done",
        [
          { title: "Change", cell: (change) => change.kind, by: (change) => change.kind },
          {
            title: "Count",
            cell: (change) => count(change.count),
            by: (change) => change.count,
            number: true,
          },
          { title: "Lines", cell: (change) => lineButtons(program, change.lines) },
          { title: "Why", cell: (change) => change.reason },
        ],
        found.changes,
      ),
    );
  }
  if (found.not_done.length) {
    holder.append(
      table(
        "What was not done",
        [
          {
            title: "What",
            cell: (item) => [
              item.what,
              item.others
                ? make("span", { class: "soft" }, ` and ${counted(item.others, "other")}`)
                : null,
            ],
            by: (item) => item.what,
          },
          { title: "Line", cell: (item) => lineButton(program, item.line) },
          { title: "Why", cell: (item) => item.reason, by: (item) => item.reason },
        ],
        alike(found.not_done),
      ),
    );
  }
  if (found.fusions.length) holder.append(kernelTable(program, found.fusions));
}

// Things with one line and one reason as one, with the number of the others.
function alike(items) {
  return grouped(items, (item) => `${item.line} ${item.reason}`).map(([, members]) => ({
    ...members[0],
    others: members.length - 1,
  }));
}

function step(number, text) {
  return make("li", {}, make("b", {}, number), make("span", {}, text));
}

function kernelTable(program, fusions) {
  const measured = fusions.some((fusion) => fusion.measured_s !== null);
  const longest = [...fusions].sort((a, b) =>
    compare(b.measured_s ?? b.lower_bound_s, a.measured_s ?? a.lower_bound_s),
  );
  return table(
    "Kernels, the longest first",
    [
      {
        title: "Kernel",
        cell: (fusion) =>
          make(
            "span",
            {},
            make("b", {}, fusion.name),
            make("span", { class: "soft" }, ` ${fusion.kind}`),
          ),
        by: (fusion) => fusion.name,
      },
      {
        title: "Operations",
        cell: (fusion) => make("span", { class: "soft" }, operationsText(fusion.operations)),
        by: (fusion) => fusion.operations.length,
      },
      { title: "Lines", cell: (fusion) => lineButtons(program, fusion.lines) },
      {
        title: "FLOPs",
        cell: (fusion) => flops(fusion.flops),
        by: (fusion) => fusion.flops,
        number: true,
      },
      {
        title: "Bytes",
        cell: (fusion) => bytes(fusion.bytes),
        by: (fusion) => fusion.bytes,
        number: true,
      },
      {
        title: "At least",
        cell: (fusion) => seconds(fusion.lower_bound_s),
        by: (fusion) => fusion.lower_bound_s,
        number: true,
      },
      ...(measured
        ? [
            {
              title: "Measured",
              cell: (fusion) => seconds(fusion.measured_s),
              by: (fusion) => fusion.measured_s,
              number: true,
            },
          ]
        : []),
    ],
    longest,
  );
}

// ["add", "mul", "add"] → "add × 2, mul"
function operationsText(operations) {
  const kinds = grouped(operations, (name) => name);
  const shown = kinds
    .slice(0, 6)
    .map(([name, members]) => (members.length > 1 ? `${name} × ${members.length}` : name));
  return shown.join(", ") + (kinds.length > 6 ? ", …" : "");
}
