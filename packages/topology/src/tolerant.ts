// Reads graphs without their invalid parts: one bad link must not deprive readers of the rest.
import { isList, looseFields } from "@isochrone/primitives";
import { SnapshotError } from "./errors.ts";
import {
  ChannelSchema,
  ClusterNodeSchema,
  CoordinateFitSchema,
  DeclaredCostsSchema,
  LinkSchema,
  PodPlacementSchema,
  WorkloadSchema,
} from "./schema.ts";
import type {
  Channel,
  ClusterGraphSnapshot,
  ClusterNode,
  CoordinateFit,
  Link,
  PodPlacement,
  WorkflowGraphSnapshot,
  Workload,
} from "./schema.ts";
import {
  checkChannel,
  checkCoordinates,
  checkLink,
  checkNode,
  checkSchema,
  checkWorkload,
  clusterSchema,
  compiledLate,
  parseClusterGraph,
  parseWorkflowGraph,
  workflowSchema,
} from "./validation.ts";

const DROPPED_KINDS = [
  "node",
  "link",
  "coordinates",
  "declared_costs",
  "workload",
  "pod",
  "channel",
  "workflow",
] as const;
export type DroppedKind = (typeof DROPPED_KINDS)[number];

export interface Dropped {
  readonly counts: Readonly<Partial<Record<DroppedKind, number>>>;
  readonly first: string | null;
}

export interface Read<T> {
  readonly value: T;
  readonly dropped: Dropped;
}

export const NOTHING_DROPPED: Dropped = { counts: {}, first: null };

export function droppedElements({ counts }: Dropped): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

export function joinDropped(a: Dropped, b: Dropped): Dropped {
  if (a.first === null) return b;
  if (b.first === null) return a;
  const counts: Partial<Record<DroppedKind, number>> = { ...a.counts };
  for (const kind of DROPPED_KINDS) {
    const count = b.counts[kind];
    if (count !== undefined) counts[kind] = (counts[kind] ?? 0) + count;
  }
  return { counts, first: a.first };
}

/** As parseClusterGraph, without invalid parts. Throws SnapshotError if the shape is wrong. */
export function readClusterGraph(json: unknown): Read<ClusterGraphSnapshot> {
  return strictOr(
    () => parseClusterGraph(json),
    (salvage) => salvageCluster(json, salvage),
  );
}

/** As parseWorkflowGraph, without invalid parts. */
export function readWorkflowGraph(json: unknown): Read<WorkflowGraphSnapshot> {
  return strictOr(
    () => parseWorkflowGraph(json),
    (salvage) => salvageWorkflow(json, salvage),
  );
}

/** Reads several graphs. Omits a document without the shape of a graph as a whole. */
export function readWorkflowGraphs(jsons: readonly unknown[]): Read<WorkflowGraphSnapshot[]> {
  const value: WorkflowGraphSnapshot[] = [];
  let dropped = NOTHING_DROPPED;
  for (const json of jsons) {
    try {
      const read = readWorkflowGraph(json);
      value.push(read.value);
      dropped = joinDropped(dropped, read.dropped);
    } catch (error) {
      if (!(error instanceof SnapshotError)) throw error;
      dropped = joinDropped(dropped, { counts: { workflow: 1 }, first: error.message });
    }
  }
  return { value, dropped };
}

/** Tries the fast whole validation first: nearly every graph passes. */
function strictOr<T>(parse: () => T, salvage: (salvage: Salvage) => T): Read<T> {
  try {
    return { value: parse(), dropped: NOTHING_DROPPED };
  } catch (error) {
    if (!(error instanceof SnapshotError)) throw error;
    const parts = new Salvage();
    return { value: salvage(parts), dropped: parts.dropped };
  }
}

class Salvage {
  readonly #counts: Partial<Record<DroppedKind, number>> = {};
  #first: string | null = null;

  get dropped(): Dropped {
    return { counts: this.#counts, first: this.#first };
  }

  take<T>(kind: DroppedKind, part: unknown, check: (part: unknown) => T): T[] {
    try {
      return [check(part)];
    } catch (error) {
      if (!(error instanceof SnapshotError)) throw error;
      this.#counts[kind] = (this.#counts[kind] ?? 0) + 1;
      this.#first ??= error.message;
      return [];
    }
  }
}

function salvageCluster(json: unknown, salvage: Salvage): ClusterGraphSnapshot {
  const { nodes, links, coordinates = null, declaredCosts = null, ...head } = looseFields(json);
  const shell: unknown = { ...head, nodes: emptied(nodes), links: emptied(links) };
  checkSchema("cluster graph", clusterSchema, shell);
  const names = new Set<string>();
  const [fit = null] = salvage.take("coordinates", coordinates, coordinatesOf);
  const [declared = null] = salvage.take("declared_costs", declaredCosts, declaredOf);
  return {
    ...shell,
    ...("coordinates" in looseFields(json) ? { coordinates: fit } : {}),
    ...("declaredCosts" in looseFields(json) ? { declaredCosts: declared } : {}),
    nodes: listOf(nodes).flatMap((node, index) =>
      salvage.take("node", node, (part) => nodeOf(part, `nodes[${index}]`, names)),
    ),
    links: listOf(links).flatMap((link, index) =>
      salvage.take("link", link, (part) => linkOf(part, `links[${index}]`)),
    ),
  };
}

function salvageWorkflow(json: unknown, salvage: Salvage): WorkflowGraphSnapshot {
  // Partial readers don't need outside traffic.
  const { workloads, channels, outside: _outside, ...head } = looseFields(json);
  const shell: unknown = { ...head, workloads: emptied(workloads), channels: emptied(channels) };
  checkSchema("workflow graph", workflowSchema, shell);
  return {
    ...shell,
    workloads: listOf(workloads).flatMap((workload, index) =>
      salvage.take("workload", workload, (part) => workloadOf(part, `workloads[${index}]`, salvage)),
    ),
    channels: listOf(channels).flatMap((channel, index) =>
      salvage.take("channel", channel, (part) => channelOf(part, `channels[${index}]`)),
    ),
  };
}

function listOf(value: unknown): readonly unknown[] {
  return isList(value) ? value : [];
}

function emptied(value: unknown): unknown {
  return Array.isArray(value) ? [] : value;
}

const PARTS = {
  node: compiledLate(ClusterNodeSchema),
  link: compiledLate(LinkSchema),
  coordinates: compiledLate(CoordinateFitSchema),
  declaredCosts: compiledLate(DeclaredCostsSchema),
  workload: compiledLate(WorkloadSchema),
  pod: compiledLate(PodPlacementSchema),
  channel: compiledLate(ChannelSchema),
};

function coordinatesOf(part: unknown): CoordinateFit | null {
  if (part === null) return null;
  checkSchema("cluster graph", PARTS.coordinates, part, "coordinates");
  checkCoordinates(part);
  return part;
}

function declaredOf(part: unknown): ClusterGraphSnapshot["declaredCosts"] {
  if (part === null) return null;
  checkSchema("cluster graph", PARTS.declaredCosts, part, "declaredCosts");
  return part;
}

function nodeOf(part: unknown, path: string, names: Set<string>): ClusterNode {
  checkSchema("cluster graph", PARTS.node, part, path);
  checkNode(path, part);
  if (names.has(part.name))
    throw new SnapshotError("cluster graph", `${path}.name`, "must be unique", part.name);
  names.add(part.name);
  return part;
}

function linkOf(part: unknown, path: string): Link {
  checkSchema("cluster graph", PARTS.link, part, path);
  checkLink(path, part);
  return part;
}

function workloadOf(part: unknown, path: string, salvage: Salvage): Workload {
  const { pods, ...head } = looseFields(part);
  const shell: unknown = { ...head, pods: emptied(pods) };
  checkSchema("workflow graph", PARTS.workload, shell, path);
  checkWorkload(path, shell);
  const names = new Set<string>();
  return {
    ...shell,
    pods: listOf(pods).flatMap((pod, index) =>
      salvage.take("pod", pod, (each) => podOf(each, `${path}.pods[${index}]`, names)),
    ),
  };
}

function podOf(part: unknown, path: string, names: Set<string>): PodPlacement {
  checkSchema("workflow graph", PARTS.pod, part, path);
  if (names.has(part.name))
    throw new SnapshotError("workflow graph", `${path}.name`, "must be unique", part.name);
  names.add(part.name);
  return part;
}

function channelOf(part: unknown, path: string): Channel {
  checkSchema("workflow graph", PARTS.channel, part, path);
  checkChannel(path, part);
  return part;
}
