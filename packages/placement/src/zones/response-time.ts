// Response time by the M/M/k formulas.
import { erlangC } from "@isochrone/primitives/algorithms";

export interface Server {
  /** Fraction of the caller's requests, 0 to 1. */
  readonly share: number;
  readonly roundTripMs: number;
  readonly requestsPerSecond: number;
  readonly capacityMillicores: number;
}

/** More bisection steps than a double has bits. */
const HALVINGS = 60;

/**
 * Returns the `quantile` of the response time, ms. Infinity: the queue grows without bound.
 * @param cpuMsPerRequest CPU time; a request uses at most one core
 */
export function responseTimeMs(
  servers: readonly Server[],
  cpuMsPerRequest: number,
  quantile: number,
): number {
  const stations = servers.map((server) => ({ ...server, ...stationOf(server, cpuMsPerRequest) }));
  if (stations.some(({ share, drain }) => share > 0 && drain <= 0)) return Infinity;
  const later = (ms: number): number =>
    stations.reduce((sum, station) => sum + station.share * tail(station, ms - station.roundTripMs), 0);
  let high = 1;
  while (later(high) > 1 - quantile) high *= 2;
  let low = 0;
  for (let step = 0; step < HALVINGS; step++) {
    const middle = (low + high) / 2;
    if (later(middle) > 1 - quantile) low = middle;
    else high = middle;
  }
  return high;
}

interface Station {
  /** Requests per ms that one server answers. */
  readonly work: number;
  /** Requests per ms that all servers answer, minus arrivals. */
  readonly drain: number;
  readonly waits: number;
}

const CORE_MILLICORES = 1_000;

function stationOf({ requestsPerSecond, capacityMillicores }: Server, cpuMs: number): Station {
  const servers = Math.max(1, Math.floor(capacityMillicores / CORE_MILLICORES));
  const work = Math.min(CORE_MILLICORES, capacityMillicores) / CORE_MILLICORES / cpuMs;
  const arrivals = requestsPerSecond / 1e3;
  return { work, drain: servers * work - arrivals, waits: erlangC(servers, arrivals / work) };
}

function tail({ work, drain, waits }: Station, ms: number): number {
  if (ms <= 0) return 1;
  const worked = Math.exp(-work * ms);
  const isEqual = Math.abs(drain - work) < 1e-9 * work;
  const both = isEqual
    ? (1 + work * ms) * worked
    : (drain * worked - work * Math.exp(-drain * ms)) / (drain - work);
  return (1 - waits) * worked + waits * both;
}
