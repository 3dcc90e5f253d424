// Coordinates of different fits are not comparable: origin and orientation are arbitrary, and every replica
// fits on its own. Before a write they are rotated and translated onto the nodes' current coordinates.
// Distances stay the same, and annotations of all replicas are consistent.

/** [x..., height] in ms by node. */
type CoordinateMap = ReadonlyMap<string, readonly number[]>;

export type Motion = (coordinate: readonly number[]) => number[];

/** Common nodes required beyond the number of dimensions. */
const SPARE_NODES = 2;
const MAX_ITERATIONS = 60;
const TOLERANCE = 1e-12;
/** Regularization against singular matrices: nodes may lie on a line. */
const RIDGE = 1e-7;

/** Least-squares rigid motion of `own` onto `reference`; null: too few common nodes. */
export function motionOnto(reference: CoordinateMap, own: CoordinateMap): Motion | null {
  const pairs: [readonly number[], readonly number[]][] = [];
  const dimensions = ([...own.values()][0]?.length ?? 1) - 1;
  for (const [node, coordinate] of own) {
    const fixed = reference.get(node);
    if (fixed?.length === dimensions + 1 && coordinate.length === dimensions + 1)
      pairs.push([coordinate, fixed]);
  }
  if (dimensions < 1 || pairs.length < dimensions + SPARE_NODES) return null;
  const from = centreOf(
    pairs.map(([coordinate]) => coordinate),
    dimensions,
  );
  const to = centreOf(
    pairs.map(([, fixed]) => fixed),
    dimensions,
  );
  const product = matrix(dimensions, (row, column) =>
    pairs.reduce((sum, [p, q]) => sum + (q[row]! - to[row]!) * (p[column]! - from[column]!), 0),
  );
  const turn = nearestRotation(product);
  return (coordinate) => [
    ...to.map((centre, row) =>
      turn[row]!.reduce(
        (sum, factor, column) => sum + factor * (coordinate[column]! - from[column]!),
        centre,
      ),
    ),
    coordinate[dimensions]!,
  ];
}

/** Root mean square distance of the nodes from their centre, with their mean height, ms; 0 without nodes. */
export function extentMs(coordinates: Iterable<readonly number[]>): number {
  const all = [...coordinates];
  const [first] = all;
  if (first === undefined) return 0;
  const dimensions = first.length - 1;
  const same = all.filter((each) => each.length === dimensions + 1);
  const centre = centreOf(same, dimensions);
  let squares = 0;
  let heights = 0;
  for (const each of same) {
    for (let axis = 0; axis < dimensions; axis++) squares += (each[axis]! - centre[axis]!) ** 2;
    heights += each[dimensions]!;
  }
  return Math.sqrt(squares / same.length) + heights / same.length;
}

/** Distance of two coordinates, ms; bounds the change of estimates. Infinity: other dimensions. */
export function movementMs(a: readonly number[], b: readonly number[]): number {
  if (a.length !== b.length) return Infinity;
  const height = a.length - 1;
  let squares = 0;
  for (let axis = 0; axis < height; axis++) squares += (a[axis]! - b[axis]!) ** 2;
  return Math.sqrt(squares) + Math.abs(a[height]! - b[height]!);
}

type Matrix = readonly (readonly number[])[];

function matrix(size: number, at: (row: number, column: number) => number): number[][] {
  return Array.from({ length: size }, (_, row) =>
    Array.from({ length: size }, (_, column) => at(row, column)),
  );
}

function centreOf(coordinates: readonly (readonly number[])[], dimensions: number): number[] {
  return Array.from(
    { length: dimensions },
    (_, axis) => coordinates.reduce((sum, each) => sum + each[axis]!, 0) / coordinates.length,
  );
}

/** Orthogonal factor of the polar decomposition (Newton's iteration, Higham 1986). */
function nearestRotation(product: Matrix): Matrix {
  const size = product.length;
  const norm = Math.sqrt(product.flat().reduce((sum, value) => sum + value * value, 0));
  const identity = matrix(size, (row, column) => (row === column ? 1 : 0));
  if (!(norm > 0)) return identity;
  let current: Matrix = matrix(
    size,
    (row, column) => product[row]![column]! / norm + RIDGE * identity[row]![column]!,
  );
  for (let iteration = 0; iteration < MAX_ITERATIONS; iteration++) {
    const inverse = inverseOf(current);
    if (inverse === null) return identity;
    const before = current;
    const next = matrix(size, (row, column) => (before[row]![column]! + inverse[column]![row]!) / 2);
    const change = next.flat().reduce((sum, value, at) => sum + Math.abs(value - before.flat()[at]!), 0);
    current = next;
    if (change < TOLERANCE) break;
  }
  return current;
}

/** Gauss-Jordan with pivoting; null for a singular matrix. */
function inverseOf(source: Matrix): number[][] | null {
  const size = source.length;
  const rows = source.map((row, index) => [...row, ...row.map((_, column) => (index === column ? 1 : 0))]);
  for (let column = 0; column < size; column++) {
    let pivot = column;
    for (let row = column + 1; row < size; row++)
      if (Math.abs(rows[row]![column]!) > Math.abs(rows[pivot]![column]!)) pivot = row;
    const value = rows[pivot]![column]!;
    if (!(Math.abs(value) > Number.MIN_VALUE)) return null;
    [rows[column], rows[pivot]] = [rows[pivot]!, rows[column]!];
    rows[column] = rows[column]!.map((each) => each / value);
    for (let row = 0; row < size; row++) {
      const factor = rows[row]![column]!;
      if (row !== column) rows[row] = rows[row]!.map((each, at) => each - factor * rows[column]![at]!);
    }
  }
  return rows.map((row) => row.slice(size));
}
