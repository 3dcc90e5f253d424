import { createLogger } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { MemoryKeyStore } from "../testing/memory-key-store.ts";
import type { AwaitedProbe } from "./domain/rotation.ts";
import { KeyKeeper, type KeyKeeperOptions } from "./key-keeper.ts";
import type { HmacKeySet, KeyStore, StoredKeys } from "../ports/ports.ts";

const RULE = { rotationMs: 600_000, confirmMs: 3_600_000, graceMs: 4_000 };

class FlakyStore implements KeyStore {
  readonly inner = new MemoryKeyStore();
  isAway = false;

  async read(): Promise<StoredKeys> {
    if (this.isAway) throw new Error("store is away");
    return this.inner.read();
  }

  async write(set: HmacKeySet, revision: string | null): Promise<string> {
    if (this.isAway) throw new Error("store is away");
    return this.inner.write(set, revision);
  }
}

let clock: ManualClock;
let logger: MemoryLogger;
let store: FlakyStore;
let probes: AwaitedProbe[] | null;
let isLeader: boolean;
let secrets: number;

beforeEach(() => {
  clock = new ManualClock();
  logger = new MemoryLogger();
  store = new FlakyStore();
  probes = [];
  isLeader = true;
  secrets = 0;
});

function keeper(options: Partial<KeyKeeperOptions> = {}): KeyKeeper {
  return new KeyKeeper({
    store,
    leadership: { isLeader: () => isLeader },
    clock,
    logger,
    rule: RULE,
    checkMs: 5_000,
    randomBytes: (count) => Buffer.alloc(count, ++secrets),
    probes: () => probes,
    ...options,
  });
}

const ids = async (): Promise<unknown> => {
  const { set } = await store.inner.read();
  return set === null ? null : { signs: set.signingKeyId, held: set.keys.map(({ id }) => id) };
};
const reported = (held: number[], signing: number): AwaitedProbe[] => [
  { node: "a", report: { heldKeyIds: held, signingKeyId: signing } },
];

describe("KeyKeeper", () => {
  test("makes the first key at its start, of 32 random bytes", async () => {
    const keys = keeper();
    expect(keys.isReady).toBe(false);
    expect(() => keys.signingKeyId).toThrow("haven't been read yet");
    probes = null;
    await keys.check();
    expect(keys.signingKeyId).toBe(1);
    const { set } = await store.read();
    expect(set!.keys[0]!.secret.reveal()).toBe(Buffer.alloc(32, 1).toString("base64"));
    expect(set!.keys[0]!.createdAtMs).toBe(clock.now());
  });

  test("replaces a key step by step as probes confirm, by its own beat", async () => {
    const keys = keeper();
    await keys.start();
    probes = reported([1], 1);
    await clock.advance(600_000);
    expect(await ids()).toEqual({ signs: 1, held: [1, 2] });
    await clock.advance(60_000);
    expect(await ids()).toEqual({ signs: 1, held: [1, 2] });
    expect(keys.awaited).toEqual(["a"]);
    probes = reported([1, 2], 1);
    await clock.advance(5_000);
    expect(await ids()).toEqual({ signs: 2, held: [1, 2] });
    expect(keys.signingKeyId).toBe(2);
    await clock.advance(60_000);
    expect(await ids()).toEqual({ signs: 2, held: [1, 2] });
    probes = reported([1, 2], 2);
    await clock.advance(10_000);
    expect(await ids()).toEqual({ signs: 2, held: [2] });
    expect(keys.counts).toMatchObject({ rotations: 1, unconfirmed: 0 });
    await keys.stop();
  });

  test("while the cluster isn't known nothing is decided: nobody would be waited for", async () => {
    const keys = keeper();
    await keys.start();
    await clock.advance(600_000);
    // Without probes there is no wait.
    expect(await ids()).toEqual({ signs: 1, held: [1, 2] });
    probes = null;
    await clock.advance(60_000);
    expect(await ids()).toEqual({ signs: 1, held: [1, 2] });
    probes = [];
    await clock.advance(5_000);
    expect(await ids()).toEqual({ signs: 2, held: [1, 2] });
    await keys.stop();
  });

  test("another replica goes on where this one stopped", async () => {
    const first = keeper();
    await first.check();
    await clock.advance(600_000);
    await first.check();
    const second = keeper();
    probes = reported([1, 2], 1);
    await second.check();
    expect(await ids()).toEqual({ signs: 2, held: [1, 2] });
    expect(first.signingKeyId).toBe(1);
    isLeader = false;
    await first.check();
    expect(first.signingKeyId).toBe(2);
  });

  test("one that doesn't lead only reads", async () => {
    isLeader = false;
    const keys = keeper();
    await keys.check();
    expect(keys.isReady).toBe(false);
    expect(await ids()).toBeNull();
    isLeader = true;
    await keys.check();
    expect(keys.isReady).toBe(true);
  });

  test("two that both think they lead make one key", async () => {
    const [one, two] = [keeper(), keeper()];
    await Promise.all([one.check(), two.check()]);
    expect(one.counts.conflicts + two.counts.conflicts).toBe(1);
    await Promise.all([one.check(), two.check()]);
    expect([one.signingKeyId, two.signingKeyId]).toEqual([1, 1]);
    expect((await store.read()).set!.keys).toHaveLength(1);
  });

  test("a store that is away changes nothing, is counted, and is taken up again", async () => {
    const keys = keeper();
    await keys.check();
    store.isAway = true;
    await clock.advance(600_000);
    await keys.check();
    await keys.check();
    expect(keys.signingKeyId).toBe(1);
    expect(keys.counts.readFailures).toBe(2);
    expect(logger.lines.filter(({ level }) => level === "warn")).toHaveLength(1);
    store.isAway = false;
    await keys.check();
    expect(await ids()).toEqual({ signs: 1, held: [1, 2] });
  });

  test("a probe that never confirms is counted and named", async () => {
    const keys = keeper();
    await keys.start();
    probes = [{ node: "stuck", report: null }, ...reported([1, 2], 2)];
    await clock.advance(600_000 + 2 * 3_600_000 + 20_000);
    // The new key is due for replacement itself.
    expect(await ids()).toEqual({ signs: 2, held: [2, 3] });
    expect(keys.counts).toMatchObject({ rotations: 1, unconfirmed: 2 });
    expect(logger.lines.find(({ event }) => event.startsWith("probes did not confirm"))).toMatchObject({
      fields: { step: "sign", count: 1, nodes: ["stuck"] },
    });
    await keys.stop();
  });

  test("no secret is in any log line", async () => {
    const written: string[] = [];
    const keys = keeper({
      logger: createLogger({
        service: "test",
        level: "debug",
        format: "json",
        clock,
        destination: { write: (line: string) => void written.push(line) },
      }),
    });
    await keys.start();
    probes = reported([1, 2], 2);
    await clock.advance(700_000);
    store.isAway = true;
    await clock.advance(10_000);
    await keys.stop();
    expect(written.length).toBeGreaterThan(3);
    for (const byte of [1, 2]) {
      const secret = Buffer.alloc(32, byte).toString("base64");
      expect(written.join("\n")).not.toContain(secret.slice(0, 20));
    }
  });
});
