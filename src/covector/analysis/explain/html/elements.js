// Elements of the page, and numbers as people read them.

// An element with properties and children; strings become text, never HTML.
function make(name, properties = {}, ...children) {
  return furnish(document.createElement(name), properties, children);
}

// The same for pictures.
function draw(name, properties = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  return furnish(made, properties, children);
}

function furnish(element, properties, children) {
  for (const [key, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined));
  return element;
}

function viewOf(id) {
  return document.querySelector(`#${id} .view`);
}

function button(text, action, properties = {}) {
  return make("button", { type: "button", onclick: action, ...properties }, text);
}

const UNKNOWN = "–";

// Three digits at most, and a prefix: 1234567 → "1.23 M".
function amount(x, prefixes) {
  if (x === null || x === undefined) return UNKNOWN;
  let power = 0;
  while (Math.abs(x) >= 999.5 && power < prefixes.length - 1) {
    x /= 1000;
    power += 1;
  }
  return `${Number(x.toPrecision(3))}${prefixes[power] ? " " + prefixes[power] : ""}`;
}

function count(x) {
  return x === null || x === undefined ? UNKNOWN : Math.round(x).toLocaleString("en");
}

function counted(x, one, several = one + "s") {
  return `${count(x)} ${x === 1 ? one : several}`;
}

function flops(x) {
  return amount(x, ["", "k", "M", "G", "T", "P", "E"]);
}

function bytes(x) {
  return amount(x, ["B", "kB", "MB", "GB", "TB", "PB"]);
}

function ratio(x) {
  return x === null || x === undefined
    ? UNKNOWN
    : x !== 0 && x < 0.01
      ? "< 0.01"
      : amount(x, ["", "k", "M"]);
}

function seconds(x) {
  if (x === null || x === undefined) return UNKNOWN;
  if (x === 0) return "0 s";
  const [factor, unit] =
    x >= 1 ? [1, "s"] : x >= 1e-3 ? [1e3, "ms"] : x >= 1e-6 ? [1e6, "µs"] : [1e9, "ns"];
  return `${Number((factor * x).toPrecision(3))} ${unit}`;
}

function percent(x) {
  if (x === null || x === undefined) return UNKNOWN;
  return x > 0 && x < 0.0005 ? "< 0.1 %" : `${(100 * x).toFixed(x < 0.0995 ? 1 : 0)} %`;
}

// A name shortened in its middle, where names differ least.
function shortened(text, most) {
  if (text.length <= most) return text;
  const end = Math.floor((most - 1) / 2);
  return `${text.slice(0, most - 1 - end)}…${end ? text.slice(-end) : ""}`;
}

function fileName(path) {
  return path.split(/[\\/]/).pop();
}
