import type { KubernetesObject } from "@isochrone/kubernetes";
import {
  ANNOTATIONS_STALE_AFTER_SECONDS,
  readWorkloadAnnotations,
  writeNodeAnnotations,
  writeWorkloadAnnotations,
  type NodeFigures,
  type ReadNodeAnnotations,
  type WorkloadFigures,
} from "@isochrone/topology";
import { fullName } from "../domain/cluster-state.ts";
import { UNWANTED } from "./domain/change.ts";
import { motionOnto, type Motion } from "./domain/frame.ts";
import { nodeChange, wantedNodes, type WantedNodes } from "./domain/node-figures.ts";
import { wantedWorkloads, workloadChange, type WantedWorkload } from "./domain/workload-figures.ts";
import type { PublishedGraphs } from "../domain/graphs/graph-keeper.ts";

/** Desired annotations of one object, and how they differ from the current ones. */
export interface Want {
  /** 1 and above is significant. */
  readonly change: number;
  readonly observedAtMs: number | null;
  readonly isEmpty: boolean;
  readonly isRemoval?: true;
  /** Values by full key; computed on demand. */
  readonly annotations: () => ReadonlyMap<string, string>;
}

/** Our annotations of an object by full key, without foreign ones. */
export type OwnAnnotations = Readonly<Record<string, string>>;

/** Label by which a workload is left out. */
const ANNOTATE_LABEL = "isochrone.dev/annotate";

interface NodeRoundOptions {
  readonly graphs: PublishedGraphs;
  readonly prefix: string;
  readonly nowMs: number;
  /** The leader starts a coordinate frame if there is none. */
  readonly isLeader: boolean;
}

export class NodeRound {
  /** Coordinates are left out: there is no frame yet, and only the leader starts one. */
  readonly isFrameless: boolean;
  readonly wanted: WantedNodes;
  readonly #options: NodeRoundOptions;
  readonly #read: ReadonlyMap<string, ReadNodeAnnotations>;

  constructor(read: ReadonlyMap<string, ReadNodeAnnotations>, options: NodeRoundOptions) {
    const { graphs, isLeader } = options;
    this.#options = options;
    this.#read = read;
    const graph = graphs.cluster("full");
    const coordinates = new Map<string, readonly number[]>();
    for (const { name, coordinate } of graph.nodes)
      if (coordinate !== null) coordinates.set(name, coordinate);
    const found = motionOnto(this.#frame(), coordinates);
    const motion: Motion | null = found ?? (isLeader ? (coordinate): number[] => [...coordinate] : null);
    this.isFrameless = motion === null && coordinates.size > 0;
    this.wanted = wantedNodes(graph, motion);
  }

  /** Returns null for a node that is not in the graph. */
  of(name: string): Want | null {
    const { prefix, graphs } = this.#options;
    const figures = this.wanted.figures.get(name);
    const read = this.#read.get(name);
    if (figures === undefined || read === undefined) return null;
    // Without a frame, keep the coordinates that another replica wrote.
    const kept = this.isFrameless ? { ...figures, coordinate: read.coordinate } : figures;
    return {
      change: nodeChange(name, read, kept, this.wanted),
      observedAtMs: read.observedAtMs,
      isEmpty: isEmpty(kept),
      annotations: () => prefixed(writeNodeAnnotations(kept, graphs.builtAtMs), prefix),
    };
  }

  /** Current coordinates of nodes that are not stale. */
  #frame(): Map<string, readonly number[]> {
    const oldestMs = this.#options.nowMs - ANNOTATIONS_STALE_AFTER_SECONDS * 1000;
    const frame = new Map<string, readonly number[]>();
    for (const [name, { coordinate, observedAtMs }] of this.#read)
      if (coordinate !== null && observedAtMs !== null && observedAtMs >= oldestMs)
        frame.set(name, coordinate);
    return frame;
  }
}

export class WorkloadRound {
  readonly #wanted: ReadonlyMap<string, WantedWorkload>;
  readonly #builtAtMs: number;
  readonly #prefix: string;

  constructor(graphs: PublishedGraphs, prefix: string) {
    this.#wanted = wantedWorkloads(graphs.workflows("full").values());
    this.#builtAtMs = graphs.builtAtMs;
    this.#prefix = prefix;
  }

  /** Returns null for a workload that is not in the graph. */
  of({ kind, metadata }: KubernetesObject, own: OwnAnnotations): Want | null {
    if (metadata.labels?.[ANNOTATE_LABEL] === "false") return nothing(own, this.#prefix);
    const wanted = this.#wanted.get(
      fullName({ namespace: metadata.namespace ?? "default", name: metadata.name }),
    );
    if (wanted?.kind !== kind) return null;
    const read = readWorkloadAnnotations(own, [this.#prefix]);
    return {
      change: workloadChange(read, wanted.figures),
      observedAtMs: read.observedAtMs,
      isEmpty: isEmptyWorkload(wanted.figures),
      annotations: () => prefixed(writeWorkloadAnnotations(wanted.figures, this.#builtAtMs), this.#prefix),
    };
  }
}

/** Removes our annotations. Null: there are none, as `observed-at` is missing. */
export function nothing(own: OwnAnnotations, prefix: string): Want | null {
  const observedAt = own[`${prefix}observed-at`];
  if (observedAt === undefined) return null;
  const observedAtMs = Date.parse(observedAt);
  return {
    change: UNWANTED,
    // Nobody reads it any more, so do not wait for the interval.
    observedAtMs: Number.isNaN(observedAtMs) ? null : Math.min(observedAtMs, 0),
    isEmpty: true,
    isRemoval: true,
    annotations: () => new Map(),
  };
}

function isEmpty({
  availableCpuMillicores,
  availableMemoryBytes,
  coordinate,
  networkCostsMs,
}: NodeFigures): boolean {
  return (
    availableCpuMillicores === null &&
    availableMemoryBytes === null &&
    coordinate === null &&
    networkCostsMs.size === 0
  );
}

function isEmptyWorkload({ cpuMillicores, memoryBytes, traffic }: WorkloadFigures): boolean {
  return cpuMillicores === null && memoryBytes === null && traffic.length === 0;
}

function prefixed(texts: ReadonlyMap<string, string>, prefix: string): Map<string, string> {
  return new Map([...texts].map(([name, value]) => [prefix + name, value]));
}
