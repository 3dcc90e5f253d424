// Current and advised request routing of a Service, with reasons. Read-only.
import { hintedShares, zoneAdvice, zoneHints } from "@isochrone/dispatch/zones";
import { DISPATCH_ANNOTATIONS, type KubernetesObject } from "@isochrone/kubernetes";
import { clusterZones, orderedService, sharesNow, sharesOf } from "@isochrone/scheduler-plugin/dispatch-view";
import { ClusterGraph, type ClusterGraphSnapshot, type Demand } from "@isochrone/topology";
import { table } from "../output/table.ts";
import { fewEndpoints, longConnections } from "./notes.ts";
import { percent } from "./percent.ts";

type Shares = Readonly<Record<string, number>>;

interface ZoneAdvised {
  readonly zone: string;
  readonly requestsPerSecond: number;
  readonly inTimeRatio: number | null;
  readonly p50Ms: number | null;
  readonly endpoints: number;
  /** Request rate of its endpoints divided by their capacity; null: no endpoints. */
  readonly loadRatio: number | null;
  readonly now: Shares;
  readonly advised: Shares;
  /** The nearest shares reachable by hints; null if hints cannot be set. */
  readonly byHints: Shares | null;
}

interface DispatchAdvice {
  readonly service: string;
  readonly dispatch: string | null;
  /** Why there is no advice; null: there is. */
  readonly refused: { readonly reason: string; readonly message: string } | null;
  readonly capacityPerSecond: number | null;
  readonly abovePerSecond: number | null;
  readonly zones: readonly ZoneAdvised[];
  readonly notes: readonly string[];
}

interface AdviceInput {
  readonly service: KubernetesObject;
  readonly slices: readonly KubernetesObject[];
  readonly graph: ClusterGraphSnapshot;
  readonly demand: Demand;
}

export function dispatchAdvice({ service, slices, graph, demand }: AdviceInput): DispatchAdvice {
  const { namespace = "default", name, annotations = {} } = service.metadata;
  const dispatch = annotations[DISPATCH_ANNOTATIONS.dispatch] ?? null;
  const asking = { ...annotations, [DISPATCH_ANNOTATIONS.dispatch]: dispatch ?? "advise" };
  const found = demand.services.find((each) => each.namespace === namespace && each.name === name) ?? null;
  const ordered = orderedService({
    service: { ...service, metadata: { ...service.metadata, annotations: asking } },
    slices,
    demand: found,
    zones: clusterZones(new ClusterGraph(graph), graph.nodes),
  });
  const head = { service: `${namespace}/${name}`, dispatch };
  const none = { ...head, capacityPerSecond: null, abovePerSecond: null, zones: [], notes: [] };
  if (ordered === null || "reason" in ordered) return { ...none, refused: ordered };
  const { view, endpoints } = ordered;
  const advice = zoneAdvice(view);
  if ("reason" in advice) return { ...none, refused: advice };
  const { weights, loads, capacityPerSecond, abovePerSecond } = advice;
  const now = sharesNow(view, endpoints, slices);
  const hints = zoneHints({ weights, demand: view.demand }, endpoints);
  const byHints = hints === null ? null : hintedShares(view.zones, endpoints, hints);
  return {
    ...head,
    refused: null,
    capacityPerSecond,
    abovePerSecond,
    zones: view.zones.map((zone): ZoneAdvised => {
      const asked = found?.zones.find((each) => each.zone === zone);
      return {
        zone,
        requestsPerSecond: asked?.requestsPerSecond ?? 0,
        inTimeRatio: asked?.inTimeRatio ?? null,
        p50Ms: asked?.latencyMs.p50 ?? null,
        endpoints: view.endpoints.get(zone) ?? 0,
        loadRatio: loads.get(zone)?.ofCapacity ?? null,
        now: sharesOf(now, zone),
        advised: sharesOf(weights, zone),
        byHints: byHints === null ? null : sharesOf(byHints, zone),
      };
    }),
    notes: [
      ...(abovePerSecond > 0
        ? [
            `${amount(abovePerSecond)} requests/s are above all capacity: add ${Math.ceil(abovePerSecond / capacityPerSecond)} endpoints`,
          ]
        : []),
      ...fewEndpoints(view.endpoints),
      ...longConnections(service).map((text) => `${text}: hints reach new connections only`),
    ],
  };
}

export function adviceText(advice: DispatchAdvice): string {
  const { service, dispatch, refused, capacityPerSecond, zones, notes } = advice;
  const asks = dispatch === null ? "not annotated" : `${DISPATCH_ANNOTATIONS.dispatch}: ${dispatch}`;
  if (refused !== null) return `${service} (${asks}): no advice, ${refused.reason}: ${refused.message}`;
  const rows = zones.map((zone) => [
    zone.zone,
    zone.requestsPerSecond,
    percent(zone.inTimeRatio),
    zone.endpoints,
    percent(zone.loadRatio),
    shareText(zone.now),
    shareText(zone.advised),
    zone.byHints === null ? null : shareText(zone.byHints),
  ]);
  const heads = ["zone", "requests/s", "in time", "endpoints", "load", "now", "advised", "by hints"];
  return [
    `${service} (${asks}); an endpoint is taken to serve ${amount(capacityPerSecond ?? 0)} requests/s`,
    table(heads, rows),
    ...notes,
  ].join("\n");
}

function shareText(shares: Shares): string {
  return Object.entries(shares)
    .map(([zone, share]) => `${zone} ${Math.round(share * 100)} %`)
    .join(", ");
}

function amount(value: number): string {
  return value.toFixed(value < 10 ? 1 : 0);
}
