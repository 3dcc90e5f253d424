import { seededRandom } from "@isochrone/runtime";
import { describe, expect, test } from "vitest";
import { rendezvousOwner } from "./rendezvous.ts";

const objects = Array.from({ length: 3000 }, (_, index) => `node/n${String(index).padStart(4, "0")}`);
const names = (count: number, seed = 1): string[] => {
  const random = seededRandom(seed);
  return Array.from(
    { length: count },
    (_, index) => `aggregator-${random.next().toString(36).slice(2, 7)}-${index}`,
  );
};
const ownersAmong = (candidates: readonly string[]): (string | null)[] =>
  objects.map((object) => rendezvousOwner(object, candidates));

describe("rendezvousOwner", () => {
  test("of nobody is nobody, of one is that one", () => {
    expect(rendezvousOwner("x", [])).toBeNull();
    expect(rendezvousOwner("x", ["a"])).toBe("a");
  });

  test("does not depend on the order of the candidates, nor on one being there twice", () => {
    const candidates = names(7);
    expect(ownersAmong(candidates.toReversed())).toEqual(ownersAmong(candidates));
    expect(ownersAmong([...candidates, candidates[3]!])).toEqual(ownersAmong(candidates));
  });

  test.each([2, 3, 5, 10])("gives each of %i about as much", (count) => {
    const candidates = names(count, count);
    const owners = ownersAmong(candidates);
    const expected = objects.length / count;
    // Five standard deviations of a fair draw.
    const tolerance = 5 * Math.sqrt(expected * (1 - 1 / count));
    for (const candidate of candidates) {
      const share = owners.filter((owner) => owner === candidate).length;
      expect(Math.abs(share - expected)).toBeLessThan(tolerance);
    }
  });

  test.each(Array.from({ length: 20 }, (_, index) => index + 1))(
    "moves nothing that need not move when candidates come and go (seed %i)",
    (seed) => {
      const random = seededRandom(seed);
      const pool = names(8, seed);
      let candidates = pool.slice(0, 4);
      let before = ownersAmong(candidates);
      for (let change = 0; change < 10; change++) {
        const name = pool[Math.floor(random.next() * pool.length)]!;
        const leaves = candidates.includes(name);
        candidates = leaves ? candidates.filter((other) => other !== name) : [...candidates, name];
        const after = ownersAmong(candidates);
        const moved = objects.flatMap((_, index) =>
          before[index] === after[index] ? [] : [leaves ? before[index] : after[index]],
        );
        expect(new Set(moved)).toEqual(new Set(moved.length > 0 ? [name] : []));
        before = after;
      }
    },
  );
});
