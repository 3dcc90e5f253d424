import { looseFields, parseBytes, parseMillicores, type LooseFields } from "@isochrone/primitives";
import type { StreamJobSpec, StreamTaskSpec } from "../stream-job.ts";
import { FieldError, listAt, numberAt, portAt, positiveAt, textAt, type FieldPath } from "./fields.ts";

/** A task of a StreamJob with what the planner doesn't need of it. */
interface TaskDefinition {
  readonly name: string;
  /** As it is written; null without one. */
  readonly template: LooseFields | null;
  /** Seconds for a frame on a node with these labels; null where the task doesn't run. */
  secondsOn(labels: LooseFields): number | null;
  /** Port on which a task that is downstream receives, by its name; null: any. */
  portTo(task: string): number | null;
}

/** A StreamJob's `spec`, as far as it can be read without knowing the nodes. */
export interface JobDefinition {
  readonly spec: StreamJobSpec;
  /** Frames that arise at the source in a second; null: as many as the job can take. */
  readonly framesPerSecond: number | null;
  /** Port on which tasks receive the frames of the source; null: any. */
  readonly sourcePort: number | null;
  /** By name, in the order of the spec. */
  readonly tasks: ReadonlyMap<string, TaskDefinition>;
}

type SpecFields = "minThroughput" | "source" | "tasks";
type SourceFields = "bytesPerFrame" | "framesPerSecond" | "node" | "port";
type TaskFields = "downstream" | "name" | "profile" | "requests" | "template";
type DownstreamFields = "bytesPerFrame" | "port" | "task";
type ProfileFields = "nodeLabels" | "secondsPerFrame";

/**
 * Cycles, unknown tasks and sources, and amounts that can't be are found by `createStreamJob`.
 * @param name namespace/name
 * Throws FieldError.
 */
export function readJobDefinition(name: string, spec: unknown): JobDefinition {
  if (typeof spec !== "object" || spec === null) throw new FieldError(["spec"], "must be an object", spec);
  const { source: from, tasks: list, minThroughput } = looseFields<Record<SpecFields, unknown>>(spec);
  const source = looseFields<Record<SourceFields, unknown>>(from);
  const at = (field: string): FieldPath => ["spec", "source", field];
  const read = listAt(["spec", "tasks"], list).map((task, index) => readTask(task, ["spec", "tasks", index]));
  return {
    spec: {
      name,
      source: textAt(at("node"), source.node),
      bytesPerFrame: numberAt(at("bytesPerFrame"), source.bytesPerFrame),
      tasks: read.map(({ spec: task }) => task),
      minThroughput: minThroughput === undefined ? null : numberAt(["spec", "minThroughput"], minThroughput),
    },
    framesPerSecond: positiveAt(at("framesPerSecond"), source.framesPerSecond),
    sourcePort: portAt(at("port"), source.port),
    tasks: new Map(read.map(({ definition }) => [definition.name, definition])),
  };
}

interface ReadTask {
  readonly spec: StreamTaskSpec;
  readonly definition: TaskDefinition;
}

function readTask(value: unknown, path: FieldPath): ReadTask {
  const task = looseFields<Record<TaskFields, unknown>>(value);
  const name = textAt([...path, "name"], task.name);
  const requests = looseFields<Record<"cpu" | "memory", unknown>>(task.requests);
  const downstream = task.downstream === undefined ? [] : listAt([...path, "downstream"], task.downstream);
  const ports = new Map<string, number | null>();
  const spec: StreamTaskSpec = {
    name,
    memoryBytes: quantityAt([...path, "requests", "memory"], requests.memory, parseBytes),
    cpuMillicores: quantityAt([...path, "requests", "cpu"], requests.cpu, parseMillicores),
    downstream: downstream.map((next, index) => {
      const fields = looseFields<Record<DownstreamFields, unknown>>(next);
      const inner = [...path, "downstream", index];
      const target = textAt([...inner, "task"], fields.task);
      ports.set(target, portAt([...inner, "port"], fields.port));
      return {
        task: target,
        bytesPerFrame: numberAt([...inner, "bytesPerFrame"], fields.bytesPerFrame),
      };
    }),
  };
  const template = task.template === undefined ? null : looseFields(task.template);
  const secondsOn = readProfile(task.profile, [...path, "profile"]);
  return {
    spec,
    definition: { name, template, secondsOn, portTo: (target) => ports.get(target) ?? null },
  };
}

function readProfile(profile: unknown, path: FieldPath): TaskDefinition["secondsOn"] {
  const list: readonly unknown[] = Array.isArray(profile) ? profile : [];
  if (list.length === 0)
    throw new FieldError(path, "must have at least one entry with secondsPerFrame", profile);
  const entries = list.map((entry, index) => {
    const { nodeLabels, secondsPerFrame } = looseFields<Record<ProfileFields, unknown>>(entry);
    return {
      labels: Object.entries(looseFields(nodeLabels)),
      seconds: numberAt([...path, index, "secondsPerFrame"], secondsPerFrame),
    };
  });
  return (labels) =>
    entries.find((entry) => entry.labels.every(([key, value]) => labels[key] === value))?.seconds ?? null;
}

function quantityAt(path: FieldPath, value: unknown, parse: (value: unknown) => number | null): number {
  const amount = parse(value);
  if (amount === null) throw new FieldError(path, "must be a quantity", value);
  return amount;
}
