// The roofline: kernels by intensity and speed, below what the machine can do at best.

const ROOFLINE_HEIGHT = 340;
const REACHED_BY_KEY = 20;

function rooflineView(program) {
  const holder = viewOf("roofline");
  const { roofline, machine, optimisation } = program;
  const kernels = (roofline?.fusions ?? [])
    .map((entry) => ({ ...entry, kernel: optimisation?.fusions[entry.fusion] }))
    .filter((entry) => entry.kernel);
  if (!roofline || !machine) {
    holder.append(
      make(
        "p",
        { class: "note" },
        "The limits of the machine are not known, or the program was not compiled.",
      ),
    );
    return;
  }
  holder.append(
    make(
      "p",
      {},
      `${machine.name}: ${bytes(machine.bytes_per_s)}/s from memory, ${roofs(machine)
        .map(([name, rate]) => `${flops(rate)}FLOP/s in ${name}`)
        .join(", ")}. No run can be faster than ${seconds(roofline.lower_bound_s)}.`,
    ),
  );
  if (roofline.gains.length) holder.append(gainList(program, roofline.gains));
  const points = kernels.map(pointOf).filter((point) => point.intensity > 0 && point.speed > 0);
  if (!points.length) return;
  const stage = make("div", { class: "stage" });
  const description = make(
    "p",
    { class: "description", role: "status" },
    "Point at a kernel to read about it.",
  );
  holder.append(
    stage,
    description,
    make(
      "p",
      { class: "note" },
      "○ bound by memory, ◆ bound by computing; the larger, the more of the time. " +
        "Kernels that compute nothing are not shown.",
    ),
  );
  const label = `${points.length} kernels by FLOPs per byte and FLOPs per second`;
  plot(
    stage,
    () => ROOFLINE_HEIGHT,
    label,
    (svg, width) => paintRoofline(svg, width, program, points, description),
  );
}

function roofs(machine) {
  return Object.entries(machine.flops_per_s).sort((a, b) => b[1] - a[1]);
}

// The rates at which bytes come, from caches and from memory; caches that are about as
// fast as each other are one.
function bandwidths(machine) {
  const found = [];
  for (const [size, rate] of [...(machine.cached ?? [])].sort((a, b) => b[1] - a[1])) {
    const last = found[found.length - 1];
    if (last && last.rate < 1.6 * rate) last.size = Math.max(last.size, size);
    else found.push({ size, rate });
  }
  const caches = found.map(({ size, rate }) => ({ name: `caches, up to ${bytes(size)}`, rate }));
  return [...caches, { name: "memory", rate: machine.bytes_per_s }];
}

// A name along a line of constant bandwidth, above its beginning.
function slopeText(x, y, start, rate) {
  const [left, top] = [x(start), y(start * rate)];
  const angle = (Math.atan2(y(10 * start * rate) - top, x(10 * start) - left) * 180) / Math.PI;
  return { x: left + 30, y: top - 6, transform: `rotate(${angle.toFixed(1)} ${left} ${top})` };
}

// Measured where it was; else the speed at which the kernel reaches its lower bound.
function pointOf(entry) {
  const took = entry.kernel.measured_s ?? entry.lower_bound_s;
  return {
    ...entry,
    took,
    speed: took ? entry.kernel.flops / took : 0,
    measured: entry.kernel.measured_s !== null,
  };
}

function paintRoofline(svg, width, program, points, description) {
  const { machine } = program;
  const rates = roofs(machine);
  const best = rates[0]?.[1] ?? 1;
  const knee = best / machine.bytes_per_s;
  const knees = bandwidths(machine).map(({ rate }) => best / rate);
  const xs = range([...points.map((p) => p.intensity), ...knees], 3);
  const ys = range([...points.map((p) => p.speed), best], 2);
  const x = logarithmic(xs, [MARGIN.left, width - MARGIN.right]);
  const y = logarithmic(ys, [ROOFLINE_HEIGHT - MARGIN.bottom, MARGIN.top]);
  levelsAcross(svg, powersOfTen(...ys, 6), y, flops, width);
  ticksBelow(
    svg,
    powersOfTen(...xs, width < 500 ? 4 : 8),
    x,
    (value) => (value < 1e-4 ? value.toExponential(0) : String(value)),
    ROOFLINE_HEIGHT,
  );
  svg.append(
    draw(
      "text",
      { x: width - MARGIN.right, y: ROOFLINE_HEIGHT - 3, class: "tick end" },
      "FLOP per byte",
    ),
    draw("text", { x: 4, y: 10, class: "tick" }, "FLOP/s"),
  );
  for (const bandwidth of bandwidths(machine)) {
    const start = Math.max(xs[0], ys[0] / bandwidth.rate);
    const end = Math.min(best / bandwidth.rate, xs[1]);
    if (start >= end) continue;
    const name = bandwidth.rate === machine.bytes_per_s ? "roof" : "roof lower";
    svg.append(
      draw("path", {
        class: name,
        d: `M${x(start)} ${y(start * bandwidth.rate)}L${x(end)} ${y(end * bandwidth.rate)}`,
      }),
    );
    svg.append(
      draw("text", { ...slopeText(x, y, start, bandwidth.rate), class: "tick" }, bandwidth.name),
    );
  }
  svg.append(draw("path", { class: "roof", d: `M${x(knee)} ${y(best)}H${width - MARGIN.right}` }));
  for (const [k, [, rate]] of rates.entries()) {
    if (k)
      svg.append(
        draw("path", {
          class: "roof lower",
          d: `M${x(rate / machine.bytes_per_s)} ${y(rate)}H${width - MARGIN.right}`,
        }),
      );
  }
  for (const { names, at } of roofLabels(rates, y)) {
    svg.append(
      draw(
        "text",
        { x: width - MARGIN.right - 4, y: at - 6, class: "strong end" },
        names.join(", "),
      ),
    );
  }
  const longest = Math.max(...points.map((p) => p.took));
  const sorted = [...points].sort((a, b) => b.took - a.took);
  svg.append(
    ...sorted.map((point, k) => {
      const symbol = kernelSymbol(
        program,
        point,
        x,
        y,
        3.5 + 8 * Math.sqrt(point.took / longest),
        description,
      );
      if (k < REACHED_BY_KEY) symbol.setAttribute("tabindex", "0");
      return symbol;
    }),
  );
}

// Names of limits that are too near to each other are one text.
function roofLabels(rates, y) {
  const labels = [];
  for (const [name, rate] of rates) {
    const last = labels[labels.length - 1];
    if (last && y(rate) - last.at < 22) last.names.push(name);
    else labels.push({ names: [name], at: y(rate) });
  }
  return labels;
}

function range(values, spare) {
  return [Math.min(...values) / spare, Math.max(...values) * spare];
}

function kernelSymbol(program, point, x, y, size, description) {
  const [cx, cy] = [x(point.intensity), y(point.speed)];
  const { kernel } = point;
  const time = `${seconds(point.took)} ${point.measured ? "measured" : "at least"}`;
  const bound = point.bound === "memory" ? "memory" : "computing";
  const text = [
    `${kernel.name}: ${ratio(point.intensity)} FLOP per byte, ${time}, bound by ${bound}.`,
    operationsText(kernel.operations),
  ].join(" ");
  const tell = () => description.replaceChildren(text, " ", lineButtons(program, kernel.lines));
  const half = 1.2 * size;
  const diamond = `M${cx} ${cy - half}l${half} ${half}l${-half} ${half}l${-half} ${-half}z`;
  const shape =
    point.bound === "memory" ? draw("circle", { cx, cy, r: size }) : draw("path", { d: diamond });
  return draw(
    "g",
    { class: `kernel ${point.bound}`, onpointerenter: tell, onfocus: tell, onclick: tell },
    shape,
    draw("title", {}, text),
  );
}

function gainList(program, gains) {
  return make(
    "ol",
    { class: "gains" },
    gains.map((gain) =>
      make(
        "li",
        {},
        make("b", {}, `up to ${seconds(gain.seconds)}`),
        lineButton(program, gain.line),
        gain.line !== null && program.lines[gain.line].scope
          ? make("span", { class: "soft" }, scopeName(program.lines[gain.line].scope))
          : null,
        make("span", {}, gain.why),
        gain.line === null ? null : sourceText(program, gain.line),
      ),
    ),
  );
}
