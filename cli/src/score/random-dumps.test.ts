// 200 random dumps against a second, independent implementation of each strategy.
import { seeded } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import { scoreDump } from "./score-dump.ts";
import { communicationAffinityOracle, resourceNetworkOracle, upstreamOracle } from "./testing/dump-oracle.ts";
import type { OracleRow } from "./testing/dump-oracle.ts";
import { randomDump } from "./testing/random-dump.ts";
import type { RandomDump } from "./testing/random-dump.ts";

const CASES = 200;

const STRATEGIES: readonly (readonly [string, string, (dump: RandomDump) => Map<string, OracleRow>])[] = [
  ["network-overhead", "upstream", upstreamOracle],
  ["resource-network", "raw", resourceNetworkOracle],
  ["communication-affinity", "raw", communicationAffinityOracle],
];

describe.each(STRATEGIES)("%s/%s of random dumps", (strategy, mode, oracle) => {
  // A second or two, on a machine that has nothing else to do.
  test(`is what a second implementation gives, in ${CASES} cases`, { timeout: 180_000 }, () => {
    const seen = { withCoordinates: 0, toldApart: 0, rejecting: 0 };
    for (let seed = 1; seed <= CASES; seed++) {
      const dump = randomDump(seeded(seed));
      const expected = oracle(dump);
      const { nodes } = scoreDump({
        dumpText: JSON.stringify({
          kind: "List",
          // The plugin's costs are in a NetworkTopology; the papers' are on nodes.
          items: mode === "upstream" ? [...dump.objects, dump.topology] : dump.objects,
        }),
        podText: JSON.stringify(dump.pod),
        strategy,
        mode,
      });
      expect(nodes.length, `seed ${seed}`).toBe(expected.size);
      for (const { name, raw, feasible, score } of nodes) {
        const row = expected.get(name)!;
        const at = `seed ${seed}, node ${name}`;
        expect(Math.abs(raw! - row.raw), at).toBeLessThanOrEqual(1e-9 * Math.max(1, Math.abs(row.raw)));
        expect(feasible, at).toBe(row.feasible);
        if (row.score !== null) expect(score, at).toBe(row.score);
      }
      const rows = [...expected.values()];
      if (dump.hasCoordinates) seen.withCoordinates += 1;
      if (new Set(rows.map(({ raw }) => raw)).size > 1) seen.toldApart += 1;
      if (rows.some(({ feasible }) => !feasible)) seen.rejecting += 1;
    }
    // The cases are worth their while.
    expect(seen.withCoordinates).toBeGreaterThan(CASES / 5);
    expect(seen.toldApart).toBeGreaterThan(CASES / 2);
    expect(seen.rejecting).toBeGreaterThan(CASES / 5);
  });
});
