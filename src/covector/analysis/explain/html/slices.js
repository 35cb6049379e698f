// Slices: what a value needs, and what needs it.
//
// Both follow values to operations and back. What carries programs (a loop) gives what
// those programs give: its results are tied to theirs, and their inputs to its operands.

// Equations and values that these values need, themselves included.
function needed(program, start) {
  const slice = { equations: new Set(), values: new Set() };
  const reached = collect(slice.values, start);
  while (reached.next.length) {
    const value = program.values[reached.next.pop()];
    const ties = value.ties ?? [];
    ties.forEach(reached.add);
    if (value.made_by === null) continue;
    const equation = program.equations[value.made_by];
    addWithAround(slice.equations, equation);
    if (!carries(program, equation)) equation.inputs.forEach(reached.add);
  }
  return slice;
}

// Equations and values that need these values, themselves included.
function needing(program, start) {
  const slice = { equations: new Set(), values: new Set() };
  const reached = collect(slice.values, start);
  const first = new Set(start);
  while (reached.next.length) {
    const value = program.values[reached.next.pop()];
    value.tiedTo.forEach(reached.add);
    for (const id of value.used_by) {
      const equation = program.equations[id];
      if (carries(program, equation)) continue;
      addWithAround(slice.equations, equation);
      equation.outputs.forEach(reached.add);
    }
    if (value.made_by !== null && !first.has(value.id))
      addWithAround(slice.equations, program.equations[value.made_by]);
  }
  return slice;
}

// Whether its results are tied to those of programs that it carries.
function carries(program, equation) {
  return (
    equation.inside.length > 0 ||
    equation.outputs.some((out) => (program.values[out].ties ?? []).length)
  );
}

// Values to visit, each once.
function collect(seen, start) {
  const next = [];
  const add = (value) => {
    if (seen.has(value)) return;
    seen.add(value);
    next.push(value);
  };
  start.forEach(add);
  return { next, add };
}

function addWithAround(found, equation) {
  found.add(equation.id);
  for (const id of equation.around) found.add(id);
}

// The slices of what is selected: what it needs (up), and what needs it (down).
function slicesOf(program, equations, values = []) {
  const made = equations.flatMap((id) => program.equations[id].outputs);
  const read = equations.flatMap((id) => program.equations[id].inputs);
  const up = needed(program, [...made, ...read, ...values]);
  const down = needing(program, [...made, ...values]);
  for (const id of equations) {
    up.equations.delete(id);
    down.equations.delete(id);
  }
  for (const id of values) up.values.delete(id);
  return { up, down };
}
