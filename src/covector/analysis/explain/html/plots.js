// Plots: pictures that are drawn anew for each width, with scales and axes.

const MARGIN = { left: 58, right: 14, top: 14, bottom: 34 };

// Calls paint(svg, width) when the width changes, and what is returned when it is called.
function plot(holder, height, label, paint) {
  const svg = draw("svg", { role: "img", "aria-label": label, class: "plot" });
  holder.append(svg);
  const redraw = () => {
    const width = holder.clientWidth;
    if (!width) return;
    svg.setAttribute("height", height());
    svg.setAttribute("viewBox", `0 0 ${width} ${height()}`);
    svg.replaceChildren();
    paint(svg, width);
  };
  new ResizeObserver(redraw).observe(holder);
  return redraw;
}

function linear([from, to], [start, end]) {
  const scale = (x) => start + ((end - start) * (x - from)) / (to - from || 1);
  scale.back = (p) => from + ((to - from) * (p - start)) / (end - start || 1);
  return scale;
}

function logarithmic([from, to], range) {
  const scale = linear([Math.log10(from), Math.log10(to)], range);
  return (x) => scale(Math.log10(x));
}

// Round numbers between 0 and a largest: 1, 2 or 5 times a power of ten.
function roundSteps(most, wanted) {
  if (!(most > 0)) return [0];
  const rough = most / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((f) => f * power >= rough) * power;
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, k) => k * step);
}

function powersOfTen(from, to, most) {
  const [first, last] = [Math.ceil(Math.log10(from)), Math.floor(Math.log10(to))];
  const step = Math.max(1, Math.ceil((last - first + 1) / most));
  const powers = [];
  for (let power = first; power <= last; power += step) powers.push(10 ** power);
  return powers;
}

// Lines across at these values, with their text at the left.
function levelsAcross(svg, values, y, text, width) {
  for (const value of values) {
    svg.append(
      draw("line", {
        x1: MARGIN.left,
        x2: width - MARGIN.right,
        y1: y(value),
        y2: y(value),
        class: "rule",
      }),
      draw("text", { x: MARGIN.left - 8, y: y(value) + 4, class: "tick end" }, text(value)),
    );
  }
}

function ticksBelow(svg, values, x, text, height) {
  for (const value of values) {
    svg.append(
      draw(
        "text",
        { x: x(value), y: height - MARGIN.bottom + 18, class: "tick middle" },
        text(value),
      ),
    );
  }
}
