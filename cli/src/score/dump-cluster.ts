// Builds the cluster graph that a dump declares: node annotations, else NetworkTopology resources.
import { conditionsOf, nodeView } from "@isochrone/kubernetes/basics";
import { annotatedCluster, ClusterGraph, declaredAreaCosts, readNetworkTopology } from "@isochrone/topology";
import type { AnnotatedNode, DeclaredAreaCosts } from "@isochrone/topology";
import { annotationFault, annotationsOf } from "./annotations.ts";
import { kubernetesObject } from "./api-objects.ts";
import type { DumpObject } from "./read-objects.ts";

/** A graph needs a time, and a dump has none. */
export const NO_TIME = "1970-01-01T00:00:00.000Z";
/** KEP-260's code uses cost 1 within a zone. */
const SAME_ZONE_COST = 1;

/** `declaredToo`: read NetworkTopology even beside measured costs. Throws DumpError. */
export function dumpCluster(
  objects: readonly DumpObject[],
  prefixes: readonly string[],
  declaredToo = false,
): ClusterGraph {
  const found = objects.filter(({ kind }) => kind === "Node");
  const byName = new Map<string, DumpObject>();
  for (const object of found) {
    if (byName.has(object.name))
      throw object.fail(["metadata", "name"], "must be unique among the nodes", object.name);
    byName.set(object.name, object);
  }
  const { snapshot, faults } = annotatedCluster(found.map(annotatedNode), { nowMs: null, prefixes });
  const [fault] = faults;
  if (fault !== undefined) throw annotationFault(byName.get(fault.node)!, fault);
  const topology =
    snapshot.links.length > 0 && !declaredToo
      ? undefined
      : objects.find(({ kind }) => kind === "NetworkTopology");
  return new ClusterGraph(snapshot, {
    // Declarations don't expire.
    maxAgeSeconds: Infinity,
    ...(topology === undefined ? {} : { declared: readTopology(topology) }),
  });
}

function annotatedNode(object: DumpObject): AnnotatedNode {
  const node = kubernetesObject(object);
  const view = nodeView(node);
  const isUnsaid = !conditionsOf(node).some(({ type }) => type === "Ready");
  return { ...view, ready: isUnsaid || view.ready, annotations: annotationsOf(object) };
}

function readTopology(object: DumpObject): DeclaredAreaCosts {
  const { costs, faults } = readNetworkTopology(object.json);
  const [fault] = faults;
  if (fault !== undefined) throw object.fail(fault.path, fault.rule, fault.value);
  return declaredAreaCosts(costs ?? { zones: [], regions: [] }, SAME_ZONE_COST);
}
