// Mouse, touch and wheel on a canvas, as movements, zooms and clicks.

function handlePointers(canvas, does) {
  const down = new Map();
  let moved = 0;
  let clicked = 0;
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };

  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    down.set(event.pointerId, at(event));
    moved = down.size > 1 ? Infinity : 0;
  });
  canvas.addEventListener("pointermove", (event) => {
    const now = at(event);
    const before = down.get(event.pointerId);
    if (before === undefined) return event.pointerType === "mouse" ? does.hover(...now) : undefined;
    const other = [...down].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      const far = ([x, y]) => Math.hypot(x - other[0], y - other[1]) || 1;
      does.zoom(far(now) / far(before), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
    } else {
      moved += Math.hypot(now[0] - before[0], now[1] - before[1]);
      if (moved > 4) does.move(now[0] - before[0], now[1] - before[1]);
    }
    if (other || moved > 4) down.set(event.pointerId, now);
  });
  for (const end of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(end, (event) => {
      const wasDown = down.delete(event.pointerId);
      if (end !== "pointerup" || !wasDown || moved > 4) return;
      const again = event.timeStamp - clicked < 350;
      clicked = again ? 0 : event.timeStamp;
      (again ? does.open : does.click)(...at(event));
    });
  }
  canvas.addEventListener("pointerleave", () => does.hover(null, null));
  // A wheel scrolls the page, until one has clicked here.
  canvas.addEventListener(
    "wheel",
    (event) => {
      if (document.activeElement !== canvas && !event.ctrlKey) return;
      event.preventDefault();
      does.zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0015)), ...at(event));
    },
    { passive: false },
  );
}
