// From untrusted JSON to typed snapshots: the schema's rules first, then those that a schema can't say.
import { Compile } from "typebox/compile";
import { SnapshotError } from "./errors.ts";
import { ClusterGraphSchema, WorkflowGraphSchema } from "./schema.ts";
import type { ClusterGraphSnapshot, WorkflowGraphSnapshot } from "./schema.ts";

/** What this module needs of a compiled schema. */
export interface Validator {
  Check(value: unknown): boolean;
  Errors(value: unknown): readonly { readonly instancePath: string; readonly message: string }[];
}

// Compiled at first use: a program that never reads a snapshot doesn't pay for it.
let clusterValidator: Validator | undefined;
let workflowValidator: Validator | undefined;

/** Checks a cluster graph that came from elsewhere. Throws SnapshotError. */
export function parseClusterGraph(json: unknown): ClusterGraphSnapshot {
  clusterValidator ??= Compile(ClusterGraphSchema);
  checkSchema("cluster graph", clusterValidator, json);
  const snapshot = json as ClusterGraphSnapshot;
  checkUnique("cluster graph", "nodes", snapshot.nodes);
  const { ageSeconds = null, p90RelativeError = null } = snapshot.coordinates ?? {};
  checkNotNegative("cluster graph", "coordinates.ageSeconds", ageSeconds);
  checkNotNegative("cluster graph", "coordinates.p90RelativeError", p90RelativeError);
  for (const [index, node] of snapshot.nodes.entries()) {
    checkNotNegative("cluster graph", `nodes[${index}].usageAgeSeconds`, node.usageAgeSeconds);
  }
  for (const [index, link] of snapshot.links.entries()) {
    const path = `links[${index}]`;
    checkNotNegative("cluster graph", `${path}.costMs`, link.costMs);
    checkNotNegative("cluster graph", `${path}.errorMs`, link.errorMs);
    checkNotNegative("cluster graph", `${path}.ageSeconds`, link.ageSeconds);
    const { capacity, achieved, available } = link.bandwidthBitsPerSecond;
    checkNotNegative("cluster graph", `${path}.bandwidthBitsPerSecond.capacity`, capacity);
    checkNotNegative("cluster graph", `${path}.bandwidthBitsPerSecond.achieved`, achieved);
    checkNotNegative("cluster graph", `${path}.bandwidthBitsPerSecond.available`, available);
    checkRatio("cluster graph", `${path}.lossRatio`, link.lossRatio);
  }
  return snapshot;
}

/** Checks a workflow graph that came from elsewhere. Throws SnapshotError. */
export function parseWorkflowGraph(json: unknown): WorkflowGraphSnapshot {
  workflowValidator ??= Compile(WorkflowGraphSchema);
  checkSchema("workflow graph", workflowValidator, json);
  const snapshot = json as WorkflowGraphSnapshot;
  checkWorkflowRules(snapshot);
  return snapshot;
}

/** What the schema can't say. Throws SnapshotError. */
export function checkWorkflowRules(snapshot: WorkflowGraphSnapshot): void {
  for (const [index, workload] of snapshot.workloads.entries()) {
    const path = `workloads[${index}]`;
    checkNotNegative("workflow graph", `${path}.cpuMillicores`, workload.cpuMillicores);
    checkNotNegative("workflow graph", `${path}.memoryBytes`, workload.memoryBytes);
    checkUnique("workflow graph", `${path}.pods`, workload.pods);
  }
  for (const [index, channel] of snapshot.channels.entries()) {
    const path = `channels[${index}]`;
    checkNotNegative("workflow graph", `${path}.bytesPerSecond`, channel.bytesPerSecond);
    checkNotNegative("workflow graph", `${path}.requestsPerSecond`, channel.requestsPerSecond);
    checkNotNegative("workflow graph", `${path}.priority`, channel.priority);
    checkNotNegative("workflow graph", `${path}.maxNetworkCost`, channel.maxNetworkCost);
    checkNotNegative(
      "workflow graph",
      `${path}.minBandwidthBitsPerSecond`,
      channel.minBandwidthBitsPerSecond,
    );
  }
}

/** Throws SnapshotError for the first rule that the document breaks. */
export function checkSchema(document: string, validator: Validator, json: unknown): void {
  if (validator.Check(json)) return;
  const [first] = validator.Errors(json);
  const pointer = first?.instancePath ?? "";
  throw new SnapshotError(
    document,
    pathOf(pointer),
    first?.message ?? "must follow the schema",
    valueAt(json, pointer),
  );
}

function checkNotNegative(document: string, path: string, value: number | null): void {
  if (value !== null && !(value >= 0 && value < Infinity)) {
    throw new SnapshotError(document, path, "must be a finite number of at least 0, or null", value);
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
