import {
  MAX_HINTED_ZONES,
  type HintedEndpoint,
  type NoWeights,
  type ZoneView,
} from "@isochrone/dispatch/zones";
import {
  addressTypeOf,
  dispatchOrderOf,
  isOwnSlice,
  unspreadReason,
  type DispatchLever,
  type KubernetesObject,
} from "@isochrone/kubernetes";
import type { ClusterGraph, ClusterGraphSnapshot, ServiceDemand } from "@isochrone/topology";
import { endpointsIn } from "./slice-hints.ts";

/** Why a Service that asks for weights gets none; a metric label. */
type RefusalReason =
  | NoWeights["reason"]
  | "annotation"
  | "lever_off"
  | "not_spread"
  | "other_controller"
  | "missing_zone"
  | "missing_region"
  | "too_many_zones"
  | "no_graph"
  | "not_kept";

export interface Refusal {
  readonly reason: RefusalReason;
  readonly message: string;
}

export interface ClusterZones {
  readonly names: readonly string[];
  readonly regions: ReadonlyMap<string, string>;
  readonly rttMs: ZoneView["rttMs"];
}

interface ServiceState {
  readonly service: KubernetesObject;
  readonly slices: readonly KubernetesObject[];
  readonly demand: ServiceDemand | null;
  readonly zones: ClusterZones | null;
}

/** Zones of the graph's nodes. The cost of a pair of zones is taken from any two of their nodes. */
export function clusterZones(graph: ClusterGraph, nodes: ClusterGraphSnapshot["nodes"]): ClusterZones {
  const ids = new Map<string, number>();
  const regions = new Map<string, string>();
  for (const { name, zone, region } of nodes) {
    if (zone === null) continue;
    if (!ids.has(zone)) ids.set(zone, graph.idOf(name));
    if (region !== null) regions.set(zone, region);
  }
  const rttMs: ZoneView["rttMs"] = (from, to) => {
    const [a, b] = [ids.get(from) ?? -1, ids.get(to) ?? -1];
    return a < 0 || b < 0 ? null : graph.zoneCostMsById(a, b);
  };
  return { names: [...ids.keys()].sort(), regions, rttMs };
}

export interface OrderedService {
  readonly lever: DispatchLever;
  readonly view: ZoneView;
  readonly endpoints: readonly HintedEndpoint[];
}

const TOPOLOGY_MODES = ["service.kubernetes.io/topology-mode", "service.kubernetes.io/topology-aware-hints"];

export function orderedService(state: ServiceState): OrderedService | Refusal | null {
  const { service, slices } = state;
  const order = dispatchOrderOf(service);
  if (order === null) return null;
  if (typeof order === "string") return { reason: "annotation", message: order };
  const { lever, minLocalShare, capacityPerSecond } = order;
  const unspread = unspreadReason(service);
  if (unspread !== null) return { reason: "not_spread", message: unspread };
  const other = lever === "hints" ? otherController(service, slices) : null;
  if (other !== null) return { reason: "other_controller", message: other };
  const endpoints = endpointsIn(ofOneFamily(slices));
  if (endpoints === null)
    return {
      reason: "missing_zone",
      message: "an endpoint's node has no label topology.kubernetes.io/zone",
    };
  const { zones: known } = state;
  if (known === null) return { reason: "no_graph", message: "no cluster graph was read yet" };
  const demand = demandIn(state);
  const zones = [...new Set([...known.names, ...demand.keys()])].sort();
  const all = new Set([...zones, ...endpoints.map(({ zone }) => zone)]);
  if (lever === "hints" && all.size > MAX_HINTED_ZONES)
    return {
      reason: "too_many_zones",
      message: `an endpoint has hints for at most ${MAX_HINTED_ZONES} zones, and there are ${all.size}`,
    };
  const view: ZoneView = {
    zones,
    demand,
    endpoints: counted(endpoints),
    capacityPerSecond,
    minLocalShare,
    rttMs: known.rttMs,
  };
  return { lever, view, endpoints };
}

function otherController(service: KubernetesObject, slices: readonly KubernetesObject[]): string | null {
  const mode = TOPOLOGY_MODES.map((name) => service.metadata.annotations?.[name] ?? "");
  if (mode.some((each) => each.toLowerCase() === "auto"))
    return `${TOPOLOGY_MODES[0]} is Auto: Kubernetes spreads its requests by topology-aware hints`;
  const foreign = slices.find((slice) => !isOwnSlice(slice));
  return foreign === undefined
    ? null
    : `EndpointSlice ${foreign.metadata.name} is written by another controller than Kubernetes' own`;
}

/** Returns the address family with more endpoints: both families have the same pods. */
function ofOneFamily(slices: readonly KubernetesObject[]): readonly KubernetesObject[] {
  const families = [...Map.groupBy(slices, addressTypeOf).values()];
  const size = (family: readonly KubernetesObject[]): number =>
    family.reduce((sum, { endpoints }) => sum + (Array.isArray(endpoints) ? endpoints.length : 0), 0);
  return families.toSorted((a, b) => size(b) - size(a))[0] ?? [];
}

function counted(endpoints: readonly HintedEndpoint[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { zone } of endpoints) counts.set(zone, (counts.get(zone) ?? 0) + 1);
  return counts;
}

/** Drops callers without a zone: no destination can be chosen for them. */
function demandIn({ demand }: ServiceState): ReadonlyMap<string, number> {
  const zones = demand?.zones ?? [];
  return new Map(
    zones.flatMap(({ zone, requestsPerSecond }) =>
      zone === null ? [] : [[zone, requestsPerSecond] as const],
    ),
  );
}
