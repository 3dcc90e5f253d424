// Number columns parallel to ByteKeys: entry i belongs to slot i.

type Column = Float64Array | Int32Array | Uint8Array;

export function grown<T extends Column>(column: T, length: number): T {
  const Kind = column.constructor as new (length: number) => T;
  const into = new Kind(length);
  into.set(column);
  return into;
}

export function move(column: Column, renumbered: Int32Array): void {
  for (let slot = 0; slot < renumbered.length; slot++) {
    const to = renumbered[slot]!;
    if (to >= 0) column[to] = column[slot]!;
  }
}
