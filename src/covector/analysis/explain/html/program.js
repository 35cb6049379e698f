// The program: the data of the explanation, and what follows from it.

function unpack(x) {
  if (Array.isArray(x)) return x.map(unpack);
  if (x === null || typeof x !== "object") return x;
  const keys = Object.keys(x);
  if (keys.length === 1 && keys[0] === "columns") return records(x.columns);
  return Object.fromEntries(keys.map((key) => [key, unpack(x[key])]));
}

function records(columns) {
  const whole = Object.entries(columns).map(([key, column]) => [
    key,
    Array.isArray(column) ? column.map(unpack) : column.at.map((at) => column.distinct[at]),
  ]);
  return whole[0][1].map((_, row) =>
    Object.fromEntries(whole.map(([key, cells]) => [key, cells[row]])),
  );
}

function readProgram(data, sources) {
  const program = { ...data, sources };
  program.equations.forEach((equation, id) => {
    equation.id = id;
    equation.parent = equation.around.length ? equation.around[equation.around.length - 1] : null;
    equation.inside = [];
  });
  for (const equation of program.equations) {
    if (equation.parent !== null) program.equations[equation.parent].inside.push(equation.id);
  }
  addTotals(program);
  program.values.forEach((value, id) => {
    value.id = id;
    value.tiedTo = [];
  });
  for (const value of program.values) {
    for (const tie of value.ties ?? []) program.values[tie].tiedTo.push(value.id);
  }
  program.lines.forEach((line, id) => {
    line.id = id;
    line.inside = [];
    line.enclosing = enclosingOf(line);
  });
  for (const line of program.lines) {
    if (line.parent !== null) program.lines[line.parent].inside.push(line.id);
  }
  return program;
}

// What an operation costs together with those that it carries, which stand after it.
function addTotals(program) {
  for (const equation of program.equations) {
    const { flops, bytes, estimated_share: share } = equation;
    equation.total = { flops, bytes, share };
  }
  for (const { parent, total } of [...program.equations].reverse()) {
    if (parent === null) continue;
    const around = program.equations[parent].total;
    for (const key of Object.keys(total)) around[key] += total[key];
  }
}

function lineName(line) {
  return line.file ? `${fileName(line.file)}:${line.line}` : "without a line";
}

// The function of a line; of a comprehension, the one that it is written in.
function enclosingOf(line) {
  return line.function.replace(/\.<(listcomp|setcomp|dictcomp|genexpr)>/g, "") || "without a line";
}

// "transpose(a/b)" is a/b in reverse mode; without names it is "transpose()".
function scopeName(scope) {
  const found = /^transpose\((.*)\)$/.exec(scope);
  if (found === null) return scope;
  return found[1] ? `${found[1]}, in reverse` : "in reverse";
}

// How often what an operation carries runs, each time that it runs itself.
function stepsOf(program, equation) {
  if (!equation.inside.length) return 1;
  return program.equations[equation.inside[0]].times / equation.times;
}

function kindText(program, line) {
  if (line.kind !== "loop") return line.kind === "line" ? "" : line.kind;
  const steps = Math.max(...line.equations.map((id) => stepsOf(program, program.equations[id])), 1);
  return steps > 1 ? `loop × ${count(steps)}` : "loop";
}

function typeOf(program, equation) {
  return equation.outputs.map((value) => program.values[value].type).join(", ");
}

// The line at which a value is made, or null.
function lineOfValue(program, value) {
  return value.made_by === null
    ? null
    : (program.lines[program.equations[value.made_by].line] ?? null);
}

function valueName(program, value) {
  if (value.argument !== null) return value.argument;
  if (value.made_by === null) return value.name;
  return program.equations[value.made_by].operation;
}
