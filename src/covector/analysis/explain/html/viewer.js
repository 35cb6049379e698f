// The page: reads the data, fills the head, and starts the views.

const SCHEMES = ["auto", "light", "dark"];
const themeListeners = [];

function onTheme(listener) {
  themeListeners.push(listener);
}

function themeButton() {
  const element = document.getElementById("theme");
  let scheme = "auto";
  const apply = () => {
    if (scheme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = scheme;
    element.textContent = { auto: "◐ auto", light: "○ light", dark: "● dark" }[scheme];
    element.setAttribute("aria-label", `colours: ${scheme}`);
    themeListeners.forEach((listener) => listener());
  };
  element.addEventListener("click", () => {
    scheme = SCHEMES[(SCHEMES.indexOf(scheme) + 1) % SCHEMES.length];
    apply();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", apply);
  apply();
}

function fillHead(program) {
  const { totals, machine } = program;
  const about = [program.platform, program.device, machine?.name, `covector ${program.covector}`];
  document.getElementById("about").textContent = about.filter(Boolean).join(" · ");
  const measured = totals.measured_s ?? null;
  const cards = [
    measured === null
      ? ["time, at least", seconds(totals.lower_bound_s), "what the machine allows"]
      : ["time, measured", seconds(measured), `${seconds(totals.lower_bound_s)} at least`],
    [
      "FLOPs",
      flops(totals.flops),
      totals.transcendentals ? `and ${flops(totals.transcendentals)} transcendentals` : "",
    ],
    [
      "bytes moved",
      bytes(totals.bytes),
      totals.intensity === null ? "" : `${ratio(totals.intensity)} FLOP per byte`,
    ],
    [
      "peak memory",
      bytes(totals.compiled_peak_bytes ?? totals.peak_bytes),
      totals.compiled_peak_bytes === null ? "estimated" : "compiled",
    ],
    [
      "operations",
      count(totals.equations),
      program.optimisation
        ? `in ${counted(program.optimisation.after.kernels, "kernel")}`
        : "not compiled",
    ],
  ];
  document
    .getElementById("cards")
    .append(
      ...cards.map(([name, value, note]) =>
        make(
          "div",
          { class: "card" },
          make("dt", {}, name),
          make("dd", {}, value),
          make("dd", { class: "note" }, note),
        ),
      ),
    );
}

function readJson(id) {
  return JSON.parse(document.getElementById(id).textContent);
}

const program = readProgram(unpack(readJson("data")), readJson("sources"));
themeButton();
fillHead(program);
new LinesView(program);
if (program.equations.length) new GraphView(program);
else viewOf("flow").append(make("p", { class: "note" }, "The program has no operations."));
if (program.memory.curve.length) new MemoryView(program);
else viewOf("memory").append(make("p", { class: "note" }, "The program makes no values."));
optimisationView(program);
rooflineView(program);
compilationView(program);
