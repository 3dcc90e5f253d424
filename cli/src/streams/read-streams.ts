import type { NodeStatus, ObjectMeta } from "@isochrone/kubernetes";
import { parseBytes, parseMillicores } from "@isochrone/primitives";
import {
  createStreamJob,
  FieldError,
  FlowNetwork,
  readFlowLinks,
  readJobDefinition,
  StreamError,
  StreamSystem,
  type StreamJob,
  type StreamTaskSpec,
} from "@isochrone/streams";
import { DumpError } from "../score/errors.ts";
import { looseFields } from "@isochrone/primitives";
import type { DumpObject, Json } from "../score/read-objects.ts";

export interface StreamObjects {
  readonly system: StreamSystem;
  readonly jobs: readonly StreamJob[];
}

/** Throws DumpError. @param bytesOf converts a frame size to bytes on the wire @default identity */
export function readStreams(
  objects: readonly DumpObject[],
  bytesOf: (bytesPerFrame: number) => number = (bytes) => bytes,
): StreamObjects {
  const nodes = objects.filter(({ kind }) => kind === "Node");
  const names = nodes.map(({ name }) => name);
  const networks = objects.filter(({ kind }) => kind === "FlowNetwork");
  const links = networks.flatMap((each) => checked(each, () => readFlowLinks(each.json.spec)));
  const network = checked(networks[0] ?? nodes[0] ?? null, () => new FlowNetwork(names, links));
  const total = {
    memoryBytes: Float64Array.from(nodes, (node) => allocatable(node, "memory")),
    cpuMillicores: Float64Array.from(nodes, (node) => allocatable(node, "cpu")),
  };
  const jobs = objects
    .filter(({ kind }) => kind === "StreamJob")
    .map((object) => checked(object, () => readJob(object, nodes, bytesOf)));
  return { system: new StreamSystem(network, total), jobs };
}

function allocatable(node: DumpObject, resource: "cpu" | "memory"): number {
  const value = looseFields(looseFields<NodeStatus>(node.json.status).allocatable)[resource];
  const amount = resource === "cpu" ? parseMillicores(value) : parseBytes(value);
  if (amount !== null) return amount;
  throw node.fail(["status", "allocatable", resource], "must be a quantity", value);
}

type DownstreamSpec = NonNullable<StreamTaskSpec["downstream"]>[number];

function readJob(
  object: DumpObject,
  nodes: readonly DumpObject[],
  bytesOf: (bytesPerFrame: number) => number,
): StreamJob {
  const { spec, tasks } = readJobDefinition(`${object.namespace}/${object.name}`, object.json.spec);
  const next = (each: DownstreamSpec): DownstreamSpec => ({
    ...each,
    bytesPerFrame: bytesOf(each.bytesPerFrame),
  });
  return createStreamJob(
    {
      ...spec,
      bytesPerFrame: bytesOf(spec.bytesPerFrame),
      tasks: spec.tasks.map((task) => ({ ...task, downstream: (task.downstream ?? []).map(next) })),
    },
    nodes.map(({ name }) => name),
    (task, node) => tasks.get(task)!.secondsOn(labelsOf(nodes[node]!)),
  );
}

function labelsOf(node: DumpObject): Json {
  return looseFields(looseFields<ObjectMeta>(node.json.metadata).labels);
}

const NOWHERE = { file: "the files", document: null, line: null };

function checked<T>(object: DumpObject | null, make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (error instanceof FieldError && object !== null)
      throw object.fail(error.path, error.rule, error.value);
    if (!(error instanceof StreamError)) throw error;
    if (object === null) throw new DumpError("no_nodes", NOWHERE, error.message, { cause: error });
    throw object.fail(["spec"], `is wrong: ${error.rule}`, error.value);
  }
}
