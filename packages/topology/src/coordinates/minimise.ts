// Limited-memory BFGS (Nocedal and Wright, Numerical Optimization, algorithm 7.4) that starts each direction
// from the inverse of an approximate diagonal of the Hessian: pairs of 0.2 ms and of 200 ms in one objective
// are far too differently stiff for a plain gradient.

/** Writes gradient and a positive approximation of the Hessian's diagonal, and gives the value. */
type Objective = (at: Float64Array, gradient: Float64Array, diagonal: Float64Array) => number;

interface MinimiseOptions {
  readonly maxSteps: number;
  /** Ends after three steps in a row that each gained less than this share of the value. */
  readonly tolerance: number;
}

const MEMORY = 8;
const ARMIJO = 1e-4;
const MAX_HALVINGS = 15;
const MAX_SLOW_STEPS = 3;

interface Curvature {
  readonly step: Float64Array;
  readonly change: Float64Array;
  inverse: number;
}

/** Improves `at` in place. Gives the value reached and the number of steps made. */
export function minimise(
  at: Float64Array,
  objective: Objective,
  { maxSteps, tolerance }: MinimiseOptions,
): { value: number; steps: number } {
  let here: Point = { at, ...emptyPoint(at.length) };
  let next: Point = { at: new Float64Array(at.length), ...emptyPoint(at.length) };
  const direction = new Float64Array(at.length);
  const memory: Curvature[] = [];
  here.value = objective(here.at, here.gradient, here.diagonal);
  let slow = 0;
  let steps = 0;
  while (steps < maxSteps && slow < MAX_SLOW_STEPS) {
    descend(direction, here, memory);
    if (!searchAlong(direction, here, next, objective)) {
      if (memory.length === 0) break;
      memory.length = 0;
      continue;
    }
    remember(memory, here, next);
    slow = here.value - next.value < tolerance * Math.abs(next.value) ? slow + 1 : 0;
    [here, next] = [next, here];
    steps++;
  }
  if (here.at !== at) at.set(here.at);
  return { value: here.value, steps };
}

interface Point {
  readonly at: Float64Array;
  readonly gradient: Float64Array;
  readonly diagonal: Float64Array;
  value: number;
}

function emptyPoint(size: number): Omit<Point, "at"> {
  return { gradient: new Float64Array(size), diagonal: new Float64Array(size), value: Infinity };
}

/**
 * Fills `next` with the first point on the way that gains enough (Armijo's rule); false when there is none.
 */
function searchAlong(direction: Float64Array, here: Point, next: Point, objective: Objective): boolean {
  const slope = dot(direction, here.gradient);
  if (!(slope < 0)) return false;
  let length = 1;
  for (let halvings = 0; halvings < MAX_HALVINGS; halvings++) {
    for (let i = 0; i < direction.length; i++) next.at[i] = here.at[i]! + length * direction[i]!;
    next.value = objective(next.at, next.gradient, next.diagonal);
    if (next.value <= here.value + ARMIJO * length * slope) return true;
    length *= shorter(here.value, next.value, slope * length);
  }
  return false;
}

/** The two-loop recursion. */
function descend(direction: Float64Array, { gradient, diagonal }: Point, memory: readonly Curvature[]): void {
  const size = direction.length;
  for (let i = 0; i < size; i++) direction[i] = -gradient[i]!;
  const shares = new Float64Array(memory.length);
  for (let k = memory.length - 1; k >= 0; k--) {
    const { step, change, inverse } = memory[k]!;
    const share = inverse * dot(step, direction);
    shares[k] = share;
    for (let i = 0; i < size; i++) direction[i]! -= share * change[i]!;
  }
  const scale = diagonalScale(diagonal, memory.at(-1));
  for (let i = 0; i < size; i++) direction[i]! *= scale / diagonal[i]!;
  for (let k = 0; k < memory.length; k++) {
    const { step, change, inverse } = memory[k]!;
    const share = shares[k]! - inverse * dot(change, direction);
    for (let i = 0; i < size; i++) direction[i]! += share * step[i]!;
  }
}

function diagonalScale(diagonal: Float64Array, newest: Curvature | undefined): number {
  // The first step has nothing to learn from: half a Newton step is safe where the diagonal is all that is
  // known.
  if (newest === undefined) return 0.5;
  let scaled = 0;
  for (let i = 0; i < diagonal.length; i++) scaled += newest.change[i]! ** 2 / diagonal[i]!;
  return 1 / (newest.inverse * scaled);
}

function remember(memory: Curvature[], here: Point, next: Point): void {
  const size = here.at.length;
  const reused = memory.length === MEMORY ? memory.shift() : undefined;
  const entry = reused ?? { step: new Float64Array(size), change: new Float64Array(size), inverse: 0 };
  for (let i = 0; i < size; i++) {
    entry.step[i] = next.at[i]! - here.at[i]!;
    entry.change[i] = next.gradient[i]! - here.gradient[i]!;
  }
  const curvature = dot(entry.step, entry.change);
  const least = 1e-10 * Math.sqrt(dot(entry.step, entry.step) * dot(entry.change, entry.change));
  // Negative curvature would make the next direction lead uphill; the step is kept, what it seems to teach
  // isn't.
  if (!(curvature > least)) return;
  entry.inverse = 1 / curvature;
  memory.push(entry);
}

/**
 * By which factor a step shrinks that overshot: the minimum of the parabola through what is known, within
 * bounds.
 */
function shorter(value: number, reached: number, slope: number): number {
  if (!Number.isFinite(reached)) return 0.1;
  return Math.max(0.1, Math.min(0.5, -slope / (2 * (reached - value - slope))));
}

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!;
  return sum;
}
