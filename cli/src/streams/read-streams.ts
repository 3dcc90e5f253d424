// Nodes, links and stream jobs from Kubernetes objects in files.
import type { NodeStatus, ObjectMeta, Unchecked } from "@isochrone/kubernetes";
import { parseBitsPerSecond, parseBytes, parseMillicores } from "@isochrone/primitives";
import {
  createStreamJob,
  DUPLEX_MODES,
  FlowNetwork,
  StreamError,
  StreamSystem,
  type FlowLink,
  type StreamJob,
  type StreamTaskSpec,
} from "@isochrone/streams";
import { DumpError } from "../score/errors.ts";
import { isList, isRecord, looseFields } from "@isochrone/primitives";
import { textOf, type DumpObject, type Json } from "../score/read-objects.ts";

export interface StreamObjects {
  readonly system: StreamSystem;
  /** In the order of the files. */
  readonly jobs: readonly StreamJob[];
}

// What is read of a FlowNetwork and a StreamJob.
type LinkFields = Record<"capacity" | "duplex" | "source" | "target", unknown>;
type SourceFields = Record<"bytesPerFrame" | "node", unknown>;
type TaskFields = Record<"downstream" | "name" | "profile" | "requests", unknown>;
type DownstreamFields = Record<"bytesPerFrame" | "task", unknown>;
type ProfileFields = Record<"nodeLabels" | "secondsPerFrame", unknown>;

type Place = readonly (string | number)[];

/** Throws DumpError with object, place, rule and value. */
export function readStreams(objects: readonly DumpObject[]): StreamObjects {
  const nodes = objects.filter(({ kind }) => kind === "Node");
  const names = nodes.map(({ name }) => name);
  const networks = objects.filter(({ kind }) => kind === "FlowNetwork");
  const network = checked(
    networks[0] ?? nodes[0] ?? null,
    () => new FlowNetwork(names, networks.flatMap(linksOf)),
  );
  const total = {
    memoryBytes: Float64Array.from(nodes, (node) => allocatable(node, "memory")),
    cpuMillicores: Float64Array.from(nodes, (node) => allocatable(node, "cpu")),
  };
  const jobs = objects.filter(({ kind }) => kind === "StreamJob").map((object) => readJob(object, nodes));
  return { system: new StreamSystem(network, total), jobs };
}

function allocatable(node: DumpObject, resource: "cpu" | "memory"): number {
  const value = looseFields(looseFields<NodeStatus>(node.json.status).allocatable)[resource];
  const amount = resource === "cpu" ? parseMillicores(value) : parseBytes(value);
  if (amount !== null) return amount;
  throw node.fail(["status", "allocatable", resource], "must be a quantity", value);
}

function linksOf(object: DumpObject): FlowLink[] {
  const { links } = specOf(object);
  if (!Array.isArray(links)) throw object.fail(["spec", "links"], "must be a list", links);
  return links.map((link, at) => {
    const place = ["spec", "links", at];
    const json = looseFields<LinkFields>(link);
    const capacity = parseBitsPerSecond(json.capacity);
    if (capacity === null)
      throw object.fail(
        [...place, "capacity"],
        "must be a quantity of bits per second, such as 10M",
        json.capacity,
      );
    const { duplex = "full" } = json;
    const mode = DUPLEX_MODES.find((each) => each === duplex);
    if (mode === undefined)
      throw object.fail([...place, "duplex"], `must be one of ${DUPLEX_MODES.join(", ")}`, duplex);
    return {
      source: textAt(object, [...place, "source"], json.source),
      target: textAt(object, [...place, "target"], json.target),
      capacityBitsPerSecond: capacity,
      duplex: mode,
    };
  });
}

function readJob(object: DumpObject, nodes: readonly DumpObject[]): StreamJob {
  const spec = specOf(object);
  const { source: from, tasks: list, minThroughput } = spec;
  const source = looseFields<SourceFields>(from);
  if (!Array.isArray(list)) throw object.fail(["spec", "tasks"], "must be a list", list);
  const tasks = list.map((task, at) =>
    readTask(object, ["spec", "tasks", at], looseFields<TaskFields>(task)),
  );
  const byName = new Map(tasks.map((task) => [task.spec.name, task]));
  return checked(object, () =>
    createStreamJob(
      {
        name: `${object.namespace}/${object.name}`,
        source: textAt(object, ["spec", "source", "node"], source.node),
        bytesPerFrame: numberAt(object, ["spec", "source", "bytesPerFrame"], source.bytesPerFrame),
        tasks: tasks.map((task) => task.spec),
        minThroughput:
          minThroughput === undefined ? null : numberAt(object, ["spec", "minThroughput"], minThroughput),
      },
      nodes.map(({ name }) => name),
      (task, node) => byName.get(task)!.secondsOn(labelsOf(nodes[node]!)),
    ),
  );
}

interface ReadTask {
  readonly spec: StreamTaskSpec;
  /** Null where no entry of the profile matches the node. */
  secondsOn(labels: Json): number | null;
}

function readTask(object: DumpObject, place: Place, task: Unchecked<TaskFields>): ReadTask {
  const requests = looseFields(task.requests);
  const amount = (key: "cpu" | "memory"): number => {
    const parsed = key === "cpu" ? parseMillicores(requests[key]) : parseBytes(requests[key]);
    if (parsed === null) throw object.fail([...place, "requests", key], "must be a quantity", requests[key]);
    return parsed;
  };
  const spec: StreamTaskSpec = {
    name: textAt(object, [...place, "name"], task.name),
    memoryBytes: amount("memory"),
    cpuMillicores: amount("cpu"),
    downstream: listOf(task.downstream).map((next, at) => {
      const json = looseFields<DownstreamFields>(next);
      const inner = [...place, "downstream", at];
      return {
        task: textAt(object, [...inner, "task"], json.task),
        bytesPerFrame: numberAt(object, [...inner, "bytesPerFrame"], json.bytesPerFrame),
      };
    }),
  };
  const entries = listOf(task.profile).map((entry, at) => {
    const json = looseFields<ProfileFields>(entry);
    const inner = [...place, "profile", at];
    return {
      labels: looseFields(json.nodeLabels),
      seconds: numberAt(object, [...inner, "secondsPerFrame"], json.secondsPerFrame),
    };
  });
  if (entries.length === 0)
    throw object.fail(
      [...place, "profile"],
      "must have at least one entry with secondsPerFrame",
      task.profile,
    );
  return {
    spec,
    secondsOn(labels): number | null {
      const found = entries.find((entry) =>
        Object.entries(entry.labels).every(([key, value]) => labels[key] === value),
      );
      return found?.seconds ?? null;
    },
  };
}

function specOf(object: DumpObject): Json {
  const { spec } = object.json;
  if (!isRecord(spec)) throw object.fail(["spec"], "must be an object", spec);
  return spec;
}

function labelsOf(node: DumpObject): Json {
  return looseFields(looseFields<ObjectMeta>(node.json.metadata).labels);
}

function textAt(object: DumpObject, place: Place, value: unknown): string {
  const text = textOf(value);
  if (text === null) throw object.fail(place, "must be text", value);
  return text;
}

function numberAt(object: DumpObject, place: Place, value: unknown): number {
  if (typeof value !== "number") throw object.fail(place, "must be a number", value);
  return value;
}

const NOWHERE = { file: "the files", document: null, line: null };

/** What the planner refuses is said of the object that it was read from. */
function checked<T>(object: DumpObject | null, make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof StreamError)) throw error;
    if (object === null) throw new DumpError("no_nodes", NOWHERE, error.message, { cause: error });
    throw object.fail(["spec"], `is wrong: ${error.rule}`, error.value);
  }
}

function listOf(value: unknown): readonly unknown[] {
  return isList(value) ? value : [];
}
