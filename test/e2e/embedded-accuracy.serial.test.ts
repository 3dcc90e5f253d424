// The running system, started as a user starts it: what it measures, held against the emulator's own record.
import type { ClusterGraphSnapshot, Link } from "@isochrone/topology";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EmbeddedSystem, eventually } from "../harness/embedded.ts";

interface PairRecord {
  readonly source: string;
  readonly target: string;
  readonly udp: { readonly count: number; readonly p50Ms: number | null; readonly p90Ms: number | null };
}

const WINDOW_MS = 30_000;

const udpLinks = (graph: ClusterGraphSnapshot): Link[] =>
  graph.links.filter(({ method }) => method === "udp_rr");

/**
 * Largest deviation of a graph value from the record, as a share of what is allowed: 5 % or 1.5 ms, the
 * larger.
 */
const deviation = (graphMs: number, recordMs: number): number =>
  Math.abs(graphMs - recordMs) / Math.max(0.05 * recordMs, 1.5);

describe("the embedded cluster", () => {
  let system: EmbeddedSystem;
  let startedAt: number;

  beforeAll(async () => {
    system = await EmbeddedSystem.start("--acts", "spread", "score");
    startedAt = Date.now();
  }, 90_000);

  afterAll(async () => {
    await system?.stop();
  }, 30_000);

  it("measures every ordered pair within 5 % or 1.5 ms of what the emulator did to its packets, under load", async () => {
    await eventually("every pair has p50 and p90 of a nearly full window", 55_000, async () => {
      const links = udpLinks(await system.cluster());
      return (
        links.length === 56 &&
        links.every(({ rttMs, provisional }) => rttMs.p50 !== null && rttMs.p90 !== null && !provisional)
      );
    });
    // Each pair has to agree with the record, both quantiles in one look. Not all in the very same look:
    // probes have the kernel's stamps, the relay doesn't, so what a packet waits before the relay reads it is
    // in the graph and not in the record; a p90 of 60 samples moves with it. In the last look a few may be
    // off, none by more than twice the allowance.
    const agreed = new Set<string>();
    // Usually within 60 s, and said below; that is not asserted, since placing anew, about then, disturbs
    // half a minute of measurements.
    const patienceMs = 130_000 - (Date.now() - startedAt);
    const last = await eventually("graph and record agree", patienceMs, async () => {
      const [graph, record] = await Promise.all([
        system.cluster(),
        system.get<{ pairs: PairRecord[] }>("lab", `/lab/v1/record?last=${WINDOW_MS}ms`),
      ]);
      const pairs = record.pairs.map(({ source, target, udp }) => {
        const { rttMs } = udpLinks(graph).find((link) => link.source === source && link.target === target)!;
        const worst = Math.max(deviation(rttMs.p50!, udp.p50Ms!), deviation(rttMs.p90!, udp.p90Ms!));
        return { pair: `${source} ${target}`, worst, graph: rttMs, udp };
      });
      expect(pairs).toHaveLength(56);
      for (const { pair, worst } of pairs) if (worst <= 1) agreed.add(pair);
      const outside = pairs.filter(({ worst }) => worst > 1);
      if (agreed.size < 56 || outside.length > 4 || outside.some(({ worst }) => worst > 2)) {
        const shown = JSON.stringify(outside.slice(0, 5));
        throw new Error(`${agreed.size} of 56 pairs have agreed, ${outside.length} are off now: ${shown}`);
      }
      return { outside: outside.length, worst: Math.max(...pairs.map(({ worst }) => worst)) };
    });
    const seconds = ((Date.now() - startedAt) / 1000).toFixed(0);
    const percent = (last.worst * 100).toFixed(0);
    console.log(
      `worst deviation: ${percent} % of what is allowed, ${last.outside} outside, ${seconds} s after start`,
    );
  }, 190_000);
});
