// The part of a graph that a canvas shows: it is moved and zoomed, and stays near the graph.

const SCALES = { least: 0.02, most: 2.5 };
// At first text is legible, even if not all of the graph is seen.
const FIRST_SCALE = 0.75;
const EDGE = 20;

// scene() is the graph; changed() is called to draw it.
function makeCamera(canvas, scene, changed) {
  const camera = { x: 0, y: 0, scale: 1, move, zoom, centre, home, fitAll, at };

  function move(dx, dy) {
    camera.x += dx;
    camera.y += dy;
    changed();
  }

  function zoom(factor, x = canvas.clientWidth / 2, y = canvas.clientHeight / 2) {
    const scale = Math.min(Math.max(camera.scale * factor, SCALES.least), SCALES.most);
    camera.x = x - ((x - camera.x) * scale) / camera.scale;
    camera.y = y - ((y - camera.y) * scale) / camera.scale;
    camera.scale = scale;
    changed();
  }

  function centre(node) {
    if (!node) return;
    const { width, height } = scene();
    camera.x = within(
      canvas.clientWidth / 2 - node.x * camera.scale,
      canvas.clientWidth,
      width * camera.scale,
    );
    camera.y = within(
      canvas.clientHeight / 2 - node.y * camera.scale,
      canvas.clientHeight,
      height * camera.scale,
    );
    changed();
  }

  // The beginning: above, and at the left where there are columns.
  function home() {
    camera.scale = Math.min(1, Math.max(wholeScale(), FIRST_SCALE));
    const { nodes, columns } = scene();
    const first = nodes.reduce(
      (above, node) => (above === null || node.y < above.y ? node : above),
      null,
    );
    centre(first && { x: columns > 1 ? 0 : first.x, y: 0 });
  }

  function fitAll() {
    camera.scale = Math.min(1, Math.max(wholeScale(), SCALES.least));
    centre({ x: scene().width / 2, y: scene().height / 2 });
  }

  function wholeScale() {
    const { width, height } = scene();
    return Math.min(
      (canvas.clientWidth - 2 * EDGE) / width,
      (canvas.clientHeight - 2 * EDGE) / height,
    );
  }

  // The position in the graph of a position on the canvas.
  function at(x, y) {
    return { x: (x - camera.x) / camera.scale, y: (y - camera.y) / camera.scale };
  }

  return camera;
}

// Where the graph begins, so that no room is empty which the graph could fill.
function within(start, room, size) {
  if (size + 2 * EDGE <= room + 1) return (room - size) / 2;
  return Math.min(Math.max(start, room - size - EDGE), EDGE);
}
