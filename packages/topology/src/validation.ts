import type { Static, TSchema } from "typebox";
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

interface Validator<T> {
  Check(value: unknown): value is T;
  Errors(value: unknown): readonly { readonly instancePath: string; readonly message: string }[];
}

/** A validator compiled at first use, because few programs need all. */
export type LateValidator<T> = () => Validator<T>;

export function compiledLate<S extends TSchema>(schema: S): LateValidator<Static<S>> {
  let compiled: Validator<Static<S>> | undefined;
  return () => {
    // Named first: inferring from the expected type would give another schema.
    const compile = () => Compile(schema);
    return (compiled ??= compile());
  };
}

export const clusterSchema: LateValidator<ClusterGraphSnapshot> = compiledLate(ClusterGraphSchema);
export const workflowSchema: LateValidator<WorkflowGraphSnapshot> = compiledLate(WorkflowGraphSchema);

const CLUSTER = "cluster graph";
const WORKFLOW = "workflow graph";

/** Validates a graph. Throws SnapshotError. */
export function parseClusterGraph(json: unknown): ClusterGraphSnapshot {
  checkSchema(CLUSTER, clusterSchema, json);
  checkUnique(CLUSTER, "nodes", json.nodes);
  checkCoordinates(json.coordinates ?? null);
  for (const [index, node] of json.nodes.entries()) checkNode(`nodes[${index}]`, node);
  for (const [index, link] of json.links.entries()) checkLink(`links[${index}]`, link);
  return json;
}

/** Validates a graph. Throws SnapshotError. */
export function parseWorkflowGraph(json: unknown): WorkflowGraphSnapshot {
  checkSchema(WORKFLOW, workflowSchema, json);
  for (const [index, workload] of json.workloads.entries()) {
    checkWorkload(`workloads[${index}]`, workload);
    checkUnique(WORKFLOW, `workloads[${index}].pods`, workload.pods);
  }
  for (const [index, channel] of json.channels.entries()) checkChannel(`channels[${index}]`, channel);
  return json;
}

// Rules beyond the schema. Each check throws SnapshotError.

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

/** Throws SnapshotError for the first broken rule. @param path of the part within the document */
export function checkSchema<T>(
  document: string,
  schema: LateValidator<T>,
  json: unknown,
  path = "",
): asserts json is T {
  const validator = schema();
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

export function checkFigures<K extends string>(
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

export function checkRatio(document: string, path: string, value: number | null): void {
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

function pathOf(pointer: string): string {
  let path = "";
  for (const step of steps(pointer))
    path += /^\d+$/.test(step) ? `[${step}]` : `${path === "" ? "" : "."}${step}`;
  return path;
}

function valueAt(json: unknown, pointer: string): unknown {
  let value = json;
  for (const step of steps(pointer))
    value = typeof value === "object" && value !== null ? Reflect.get(value, step) : undefined;
  return value;
}

function steps(pointer: string): string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}
