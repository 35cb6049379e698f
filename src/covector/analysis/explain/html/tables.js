// Tables that can be sorted, of which at first some rows are shown; on narrow screens
// each row is a card (page.css).

const FIRST_ROWS = matchMedia("(max-width: 44rem)").matches ? 5 : 12;

// columns: [{title, cell(row) → string or element, by(row) → what to sort by, number}]
function table(caption, columns, rows) {
  const head = make("tr");
  const body = make("tbody");
  const whole = make("table", {}, make("caption", {}, caption), make("thead", {}, head), body);
  const more = button(
    "",
    () => {
      all = !all;
      fill();
    },
    { class: "more" },
  );
  let all = false;
  let order = { column: null, down: true };

  function fill() {
    const { column, down } = order;
    const sorted = [...rows];
    if (column !== null)
      sorted.sort((a, b) => (down ? -1 : 1) * compare(column.by(a), column.by(b)));
    const shown = all ? sorted : sorted.slice(0, FIRST_ROWS);
    body.replaceChildren(
      ...shown.map((row) =>
        make(
          "tr",
          {},
          columns.map((c) => cell(c, row)),
        ),
      ),
    );
    more.textContent = all ? "show fewer" : `show all ${count(rows.length)}`;
    more.hidden = rows.length <= FIRST_ROWS;
  }

  function cell(column, row) {
    return make(
      "td",
      { class: column.number ? "number" : null, "data-title": column.title },
      column.cell(row),
    );
  }

  function sortBy(column) {
    order = { column, down: order.column === column ? !order.down : Boolean(column.number) };
    for (const [k, header] of [...head.children].entries()) {
      header.setAttribute(
        "aria-sort",
        columns[k] !== column ? "none" : order.down ? "descending" : "ascending",
      );
    }
    fill();
  }

  for (const column of columns) {
    const title = column.by ? button(column.title, () => sortBy(column)) : column.title;
    head.append(
      make(
        "th",
        {
          scope: "col",
          class: column.number ? "number" : null,
          "aria-sort": column.by ? "none" : null,
        },
        title,
      ),
    );
  }
  fill();
  return make("div", { class: "table" }, whole, more);
}

// Missing things come last when the largest come first.
function compare(a, b) {
  if (typeof a === "string" && typeof b === "string") return a.localeCompare(b);
  return (a ?? -Infinity) - (b ?? -Infinity);
}

// A bar beside its number.
function bar(share, text, kind = "") {
  const width = `width:${Math.max(0, Math.min(100, 100 * (share ?? 0))).toFixed(1)}%`;
  return make(
    "span",
    { class: "amount" },
    make(
      "span",
      { class: "track", "aria-hidden": "true" },
      make("span", { class: `bar ${kind}`, style: width }),
    ),
    make("span", { class: "text" }, text),
  );
}

// A line of the user, as a button that selects it.
function lineButton(program, id) {
  if (id === null || id === undefined) return UNKNOWN;
  const line = program.lines[id];
  const select = () => {
    selectLine(program, [id], "chip");
    show("lines");
  };
  return button(lineName(line), select, {
    class: "chip",
    title: `${line.source}\n${line.file}:${line.line} ${scopeName(line.scope)}`,
  });
}

function lineButtons(program, ids) {
  const distinct = [...new Map(ids.map((id) => [lineName(program.lines[id]), id])).values()];
  const shown = distinct.slice(0, 4).map((id) => lineButton(program, id));
  if (distinct.length > 4)
    shown.push(make("span", { class: "soft" }, `and ${distinct.length - 4} more`));
  return make("span", { class: "chips" }, shown);
}

// Source text in colours.
function sourceText(program, id) {
  const pieces = program.sources[id].map(([kind, text]) =>
    make("span", { class: kind && `is-${kind}` }, text),
  );
  return make("code", { class: "source" }, pieces.length ? pieces : lineName(program.lines[id]));
}
