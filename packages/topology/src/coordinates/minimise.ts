// Limited-memory BFGS (Nocedal and Wright, Numerical Optimization, algorithm 7.4), preconditioned by an
// approximate Hessian diagonal: pairs from 0.2 to 200 ms are too unequal for a plain gradient.

type Objective = (at: Float64Array, gradient: Float64Array, diagonal: Float64Array) => number;

interface MinimiseOptions {
  readonly maxSteps: number;
  /** Ends after three consecutive steps below this relative gain. */
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

/** Writes the first point with sufficient decrease (Armijo) into `next`. Returns false if there is none. */
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
  // Without curvature information, half a Newton step is safe.
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
  // Negative curvature would point uphill: keep the step, discard its curvature.
  if (!(curvature > least)) return;
  entry.inverse = 1 / curvature;
  memory.push(entry);
}

/** Backtracking factor: minimum of the fitted parabola, within bounds. */
function shorter(value: number, reached: number, slope: number): number {
  if (!Number.isFinite(reached)) return 0.1;
  return Math.max(0.1, Math.min(0.5, -slope / (2 * (reached - value - slope))));
}

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!;
  return sum;
}
