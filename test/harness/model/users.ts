// The load generator of the model: users of the workflow and their experience by the true network.
import type { WorkflowManifest } from "@isochrone/lab";
import type { Random } from "@isochrone/runtime";
import type { CountedChannel } from "./measured-graphs.ts";
import type { TrueLink } from "./noise.ts";

interface UsersOptions {
  readonly manifest: WorkflowManifest;
  readonly requestsPerSecond: number;
  readonly link: (source: string, target: string) => TrueLink;
  readonly random: Random;
}

type Fault = "no-pod" | "network";

interface UserRequest {
  readonly atMs: number;
  readonly outcome: number | Fault;
}

/** Delay of a TCP exchange per lost packet. */
const RETRANSMIT_MS = 200;
/** More consecutive losses fail the request. */
const MOST_RETRANSMITS = 6;

export class Users {
  readonly requests: UserRequest[] = [];
  readonly #options: UsersOptions;
  readonly #callees: ReadonlyMap<string, readonly CountedChannel[]>;

  constructor(options: UsersOptions) {
    this.#options = options;
    const { workloads } = options.manifest;
    const behaviourOf = new Map(workloads.map(({ name, behaviour }) => [name, behaviour]));
    this.#callees = new Map(
      workloads.map(({ name, callees, behaviour }) => [
        name,
        callees.map((target) => ({
          source: name,
          target,
          requestBytes: behaviour.requestBytes,
          responseBytes: behaviourOf.get(target)!.responseBytes,
        })),
      ]),
    );
  }

  /** @param nodeOf null: the workload has no ready pod */
  second(atMs: number, nodeOf: (workload: string) => string | null): ReadonlyMap<CountedChannel, number> {
    const { manifest, requestsPerSecond, random } = this.#options;
    const calls = new Map<CountedChannel, number>();
    for (const channels of this.#callees.values()) for (const channel of channels) calls.set(channel, 0);
    for (let request = 0; request < requestsPerSecond; request++) {
      const outcome = this.#call(manifest.entry.name, nodeOf, calls);
      this.requests.push({ atMs: atMs - 1_000 * random.next(), outcome });
    }
    return calls;
  }

  /** Quantile of answered requests in an interval. Null: none was answered. */
  quantile(share: number, fromMs: number, toMs: number): number | null {
    const sorted = this.#between(fromMs, toMs)
      .flatMap(({ outcome }) => (typeof outcome === "number" ? outcome : []))
      .toSorted((a, b) => a - b);
    return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? null;
  }

  /** Number of requests without a ready pod. Excludes requests lost by the network. */
  unserved(fromMs: number, toMs: number): number {
    return this.#between(fromMs, toMs).filter(({ outcome }) => outcome === "no-pod").length;
  }

  #between(fromMs: number, toMs: number): UserRequest[] {
    return this.requests.filter(({ atMs }) => atMs >= fromMs && atMs < toMs);
  }

  #call(
    workload: string,
    nodeOf: (workload: string) => string | null,
    calls: Map<CountedChannel, number>,
  ): number | Fault {
    const node = nodeOf(workload);
    if (node === null) return "no-pod";
    let slowestMs = 0;
    let fault: Fault | null = null;
    for (const channel of this.#callees.get(workload) ?? []) {
      calls.set(channel, calls.get(channel)! + 1);
      const target = nodeOf(channel.target);
      const way = target === null ? "no-pod" : this.#wayMs(node, target);
      const behind = typeof way === "number" ? this.#call(channel.target, nodeOf, calls) : way;
      if (typeof way === "number" && typeof behind === "number")
        slowestMs = Math.max(slowestMs, way + behind);
      else if (fault !== "no-pod" && typeof behind === "string") fault = behind;
    }
    return fault ?? 1 + slowestMs;
  }

  #wayMs(from: string, to: string): number | "network" {
    if (from === to) return 0.3;
    const { random, link } = this.#options;
    const { rttMs, jitterMs, lossRatio, cut } = link(from, to);
    if (cut) return "network";
    let ms = rttMs + jitterMs * (2 * random.next() - 1);
    for (let lost = 0; random.next() < lossRatio; lost++) {
      if (lost === MOST_RETRANSMITS) return "network";
      ms += RETRANSMIT_MS * 2 ** lost;
    }
    return ms;
  }
}
