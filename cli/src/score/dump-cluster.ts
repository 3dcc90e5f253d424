// The cluster graph that a dump declares: node annotations, else NetworkTopology resources.
import { parseQuantity } from "@isochrone/placement";
import { ClusterGraph } from "@isochrone/topology";
import type { ClusterNode, DeclaredAreaCosts, Link } from "@isochrone/topology";
import { Annotations } from "./annotations.ts";
import { listOf, recordOf, textOf } from "./read-objects.ts";
import type { DumpObject } from "./read-objects.ts";

/** When the dump was taken isn't in it; a graph has to have a time. */
export const NO_TIME = "1970-01-01T00:00:00.000Z";
/** KEP-260 as coded: nodes of one zone are at cost 1. */
const SAME_ZONE_COST = 1;
/** KEP-260: the weights that the NetworkOverhead plugin uses unless it is told otherwise. */
const DEFAULT_WEIGHTS_NAME = "UserDefined";

/** Throws DumpError for annotations and costs that make no sense. */
export function dumpCluster(objects: readonly DumpObject[], prefixes: readonly string[]): ClusterGraph {
  const found = objects.filter(({ kind }) => kind === "Node");
  const nodes: ClusterNode[] = [];
  const links: Link[] = [];
  const names = new Set<string>();
  for (const object of found) {
    if (names.has(object.name))
      throw object.fail(["metadata", "name"], "must be unique among the nodes", object.name);
    names.add(object.name);
    const annotations = new Annotations(object, prefixes);
    nodes.push(readNode(object, annotations));
    for (const [target, costMs] of annotations.networkCosts())
      links.push(declaredLink(object.name, target, costMs));
  }
  const topology = links.length > 0 ? undefined : objects.find(({ kind }) => kind === "NetworkTopology");
  return new ClusterGraph(
    { version: 0, observedAt: NO_TIME, windowSeconds: 0, nodes, links },
    // Declarations have no age.
    { maxAgeSeconds: Infinity, ...(topology === undefined ? {} : { declared: readTopology(topology) }) },
  );
}

function readNode(object: DumpObject, annotations: Annotations): ClusterNode {
  const { json, name } = object;
  const labels = recordOf(recordOf(json["metadata"])["labels"]);
  const status = recordOf(json["status"]);
  const allocatable = recordOf(status["allocatable"]);
  const ready = listOf(status["conditions"])
    .map(recordOf)
    .find((condition) => condition["type"] === "Ready");
  const cpu = annotations.quantity("available-cpu");
  return {
    name,
    zone: textOf(labels["topology.kubernetes.io/zone"]),
    region: textOf(labels["topology.kubernetes.io/region"]),
    segment: textOf(labels["topology.kubernetes.io/segment"]),
    ready: ready === undefined || ready["status"] === "True",
    cordoned: recordOf(json["spec"])["unschedulable"] === true,
    allocatableCpuMillicores: millicores(parseQuantity(allocatable["cpu"])),
    allocatableMemoryBytes: parseQuantity(allocatable["memory"]),
    availableCpuMillicores: millicores(cpu),
    availableMemoryBytes: annotations.quantity("available-memory"),
    coordinate: null,
    usageAgeSeconds: null,
  };
}

function millicores(cores: number | null): number | null {
  return cores === null ? null : cores * 1000;
}

function declaredLink(source: string, target: string, costMs: number): Link {
  return {
    source,
    target,
    method: "icmp",
    ipFamily: 4,
    rttMs: { p50: null, p90: null, p99: null, mean: null, count: 0 },
    lossRatio: null,
    jitterMs: null,
    bandwidthBitsPerSecond: { capacity: null, achieved: null, available: null },
    costMs,
    errorMs: null,
    origin: "declared",
    provisional: false,
    ageSeconds: null,
    observedAt: null,
  };
}

function readTopology(object: DumpObject): DeclaredAreaCosts {
  const weights = listOf(recordOf(object.json["spec"])["weights"]).map(recordOf);
  const chosen = Math.max(
    0,
    weights.findIndex((entry) => entry["name"] === DEFAULT_WEIGHTS_NAME),
  );
  const zones = new Map<string, Map<string, number>>();
  const regions = new Map<string, Map<string, number>>();
  for (const [index, entry] of listOf(weights[chosen]?.["topologyList"]).entries()) {
    const topology = recordOf(entry);
    const area = { "topology.kubernetes.io/zone": zones, "topology.kubernetes.io/region": regions }[
      String(topology["topologyKey"])
    ];
    if (area !== undefined)
      readOrigins(
        object,
        ["spec", "weights", chosen, "topologyList", index, "originList"],
        topology["originList"],
        area,
      );
  }
  return { zones, regions, sameZone: SAME_ZONE_COST };
}

function readOrigins(
  object: DumpObject,
  path: readonly (string | number)[],
  origins: unknown,
  costs: Map<string, Map<string, number>>,
): void {
  for (const [row, origin] of listOf(origins).map(recordOf).entries()) {
    const from = textOf(origin["origin"]);
    if (from === null) throw object.fail([...path, row, "origin"], "must be text", origin["origin"]);
    const targets = costs.get(from) ?? new Map<string, number>();
    costs.set(from, targets);
    for (const [column, cost] of listOf(origin["costList"]).map(recordOf).entries()) {
      const { destination, networkCost } = cost;
      const at = [...path, row, "costList", column];
      if (textOf(destination) === null)
        throw object.fail([...at, "destination"], "must be text", destination);
      if (typeof networkCost !== "number" || !(networkCost >= 0)) {
        throw object.fail([...at, "networkCost"], "must be a number of at least 0", networkCost);
      }
      targets.set(destination as string, networkCost);
    }
  }
}
