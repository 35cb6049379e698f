// Memory: the bytes alive over the program, the values that make the peak, and the
// time for which a value lives.

const HEIGHT = 220;
const BARS = 10;
const BAR = 20;
const LARGEST = 7;

class MemoryView {
  constructor(program) {
    this.program = program;
    this.curve = program.memory.curve;
    this.peak = program.memory.peak;
    this.top = stepOf(this.curve, this.peak.position);
    this.long = this.peak.values.slice(0, BARS).map((held) => held.value);
    this.pinned = null;
    this.stage = make("div", { class: "stage" });
    this.panel = make("aside", {
      class: "panel",
      "aria-label": "Values alive at the chosen position",
    });
    this.slider = make("input", {
      type: "range",
      min: 0,
      max: this.curve.length - 1,
      "aria-label": "Position in the program",
      oninput: () => this.look(Number(this.slider.value)),
    });
    viewOf("memory").append(
      make(
        "div",
        { class: "toolbar" },
        make("label", { class: "wide" }, "Position ", this.slider),
        button("at the peak", () => this.look(this.top)),
      ),
      make("div", { class: "split" }, this.stage, this.panel),
    );
    const at = `${bytes(this.peak.bytes)} at position ${this.peak.position}`;
    const label = `Bytes alive at ${this.curve.length} positions; the peak is ${at}`;
    this.redraw = plot(
      this.stage,
      () => this.height(),
      label,
      (svg, width) => this.paint(svg, width),
    );
    selection.watch(() => {
      this.pinned = this.largestSelected();
      this.redraw();
    });
    this.look(this.top);
  }

  // The values that have a bar: the largest at the peak, and the one that is selected.
  bars() {
    return this.pinned === null || this.long.includes(this.pinned)
      ? this.long
      : [...this.long, this.pinned];
  }

  height() {
    return HEIGHT + this.bars().length * BAR + 10;
  }

  largestSelected() {
    const { values } = this.program;
    const chosen = selection.current;
    if (chosen === null) return null;
    const ids = [
      ...chosen.values,
      ...chosen.equations.flatMap((id) => this.program.equations[id].outputs),
    ];
    return ids.reduce(
      (best, id) => (best === null || values[id].bytes > values[best].bytes ? id : best),
      null,
    );
  }

  look(step) {
    this.at = Math.min(Math.max(step, 0), this.curve.length - 1);
    const [position, held] = this.curve[this.at];
    this.slider.value = this.at;
    this.slider.setAttribute("aria-valuetext", `position ${position}, ${bytes(held)}`);
    this.panel.replaceChildren(...aliveAt(this.program, position, held));
    this.redraw();
  }

  paint(svg, width) {
    const { curve, peak, top } = this;
    const x = linear([0, curve.length], [MARGIN.left, width - MARGIN.right]);
    const y = linear([0, peak.bytes || 1], [HEIGHT - MARGIN.bottom, MARGIN.top + 12]);
    levelsAcross(svg, roundSteps(peak.bytes, 4), y, bytes, width);
    const steps = curve
      .map(([, held], k) => `V${y(held).toFixed(1)}H${x(k + 1).toFixed(1)}`)
      .join("");
    const cursor = x(this.at + 0.5);
    svg.append(
      draw("path", { class: "area", d: `M${MARGIN.left} ${y(0)}${steps}V${y(0)}Z` }),
      draw("circle", { cx: x(top + 0.5), cy: y(peak.bytes), r: 5, class: "peak" }),
      draw("text", peakText(x(top + 0.5), width), `peak ${bytes(peak.bytes)}`),
      draw("line", {
        x1: cursor,
        x2: cursor,
        y1: MARGIN.top,
        y2: this.height() - 6,
        class: "cursor",
      }),
    );
    const ticks = roundSteps(curve.length - 1, width < 500 ? 3 : 6).filter(Number.isInteger);
    ticksBelow(
      svg,
      ticks,
      (k) => x(k + 0.5),
      (k) => count(curve[k][0]),
      HEIGHT,
    );
    svg.append(...this.bars().map((id, k) => this.life(id, HEIGHT + k * BAR, x, width)));
    const pointed = (event) =>
      this.look(Math.floor(x.back(event.clientX - svg.getBoundingClientRect().left)));
    svg.onpointermove = pointed;
    svg.onpointerdown = pointed;
  }

  // A bar from the birth of a value to its death.
  life(id, top, x, width) {
    const value = this.program.values[id];
    const [from, to] = [x(stepOf(this.curve, value.born)), x(stepOf(this.curve, value.dies) + 1)];
    const chosen = id === this.pinned;
    const line = lineOfValue(this.program, value);
    const text = `${inputOrMaker(this.program, value)} ${value.type}${line ? ` · ${lineName(line)}` : ""}`;
    const room = Math.floor((width - MARGIN.left) / 7);
    return draw(
      "g",
      {
        class: chosen ? "life chosen" : "life",
        onclick: () => selectValue(this.program, id, "memory"),
      },
      draw("rect", { x: from, y: top + 2, width: Math.max(to - from, 3), height: BAR - 5, rx: 3 }),
      draw(
        "text",
        { x: MARGIN.left + 4, y: top + 14, class: "on-bar" },
        `${chosen ? "▶ " : ""}${shortened(text, room)}`,
      ),
      draw("text", { x: MARGIN.left - 8, y: top + 14, class: "tick end" }, bytes(value.bytes)),
      draw(
        "title",
        {},
        `${text}, ${bytes(value.bytes)}, alive from ${Math.max(value.born, 0)} to ${value.dies}`,
      ),
    );
  }
}

// Beside the peak, on the side where there is room.
function peakText(x, width) {
  const atLeft = x > width - 130;
  return { x: atLeft ? x - 9 : x + 9, y: MARGIN.top + 6, class: atLeft ? "strong end" : "strong" };
}

// The last step of the curve that is not after a position.
function stepOf(curve, position) {
  let [low, high] = [0, curve.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (curve[middle][0] <= position) low = middle;
    else high = middle - 1;
  }
  return low;
}

// What is alive at a position, the largest first.
function aliveAt(program, position, held) {
  const outermost = (value) =>
    value.made_by === null
      ? value.argument !== null
      : program.equations[value.made_by].parent === null;
  const alive = program.values
    .filter((value) => value.born <= position && position <= value.dies && outermost(value))
    .sort((a, b) => b.bytes - a.bytes);
  const equation = program.equations[position];
  const inside = held - alive.reduce((sum, value) => sum + value.bytes, 0);
  return [
    make("h3", {}, bytes(held)),
    make(
      "p",
      {},
      `${counted(alive.length, "value")} alive at position ${count(position)}`,
      equation ? `, ${equation.operation} ` : ".",
      equation ? lineButton(program, equation.line) : null,
    ),
    heldList(
      alive.slice(0, LARGEST),
      (value) => value.bytes,
      (value) => {
        const line = lineOfValue(program, value);
        const title = `${value.type}, ${line ? `${lineName(line)} ${line.source}` : "an argument"}`;
        return button(
          `${inputOrMaker(program, value)} ${value.type}`,
          () => selectValue(program, value.id, "memory"),
          { class: "chip", title },
        );
      },
    ),
    alive.length > LARGEST
      ? make("p", { class: "soft" }, `and ${counted(alive.length - LARGEST, "smaller one")}`)
      : null,
    inside > 0 && equation?.inside.length
      ? make(
          "p",
          { class: "soft" },
          `and ${bytes(inside)} of values inside of ${equation.operation}`,
        )
      : null,
    make("h4", {}, "By line"),
    heldList(
      linesOfValues(program, alive).slice(0, LARGEST),
      (held) => held.bytes,
      (held) =>
        held.line === null
          ? `${counted(held.count, "argument")}`
          : make(
              "span",
              { class: "by-line" },
              lineButton(program, held.line),
              make("span", { class: "soft" }, `× ${count(held.count)}`),
            ),
    ),
  ].filter(Boolean);
}

// Things that hold memory, the largest first, each with a bar.
function heldList(held, size, title) {
  const largest = held.length ? size(held[0]) || 1 : 1;
  return make(
    "ol",
    { class: "held" },
    held.map((x) => make("li", {}, title(x), bar(size(x) / largest, bytes(size(x))))),
  );
}

// The lines that made values, and how much each made; null for arguments.
function linesOfValues(program, values) {
  const groups = grouped(values, (value) =>
    value.made_by === null ? null : program.equations[value.made_by].line,
  );
  const sum = (members) => members.reduce((all, value) => all + value.bytes, 0);
  return groups
    .map(([line, members]) => ({ line, count: members.length, bytes: sum(members) }))
    .sort((a, b) => b.bytes - a.bytes);
}
