// Graphs of unknown quality, without what is wrong in them: one bad link must not take all others from
// everybody who reads the graph.
import { Compile } from "typebox/compile";
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
  parseClusterGraph,
  parseWorkflowGraph,
  workflowSchema,
} from "./validation.ts";
import type { Validator } from "./validation.ts";

/** Parts of a graph that can be left out. */
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

/** What was left out of a graph. */
export interface Dropped {
  readonly counts: Readonly<Partial<Record<DroppedKind, number>>>;
  /** What was wrong with the first: path, rule and value; null when nothing was left out. */
  readonly first: string | null;
}

/** A graph that follows the schema and its rules, and what had to be left out for it. */
export interface Read<T> {
  readonly value: T;
  readonly dropped: Dropped;
}

export const NOTHING_DROPPED: Dropped = { counts: {}, first: null };

/** How many parts were left out. */
export function droppedElements({ counts }: Dropped): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/** Both together. */
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

/**
 * As parseClusterGraph, but without the nodes, links and other parts that break a rule. Throws SnapshotError
 * for what has not the shape of one.
 */
export function readClusterGraph(json: unknown): Read<ClusterGraphSnapshot> {
  return strictOr(
    () => parseClusterGraph(json),
    (salvage) => salvageCluster(json, salvage),
  );
}

/** As parseWorkflowGraph, likewise. */
export function readWorkflowGraph(json: unknown): Read<WorkflowGraphSnapshot> {
  return strictOr(
    () => parseWorkflowGraph(json),
    (salvage) => salvageWorkflow(json, salvage),
  );
}

/** Graphs that are parts of a document. One without the shape of a graph is left out whole. */
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

/**
 * The whole check first: it is several times as fast as one of each part, and nearly every graph passes it.
 */
function strictOr<T>(parse: () => T, salvage: (salvage: Salvage) => T): Read<T> {
  try {
    return { value: parse(), dropped: NOTHING_DROPPED };
  } catch (error) {
    if (!(error instanceof SnapshotError)) throw error;
    const parts = new Salvage();
    return { value: salvage(parts), dropped: parts.dropped };
  }
}

/** Takes the good parts, counts the others. */
class Salvage {
  readonly #counts: Partial<Record<DroppedKind, number>> = {};
  #first: string | null = null;

  get dropped(): Dropped {
    return { counts: this.#counts, first: this.#first };
  }

  /** The part, if `check` lets it pass. */
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

type Json = Readonly<Record<string, unknown>>;

function salvageCluster(json: unknown, salvage: Salvage): ClusterGraphSnapshot {
  const { nodes, links, coordinates = null, declaredCosts = null, ...head } = partsOf(json);
  const shell = { ...head, nodes: emptied(nodes), links: emptied(links) };
  checkSchema("cluster graph", clusterSchema(), shell);
  const names = new Set<string>();
  const [fit = null] = salvage.take("coordinates", coordinates, coordinatesOf);
  const [declared = null] = salvage.take("declared_costs", declaredCosts, declaredOf);
  return {
    ...(shell as unknown as ClusterGraphSnapshot),
    ...("coordinates" in partsOf(json) ? { coordinates: fit } : {}),
    ...("declaredCosts" in partsOf(json) ? { declaredCosts: declared } : {}),
    nodes: (nodes as unknown[]).flatMap((node, index) =>
      salvage.take("node", node, (part) => nodeOf(part, `nodes[${index}]`, names)),
    ),
    links: (links as unknown[]).flatMap((link, index) =>
      salvage.take("link", link, (part) => linkOf(part, `links[${index}]`)),
    ),
  };
}

function salvageWorkflow(json: unknown, salvage: Salvage): WorkflowGraphSnapshot {
  const { workloads, channels, ...head } = partsOf(json);
  const shell = { ...head, workloads: emptied(workloads), channels: emptied(channels) };
  checkSchema("workflow graph", workflowSchema(), shell);
  return {
    ...(shell as unknown as WorkflowGraphSnapshot),
    workloads: (workloads as unknown[]).flatMap((workload, index) =>
      salvage.take("workload", workload, (part) => workloadOf(part, `workloads[${index}]`, salvage)),
    ),
    channels: (channels as unknown[]).flatMap((channel, index) =>
      salvage.take("channel", channel, (part) => channelOf(part, `channels[${index}]`)),
    ),
  };
}

function partsOf(json: unknown): Json {
  return typeof json === "object" && json !== null ? (json as Json) : {};
}

/** What stands for an array while the rest is checked; anything else is left for the check to refuse. */
function emptied(value: unknown): unknown {
  return Array.isArray(value) ? [] : value;
}

type Compiled = "node" | "link" | "coordinates" | "declaredCosts" | "workload" | "pod" | "channel";
const SCHEMAS = {
  node: ClusterNodeSchema,
  link: LinkSchema,
  coordinates: CoordinateFitSchema,
  declaredCosts: DeclaredCostsSchema,
  workload: WorkloadSchema,
  pod: PodPlacementSchema,
  channel: ChannelSchema,
} as const;
/** Compiled at first use: hardly any program ever needs them. */
const validators = new Map<Compiled, Validator>();

function checkPart(what: Compiled, document: string, path: string, part: unknown): void {
  let validator = validators.get(what);
  if (validator === undefined) validators.set(what, (validator = Compile(SCHEMAS[what])));
  checkSchema(document, validator, part, path);
}

function coordinatesOf(part: unknown): CoordinateFit | null {
  if (part === null) return null;
  checkPart("coordinates", "cluster graph", "coordinates", part);
  const fit = part as CoordinateFit;
  checkCoordinates(fit);
  return fit;
}

function declaredOf(part: unknown): ClusterGraphSnapshot["declaredCosts"] {
  if (part !== null) checkPart("declaredCosts", "cluster graph", "declaredCosts", part);
  return part as ClusterGraphSnapshot["declaredCosts"];
}

function nodeOf(part: unknown, path: string, names: Set<string>): ClusterNode {
  checkPart("node", "cluster graph", path, part);
  const node = part as ClusterNode;
  checkNode(path, node);
  if (names.has(node.name))
    throw new SnapshotError("cluster graph", `${path}.name`, "must be unique", node.name);
  names.add(node.name);
  return node;
}

function linkOf(part: unknown, path: string): Link {
  checkPart("link", "cluster graph", path, part);
  const link = part as Link;
  checkLink(path, link);
  return link;
}

function workloadOf(part: unknown, path: string, salvage: Salvage): Workload {
  const { pods, ...head } = partsOf(part);
  const shell = { ...head, pods: emptied(pods) };
  checkPart("workload", "workflow graph", path, shell);
  const workload = shell as unknown as Workload;
  checkWorkload(path, workload);
  const names = new Set<string>();
  return {
    ...workload,
    pods: (pods as unknown[]).flatMap((pod, index) =>
      salvage.take("pod", pod, (each) => podOf(each, `${path}.pods[${index}]`, names)),
    ),
  };
}

function podOf(part: unknown, path: string, names: Set<string>): PodPlacement {
  checkPart("pod", "workflow graph", path, part);
  const pod = part as PodPlacement;
  if (names.has(pod.name))
    throw new SnapshotError("workflow graph", `${path}.name`, "must be unique", pod.name);
  names.add(pod.name);
  return pod;
}

function channelOf(part: unknown, path: string): Channel {
  checkPart("channel", "workflow graph", path, part);
  const channel = part as Channel;
  checkChannel(path, channel);
  return channel;
}
