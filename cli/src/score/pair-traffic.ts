// Traffic between pairs of workloads, as either end states it.
import type { Channel, ReadTraffic } from "@isochrone/topology";

type Statement = Pick<ReadTraffic, "bytesPerSecond" | "isCalled">;

/** A pair of workloads; `a` is the smaller name. */
interface Pair {
  readonly a: string;
  readonly b: string;
  readonly bytesPerSecond: number;
  /** Whether a starts exchanges, whether b does. Both false: unknown. */
  readonly byA: boolean;
  readonly byB: boolean;
}

export class PairTraffic {
  readonly #pairs = new Map<string, Pair>();

  /**
   * The larger amount of the two ends counts. If one end never calls the other, the other starts all
   * exchanges.
   */
  state(workload: string, peer: string, { bytesPerSecond, isCalled }: Statement): void {
    const [a, b] = workload < peer ? [workload, peer] : [peer, workload];
    const before = this.#pairs.get(`${a}\n${b}`) ?? { bytesPerSecond: 0, byA: false, byB: false };
    const [byOwn, byPeer] = [isCalled === true, isCalled === false];
    const isA = workload === a;
    this.#pairs.set(`${a}\n${b}`, {
      a,
      b,
      bytesPerSecond: Math.max(before.bytesPerSecond, bytesPerSecond),
      byA: before.byA || (isA ? byOwn : byPeer),
      byB: before.byB || (isA ? byPeer : byOwn),
    });
  }

  /** Returns channels from the initiating end. If it is unknown or both do, each end starts half. */
  *channels(
    isDeclared: (source: string, target: string) => boolean,
  ): Generator<Pick<Channel, "source" | "target"> & { readonly bytesPerSecond: number }> {
    for (const { a, b, bytesPerSecond, ...said } of this.#pairs.values()) {
      const isSaid = said.byA || said.byB;
      const byA = isSaid ? said.byA : isDeclared(a, b);
      const byB = isSaid ? said.byB : isDeclared(b, a);
      if (a === b || (byA && !byB)) yield { source: a, target: b, bytesPerSecond };
      else if (byB && !byA) yield { source: b, target: a, bytesPerSecond };
      else {
        yield { source: a, target: b, bytesPerSecond: bytesPerSecond / 2 };
        yield { source: b, target: a, bytesPerSecond: bytesPerSecond / 2 };
      }
    }
  }
}
