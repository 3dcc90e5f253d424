// All Services with counted requests or requested zone weights: one line each.
import type { ServiceTraffic, TrafficSnapshot } from "@isochrone/topology";
import { inTimeOf, spillOf } from "@isochrone/topology/shares";
import { table } from "../output/table.ts";
import { percent } from "./percent.ts";

interface ServiceStatus {
  readonly service: string;
  /** Null: no zone weights requested. */
  readonly lever: string | null;
  readonly state: string | null;
  readonly requestsPerSecond: number;
  readonly inTimeRatio: number | null;
  readonly spillRatio: number | null;
  readonly advisedSpillRatio: number | null;
  /** Spare capacity of all endpoints, requests per second; negative: overload. */
  readonly headroomPerSecond: number | null;
  readonly proposedEndpoints: number | null;
  readonly message: string | null;
}

interface DispatchStatus {
  readonly observedAt: string;
  readonly dispatch: TrafficSnapshot["dispatch"];
  readonly services: readonly ServiceStatus[];
}

export function dispatchStatus({ observedAt, dispatch, services }: TrafficSnapshot): DispatchStatus {
  return { observedAt, dispatch, services: services.map(statusOf) };
}

function statusOf({ namespace, name, lever, state, message, ...service }: ServiceTraffic): ServiceStatus {
  const { zones, capacityPerSecond } = service;
  const requestsPerSecond = sumOf(zones.map((zone) => zone.requestsPerSecond));
  const endpoints = zones.map((zone) => zone.endpoints).filter((count) => count !== null);
  const proposed = zones.map((zone) => zone.proposedEndpoints ?? null).filter((count) => count !== null);
  return {
    service: `${namespace}/${name}`,
    lever,
    state,
    requestsPerSecond,
    inTimeRatio: inTimeOf(zones),
    spillRatio: spillOf(zones, "now"),
    advisedSpillRatio: spillOf(zones, "advised"),
    headroomPerSecond:
      capacityPerSecond === null || endpoints.length === 0
        ? null
        : sumOf(endpoints) * capacityPerSecond - requestsPerSecond,
    proposedEndpoints: proposed.length === 0 ? null : sumOf(proposed),
    message,
  };
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

export function statusText({ dispatch, services }: DispatchStatus): string {
  const head = dispatch.isOn ? [] : [`no requests are spread: ${dispatch.message ?? "nobody says why"}`];
  if (services.length === 0) return [...head, "no requests to Services are counted"].join("\n");
  const heads = [
    "service",
    "lever",
    "state",
    "requests/s",
    "in time",
    "leaves zone",
    "advised",
    "headroom/s",
  ];
  const rows = services.map((each) => [
    each.service,
    each.lever ?? "none",
    each.state,
    each.requestsPerSecond,
    percent(each.inTimeRatio),
    percent(each.spillRatio),
    percent(each.advisedSpillRatio),
    each.headroomPerSecond,
  ]);
  const notes = services.flatMap(({ service, message }) =>
    message === null ? [] : [`${service}: ${message}`],
  );
  return [...head, table(heads, rows), ...notes].join("\n");
}
