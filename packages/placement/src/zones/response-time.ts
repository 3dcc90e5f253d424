// How long requests take at endpoints that are busy: the network's round trip, waiting and work, by the
// formulas of M/M/k.
import { erlangC } from "@isochrone/primitives/algorithms";

/** An endpoint, as one of its callers sees it. */
export interface Server {
  /** Part of the requests that it gets, 0 to 1. */
  readonly share: number;
  readonly roundTripMs: number;
  /** Of all callers. */
  readonly requestsPerSecond: number;
  readonly capacityMillicores: number;
}

/** More halvings than a double has digits. */
const HALVINGS = 60;

/**
 * The time that `quantile` of the requests don't exceed, ms; Infinity: a queue grows without end.
 * @param cpuMsPerRequest CPU time; a request uses one core at most
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
  /** Requests per ms that all servers answer, less those that arrive. */
  readonly drain: number;
  /** Probability that a request waits. */
  readonly waits: number;
}

const CORE_MILLICORES = 1_000;

function stationOf({ requestsPerSecond, capacityMillicores }: Server, cpuMs: number): Station {
  const servers = Math.max(1, Math.floor(capacityMillicores / CORE_MILLICORES));
  const work = Math.min(CORE_MILLICORES, capacityMillicores) / CORE_MILLICORES / cpuMs;
  const arrivals = requestsPerSecond / 1e3;
  return { work, drain: servers * work - arrivals, waits: erlangC(servers, arrivals / work) };
}

/** Probability that waiting and work together take longer. */
function tail({ work, drain, waits }: Station, ms: number): number {
  if (ms <= 0) return 1;
  const worked = Math.exp(-work * ms);
  const isEqual = Math.abs(drain - work) < 1e-9 * work;
  const both = isEqual
    ? (1 + work * ms) * worked
    : (drain * worked - work * Math.exp(-drain * ms)) / (drain - work);
  return (1 - waits) * worked + waits * both;
}
