// The cluster graph that a dump declares: node annotations, else NetworkTopology resources.
import {
  annotatedCluster,
  ClusterGraph,
  declaredAreaCosts,
  NETWORK_TOPOLOGY_KEYS,
  readNetworkTopology,
} from "@isochrone/topology";
import { looseFields, looseList, parseBytes, parseMillicores } from "@isochrone/primitives";
import type { NodeSpec, NodeStatus, ObjectMeta } from "@isochrone/kubernetes";
import type { AnnotatedNode, DeclaredAreaCosts } from "@isochrone/topology";
import { annotationsOf, nodeAnnotations } from "./annotations.ts";
import { textOf } from "./read-objects.ts";
import type { DumpObject } from "./read-objects.ts";

/** When the dump was taken isn't in it; a graph has to have a time. */
export const NO_TIME = "1970-01-01T00:00:00.000Z";
/** KEP-260 as coded: nodes of one zone are at cost 1. */
const SAME_ZONE_COST = 1;

/**
 * Throws DumpError for annotations and costs that make no sense. `declaredToo`: NetworkTopology is read also
 * beside measured costs, for a strategy that looks at nothing else.
 */
export function dumpCluster(
  objects: readonly DumpObject[],
  prefixes: readonly string[],
  declaredToo = false,
): ClusterGraph {
  const found = objects.filter(({ kind }) => kind === "Node");
  const nodes: AnnotatedNode[] = [];
  const names = new Set<string>();
  for (const object of found) {
    if (names.has(object.name))
      throw object.fail(["metadata", "name"], "must be unique among the nodes", object.name);
    names.add(object.name);
    nodeAnnotations(object, prefixes);
    nodes.push(readNode(object));
  }
  const { snapshot } = annotatedCluster(nodes, { nowMs: null, prefixes });
  const topology =
    snapshot.links.length > 0 && !declaredToo
      ? undefined
      : objects.find(({ kind }) => kind === "NetworkTopology");
  return new ClusterGraph(snapshot, {
    // Declarations have no age.
    maxAgeSeconds: Infinity,
    ...(topology === undefined ? {} : { declared: readTopology(topology) }),
  });
}

function readNode(object: DumpObject): AnnotatedNode {
  const { json, name } = object;
  const labels = looseFields(looseFields<ObjectMeta>(json.metadata).labels);
  const status = looseFields<NodeStatus>(json.status);
  const allocatable = looseFields<{ cpu: unknown; memory: unknown }>(status.allocatable);
  const ready = looseList<NonNullable<NodeStatus["conditions"]>[number]>(status.conditions).find(
    (condition) => condition.type === "Ready",
  );
  return {
    name,
    zone: textOf(labels[NETWORK_TOPOLOGY_KEYS.zone]),
    region: textOf(labels[NETWORK_TOPOLOGY_KEYS.region]),
    segment: textOf(labels[NETWORK_TOPOLOGY_KEYS.segment]),
    ready: ready === undefined || ready.status === "True",
    cordoned: looseFields<NodeSpec>(json.spec).unschedulable === true,
    allocatableCpuMillicores: parseMillicores(allocatable.cpu),
    allocatableMemoryBytes: parseBytes(allocatable.memory),
    annotations: annotationsOf(object),
  };
}

function readTopology(object: DumpObject): DeclaredAreaCosts {
  const { costs, faults } = readNetworkTopology(object.json);
  const [fault] = faults;
  if (fault !== undefined) throw object.fail(fault.path, fault.rule, fault.value);
  return declaredAreaCosts(costs ?? { zones: [], regions: [] }, SAME_ZONE_COST);
}
