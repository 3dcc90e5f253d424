export interface Viewport {
  readonly scale: number;
  readonly x: number;
  readonly y: number;
}

export interface Field {
  readonly width: number;
  readonly height: number;
}

const MAX_FIT = 200;
const MAX_SCALE = 64;

export function fitted(size: number, { width, height }: Field): Viewport {
  return { scale: Math.min(MAX_FIT, width / Math.max(size, 1), height / Math.max(size, 1)), x: 0, y: 0 };
}

export function zoomed(
  view: Viewport,
  factor: number,
  at: { readonly x: number; readonly y: number },
  size: number,
  field: Field,
): Viewport {
  const least = fitted(size, field).scale;
  const scale = Math.min(Math.max(view.scale * factor, least), Math.max(MAX_SCALE, least));
  const ratio = scale / view.scale;
  return held({ scale, x: at.x - (at.x - view.x) * ratio, y: at.y - (at.y - view.y) * ratio }, size, field);
}

export function panned(view: Viewport, dx: number, dy: number, size: number, field: Field): Viewport {
  return held({ ...view, x: view.x + dx, y: view.y + dy }, size, field);
}

export function held({ scale, x, y }: Viewport, size: number, { width, height }: Field): Viewport {
  const least = (extent: number): number => Math.min(0, extent - size * scale);
  const within = (value: number, extent: number): number => Math.min(0, Math.max(value, least(extent)));
  return { scale, x: within(x, width), y: within(y, height) };
}

export function showing(
  view: Viewport,
  cell: { readonly row: number; readonly column: number },
  size: number,
  field: Field,
): Viewport {
  const { scale } = view;
  return held(
    {
      scale,
      x: nearest(view.x, cell.column, scale, field.width),
      y: nearest(view.y, cell.row, scale, field.height),
    },
    size,
    field,
  );
}

function nearest(offset: number, index: number, scale: number, extent: number): number {
  const begin = offset + index * scale;
  if (begin < 0) return offset - begin;
  const end = begin + scale;
  return end > extent ? offset - (end - extent) : offset;
}

export function cellAt(
  { scale, x, y }: Viewport,
  at: { readonly x: number; readonly y: number },
  size: number,
): { readonly row: number; readonly column: number } | null {
  const column = Math.floor((at.x - x) / scale);
  const row = Math.floor((at.y - y) / scale);
  return row >= 0 && column >= 0 && row < size && column < size ? { row, column } : null;
}

const BESIDE = 14;

/** Position of a box beside a point within its frame: below if there is room, and as far right as fits. */
export function placeBeside(
  at: { readonly x: number; readonly y: number },
  [width, height]: readonly [number, number],
  [frameWidth, frameHeight]: readonly [width: number, height: number],
): { readonly left: number; readonly top: number } {
  const below = at.y + BESIDE;
  return {
    left: Math.max(0, Math.min(at.x + BESIDE, frameWidth - width)),
    top: Math.max(0, below + height <= frameHeight ? below : at.y - BESIDE - height),
  };
}
