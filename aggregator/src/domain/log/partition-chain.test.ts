import { seededRandom } from "@isochrone/runtime";
import { describe, expect, test } from "vitest";
import { PartitionChain, type DeltaEntry, type LogEntry } from "./partition-chain.ts";

interface DeltaOptions {
  readonly claimPosition?: number;
  readonly part?: number;
  readonly parts?: number;
  readonly body?: string;
}

function claim(name: string, position: number): LogEntry<string> {
  return { kind: "claim", claim: name, position };
}

function delta(name: string, from: number, to: number, options: DeltaOptions = {}): DeltaEntry<string> {
  const { claimPosition = 0, part = 0, parts = 1, body = `${name} ${from}-${to} ${part}` } = options;
  return { kind: "delta", claim: name, claimPosition, from, to, part, parts, body };
}

/** Verdicts of a whole log, in short. */
function verdicts(chain: PartitionChain<string>, log: readonly LogEntry<string>[]): string[] {
  return log.map((entry) => {
    const verdict = chain.take(entry);
    return verdict.kind === "refused" ? verdict.reason : verdict.kind;
  });
}

describe("the chain of a partition", () => {
  test("goes on from delta to delta, and from owner to owner", () => {
    const chain = new PartitionChain<string>();
    expect(
      verdicts(chain, [
        claim("a", 0),
        delta("a", 3, 5),
        delta("a", 5, 9),
        claim("b", 3),
        delta("b", 9, 12, { claimPosition: 3 }),
      ]),
    ).toEqual(["claimed", "accepted", "accepted", "claimed", "accepted"]);
    expect(chain.next).toBe(12);
    expect(chain.claim).toBe("b");
  });

  test("what an owner sends after the next one's claim is refused, however it fits", () => {
    const chain = new PartitionChain<string>();
    const log = [claim("a", 0), delta("a", 0, 5), claim("b", 2), delta("a", 5, 9)];
    expect(verdicts(chain, log)).toEqual(["claimed", "accepted", "claimed", "superseded"]);
    expect(verdicts(chain, [delta("b", 5, 7, { claimPosition: 2 }), delta("a", 7, 9)])).toEqual([
      "accepted",
      "superseded",
    ]);
  });

  test("a delta that comes again counts once, also when it was sent between others", () => {
    const chain = new PartitionChain<string>();
    const log = [claim("a", 0), delta("a", 0, 5), delta("a", 0, 5), delta("a", 5, 6), delta("a", 0, 5)];
    expect(verdicts(chain, log)).toEqual(["claimed", "accepted", "repeat", "accepted", "repeat"]);
  });

  test("a delta that leaves records out, or holds some that are contained already, is refused", () => {
    const chain = new PartitionChain<string>();
    const log = [claim("a", 0), delta("a", 0, 5), delta("a", 6, 9), delta("a", 4, 9), delta("a", 5, 6)];
    expect(verdicts(chain, log)).toEqual(["claimed", "accepted", "gap", "gap", "accepted"]);
  });

  test("a delta in parts is applied when the last one is there, in the order of the parts", () => {
    const chain = new PartitionChain<string>();
    const part = (n: number): LogEntry<string> => delta("a", 0, 5, { part: n, parts: 3, body: `p${n}` });
    expect(verdicts(chain, [claim("a", 0), part(2), part(0), part(2)])).toEqual([
      "claimed",
      "waiting",
      "waiting",
      "waiting",
    ]);
    expect(chain.next).toBeNull();
    expect(chain.take(part(1))).toEqual({ kind: "accepted", from: 0, to: 5, bodies: ["p0", "p1", "p2"] });
    expect(verdicts(chain, [part(0), part(1), part(2)])).toEqual(["repeat", "repeat", "repeat"]);
  });

  test("parts that a dead owner left incomplete never count, and the heir begins where they began", () => {
    const chain = new PartitionChain<string>();
    const log = [
      claim("a", 0),
      delta("a", 0, 5),
      delta("a", 5, 9, { part: 0, parts: 2 }),
      claim("b", 3),
      delta("a", 5, 9, { part: 1, parts: 2 }),
      delta("b", 5, 8, { claimPosition: 3 }),
    ];
    expect(verdicts(chain, log)).toEqual([
      "claimed",
      "accepted",
      "waiting",
      "claimed",
      "superseded",
      "accepted",
    ]);
    expect(chain.next).toBe(8);
  });

  test("a claim that comes again does not bring a former owner back", () => {
    const chain = new PartitionChain<string>();
    const log = [claim("a", 0), claim("a", 1), claim("b", 2), claim("a", 3), delta("a", 0, 5)];
    expect(verdicts(chain, log)).toEqual(["claimed", "stale_claim", "claimed", "stale_claim", "superseded"]);
    expect(chain.claim).toBe("b");
  });

  test("of two claims that cross, the one that stands later in the log holds for everybody", () => {
    const chain = new PartitionChain<string>();
    const late = delta("late", 0, 5, { claimPosition: 1 });
    const early = delta("early", 0, 5, { claimPosition: 0 });
    expect(verdicts(chain, [claim("early", 0), claim("late", 1), early, late])).toEqual([
      "claimed",
      "claimed",
      "superseded",
      "accepted",
    ]);
  });

  test("a log that begins in the middle is taken up where it begins", () => {
    const chain = new PartitionChain<string>();
    const log = [
      delta("a", 5, 9, { claimPosition: 3, part: 1, parts: 2 }),
      delta("a", 9, 12, { claimPosition: 3 }),
      delta("a", 12, 13, { claimPosition: 3 }),
    ];
    expect(verdicts(chain, log)).toEqual(["waiting", "accepted", "accepted"]);
    expect(chain.next).toBe(13);
  });

  test("a claim that was lost with the log's beginning shows in its deltas; what an older owner sends later is refused", () => {
    const chain = new PartitionChain<string>();
    const log = [
      delta("zombie", 5, 9, { claimPosition: 3 }),
      delta("b", 5, 7, { claimPosition: 8 }),
      delta("zombie", 9, 10, { claimPosition: 3 }),
      delta("b", 7, 8, { claimPosition: 8 }),
    ];
    expect(verdicts(chain, log)).toEqual(["accepted", "accepted", "superseded", "accepted"]);
    expect(chain.next).toBe(8);
  });

  test.each([
    ["an empty range", delta("a", 5, 5)],
    ["a range that runs backwards", delta("a", 5, 3)],
    ["a part beyond its parts", delta("a", 0, 5, { part: 2, parts: 2 })],
    ["no parts", delta("a", 0, 5, { part: 0, parts: 0 })],
    ["more parts than any owner sends", delta("a", 0, 5, { part: 0, parts: 100_000 })],
  ])("%s is refused and changes nothing", (_, entry) => {
    const chain = new PartitionChain<string>();
    chain.take(claim("a", 0));
    expect(verdicts(chain, [entry, delta("a", 0, 5)])).toEqual(["parts", "accepted"]);
  });
});

/** Owners that come, send in parts, repeat themselves, die, and are outlived by what they had under way. */
function randomLog(seed: number): LogEntry<string>[] {
  const random = seededRandom(seed);
  const log: LogEntry<string>[] = [];
  const reader = new PartitionChain<string>();
  const append = (entry: LogEntry<string>): void => {
    log.push(entry);
    reader.take(entry);
  };
  let late: LogEntry<string>[] = [];
  for (let owner = 0; owner < 12; owner++) {
    const position = log.length;
    append(claim(`o${owner}`, position));
    // What it reads back is what everybody reads.
    let next = reader.next ?? 0;
    for (let i = Math.floor(random.next() * 6); i > 0; i--) {
      const to = next + 1 + Math.floor(random.next() * 5);
      const parts = 1 + Math.floor(random.next() * 3);
      const all = Array.from({ length: parts }, (_, part) =>
        delta(`o${owner}`, next, to, { claimPosition: position, part, parts }),
      );
      const sent = random.next() < 0.3 ? [...all.slice(0, 1), ...all] : all;
      const died = random.next() < 0.2 ? Math.floor(random.next() * sent.length) : sent.length;
      for (const entry of sent.slice(0, died)) append(entry);
      for (const entry of late.splice(0, random.next() < 0.5 ? 1 : 0)) append(entry);
      late = [...late, ...sent.slice(died)];
      if (died < sent.length) break;
      next = to;
    }
  }
  return [...log, ...late];
}

describe.each(Array.from({ length: 50 }, (_, seed) => seed + 1))("a random log (seed %i)", (seed) => {
  test("contains every offset once, whatever happens to owners", () => {
    const chain = new PartitionChain<string>();
    const ranges: [number, number][] = [];
    for (const entry of randomLog(seed)) {
      const verdict = chain.take(entry);
      if (verdict.kind === "accepted") ranges.push([verdict.from, verdict.to]);
    }
    expect(ranges.length).toBeGreaterThan(0);
    expect(ranges.slice(1).map(([from]) => from)).toEqual(ranges.slice(0, -1).map(([, to]) => to));
  });

  test("read from any place on, agrees with who read it from the beginning once a claim and its first delta were read", () => {
    const log = randomLog(seed);
    for (let start = 0; start < log.length; start++) {
      const whole = new PartitionChain<string>();
      for (const entry of log.slice(0, start)) whole.take(entry);
      const part = new PartitionChain<string>();
      let isSettled = false;
      let hasClaim = false;
      for (const entry of log.slice(start)) {
        const expected = whole.take(entry).kind;
        const verdict = part.take(entry).kind;
        if (verdict === "claimed") hasClaim = true;
        if (expected === "accepted" && hasClaim) isSettled = true;
        if (!isSettled) continue;
        expect(verdict.replace("stale_claim", "claimed")).toBe(expected.replace("stale_claim", "claimed"));
        expect([part.claim, part.next]).toEqual([whole.claim, whole.next]);
      }
    }
  });
});
