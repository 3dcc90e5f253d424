import type { Draw } from "@isochrone/primitives";

export function normalize(steps: readonly { advantage: number }[]): void {
  const mean = steps.reduce((sum, { advantage }) => sum + advantage, 0) / steps.length;
  const variance = steps.reduce((sum, { advantage }) => sum + (advantage - mean) ** 2, 0) / steps.length;
  for (const step of steps) step.advantage = (step.advantage - mean) / (Math.sqrt(variance) + 1e-6);
}

export function shuffled<Step>(steps: readonly Step[], draw: Draw): Step[] {
  const order = [...steps];
  for (let at = order.length - 1; at > 0; at--) {
    const other = Math.floor(draw() * (at + 1));
    [order[at], order[other]] = [order[other]!, order[at]!];
  }
  return order;
}

export function matrix(rows: readonly Float32Array[]): Float32Array {
  const values = new Float32Array(rows.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const row of rows) {
    values.set(row, at);
    at += row.length;
  }
  return values;
}
