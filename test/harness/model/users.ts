// Users of the model's workflow and what they experience, by the true network: the load generator's side.
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

/** One request; null: it failed. */
interface UserRequest {
  readonly atMs: number;
  readonly latencyMs: number | null;
}

/** What a lost packet costs an exchange over TCP. */
const RETRANSMIT_MS = 200;
/** More losses in a row are a failure. */
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

  /** Requests of one second; calls by channel. @param nodeOf null: the workload has no pod that is ready */
  second(atMs: number, nodeOf: (workload: string) => string | null): ReadonlyMap<CountedChannel, number> {
    const { manifest, requestsPerSecond, random } = this.#options;
    const calls = new Map<CountedChannel, number>();
    for (const channels of this.#callees.values()) for (const channel of channels) calls.set(channel, 0);
    for (let request = 0; request < requestsPerSecond; request++) {
      const latencyMs = this.#call(manifest.entry.name, nodeOf, calls);
      this.requests.push({ atMs: atMs - 1_000 * random.next(), latencyMs });
    }
    return calls;
  }

  /** Quantile of the answered requests of a time; null: none was answered. */
  quantile(share: number, fromMs: number, toMs: number): number | null {
    const sorted = this.#between(fromMs, toMs)
      .flatMap(({ latencyMs }) => latencyMs ?? [])
      .toSorted((a, b) => a - b);
    return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? null;
  }

  failures(fromMs: number, toMs: number): number {
    return this.#between(fromMs, toMs).filter(({ latencyMs }) => latencyMs === null).length;
  }

  #between(fromMs: number, toMs: number): UserRequest[] {
    return this.requests.filter(({ atMs }) => atMs >= fromMs && atMs < toMs);
  }

  /** All callees are called at once, as the sample's programs do. */
  #call(
    workload: string,
    nodeOf: (workload: string) => string | null,
    calls: Map<CountedChannel, number>,
  ): number | null {
    const node = nodeOf(workload);
    if (node === null) return null;
    let slowestMs = 0;
    let isFailed = false;
    for (const channel of this.#callees.get(workload) ?? []) {
      calls.set(channel, calls.get(channel)! + 1);
      const target = nodeOf(channel.target);
      const wayMs = target === null ? null : this.#wayMs(node, target);
      const behindMs = wayMs === null ? null : this.#call(channel.target, nodeOf, calls);
      if (wayMs === null || behindMs === null) isFailed = true;
      else slowestMs = Math.max(slowestMs, wayMs + behindMs);
    }
    return isFailed ? null : 1 + slowestMs;
  }

  #wayMs(from: string, to: string): number | null {
    if (from === to) return 0.3;
    const { random, link } = this.#options;
    const { rttMs, jitterMs, lossRatio, cut } = link(from, to);
    if (cut) return null;
    let ms = rttMs + jitterMs * (2 * random.next() - 1);
    for (let lost = 0; random.next() < lossRatio; lost++) {
      if (lost === MOST_RETRANSMITS) return null;
      ms += RETRANSMIT_MS * 2 ** lost;
    }
    return ms;
  }
}
