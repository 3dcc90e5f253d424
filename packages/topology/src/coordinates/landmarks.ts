// Start of a cold fit: landmark multidimensional scaling (de Silva and Tenenbaum, 2004) of shortest paths.
import { NumberHeap, type Draw } from "@isochrone/primitives";
import { gaussian } from "./random.ts";
import type { Pairs } from "./samples.ts";

const POWER_ITERATIONS = 60;

/** Returns `dimensions` columns with a coordinate per node; 0 in unsupported columns. */
export function landmarkScaling(
  pairs: Pairs,
  { dimensions, landmarks, random }: { dimensions: number; landmarks: number; random: Draw },
): Float64Array[] {
  const chosen = chooseLandmarks(pairs, landmarks, random);
  const lengths = Float64Array.from(pairs.value, Math.exp);
  const squared = chosen.map((source) => shortestPaths(pairs, lengths, source));
  fillUnreached(squared);
  for (const row of squared) for (let node = 0; node < row.length; node++) row[node]! **= 2;
  const { matrix, rowMeans } = doubleCentred(squared, chosen);
  const found: Float64Array[] = [];
  return Array.from({ length: dimensions }, () => {
    const column = new Float64Array(pairs.nodes);
    const { vector, eigenvalue } = dominantVector(matrix, found, random);
    found.push(vector);
    if (!(eigenvalue > 0)) return column;
    for (let node = 0; node < column.length; node++) {
      let sum = 0;
      for (let k = 0; k < chosen.length; k++) sum += vector[k]! * (squared[k]![node]! - rowMeans[k]!);
      column[node] = (-0.5 * sum) / Math.sqrt(eigenvalue);
    }
    return column;
  });
}

function chooseLandmarks({ nodes, rowStart }: Pairs, count: number, random: Draw): number[] {
  const candidates: number[] = [];
  for (let node = 0; node < nodes; node++) if (rowStart[node + 1]! > rowStart[node]!) candidates.push(node);
  const chosen = Math.min(count, candidates.length);
  for (let at = 0; at < chosen; at++) {
    const other = at + Math.floor(random() * (candidates.length - at));
    [candidates[at], candidates[other]] = [candidates[other]!, candidates[at]!];
  }
  return candidates.slice(0, chosen);
}

/** Shortest path lengths by Dijkstra. Infinity: unreachable. */
function shortestPaths(
  { nodes, rowStart, neighbour, pair }: Pairs,
  lengths: Float64Array,
  source: number,
): Float64Array {
  const distance = new Float64Array(nodes).fill(Infinity);
  distance[source] = 0;
  const heap = new NumberHeap();
  heap.push(0, source);
  while (heap.size > 0) {
    const reached = heap.nextKey;
    const node = heap.pop();
    if (reached > distance[node]!) continue;
    for (let edge = rowStart[node]!; edge < rowStart[node + 1]!; edge++) {
      const other = neighbour[edge]!;
      const through = reached + lengths[pair[edge]!]!;
      if (through >= distance[other]!) continue;
      distance[other] = through;
      heap.push(through, other);
    }
  }
  return distance;
}

/** Between components, the farthest known distance serves as a placeholder. */
function fillUnreached(rows: readonly Float64Array[]): void {
  let farthest = 0;
  for (const row of rows)
    for (const distance of row) if (distance < Infinity && distance > farthest) farthest = distance;
  for (const row of rows)
    for (let node = 0; node < row.length; node++) if (row[node] === Infinity) row[node] = farthest;
}

function doubleCentred(
  squared: readonly Float64Array[],
  chosen: readonly number[],
): { matrix: Float64Array[]; rowMeans: Float64Array } {
  const size = chosen.length;
  const rowMeans = Float64Array.from(squared, (row) => {
    let sum = 0;
    for (const node of chosen) sum += row[node]!;
    return sum / size;
  });
  const mean = rowMeans.reduce((sum, value) => sum + value, 0) / Math.max(1, size);
  const matrix = squared.map((row, k) =>
    Float64Array.from(chosen, (node, l) => -0.5 * (row[node]! - rowMeans[k]! - rowMeans[l]! + mean)),
  );
  return { matrix, rowMeans };
}

function dominantVector(
  matrix: readonly Float64Array[],
  found: readonly Float64Array[],
  random: Draw,
): { vector: Float64Array; eigenvalue: number } {
  let vector = Float64Array.from(matrix, () => gaussian(random));
  let eigenvalue = 0;
  for (let iteration = 0; iteration < POWER_ITERATIONS; iteration++) {
    const next = Float64Array.from(matrix, (row) => dot(row, vector));
    for (const other of found) {
      const share = dot(other, next);
      for (let k = 0; k < next.length; k++) next[k]! -= share * other[k]!;
    }
    eigenvalue = dot(next, vector);
    const length = Math.sqrt(dot(next, next));
    if (!(length > 1e-12)) return { vector: new Float64Array(matrix.length), eigenvalue: 0 };
    vector = next.map((value) => value / length);
  }
  return { vector, eigenvalue };
}

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let k = 0; k < a.length; k++) sum += a[k]! * b[k]!;
  return sum;
}
