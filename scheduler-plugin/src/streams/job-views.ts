import { conditionsOf, type KubernetesObject } from "@isochrone/kubernetes";
import { looseFields, looseText } from "@isochrone/primitives";
import { FieldError, readJobDefinition, withHeaders, type JobDefinition } from "@isochrone/streams";
import type { StreamJobView } from "@isochrone/topology";
import type { JobFlow, Placement } from "./domain/placement.ts";
import { readPlacement } from "./job-status.ts";
import { JOB_PHASES } from "./metrics.ts";

type StatusFields = Record<"limit" | "phase", unknown>;
type LimitFields = Record<"kind" | "node" | "source" | "target" | "task", unknown>;

export function jobViewOf(object: KubernetesObject): StreamJobView {
  const { namespace = "default", name } = object.metadata;
  const status = looseFields<StatusFields>(object.status);
  const definition = definitionOf(object);
  const placement = readPlacement(object);
  const open = conditionsOf(object).find((condition) => condition.status === "False");
  return {
    namespace,
    name,
    phase: JOB_PHASES.find((phase) => phase === status.phase) ?? null,
    framesPerSecond: placement?.throughput ?? null,
    measuredFramesPerSecond: null,
    minThroughput: definition?.spec.minThroughput ?? null,
    limit: placement === null ? null : limitOf(status.limit),
    waits: open === undefined ? null : { reason: open.reason ?? "", message: open.message ?? "" },
    tasks: placement === null ? [] : taskViewsOf(placement),
    flows: (placement?.flows ?? []).map((flow) => flowViewOf(flow, definition)),
  };
}

function taskViewsOf({ hosts, seconds }: Placement): StreamJobView["tasks"] {
  return [...hosts].map(([name, node]) => ({ name, node, secondsPerFrame: seconds.get(name) ?? null }));
}

function flowViewOf(
  { from, to, bitsPerSecond, route }: JobFlow,
  definition: JobDefinition | null,
): StreamJobView["flows"][number] {
  const bytesPerFrame = definition === null ? 0 : withHeaders(bytesOf(definition, from, to));
  return { from, to, bytesPerFrame, bitsPerSecond, sentBitsPerSecond: null, route: [...route] };
}

function definitionOf(object: KubernetesObject): JobDefinition | null {
  try {
    return readJobDefinition(object.metadata.name, object.spec);
  } catch (error) {
    if (error instanceof FieldError) return null;
    throw error;
  }
}

function bytesOf({ spec }: JobDefinition, from: string | null, to: string): number {
  if (from === null) return spec.bytesPerFrame;
  const downstream = spec.tasks.find((task) => task.name === from)?.downstream ?? [];
  return downstream.find(({ task }) => task === to)?.bytesPerFrame ?? 0;
}

function limitOf(value: unknown): StreamJobView["limit"] {
  const { kind, ...limit } = looseFields<LimitFields>(value);
  const [node, task] = [looseText(limit.node), looseText(limit.task)];
  switch (kind) {
    case "task":
      return { kind, task, node };
    case "link":
      return { kind, source: looseText(limit.source), target: looseText(limit.target) };
    case "source":
      return { kind, node };
    default:
      return null;
  }
}
