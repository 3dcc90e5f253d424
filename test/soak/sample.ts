import type { EmbeddedSystem } from "../harness/embedded.ts";
import { readCounters, type CounterName } from "./counters.ts";
import type { GraphLoad } from "./graph-load.ts";
import type { Agreement, LinkChanger } from "./links.ts";
import { pidsOf } from "./pods.ts";
import { CpuShares, machineBusySeconds, processUse } from "./proc.ts";

/** Groups of processes in the report. */
export const GROUPS = ["main", "relay", "pods", "load", "soak"] as const;
type Group = (typeof GROUPS)[number];

/** A sample of the running system. */
export interface Sample {
  readonly atMs: number;
  readonly rssBytes: Readonly<Record<Group, number>>;
  /** Shares of a core since the previous sample. Null for the first. */
  readonly cpuShare: Readonly<Record<Group, number>> | null;
  /** Graph API latencies since the previous sample. */
  readonly latenciesMs: readonly number[];
  readonly counters: Readonly<Record<CounterName, number>>;
  readonly agreement: Agreement;
  /** CPU use of all other programs since the previous sample, as a share of a core. Null for the first. */
  readonly othersShare: number | null;
  /** False if other programs used so much CPU that packet times are theirs. */
  readonly steady: boolean;
}

/** Maximum share of a core for other programs in any sample of the window. */
const MAX_OTHERS_SHARE = 0.3;
/** Samples in a window of 30 s. */
const WINDOW_LOOKS = 7;

export class Sampler {
  readonly #system: EmbeddedSystem;
  readonly #load: GraphLoad;
  readonly #links: LinkChanger;
  readonly #cpu = new CpuShares();
  readonly #mainPid: number;
  readonly #othersShares: number[] = [];
  #machine: { readonly atMs: number; readonly busySeconds: number } | null = null;

  constructor(system: EmbeddedSystem, load: GraphLoad, links: LinkChanger) {
    this.#system = system;
    this.#load = load;
    this.#links = links;
    // The started process is a launcher. The system reports its own process id.
    const started = system.events.find(({ event }) => event === "started");
    this.#mainPid = Number(started?.["pid"] ?? system.pid);
  }

  async take(beganMs: number): Promise<Sample> {
    const groups = { main: [this.#mainPid], ...(await pidsOf(this.#system)), soak: [process.pid] };
    const rss = (pids: readonly number[]): number =>
      pids.reduce((sum, pid) => sum + (processUse(pid)?.rssBytes ?? 0), 0);
    const cpu = this.#cpu.look(groups, Date.now());
    const othersShare = this.#lookAtOthers(cpu);
    return {
      atMs: Date.now() - beganMs,
      rssBytes: {
        main: rss(groups.main),
        relay: rss(groups.relay),
        pods: rss(groups.pods),
        load: rss(groups.load),
        soak: rss(groups.soak),
      },
      cpuShare: cpu as Record<Group, number> | null,
      latenciesMs: this.#load.takeLatencies(),
      counters: readCounters(await this.#metrics()),
      agreement: await this.#links.compare(() => this.#system.cluster()),
      othersShare,
      steady:
        this.#othersShares.length === WINDOW_LOOKS &&
        this.#othersShares.every((share) => share <= MAX_OTHERS_SHARE),
    };
  }

  #lookAtOthers(own: Readonly<Record<string, number>> | null): number | null {
    const now = { atMs: Date.now(), busySeconds: machineBusySeconds() };
    const before = this.#machine;
    this.#machine = now;
    if (before === null || own === null) return null;
    const machine = ((now.busySeconds - before.busySeconds) * 1000) / (now.atMs - before.atMs);
    const others = Math.max(0, machine - Object.values(own).reduce((sum, share) => sum + share, 0));
    this.#othersShares.push(others);
    if (this.#othersShares.length > WINDOW_LOOKS) this.#othersShares.shift();
    return others;
  }

  async #metrics(): Promise<string> {
    const response = await fetch(`${this.#system.urls.page}/metrics`, {
      signal: AbortSignal.timeout(10_000),
    });
    if (!response.ok) throw new Error(`/metrics answered ${response.status}`);
    return response.text();
  }
}
