// What pairs of workloads exchange, as either end states it.
import type { Channel, ReadTraffic } from "@isochrone/topology";

type Statement = Pick<ReadTraffic, "bytesPerSecond" | "isCalled">;

/** Of the workloads `a` and `b`, a the smaller name. */
interface Pair {
  readonly a: string;
  readonly b: string;
  readonly bytesPerSecond: number;
  /** Whether the exchanges of a with b are started by a, by b; neither: not known. */
  readonly byA: boolean;
  readonly byB: boolean;
}

/** Gathers statements; their order has no meaning. */
export class PairTraffic {
  readonly #pairs = new Map<string, Pair>();

  /**
   * By annotations of `workload`; the larger amount of both ends' counts. Where one end calls none of it, the
   * other one must.
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

  /**
   * Channels from who starts the exchanges. Where nothing says who, or both do, each end starts half of them:
   * then a round trip costs the mean of both ways.
   */
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
