// 200 random dumps against a second, independent implementation of each strategy.
import { seeded } from "@isochrone/primitives";
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
      const isWholly = new Map([...expected].map(([name, { score }]) => [name, score !== null]));
      const found = nodes.map(({ name, raw, feasible, score }) => ({
        name,
        // No figure is "no opinion": nothing placed, which a sum has as 0. 12 digits: sums are made in
        // another order.
        raw: Number((raw ?? 0).toPrecision(12)),
        feasible,
        score: isWholly.get(name) ? score : null,
      }));
      const wanted = nodes.map(({ name }) => {
        const { raw, feasible, score } = expected.get(name)!;
        return { name, raw: Number(raw.toPrecision(12)), feasible, score };
      });
      expect({ seed, nodes: found }).toEqual({ seed, nodes: wanted });
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
