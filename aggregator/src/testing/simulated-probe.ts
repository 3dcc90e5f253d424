import type { Link } from "@isochrone/topology";
import { buildClusterGraph } from "../domain/graphs/cluster-graph.ts";
import { EMPTY_CLUSTER } from "../domain/cluster-state.ts";
import { Ingest } from "../domain/ingest/ingest.ts";
import { Tables } from "../domain/graphs/tables.ts";
import { probeMetrics, recordOf } from "./records.ts";

export interface Beat {
  readonly paneMs: number;
  readonly panes: number;
  readonly probeMs: number;
  readonly timeoutMs: number;
  readonly publishMs: number;
  readonly buildMs: number;
}

/** Default settings, except for a graph per second. */
export const CLUSTER: Beat = {
  paneMs: 10_000,
  panes: 30,
  probeMs: 1000,
  timeoutMs: 2000,
  publishMs: 10_000,
  buildMs: 1000,
};

/** The embedded cluster with a window of 30 s. */
export const EMBEDDED: Beat = {
  paneMs: 2000,
  panes: 15,
  probeMs: 500,
  timeoutMs: 1000,
  publishMs: 1000,
  buildMs: 1000,
};

/** Round-trip time of a packet sent at this time, ms; null: lost; undefined: not sent. */
export type Path = (timeMs: number) => number | null | undefined;

/** An additional method of the pair, probed at another interval. */
interface ProbedMethod {
  readonly method: string;
  readonly probeMs: number;
}

interface Decided {
  readonly atMs: number;
  readonly method: string;
  readonly rttMs: number | null;
}

const LIMITS = { maxLinks: 100, maxChannels: 10, maxPods: 10 };
const OPTIONS = { maxFutureMs: 2000, maxSeries: 1000, maxSources: 100 };
const METHODS = ["udp_rr", "tcp_rr", "icmp", "tcp_connect"] as const;

/** A probe on node a that measures b, with its graphs and its own clock. */
export class SimulatedProbe {
  readonly #beat: Beat;
  readonly #methods: readonly ProbedMethod[];
  readonly #rule;
  readonly #tables: Tables;
  readonly #ingest: Ingest;
  #decided: Decided[] = [];
  #sequence = 0;
  #nowMs: number;
  #path: Path = () => 1;

  /** @param phaseMs offset of the probe's interval within a pane */
  constructor(
    beat: Beat,
    phaseMs: number,
    methods: readonly ProbedMethod[] = [{ method: "udp_rr", probeMs: beat.probeMs }],
    quantile: "p50" | "p90" | "mean" = "p50",
  ) {
    const { paneMs, panes } = beat;
    this.#beat = beat;
    this.#methods = methods;
    this.#rule = { methods: METHODS, quantile };
    this.#tables = new Tables({ windowMs: paneMs * panes, paneMs, panes, fastPanes: 3 }, LIMITS);
    this.#ingest = new Ingest(this.#tables, OPTIONS);
    this.#nowMs = 1_000_000 * paneMs + phaseMs;
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  set path(path: Path) {
    this.#path = path;
  }

  links(window: "full" | "fast" = "full"): Link[] {
    const stamp = { version: 1, nowMs: this.#nowMs };
    return buildClusterGraph(this.#tables, EMPTY_CLUSTER, this.#rule, stamp, window).links;
  }

  link(): Link {
    const [link] = this.links();
    if (link === undefined) throw new Error("nothing was probed yet");
    return link;
  }

  /** @param each called with each graph's first link and the elapsed panes */
  run(panes: number, each: (link: Link, panes: number) => void = () => undefined): void {
    const { paneMs, buildMs, publishMs } = this.#beat;
    const beganMs = this.#nowMs;
    const endMs = beganMs + panes * paneMs;
    while (this.#nowMs < endMs) {
      this.#send();
      this.#nowMs += 100;
      if (this.#nowMs % publishMs === this.#phase(publishMs)) this.#publish();
      if (this.#nowMs % buildMs !== 0 || this.#tables.links.size === 0) continue;
      each(this.link(), (this.#nowMs - beganMs) / paneMs);
    }
  }

  /** Panes until a graph's first link satisfies the predicate; Infinity if it takes more than `most`. */
  until(isWanted: (link: Link) => boolean, most = 40): number {
    let found = Number.POSITIVE_INFINITY;
    const beganMs = this.#nowMs;
    while (found === Number.POSITIVE_INFINITY && this.#nowMs < beganMs + most * this.#beat.paneMs)
      this.run(this.#beat.buildMs / this.#beat.paneMs, (link) => {
        if (isWanted(link)) found = Math.min(found, (this.#nowMs - beganMs) / this.#beat.paneMs);
      });
    return found;
  }

  /** The probe's interval is not aligned with panes. */
  #phase(publishMs: number): number {
    return 300 % publishMs;
  }

  #send(): void {
    const nowMs = this.#nowMs;
    for (const { method, probeMs } of this.#methods) {
      if (nowMs % probeMs !== 0) continue;
      const rttMs = this.#path(nowMs);
      if (rttMs === undefined) continue;
      const isLost = rttMs === null || rttMs > this.#beat.timeoutMs;
      const atMs = nowMs + (isLost ? this.#beat.timeoutMs : rttMs);
      this.#decided.push({ atMs, method, rttMs: isLost ? null : rttMs });
    }
  }

  #publish(): void {
    const nowMs = this.#nowMs;
    const due = this.#decided.filter(({ atMs }) => atMs <= nowMs);
    this.#decided = this.#decided.filter(({ atMs }) => atMs > nowMs);
    if (due.length === 0) return;
    const samples = [...Map.groupBy(due, ({ method }) => method)].map(([method, all]) => {
      const rttsMs = all.flatMap(({ rttMs }) => rttMs ?? []);
      const outcomes = { sent: all.length, received: rttsMs.length, lost: all.length - rttsMs.length };
      return { target: "b", method, timeMs: nowMs, rttsMs, outcomes };
    });
    const options = { sequence: ++this.#sequence, arrivedAtMs: nowMs };
    this.#ingest.take(recordOf("a", probeMetrics(samples), options), nowMs);
  }
}
