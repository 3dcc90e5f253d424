import { seededRandom } from "@isochrone/runtime";
import type { FitInput } from "../coordinates/domain/coordinate-samples.ts";
import type { CoordinateModel } from "../coordinates/domain/coordinates.ts";
import type { CoordinateFit, CoordinateFitter } from "../ports/ports.ts";

/** Nodes on a plane, and measurements between them. */
interface Plane {
  readonly input: FitInput;
  /** True round-trip time, ms. */
  rttMs(source: number, target: number): number;
  isMeasured(source: number, target: number): boolean;
}

/** Random nodes `n0`, `n1`, ... on a square of 100 ms. Each measures some others. */
export function plane(nodes: number, peers: number, seed: number): Plane {
  const random = seededRandom(seed);
  const places = Array.from({ length: nodes }, () => ({
    x: 100 * random.next(),
    y: 100 * random.next(),
    height: 1 + 3 * random.next(),
  }));
  const rttMs = (source: number, target: number): number => {
    const [a, b] = [places[source]!, places[target]!];
    return Math.hypot(a.x - b.x, a.y - b.y) + a.height + b.height;
  };
  const measured = new Map<string, readonly [source: number, target: number]>();
  for (let source = 0; source < nodes; source++) {
    for (let peer = 0; peer < peers; peer++) {
      const target = Math.floor(random.next() * nodes);
      if (target !== source) measured.set(`${source} ${target}`, [source, target]);
    }
  }
  const pairs = [...measured.values()];
  return {
    rttMs,
    isMeasured: (source, target) =>
      measured.has(`${source} ${target}`) || measured.has(`${target} ${source}`),
    input: {
      nodes: places.map((_, index) => ({ name: `n${index}`, zone: null, region: null })),
      samples: {
        source: Int32Array.from(pairs, ([source]) => source),
        target: Int32Array.from(pairs, ([, target]) => target),
        rttMs: Float64Array.from(pairs, ([source, target]) => rttMs(source, target)),
        count: new Float64Array(pairs.length).fill(100),
        spreadMs: new Float64Array(pairs.length).fill(Number.NaN),
      },
    },
  };
}

/** Gives the same estimate for every pair. */
export const FLAT_MODEL: CoordinateModel = {
  estimate: () => ({ rttMs: 7, errorMs: 2 }),
  coordinateOf: () => [1, 2, 0.5],
};

/** A fitter whose fits end when the test says so. */
export class HeldFitter implements CoordinateFitter {
  readonly inputs: FitInput[] = [];
  closed = false;
  #pending: PromiseWithResolvers<CoordinateFit> | null = null;

  fit(input: FitInput): Promise<CoordinateFit> {
    this.inputs.push(input);
    this.#pending = Promise.withResolvers();
    return this.#pending.promise;
  }

  succeed(more: Partial<CoordinateFit> = {}): void {
    this.#pending!.resolve({
      model: FLAT_MODEL,
      durationMs: 1,
      medianRelativeError: 0.1,
      p90RelativeError: 0.3,
      rejected: {},
      ...more,
    });
  }

  fail(error: Error): void {
    this.#pending!.reject(error);
  }

  async close(): Promise<void> {
    this.closed = true;
    this.#pending?.reject(new Error("closed"));
  }
}
