// What users of the emulated cluster experienced over time, and what was done to it meanwhile: so that a
// change can be seen beside its effect.
import { periodic, type Clock, type Logger, type Service } from "@isochrone/runtime";
import type { EndToEnd, LabPod } from "./cluster/index.ts";
import type { EmulatedNetwork } from "./network/emulated-network.ts";
import type { LinkSettings } from "./network/links.ts";

/** End-to-end latency of the requests that the load generator planned in the seconds before. */
interface TimelinePoint {
  /** RFC 3339 */
  readonly at: string;
  readonly requests: number;
  readonly errors: number;
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
}

/** Something that was done to the cluster. */
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

/** The answer of the API. */
export interface Timeline {
  /** Each point is of the requests of so many seconds. */
  readonly spanSeconds: number;
  readonly points: readonly TimelinePoint[];
  readonly marks: readonly TimelineMark[];
}

/** What a time line is of. */
export interface TimelineSource {
  endToEnd(options: { readonly lastMs: number }): Promise<EndToEnd>;
  pods(): readonly Pick<LabPod, "workload" | "node" | "deleting">[];
}

interface TimelineOptions {
  /** Null: there is none yet. */
  readonly cluster: () => TimelineSource | null;
  /** Its links as they are now are the initial ones. @default those before a change through the API are */
  readonly network?: Pick<EmulatedNetwork, "nodes" | "link">;
  readonly clock: Clock;
  readonly logger: Logger;
}

const STEP_MS = 2_000;
const SPAN_MS = 10_000;
/** A quarter of an hour. */
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
    // Not everybody who changes a link does so through the API: a killed node is cut off, too.
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

  /** Takes one point. Rejects when the load generator doesn't answer; what moved is noted all the same. */
  async sample(): Promise<void> {
    const cluster = this.#options.cluster();
    if (cluster === null) return;
    this.#noteMoves(cluster);
    const at = this.#at();
    const { count: requests, errors, p50Ms, p95Ms } = await cluster.endToEnd({ lastMs: SPAN_MS });
    // Before the first request there is nothing to say.
    if (requests + errors === 0 && this.#points.length === 0) return;
    push(this.#points, { at, requests, errors, p50Ms, p95Ms }, MAX_POINTS);
  }

  /** A link was changed by somebody. */
  linkChanged(source: string, target: string, before: LinkSettings, after: LinkSettings): void {
    const key = linkKey(source, target);
    if (!this.#initialLinks.has(key)) this.#initialLinks.set(key, before);
    push(this.#marks, { at: this.#at(), kind: "link", source, target, before, after }, MAX_MARKS);
  }

  /** The emulated network is down. */
  networkDown(reason: string): void {
    push(this.#marks, { at: this.#at(), kind: "down", reason }, MAX_MARKS);
  }

  /** A node was killed by somebody. */
  nodeKilled(node: string): void {
    push(this.#marks, { at: this.#at(), kind: "killed", node }, MAX_MARKS);
  }

  /** The link as it was before somebody changed it; undefined: nobody did. */
  initialLink(source: string, target: string): LinkSettings | undefined {
    return this.#initialLinks.get(linkKey(source, target));
  }

  report(): Timeline {
    return { spanSeconds: SPAN_MS / 1_000, points: [...this.#points], marks: [...this.#marks] };
  }

  /**
   * A pod that is being replaced is nowhere for a moment: its workload is compared once all of it is placed
   * again.
   */
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

/** Nodes of the first list that the second has not, each as often as it is missing. */
function without(nodes: readonly string[], others: readonly string[]): string[] {
  const left = [...others];
  return nodes.filter((node) => {
    const at = left.indexOf(node);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}
