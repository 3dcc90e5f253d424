import { Distribution } from "@isochrone/telemetry";
import { keysOf } from "@isochrone/primitives";
import { noOutcomes } from "../domain/tally.ts";
import type { FlowSnapshot, ZeroCheckSnapshot } from "../ports/ports.ts";
import type { IcmpReport } from "./messages.ts";

export function mergeReports(a: IcmpReport, b: IcmpReport): IcmpReport {
  const flows = new Map(a.flows.map((flow) => [keyOf(flow), flow]));
  for (const flow of b.flows) {
    const known = flows.get(keyOf(flow));
    flows.set(keyOf(flow), known === undefined ? flow : mergeFlows(known, flow));
  }
  return { flows: [...flows.values()], zeroCheck: mergeZeroChecks(a.zeroCheck, b.zeroCheck) };
}

const keyOf = ({ node, ipFamily }: FlowSnapshot): string => `${ipFamily} ${node}`;

function mergeFlows(a: FlowSnapshot, b: FlowSnapshot): FlowSnapshot {
  const outcomes = noOutcomes();
  for (const name of keysOf(outcomes)) outcomes[name] = a.outcomes[name] + b.outcomes[name];
  return {
    ...b,
    outcomes,
    errors: addCounts(a.errors, b.errors),
    discards: addCounts(a.discards, b.discards),
    variationSeconds: a.variationSeconds + b.variationSeconds,
    variationCount: a.variationCount + b.variationCount,
    rtt: mergeDistributions(a.rtt, b.rtt),
    stamps: { kernel: a.stamps.kernel + b.stamps.kernel, user: a.stamps.user + b.stamps.user },
    renewals: a.renewals + b.renewals,
    hops: b.hops ?? a.hops,
  };
}

function mergeZeroChecks(a: ZeroCheckSnapshot | null, b: ZeroCheckSnapshot | null): ZeroCheckSnapshot | null {
  if (a === null || b === null) return a ?? b;
  const sources = [a.source, b.source].filter((source) => source !== "none");
  const source = sources.includes("user") ? "user" : (sources[0] ?? "none");
  return {
    source,
    sent: a.sent + b.sent,
    received: a.received + b.received,
    rtt: mergeDistributions(a.rtt, b.rtt),
  };
}

function mergeDistributions(a: FlowSnapshot["rtt"], b: FlowSnapshot["rtt"]): FlowSnapshot["rtt"] {
  const merged = new Distribution();
  merged.mergeData(a);
  merged.mergeData(b);
  return merged.toData();
}

function addCounts(
  a: Readonly<Record<string, number>>,
  b: Readonly<Record<string, number>>,
): Record<string, number> {
  const sum: Record<string, number> = { ...a };
  for (const [name, count] of Object.entries(b)) sum[name] = (sum[name] ?? 0) + count;
  return sum;
}
