// Memory: the bytes alive over the program, the values that make the peak, and the
// time for which a value lives.

const HEIGHT = 220;
const BARS = 10;
const BAR = 20;
const LARGEST = 7;

function memoryView(program) {
  const { curve, peak } = program.memory;
  const holder = viewOf("memory");
  if (!curve.length) {
    holder.append(make("p", { class: "note" }, "The program makes no values."));
    return;
  }
  const state = { at: stepOf(curve, peak.position), pinned: null };
  const stage = make("div", { class: "stage" });
  const panel = make("aside", { class: "panel", "aria-label": "Values alive at the chosen position" });
  const slider = make("input", {
    type: "range", min: 0, max: curve.length - 1, value: state.at, "aria-label": "Position in the program",
    oninput: () => look(Number(slider.value)),
  });
  holder.append(
    make("div", { class: "toolbar" }, make("label", { class: "wide" }, "Position ", slider), button("at the peak", () => look(stepOf(curve, peak.position)))),
    make("div", { class: "split" }, stage, panel));

  const long = shownLives();
  const height = () => HEIGHT + (long.length + (isExtra() ? 1 : 0)) * BAR + 10;
  const label = `Bytes alive at ${curve.length} positions; the peak is ${bytes(peak.bytes)} at position ${peak.position}`;
  let redraw = plotAgain();
  selection.watch(() => {
    state.pinned = pinnedValue();
    redraw = plotAgain();
    redraw();
  });
  look(state.at);

  function plotAgain() {
    stage.replaceChildren();
    return plot(stage, height(), label, paintMemory);
  }

  function shownLives() {
    return peak.values.slice(0, BARS).map((held) => held.value);
  }

  function isExtra() {
    return state.pinned !== null && !long.includes(state.pinned);
  }

  // The largest value of what is selected.
  function pinnedValue() {
    const chosen = selection.current;
    if (chosen === null) return null;
    const ids = [...chosen.values, ...chosen.equations.flatMap((id) => program.equations[id].outputs)];
    return ids.reduce((best, id) => (best === null || program.values[id].bytes > program.values[best].bytes ? id : best), null);
  }

  function look(step) {
    state.at = Math.min(Math.max(step, 0), curve.length - 1);
    slider.value = state.at;
    const [position, held] = curve[state.at];
    slider.setAttribute("aria-valuetext", `position ${position}, ${bytes(held)}`);
    panel.replaceChildren(...aliveAt(program, position, held));
    redraw();
  }

  function paintMemory(svg, width) {
    const x = linear([0, curve.length], [MARGIN.left, width - MARGIN.right]);
    const y = linear([0, peak.bytes || 1], [HEIGHT - MARGIN.bottom, MARGIN.top + 12]);
    levelsAcross(svg, roundSteps(peak.bytes, 4), y, bytes, width);
    const steps = curve.map(([, held], k) => `V${y(held).toFixed(1)}H${x(k + 1).toFixed(1)}`).join("");
    svg.append(draw("path", { class: "area", d: `M${MARGIN.left} ${y(0)}${steps}V${y(0)}Z` }));
    const top = stepOf(curve, peak.position);
    svg.append(
      draw("circle", { cx: x(top + 0.5), cy: y(peak.bytes), r: 5, class: "peak" }),
      draw("text", peakText(x(top + 0.5), width), `peak ${bytes(peak.bytes)}`));
    svg.append(draw("line", { x1: x(state.at + 0.5), x2: x(state.at + 0.5), y1: MARGIN.top, y2: height() - 6, class: "cursor" }));
    ticksBelow(svg, roundSteps(curve.length - 1, width < 500 ? 3 : 6).filter(Number.isInteger), (k) => x(k + 0.5), (k) => count(curve[k][0]), HEIGHT);
    paintLives(svg, x, width);
    const pointed = (event) => look(Math.floor(x.back(event.clientX - svg.getBoundingClientRect().left)));
    svg.onpointermove = pointed;
    svg.onpointerdown = pointed;
  }

  // From birth to death, one bar for each value.
  function paintLives(svg, x, width) {
    const ids = isExtra() ? [...long, state.pinned] : long;
    ids.forEach((id, k) => {
      const value = program.values[id];
      const top = HEIGHT + k * BAR;
      const [from, to] = [x(stepOf(curve, value.born)), x(stepOf(curve, value.dies) + 1)];
      const chosen = id === state.pinned;
      const line = lineOfValue(program, value);
      const text = `${inputOrMaker(program, value)} ${value.type}${line ? ` · ${lineName(line)}` : ""}`;
      const bar = draw("g", { class: chosen ? "life chosen" : "life", onclick: () => selectValue(program, id, "memory") },
        draw("rect", { x: from, y: top + 2, width: Math.max(to - from, 3), height: BAR - 5, rx: 3 }),
        draw("text", { x: MARGIN.left + 4, y: top + 14, class: "on-bar" }, `${chosen ? "▶ " : ""}${shortened(text, Math.floor((width - MARGIN.left) / 7))}`),
        draw("text", { x: MARGIN.left - 8, y: top + 14, class: "tick end" }, bytes(value.bytes)),
        draw("title", {}, `${text}, ${bytes(value.bytes)}, alive from ${Math.max(value.born, 0)} to ${value.dies}`));
      svg.append(bar);
    });
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
  const outermost = (value) => value.made_by === null ? value.argument !== null : program.equations[value.made_by].parent === null;
  const alive = program.values
    .filter((value) => value.born <= position && position <= value.dies && outermost(value))
    .sort((a, b) => b.bytes - a.bytes);
  const equation = program.equations[position];
  return [
    make("h3", {}, bytes(held)),
    make("p", {}, `${counted(alive.length, "value")} alive at position ${count(position)}`, equation ? `, ${equation.operation} ` : ".", equation ? lineButton(program, equation.line) : null),
    heldList(alive.slice(0, LARGEST), (value) => value.bytes, (value) => {
      const line = lineOfValue(program, value);
      const title = `${value.type}, ${line ? `${lineName(line)} ${line.source}` : "an argument"}`;
      return button(`${inputOrMaker(program, value)} ${value.type}`, () => selectValue(program, value.id, "memory"), { class: "chip", title });
    }),
    alive.length > LARGEST ? make("p", { class: "soft" }, `and ${counted(alive.length - LARGEST, "smaller one")}`) : null,
    make("h4", {}, "By line"),
    heldList(linesOfValues(program, alive).slice(0, LARGEST), (held) => held.bytes, (held) =>
      held.line === null ? `${counted(held.count, "argument")}` : make("span", { class: "by-line" }, lineButton(program, held.line), make("span", { class: "soft" }, `× ${count(held.count)}`))),
  ].filter(Boolean);
}

// Things that hold memory, the largest first, each with a bar.
function heldList(held, size, title) {
  const largest = held.length ? size(held[0]) || 1 : 1;
  return make("ol", { class: "held" }, held.map((x) => make("li", {}, title(x), bar(size(x) / largest, bytes(size(x))))));
}

// The lines that made values, and how much each made; null for arguments.
function linesOfValues(program, values) {
  const groups = grouped(values, (value) => (value.made_by === null ? null : program.equations[value.made_by].line));
  const sum = (members) => members.reduce((all, value) => all + value.bytes, 0);
  return groups
    .map(([line, members]) => ({ line, count: members.length, bytes: sum(members) }))
    .sort((a, b) => b.bytes - a.bytes);
}
