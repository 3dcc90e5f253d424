import type { Endpoint } from "./capacity.ts";
import type { WorkloadDemand, ZoneDemand } from "./demand.ts";
import { responseTimeMs, type Server } from "./response-time.ts";
import { endpointsFor, type Distribution } from "./routing.ts";

export interface ZoneServiceInput {
  readonly demand: WorkloadDemand;
  readonly endpoints: readonly Endpoint[];
  readonly cpuMillicores: number | null;
  /** Usable fraction of an endpoint's CPU. */
  readonly maxCpuUse: number;
  /** Median round trip between two zones. Null: unknown. */
  readonly roundTripMs: (from: string, to: string) => number | null;
}

/**
 * `safe`: each zone serves its own callers, and none waits longer. `starves`: a zone's endpoints would exceed
 * their usable CPU. `slower`: they suffice, but the slowest zone's p95 would grow. `unknown`: a required
 * figure is missing. `without-effect`: kube-proxy would not change routing.
 */
type ZoneVerdict = "safe" | "starves" | "slower" | "unknown" | "without-effect";

interface ZoneLoad {
  readonly zone: string;
  readonly endpoints: number;
  readonly bytesPerSecond: number;
  /** Requests of the zone's callers. Null: not counted. */
  readonly requestsPerSecond: number | null;
  /** CPU that the zone's callers use on any endpoint. Null: unknown. */
  readonly causedMillicores: number | null;
  /** Capacity of its endpoints with even load. Null: unknown. */
  readonly capacityMillicores: number | null;
  /**
   * CPU use over capacity of its busiest endpoint when requests go to all endpoints. Null: unknown, or no
   * endpoint.
   */
  readonly loadNow: number | null;
  readonly loadThen: number | null;
  /** Modelled p95 of its callers' response time. Null: unknown. */
  readonly p95MsNow: number | null;
  readonly p95MsThen: number | null;
}

export interface ZoneAdvice {
  readonly verdict: ZoneVerdict;
  /** One sentence per zone or missing figure. */
  readonly reasons: readonly string[];
  readonly zones: readonly ZoneLoad[];
  /** The zone whose loss is worst. Null: no endpoint has a zone. */
  readonly lost: ZoneLoss | null;
}

interface ZoneLoss {
  readonly zone: string;
  readonly zonesLeft: number;
  /** Load of the busiest endpoint, at unchanged demand. Null: none is left, or unknown. */
  readonly load: number | null;
}

const P95 = 0.95;
const UNTIMED =
  "how long requests take isn't judged: not all are counted, or round trips of zones are unknown";

export function zoneAdvice(input: ZoneServiceInput): ZoneAdvice {
  const { endpoints, demand } = input;
  const causes = causesOf(input);
  const names = new Set([...demand.zones, ...endpoints].flatMap(({ zone }) => zone ?? []));
  const [now, then] = [loadsOf(input, causes, "all"), loadsOf(input, causes, "same-zone")];
  const zones = [...names].sort().map((zone): ZoneLoad => {
    const own = endpoints.filter((endpoint) => endpoint.zone === zone);
    const asked = demand.zones.find((each) => each.zone === zone);
    return {
      zone,
      endpoints: own.length,
      bytesPerSecond: asked?.bytesPerSecond ?? 0,
      requestsPerSecond: asked === undefined ? 0 : asked.requestsPerSecond,
      causedMillicores: causes === null ? null : (causes.get(zone) ?? 0),
      capacityMillicores: evenCapacity(own),
      loadNow: busiest(own, now),
      loadThen: busiest(own, then),
      ...p95s(input, zone),
    };
  });
  const lost = worstLoss(input, causes);
  return { ...judged(input, zones, causes?.get(null) ?? 0), zones, lost };
}

/**
 * CPU by callers' zone, divided by requests, or by bytes unless all requests are counted. Includes idle use,
 * so no zone is underestimated. Null: unknown.
 */
function causesOf({
  demand: { zones, unknownCallers },
  endpoints,
  cpuMillicores,
}: ZoneServiceInput): ReadonlyMap<string | null, number> | null {
  const weigh = zones.every(({ requestsPerSecond }) => requestsPerSecond !== null)
    ? ({ requestsPerSecond }: ZoneDemand) => requestsPerSecond ?? 0
    : ({ bytesPerSecond }: ZoneDemand) => bytesPerSecond;
  const whole = zones.reduce((sum, zone) => sum + weigh(zone), 0);
  if (cpuMillicores === null || unknownCallers.length > 0 || !(whole > 0)) return null;
  const used = cpuMillicores * endpoints.length;
  return new Map(zones.map((zone) => [zone.zone, (used * weigh(zone)) / whole]));
}

/** CPU use over capacity of each endpoint. Null: unknown. */
type Loads = ReadonlyMap<Endpoint, number | null>;

function loadsOf(
  { endpoints }: Pick<ZoneServiceInput, "endpoints">,
  causes: ReadonlyMap<string | null, number> | null,
  distribution: Distribution,
): Loads {
  const used = new Map(endpoints.map((endpoint) => [endpoint, 0]));
  for (const [zone, caused] of causes ?? []) {
    const asked = endpointsFor(endpoints, zone, distribution);
    for (const endpoint of asked) used.set(endpoint, used.get(endpoint)! + caused / asked.length);
  }
  return new Map(
    Array.from(used, ([endpoint, millicores]) => [
      endpoint,
      causes === null ? null : ratio(millicores, endpoint.capacityMillicores),
    ]),
  );
}

function ratio(used: number, capacity: number | null): number | null {
  if (capacity === null) return null;
  return used > 0 ? used / capacity : 0;
}

function busiest(endpoints: readonly Endpoint[], loads: Loads): number | null {
  const known = endpoints.map((endpoint) => loads.get(endpoint) ?? null);
  if (known.length === 0 || known.includes(null)) return null;
  return Math.max(...known.map((load) => load ?? 0));
}

function evenCapacity(endpoints: readonly Endpoint[]): number | null {
  const capacities = endpoints.map(({ capacityMillicores }) => capacityMillicores);
  if (capacities.includes(null)) return null;
  return endpoints.length === 0
    ? 0
    : endpoints.length * Math.min(...capacities.map((each) => each ?? Infinity));
}

function p95s(input: ZoneServiceInput, zone: string): Pick<ZoneLoad, "p95MsNow" | "p95MsThen"> {
  const { demand, endpoints, cpuMillicores } = input;
  const whole = requestsOf(demand);
  const own = demand.zones.find((each) => each.zone === zone)?.requestsPerSecond ?? 0;
  if (cpuMillicores === null || whole === null || !(own > 0)) return { p95MsNow: null, p95MsThen: null };
  const cpuMs = (cpuMillicores * endpoints.length) / whole;
  return { p95MsNow: p95(input, zone, "all", cpuMs), p95MsThen: p95(input, zone, "same-zone", cpuMs) };
}

/** Total requests. Null: not all are counted. */
function requestsOf({ zones, unknownCallers }: WorkloadDemand): number | null {
  if (unknownCallers.length > 0) return null;
  let sum = 0;
  for (const { requestsPerSecond } of zones) {
    if (requestsPerSecond === null) return null;
    sum += requestsPerSecond;
  }
  return sum;
}

function p95(
  { demand, endpoints, roundTripMs }: ZoneServiceInput,
  zone: string,
  distribution: Distribution,
  cpuMs: number,
): number | null {
  const arriving = new Map(endpoints.map((endpoint) => [endpoint, 0]));
  for (const { zone: from, requestsPerSecond } of demand.zones) {
    const asked = endpointsFor(endpoints, from, distribution);
    for (const endpoint of asked)
      arriving.set(endpoint, arriving.get(endpoint)! + (requestsPerSecond ?? 0) / asked.length);
  }
  const asked = endpointsFor(endpoints, zone, distribution);
  const servers: Server[] = [];
  for (const endpoint of asked) {
    const roundTrip = endpoint.zone === null ? null : roundTripMs(zone, endpoint.zone);
    const capacityMillicores = endpoint.capacityMillicores ?? 0;
    if (roundTrip === null || !(capacityMillicores > 0) || !(cpuMs > 0)) return null;
    const requestsPerSecond = arriving.get(endpoint)!;
    servers.push({
      share: 1 / asked.length,
      roundTripMs: roundTrip,
      requestsPerSecond,
      capacityMillicores,
    });
  }
  return servers.length === 0 ? null : responseTimeMs(servers, cpuMs, P95);
}

function judged(
  input: ZoneServiceInput,
  zones: readonly ZoneLoad[],
  unplacedMillicores: number,
): Pick<ZoneAdvice, "verdict" | "reasons"> {
  const { endpoints, maxCpuUse } = input;
  const unaffected = noEffect(endpoints);
  if (unaffected !== null) return { verdict: "without-effect", reasons: [unaffected] };
  const gaps = gapsOf(input);
  if (gaps.length > 0) return { verdict: "unknown", reasons: gaps };
  const served = zones.filter(({ endpoints: count }) => count > 0);
  const starving = served.filter(({ loadThen }) => loadThen !== null && loadThen > maxCpuUse);
  if (starving.length > 0)
    return { verdict: "starves", reasons: starving.map((zone) => starvingText(zone, maxCpuUse)) };
  // Callers of unknown location could all be in one zone, in addition to its own.
  const tight = served.filter(
    ({ loadThen, capacityMillicores }) =>
      (loadThen ?? 0) + unplacedMillicores / (capacityMillicores ?? Infinity) > maxCpuUse,
  );
  if (unplacedMillicores > 0 && tight.length > 0)
    return {
      verdict: "unknown",
      reasons: tight.map(
        ({ zone }) =>
          `zone ${zone} would starve if callers of unknown zone, who cause ${shown(unplacedMillicores)} millicores, are there`,
      ),
    };
  const slow = slowerZone(zones);
  if (slow !== null) return { verdict: "slower", reasons: [slow] };
  const isTimed = zones.every(({ p95MsThen, bytesPerSecond }) => p95MsThen !== null || bytesPerSecond === 0);
  return { verdict: "safe", reasons: isTimed ? [] : [UNTIMED] };
}

function noEffect(endpoints: readonly Endpoint[]): string | null {
  if (endpoints.length === 0) return "it has no ready endpoint";
  const homeless = endpoints.filter(({ zone }) => zone === null);
  if (homeless.length > 0)
    return `kube-proxy ignores zones: the nodes of ${homeless.length} of ${endpoints.length} endpoints have none`;
  const [first] = endpoints;
  return endpoints.every(({ zone }) => zone === first!.zone)
    ? `all endpoints are in zone ${first!.zone}`
    : null;
}

function gapsOf({ demand, endpoints, cpuMillicores }: ZoneServiceInput): string[] {
  const gaps: string[] = [];
  if (cpuMillicores === null) gaps.push("the CPU use of its pods is unknown");
  if (demand.unknownCallers.length > 0)
    gaps.push(`the traffic of ${demand.unknownCallers.join(", ")} is unknown`);
  else if (demand.zones.every((zone) => zone.bytesPerSecond === 0 && !((zone.requestsPerSecond ?? 0) > 0)))
    gaps.push("nobody is seen to call it");
  const vague = endpoints.filter(({ capacityMillicores }) => capacityMillicores === null);
  if (vague.length > 0)
    gaps.push(
      `what CPU ${vague.length} of ${endpoints.length} endpoints can get is unknown: no request, and the use of the node isn't measured`,
    );
  return gaps;
}

function starvingText(
  { zone, endpoints, causedMillicores, capacityMillicores, loadNow, loadThen }: ZoneLoad,
  maxCpuUse: number,
): string {
  const count = endpoints === 1 ? "its endpoint carries" : `its ${endpoints} endpoints carry`;
  return `zone ${zone} would starve: its callers cause ${shown(causedMillicores)} millicores, ${count} ${shown((capacityMillicores ?? 0) * maxCpuUse)} (${percent(maxCpuUse)} of ${shown(capacityMillicores)}); the busiest would be used to ${percent(loadThen)}, now ${percent(loadNow)}`;
}

function slowerZone(zones: readonly ZoneLoad[]): string | null {
  const calling = zones.filter(({ p95MsNow, p95MsThen }) => p95MsNow !== null && p95MsThen !== null);
  const [slowest] = calling.toSorted((a, b) => b.p95MsThen! - a.p95MsThen!);
  if (slowest === undefined) return null;
  const now = Math.max(...calling.map(({ p95MsNow }) => p95MsNow!));
  return slowest.p95MsThen! > now
    ? `zone ${slowest.zone} would be slower: p95 ${shown(slowest.p95MsThen)} ms, the slowest now has ${shown(now)}; the busiest endpoint would be used to ${percent(slowest.loadThen)}, now ${percent(slowest.loadNow)}`
    : null;
}

/** Finds the zone whose loss puts the highest load on the busiest remaining endpoint. */
function worstLoss(
  { endpoints }: ZoneServiceInput,
  causes: ReadonlyMap<string | null, number> | null,
): ZoneLoss | null {
  const zones = [...new Set(endpoints.flatMap(({ zone }) => zone ?? []))].sort();
  const losses = zones.map((zone): ZoneLoss => {
    const left = endpoints.filter((endpoint) => endpoint.zone !== zone);
    const load = busiest(left, loadsOf({ endpoints: left }, causes, "same-zone"));
    return { zone, zonesLeft: zones.length - 1, load };
  });
  return losses.toSorted((a, b) => (b.load ?? Infinity) - (a.load ?? Infinity))[0] ?? null;
}

function shown(value: number | null): string {
  return value === null ? "an unknown amount of" : String(Number(value.toPrecision(3)));
}

function percent(ratioOrNull: number | null): string {
  return ratioOrNull === null ? "an unknown share" : `${Math.round(ratioOrNull * 100)} %`;
}
