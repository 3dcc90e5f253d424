import { looseFields, parseBytes, parseMillicores, type LooseFields } from "@isochrone/primitives";
import { MAX_TASKS, type StreamJobSpec, type StreamTaskSpec } from "../stream-job.ts";
import { FieldError, listAt, numberAt, portAt, positiveAt, textAt, type FieldPath } from "./fields.ts";

const MAX_PROFILE = 256;
const MAX_WORDS = 256;

interface TaskDefinition {
  readonly name: string;
  readonly template: LooseFields | null;
  /** Declared seconds per frame on a node with these labels; null: none. */
  secondsOn(labels: LooseFields): number | null;
  readonly profiling: Profiling | null;
  /** Receiving port of a downstream task; null: any. */
  portTo(task: string): number | null;
}

interface Profiling {
  /** Replaces the command of the pod's first container; null: unchanged. */
  readonly command: readonly string[] | null;
  readonly args: readonly string[] | null;
  /** Whether the task may run on unprofiled nodes, once measured. */
  readonly isAnywhere: boolean;
  /** Label names in the profile, which distinguish kinds of nodes. */
  readonly labels: readonly string[];
}

export interface JobDefinition {
  readonly spec: StreamJobSpec;
  /** Frames generated per second; null: as many as the job can process. */
  readonly framesPerSecond: number | null;
  /** Receiving port for the source's frames; null: any. */
  readonly sourcePort: number | null;
  readonly tasks: ReadonlyMap<string, TaskDefinition>;
}

type SpecFields = "minThroughput" | "source" | "tasks";
type SourceFields = "bytesPerFrame" | "framesPerSecond" | "node" | "port";
type TaskFields = "downstream" | "name" | "profile" | "profiling" | "requests" | "template";
type DownstreamFields = "bytesPerFrame" | "port" | "task";
type ProfileFields = "nodeLabels" | "secondsPerFrame";

/**
 * Reads a spec; `createStreamJob` checks cycles, references and amounts.
 * @param name namespace/name Throws FieldError.
 */
export function readJobDefinition(name: string, spec: unknown): JobDefinition {
  if (typeof spec !== "object" || spec === null) throw new FieldError(["spec"], "must be an object", spec);
  const { source: from, tasks: list, minThroughput } = looseFields<Record<SpecFields, unknown>>(spec);
  const source = looseFields<Record<SourceFields, unknown>>(from);
  const at = (field: string): FieldPath => ["spec", "source", field];
  const read = listAt(["spec", "tasks"], list, MAX_TASKS).map((task, index) =>
    readTask(task, ["spec", "tasks", index]),
  );
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
  const downstream =
    task.downstream === undefined ? [] : listAt([...path, "downstream"], task.downstream, MAX_TASKS);
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
  const entries = readProfile(task.profile, [...path, "profile"]);
  const profiling = readProfiling(task.profiling, [...path, "profiling"], entries);
  if (entries.length === 0 && profiling === null)
    throw new FieldError(
      [...path, "profile"],
      "must have at least one entry with secondsPerFrame",
      task.profile,
    );
  return {
    spec,
    definition: {
      name,
      template,
      profiling,
      secondsOn: (labels) =>
        entries.find((entry) => entry.labels.every(([key, value]) => labels[key] === value))?.seconds ?? null,
      portTo: (target) => ports.get(target) ?? null,
    },
  };
}

interface ProfileEntry {
  readonly labels: readonly (readonly [string, unknown])[];
  readonly seconds: number;
}

function readProfile(profile: unknown, path: FieldPath): ProfileEntry[] {
  return (profile === undefined ? [] : listAt(path, profile, MAX_PROFILE)).map((entry, index) => {
    const { nodeLabels, secondsPerFrame } = looseFields<Record<ProfileFields, unknown>>(entry);
    return {
      labels: Object.entries(looseFields(nodeLabels)),
      seconds: numberAt([...path, index, "secondsPerFrame"], secondsPerFrame),
    };
  });
}

function readProfiling(value: unknown, path: FieldPath, entries: readonly ProfileEntry[]): Profiling | null {
  if (value === undefined) return null;
  const { command, args } = looseFields<Record<"args" | "command", unknown>>(value);
  const words = (field: string, list: unknown): readonly string[] | null =>
    list === undefined
      ? null
      : listAt([...path, field], list, MAX_WORDS).map((word, at) => textAt([...path, field, at], word));
  return {
    command: words("command", command),
    args: words("args", args),
    isAnywhere: entries.length === 0,
    labels: [...new Set(entries.flatMap(({ labels }) => labels.map(([name]) => name)))].sort(),
  };
}

function quantityAt(path: FieldPath, value: unknown, parse: (value: unknown) => number | null): number {
  const amount = parse(value);
  if (amount === null) throw new FieldError(path, "must be a quantity", value);
  return amount;
}
