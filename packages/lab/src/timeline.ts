// End-to-end latency of the embedded cluster over time with the changes made to it, to show cause and effect.
import { periodic, type Clock, type Logger, type Service } from "@isochrone/runtime";
import type { EndToEnd, LabPod } from "./cluster/index.ts";
import type { EmulatedNetwork } from "./network/emulated-network.ts";
import type { LinkSettings } from "./network/links.ts";

/** Latency of requests that the load generator planned in the preceding seconds. */
interface TimelinePoint {
  readonly at: string;
  readonly requests: number;
  readonly errors: number;
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
}

type TimelineMark =
  | {
      readonly at: string;
      readonly kind: "link";
      readonly source: string;
      readonly target: string;
      readonly before: LinkSettings;
      readonly after: LinkSettings;
    }
  | {
      readonly at: string;
      readonly kind: "move";
      readonly workload: string;
      readonly from: string;
      readonly to: string;
    }
  | { readonly at: string; readonly kind: "down"; readonly reason: string }
  | { readonly at: string; readonly kind: "killed"; readonly node: string };

export interface Timeline {
  readonly spanSeconds: number;
  readonly points: readonly TimelinePoint[];
  readonly marks: readonly TimelineMark[];
}

export interface TimelineSource {
  endToEnd(options: { readonly lastMs: number }): Promise<EndToEnd>;
  pods(): readonly Pick<LabPod, "workload" | "node" | "deleting">[];
}

interface TimelineOptions {
  readonly cluster: () => TimelineSource | null;
  /** Its current links are the initial ones. @default the links before a change through the API */
  readonly network?: Pick<EmulatedNetwork, "nodes" | "link">;
  readonly clock: Clock;
  readonly logger: Logger;
}

const STEP_MS = 2_000;
const SPAN_MS = 10_000;
/** 15 minutes. */
const MAX_POINTS = 450;
const MAX_MARKS = 500;

/** Samples the cluster every two seconds; bounded. */
export class LabTimeline implements Service {
  readonly #options: TimelineOptions;
  readonly #points: TimelinePoint[] = [];
  readonly #marks: TimelineMark[] = [];
  readonly #initialLinks = new Map<string, LinkSettings>();
  readonly #nodesOf = new Map<string, readonly string[]>();
  readonly #loop;

  constructor(options: TimelineOptions) {
    this.#options = options;
    const { network, clock, logger } = options;
    // Links also change without the API: killing a node cuts its links.
    for (const source of network?.nodes ?? [])
      for (const target of network!.nodes)
        if (source !== target) this.#initialLinks.set(linkKey(source, target), network!.link(source, target));
    this.#loop = periodic({
      clock,
      intervalMs: STEP_MS,
      run: () => this.sample(),
      onError: (error) => logger.warnOnce("timeline", "the load's latencies can't be read", { error }),
    });
  }

  start(): Promise<void> {
    this.#loop.start();
    return Promise.resolve();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** Takes one point. Rejects if the load generator doesn't answer; moves are recorded anyway. */
  async sample(): Promise<void> {
    const cluster = this.#options.cluster();
    if (cluster === null) return;
    this.#noteMoves(cluster);
    const at = this.#at();
    const { count: requests, errors, p50Ms, p95Ms } = await cluster.endToEnd({ lastMs: SPAN_MS });
    if (requests + errors === 0 && this.#points.length === 0) return;
    push(this.#points, { at, requests, errors, p50Ms, p95Ms }, MAX_POINTS);
  }

  linkChanged(source: string, target: string, before: LinkSettings, after: LinkSettings): void {
    const key = linkKey(source, target);
    if (!this.#initialLinks.has(key)) this.#initialLinks.set(key, before);
    push(this.#marks, { at: this.#at(), kind: "link", source, target, before, after }, MAX_MARKS);
  }

  networkDown(reason: string): void {
    push(this.#marks, { at: this.#at(), kind: "down", reason }, MAX_MARKS);
  }

  nodeKilled(node: string): void {
    push(this.#marks, { at: this.#at(), kind: "killed", node }, MAX_MARKS);
  }

  /** The link before the first change; undefined if unchanged. */
  initialLink(source: string, target: string): LinkSettings | undefined {
    return this.#initialLinks.get(linkKey(source, target));
  }

  report(): Timeline {
    return { spanSeconds: SPAN_MS / 1_000, points: [...this.#points], marks: [...this.#marks] };
  }

  /** Compares a workload only when fully placed: a pod being replaced is briefly nowhere. */
  #noteMoves(cluster: TimelineSource): void {
    const placed = new Map<string, string[]>();
    for (const { workload, node, deleting } of cluster.pods())
      if (node !== null && !deleting) placed.set(workload, [...(placed.get(workload) ?? []), node]);
    for (const [workload, nodes] of placed) {
      const before = this.#nodesOf.get(workload);
      if (before !== undefined && nodes.length < before.length) continue;
      this.#nodesOf.set(workload, nodes);
      if (before === undefined) continue;
      const added = without(nodes, before);
      for (const [index, from] of without(before, nodes).entries()) {
        const to = added[index];
        if (to !== undefined)
          push(this.#marks, { at: this.#at(), kind: "move", workload, from, to }, MAX_MARKS);
      }
    }
  }

  #at(): string {
    return new Date(this.#options.clock.now()).toISOString();
  }
}

const linkKey = (source: string, target: string): string => JSON.stringify([source, target]);

function push<T>(list: T[], item: T, most: number): void {
  list.push(item);
  if (list.length > most) list.shift();
}

function without(nodes: readonly string[], others: readonly string[]): string[] {
  const left = [...others];
  return nodes.filter((node) => {
    const at = left.indexOf(node);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}
