// Projects network coordinates onto their first two principal components. Pure.
import type { ClusterNode } from "@isochrone/topology";

export interface Place {
  readonly node: ClusterNode;
  readonly x: number;
  readonly y: number;
  /** Cost of every path to it besides the distance, ms. */
  readonly heightMs: number;
}

const ROUNDS = 40;

export function mapOf(nodes: readonly ClusterNode[]): Place[] {
  const placed = nodes.filter(
    (node): node is ClusterNode & { coordinate: number[] } =>
      node.coordinate !== null && node.coordinate.length >= 2,
  );
  const axes = Math.min(...placed.map(({ coordinate }) => coordinate.length - 1), 16);
  if (placed.length === 0 || axes < 1) return [];
  const mean = Array.from(
    { length: axes },
    (_, axis) => placed.reduce((sum, { coordinate }) => sum + coordinate[axis]!, 0) / placed.length,
  );
  const centred = placed.map(({ coordinate }) => mean.map((value, axis) => coordinate[axis]! - value));
  const covariance = mean.map((_, a) =>
    mean.map((__, b) => centred.reduce((sum, point) => sum + point[a]! * point[b]!, 0)),
  );
  const first = principal(covariance);
  const second = principal(deflated(covariance, first));
  return placed.map((node, index) => ({
    node,
    x: dot(centred[index]!, first),
    y: dot(centred[index]!, second),
    heightMs: node.coordinate.at(-1)!,
  }));
}

const dot = (a: readonly number[], b: readonly number[]): number =>
  a.reduce((sum, value, index) => sum + value * b[index]!, 0);

/** First principal component by power iteration; deterministic, including the sign. */
function principal(matrix: readonly (readonly number[])[]): readonly number[] {
  let direction = matrix.map((_, index) => 1 / (index + 1));
  for (let round = 0; round < ROUNDS; round++) {
    const next = matrix.map((row) => dot(row, direction));
    const length = Math.hypot(...next);
    if (length < 1e-12) return matrix.map(() => 0);
    direction = next.map((value) => value / length);
  }
  const strongest = direction.reduce((best, value) => (Math.abs(value) > Math.abs(best) ? value : best), 0);
  return strongest < 0 ? direction.map((value) => -value) : direction;
}

function deflated(matrix: readonly (readonly number[])[], direction: readonly number[]): number[][] {
  const strength = dot(
    direction,
    matrix.map((row) => dot(row, direction)),
  );
  return matrix.map((row, a) => row.map((value, b) => value - strength * direction[a]! * direction[b]!));
}

export function scaleBar(widthMs: number): number {
  const rough = widthMs / 5;
  const decade = 10 ** Math.floor(Math.log10(Math.max(rough, 1e-3)));
  return [5, 2, 1].map((step) => step * decade).find((step) => step <= rough) ?? decade;
}
