// Messages of a frame's thread. Numbers travel in columns, because copying thousands of small objects blocks
// the event loop.
import { wantedReplicas, type WantedReplicas } from "@isochrone/dispatch/replicas";

type Floats = Float64Array<ArrayBuffer>;
type Integers = Int32Array<ArrayBuffer>;

/** `perSecond`, `replicas`, `isOpen`: by Service and zone. `capacityPerSecond`, `deadlineMs`: by Service. */
export interface FrameProblem {
  readonly zones: number;
  readonly least: { readonly replicas: number; readonly zones: number };
  /** Zone to zone, ms; NaN if unknown. */
  readonly rttMs: Floats;
  readonly perSecond: Floats;
  readonly replicas: Integers;
  readonly isOpen: Uint8Array<ArrayBuffer>;
  readonly capacityPerSecond: Floats;
  /** NaN if not set. */
  readonly deadlineMs: Floats;
}

/** `wanted` and `inTimeRatio` are by Service and zone. */
export interface FrameSolution {
  readonly wanted: Integers;
  /** NaN without requests. */
  readonly inTimeRatio: Floats;
  /** Number of replicas to add, then to remove, by Service. */
  readonly counts: Integers;
  readonly stepZones: Integers;
  readonly stepPerSecond: Floats;
}

export interface FrameRequest {
  readonly id: number;
  readonly problem: FrameProblem;
}

export type FrameAnswer =
  | { readonly id: number; readonly solution: FrameSolution }
  | { readonly id: number; readonly failure: string };

/** One Service's row of a {@link FrameProblem}; arrays are by zone. */
export interface FrameRow {
  readonly perSecond: readonly number[];
  readonly replicas: readonly number[];
  readonly isOpen: readonly boolean[];
  readonly capacityPerSecond: number;
  readonly deadlineMs: number | null;
}

export function problemOf(
  rows: readonly FrameRow[],
  around: Pick<FrameProblem, "least" | "zones"> & { readonly rttMs: (from: number, to: number) => number },
): FrameProblem {
  const { zones, least, rttMs } = around;
  const size = rows.length * zones;
  const problem: FrameProblem = {
    zones,
    least,
    rttMs: new Float64Array(zones * zones).map((_, at) => rttMs(Math.floor(at / zones), at % zones)),
    perSecond: new Float64Array(size),
    replicas: new Int32Array(size),
    isOpen: new Uint8Array(size),
    capacityPerSecond: Float64Array.from(rows, ({ capacityPerSecond }) => capacityPerSecond),
    deadlineMs: Float64Array.from(rows, ({ deadlineMs }) => deadlineMs ?? Number.NaN),
  };
  for (const [at, { perSecond, replicas, isOpen }] of rows.entries()) {
    problem.perSecond.set(perSecond, at * zones);
    problem.replicas.set(replicas, at * zones);
    problem.isOpen.set(isOpen.map(Number), at * zones);
  }
  return problem;
}

export function solved(problem: FrameProblem): FrameSolution {
  const { zones, least, rttMs, perSecond, replicas, isOpen, capacityPerSecond, deadlineMs } = problem;
  const services = capacityPerSecond.length;
  const wanted = new Int32Array(services * zones);
  const inTimeRatio = new Float64Array(services * zones);
  const counts = new Int32Array(2 * services);
  const steps: WantedReplicas["adds"][number][] = [];
  for (let service = 0; service < services; service++) {
    const from = service * zones;
    const found = wantedReplicas({
      perSecond: perSecond.subarray(from, from + zones),
      replicas: replicas.subarray(from, from + zones),
      isOpen: (zone) => isOpen[from + zone] === 1,
      capacityPerSecond: capacityPerSecond[service]!,
      deadlineMs: Number.isNaN(deadlineMs[service]!) ? null : deadlineMs[service]!,
      rttMs: (one, other) => rttMs[one * zones + other]!,
      least,
    });
    wanted.set(found.wanted, from);
    inTimeRatio.set(
      found.inTimeRatio.map((ratio) => ratio ?? Number.NaN),
      from,
    );
    counts.set([found.adds.length, found.removes.length], 2 * service);
    for (const step of found.adds) steps.push(step);
    for (const step of found.removes) steps.push(step);
  }
  return {
    wanted,
    inTimeRatio,
    counts,
    stepZones: Int32Array.from(steps, ({ zone }) => zone),
    stepPerSecond: Float64Array.from(steps, ({ perSecond: gain }) => gain),
  };
}

/** Yields in the order of the Services. */
export function* wantsOf({ zones }: FrameProblem, solution: FrameSolution): Generator<WantedReplicas> {
  const { wanted, inTimeRatio, counts, stepZones, stepPerSecond } = solution;
  let step = 0;
  const taken = (count: number): WantedReplicas["adds"] => {
    const from = step;
    step += count;
    return Array.from({ length: count }, (_, at) => ({
      zone: stepZones[from + at]!,
      perSecond: stepPerSecond[from + at]!,
    }));
  };
  for (let service = 0; 2 * service < counts.length; service++) {
    const [from, to] = [service * zones, (service + 1) * zones];
    yield {
      wanted: [...wanted.subarray(from, to)],
      inTimeRatio: Array.from(inTimeRatio.subarray(from, to), (ratio) =>
        Number.isNaN(ratio) ? null : ratio,
      ),
      adds: taken(counts[2 * service]!),
      removes: taken(counts[2 * service + 1]!),
    };
  }
}
