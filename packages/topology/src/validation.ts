// From untrusted JSON to typed snapshots: the schema's rules first, then those that a schema can't say.
import { Compile } from "typebox/compile";
import { SnapshotError } from "./errors.ts";
import { isFigure, MAX_FIGURE } from "./figures.ts";
import { ClusterGraphSchema, WorkflowGraphSchema } from "./schema.ts";
import type {
  Channel,
  ClusterGraphSnapshot,
  ClusterNode,
  CoordinateFit,
  Link,
  WorkflowGraphSnapshot,
  Workload,
} from "./schema.ts";

/** What this module needs of a compiled schema. */
export interface Validator {
  Check(value: unknown): boolean;
  Errors(value: unknown): readonly { readonly instancePath: string; readonly message: string }[];
}

// Compiled at first use: a program that never reads a snapshot doesn't pay for it.
let clusterValidator: Validator | undefined;
let workflowValidator: Validator | undefined;

const CLUSTER = "cluster graph";
const WORKFLOW = "workflow graph";

/** Checks a cluster graph that came from elsewhere. Throws SnapshotError. */
export function parseClusterGraph(json: unknown): ClusterGraphSnapshot {
  checkSchema(CLUSTER, clusterSchema(), json);
  const snapshot = json as ClusterGraphSnapshot;
  checkUnique(CLUSTER, "nodes", snapshot.nodes);
  checkCoordinates(snapshot.coordinates ?? null);
  for (const [index, node] of snapshot.nodes.entries()) checkNode(`nodes[${index}]`, node);
  for (const [index, link] of snapshot.links.entries()) checkLink(`links[${index}]`, link);
  return snapshot;
}

/** Checks a workflow graph that came from elsewhere. Throws SnapshotError. */
export function parseWorkflowGraph(json: unknown): WorkflowGraphSnapshot {
  checkSchema(WORKFLOW, workflowSchema(), json);
  const snapshot = json as WorkflowGraphSnapshot;
  for (const [index, workload] of snapshot.workloads.entries()) {
    checkWorkload(`workloads[${index}]`, workload);
    checkUnique(WORKFLOW, `workloads[${index}].pods`, workload.pods);
  }
  for (const [index, channel] of snapshot.channels.entries()) checkChannel(`channels[${index}]`, channel);
  return snapshot;
}

export function clusterSchema(): Validator {
  return (clusterValidator ??= Compile(ClusterGraphSchema));
}

export function workflowSchema(): Validator {
  return (workflowValidator ??= Compile(WorkflowGraphSchema));
}

// What the schema can't say. Each throws SnapshotError.

export function checkCoordinates(coordinates: CoordinateFit | null): void {
  if (coordinates === null) return;
  checkFigures(CLUSTER, "coordinates", coordinates, [
    "ageSeconds",
    "medianRelativeError",
    "p90RelativeError",
  ]);
}

const NODE_FIGURES = [
  "allocatableCpuMillicores",
  "allocatableMemoryBytes",
  "availableCpuMillicores",
  "availableMemoryBytes",
  "networkCapacityBitsPerSecond",
  "networkReceiveBitsPerSecond",
  "networkTransmitBitsPerSecond",
  "usageAgeSeconds",
] as const;

export function checkNode(path: string, node: ClusterNode): void {
  checkFigures(CLUSTER, path, node, NODE_FIGURES);
}

const LINK_FIGURES = ["jitterMs", "costMs", "errorMs", "ageSeconds"] as const;
const RTT_FIGURES = ["p50", "p90", "p99", "mean", "count"] as const;
const BANDWIDTH_FIGURES = ["capacity", "achieved", "available"] as const;

export function checkLink(path: string, link: Link): void {
  checkFigures(CLUSTER, path, link, LINK_FIGURES);
  checkFigures(CLUSTER, `${path}.rttMs`, link.rttMs, RTT_FIGURES);
  checkFigures(CLUSTER, `${path}.bandwidthBitsPerSecond`, link.bandwidthBitsPerSecond, BANDWIDTH_FIGURES);
  checkRatio(CLUSTER, `${path}.lossRatio`, link.lossRatio);
}

export function checkWorkload(path: string, workload: Workload): void {
  checkFigures(WORKFLOW, path, workload, ["cpuMillicores", "memoryBytes"]);
}

const CHANNEL_FIGURES = [
  "bytesPerSecond",
  "requestsPerSecond",
  "priority",
  "maxNetworkCost",
  "minBandwidthBitsPerSecond",
  "ageSeconds",
] as const;

export function checkChannel(path: string, channel: Channel): void {
  checkFigures(WORKFLOW, path, channel, CHANNEL_FIGURES);
  checkRatio(WORKFLOW, `${path}.errorRatio`, channel.errorRatio);
}

/** Throws SnapshotError for the first rule that the document, or its part at `path`, breaks. */
export function checkSchema(document: string, validator: Validator, json: unknown, path = ""): void {
  if (validator.Check(json)) return;
  const [first] = validator.Errors(json);
  const pointer = first?.instancePath ?? "";
  throw new SnapshotError(
    document,
    [path, pathOf(pointer)].filter((part) => part !== "").join("."),
    first?.message ?? "must follow the schema",
    valueAt(json, pointer),
  );
}

type Figures<K extends string> = Readonly<Partial<Record<K, number | null>>>;

function checkFigures<K extends string>(
  document: string,
  path: string,
  of: Figures<K>,
  names: readonly K[],
): void {
  for (const name of names) {
    const value = of[name] ?? null;
    if (value === null || isFigure(value)) continue;
    const rule = `must be a finite number of at least 0 and at most ${MAX_FIGURE}, or null`;
    throw new SnapshotError(document, `${path}.${name}`, rule, value);
  }
}

function checkRatio(document: string, path: string, value: number | null): void {
  if (value !== null && !(value >= 0 && value <= 1)) {
    throw new SnapshotError(document, path, "must be from 0 to 1, or null", value);
  }
}

function checkUnique(document: string, path: string, items: readonly { readonly name: string }[]): void {
  const seen = new Set<string>();
  for (const [index, { name }] of items.entries()) {
    if (seen.has(name)) throw new SnapshotError(document, `${path}[${index}].name`, "must be unique", name);
    seen.add(name);
  }
}

/** `/links/3/costMs` as `links[3].costMs`. */
function pathOf(pointer: string): string {
  let path = "";
  for (const step of steps(pointer))
    path += /^\d+$/.test(step) ? `[${step}]` : `${path === "" ? "" : "."}${step}`;
  return path;
}

function valueAt(json: unknown, pointer: string): unknown {
  let value = json;
  for (const step of steps(pointer)) value = (value as Record<string, unknown> | null | undefined)?.[step];
  return value;
}

function steps(pointer: string): string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}
