// Longer than 400 lines because a contract is read, and passed, as one list.
import { BusError, partitionOf } from "@isochrone/bus";
import type { Batch, Bus, BusRecord, OutgoingRecord, SubscribeOptions } from "@isochrone/bus";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

/** What an adapter promises beyond the port, or can't be asked to show. */
export interface BusCapabilities {
  /** Partitions of every topic of the bus under test. */
  readonly partitions: number;
  /** Whether offsets ascend without gaps. */
  readonly denseOffsets: boolean;
  /** Whether publishers wait, and are refused in the end, while the slowest group lags. */
  readonly backPressure: boolean;
  /** How long one hand-over or redelivery may take. */
  readonly patienceMs: number;
}

export interface BusUnderTest {
  readonly bus: Bus;
  /** Lets pauses (before a redelivery, say) pass: advances a manual clock; only waits where time is real. */
  pass(ms: number): Promise<void>;
  dispose(): Promise<void>;
}

export interface BusContract {
  readonly capabilities: BusCapabilities;
  /** A fresh bus; where it has bounds, 100 records or 4 MiB of backlog per partition and 2 s of waiting. */
  readonly create: () => Promise<BusUnderTest>;
}

const REDELIVERY_PAUSE_MS = 5_000;

/** Everything that code on the bus relies on. Every adapter passes it; what one can't do by its nature is a declared capability. */
export function describeBusContract(name: string, { capabilities, create }: BusContract): void {
  describe(`bus contract: ${name}`, () => {
    let under: BusUnderTest;
    let bus: Bus;
    let serial = 0;
    let topic = "";
    const waitFor = (check: () => void): Promise<void> =>
      vi.waitFor(check, { timeout: capabilities.patienceMs, interval: 5 });

    beforeEach(async () => {
      under = await create();
      ({ bus } = under);
      serial += 1;
      topic = `contract.${name}.${process.pid}.${serial}`;
    });
    afterEach(() => under.dispose());

    /** Subscribes and collects; commits every batch unless told otherwise. */
    const collect = async (group: string, options: Partial<SubscribeOptions> & { commit?: boolean } = {}) => {
      const { commit = true, ...rest } = options;
      const records: BusRecord[] = [];
      const subscription = await bus.subscribe({
        topics: [topic],
        group,
        from: "earliest",
        onBatch: async (batch) => {
          records.push(...batch.records);
          if (commit) await batch.commit();
        },
        ...rest,
      });
      return { records, subscription, texts: () => records.map(textOf) };
    };

    it("delivers the records of one key in the order of their publishing", async () => {
      const member = await collect("g");
      const texts = numbered(90);
      for (const text of texts.slice(0, 50)) await bus.publish(topic, [record("node-a", text)]);
      await bus.publish(
        topic,
        texts.slice(50).map((text) => record("node-a", text)),
      );
      await waitFor(() => expect(member.records).toHaveLength(90));
      expect(member.texts()).toEqual(texts);
    });

    it("keeps the order of one key even when the publisher does not wait in between", async () => {
      const member = await collect("g");
      const texts = numbered(100);
      await Promise.all(texts.map((text) => bus.publish(topic, [record("node-a", text)])));
      await waitFor(() => expect(member.records).toHaveLength(100));
      expect(member.texts()).toEqual(texts);
    });

    it("puts a key where Kafka's default partitioner puts it, each time", async () => {
      const member = await collect("g");
      const keys = numbered(40).map((text) => `node-${text}`);
      await bus.publish(
        topic,
        [...keys, ...keys].map((key) => record(key, key)),
      );
      await waitFor(() => expect(member.records).toHaveLength(80));
      for (const { key, partition } of member.records)
        expect(partition).toBe(partitionOf(key, capabilities.partitions));
      expect(new Set(member.records.map(({ partition }) => partition)).size).toBe(capabilities.partitions);
    });

    it("gives ascending offsets and batches of one partition only", async () => {
      const batches: Batch[] = [];
      await collect("g", { onBatch: async (batch) => void batches.push(batch), maxBatchRecords: 7 });
      await bus.publish(topic, spread(100));
      const count = (): number => batches.reduce((sum, { records }) => sum + records.length, 0);
      await waitFor(() => expect(count()).toBe(100));
      const next = new Map<number, number>();
      for (const batch of batches) {
        expect(batch.records.length).toBeGreaterThan(0);
        expect(batch.records.length).toBeLessThanOrEqual(7);
        for (const { partition, offset } of batch.records) {
          expect(partition).toBe(batch.partition);
          const expected = next.get(partition) ?? 0;
          expect(offset).toBeGreaterThanOrEqual(expected);
          expect(offset - expected).toBeLessThanOrEqual(capabilities.denseOffsets ? 0 : Infinity);
          next.set(partition, offset + 1);
        }
      }
    });

    it("gives every group everything", async () => {
      const [one, other] = [await collect("g1"), await collect("g2")];
      await bus.publish(topic, spread(60));
      await waitFor(() => expect([one.records.length, other.records.length]).toEqual([60, 60]));
    });

    it("shares the partitions of a topic among the members of a group, each record once", async () => {
      const members = [await collect("g"), await collect("g")];
      await under.pass(0);
      await waitForBalance(bus, topic, "probe", waitFor);
      await bus.publish(topic, spread(200));
      const all = (): BusRecord[] => members.flatMap(({ records }) => records);
      await waitFor(() => expect(all()).toHaveLength(200));
      expect(new Set(all().map(({ partition, offset }) => `${partition}/${offset}`)).size).toBe(200);
      for (const { records } of members) expect(records.length).toBeGreaterThan(0);
    });

    it("hands partitions over to a new member without loss and in order", async () => {
      const seen = new Map<string, string[]>();
      const note = async (batch: Batch): Promise<void> => {
        for (const { key, value } of batch.records) seen.set(key, [...(seen.get(key) ?? []), decode(value)]);
        await batch.commit();
      };
      await collect("g", { onBatch: note, maxBatchRecords: 5 });
      const keys = numbered(12).map((text) => `node-${text}`);
      for (let round = 0; round < 30; round += 1) {
        if (round === 10) await collect("g", { onBatch: note, maxBatchRecords: 5 });
        await bus.publish(
          topic,
          keys.map((key) => record(key, String(round))),
        );
      }
      const rounds = Array.from({ length: 30 }, (_, i) => String(i));
      await waitFor(() => expect([...seen.values()].every((texts) => new Set(texts).size === 30)).toBe(true));
      // At least once: a repeat is allowed, a step back to something never delivered before is not.
      for (const key of keys) expect([...new Set(seen.get(key))]).toEqual(rounds);
    });

    it("awaits onRevoked before another member is given the partitions", async () => {
      const log: string[] = [];
      const gate = Promise.withResolvers<void>();
      await collect("g", {
        onAssigned: async () => void log.push("first assigned"),
        onRevoked: async () => {
          log.push("first revoking");
          await gate.promise;
          log.push("first revoked");
        },
      });
      await waitFor(() => expect(log).toContain("first assigned"));
      const joining = collect("g", { onAssigned: async () => void log.push("second assigned") });
      await waitFor(() => expect(log).toContain("first revoking"));
      expect(log).not.toContain("second assigned");
      gate.resolve();
      await joining;
      await waitFor(() => expect(log).toContain("second assigned"));
      expect(log.indexOf("first revoked")).toBeLessThan(log.indexOf("second assigned"));
    });

    it("lets a member commit in onRevoked, and its successor begins there", async () => {
      let last: Batch | undefined;
      const first = await collect("g", {
        onBatch: async (batch) => void (last = batch),
        onRevoked: async () => await last?.commit(),
      });
      await bus.publish(topic, [record("node-a", "done")]);
      await waitFor(() => expect(last).toBeDefined());
      await first.subscription.close();
      const second = await collect("g");
      await bus.publish(topic, [record("node-a", "new")]);
      await waitFor(() => expect(second.texts()).toEqual(["new"]));
    });

    it("redelivers from the last commit after a member went without committing", async () => {
      const first = await collect("g", {
        maxBatchRecords: 1,
        onBatch: async (batch) => {
          first.records.push(...batch.records);
          if (textOf(batch.records[0]!) === "0") await batch.commit();
        },
      });
      await bus.publish(
        topic,
        numbered(5).map((text) => record("node-a", text)),
      );
      await waitFor(() => expect(first.records).toHaveLength(5));
      await first.subscription.close();
      const second = await collect("g");
      await waitFor(() => expect(second.texts()).toEqual(["1", "2", "3", "4"]));
    });

    it("does not deliver again what was committed before a restart of the member", async () => {
      const first = await collect("g");
      await bus.publish(topic, spread(50));
      await waitFor(() => expect(first.records).toHaveLength(50));
      await first.subscription.close();
      await bus.publish(topic, [record("node-a", "after")]);
      const second = await collect("g");
      await waitFor(() => expect(second.texts()).toEqual(["after"]));
    });

    it("commits inside a batch where asked, and redelivers only the rest", async () => {
      const first = await collect("g", {
        onBatch: async (batch) => {
          first.records.push(...batch.records);
          await batch.commit(batch.records[1]!.offset + 1);
        },
      });
      await bus.publish(
        topic,
        numbered(4).map((text) => record("node-a", text)),
      );
      await waitFor(() => expect(first.records).toHaveLength(4));
      await first.subscription.close();
      const second = await collect("g");
      await waitFor(() => expect(second.texts()).toEqual(["2", "3"]));
    });

    it("refuses a commit of a partition that was handed over", async () => {
      let last: Batch | undefined;
      const first = await collect("g", { onBatch: async (batch) => void (last = batch) });
      await bus.publish(topic, [record("node-a", "x")]);
      await waitFor(() => expect(last).toBeDefined());
      await first.subscription.close();
      await expect(last!.commit()).rejects.toMatchObject({
        name: "BusError",
        code: "not_assigned",
        retryable: false,
      });
    });

    it("redelivers a batch whose handler threw, in order and after a pause, and goes on", async () => {
      const attempts: string[] = [];
      await collect("g", {
        maxBatchRecords: 1,
        onBatch: async (batch) => {
          const text = textOf(batch.records[0]!);
          attempts.push(text);
          if (text === "1" && attempts.filter((other) => other === "1").length < 3)
            throw new Error("not now");
          await batch.commit();
        },
      });
      await bus.publish(
        topic,
        numbered(3).map((text) => record("node-a", text)),
      );
      await waitFor(() => expect(attempts).toEqual(["0", "1"]));
      await under.pass(REDELIVERY_PAUSE_MS);
      await waitFor(() => expect(attempts.slice(0, 3)).toEqual(["0", "1", "1"]));
      await under.pass(REDELIVERY_PAUSE_MS);
      await waitFor(() => expect(attempts).toEqual(["0", "1", "1", "1", "2"]));
    });

    it("runs no two handlers of one partition at once, however slow they are", async () => {
      let running = 0;
      let most = 0;
      let count = 0;
      await collect("g", {
        maxBatchRecords: 2,
        onBatch: async (batch) => {
          running += 1;
          most = Math.max(most, running);
          for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
          running -= 1;
          count += batch.records.length;
          await batch.commit();
        },
      });
      await bus.publish(
        topic,
        numbered(30).map((text) => record("node-a", text)),
      );
      await waitFor(() => expect(count).toBe(30));
      expect(most).toBe(1);
    });

    it("preserves headers, empty values and 1 MiB values byte by byte", async () => {
      const member = await collect("g");
      const big = Uint8Array.from({ length: 1024 * 1024 }, (_, i) => (i * 31 + (i >> 8)) & 0xff);
      const headers = { "isochrone-source": "node-ä", "content-type": "application/x-protobuf", empty: "" };
      await bus.publish(topic, [
        { key: "node-a", value: new Uint8Array(0), headers },
        { key: "node-a", value: big, headers: {} },
      ]);
      await waitFor(() => expect(member.records).toHaveLength(2));
      const [first, second] = member.records;
      expect(first!.value.byteLength).toBe(0);
      expect(first!.headers).toEqual(headers);
      expect(first!.key).toBe("node-a");
      expect(Buffer.compare(second!.value, big)).toBe(0);
      expect(second!.headers).toEqual({});
    });

    it("carries copies: neither a publisher's nor a consumer's later change of the bytes is seen by others", async () => {
      const value = encode("right");
      await bus.publish(topic, [{ key: "node-a", value, headers: {} }]);
      value.fill(0);
      const first = await collect("g1");
      await waitFor(() => expect(first.texts()).toEqual(["right"]));
      first.records[0]!.value.fill(0);
      const second = await collect("g2");
      await waitFor(() => expect(second.texts()).toEqual(["right"]));
    });

    it("begins at the end for a new group that asks for the latest, and at the begin for the earliest", async () => {
      await bus.publish(topic, [record("node-a", "old")]);
      const latest = await collect("late", { from: "latest" });
      const earliest = await collect("early", { from: "earliest" });
      await bus.publish(topic, [record("node-a", "new")]);
      await waitFor(() => expect(earliest.texts()).toEqual(["old", "new"]));
      await waitFor(() => expect(latest.texts()).toEqual(["new"]));
    });

    it("waits for the running handler when a subscription closes, and delivers nothing afterwards", async () => {
      const gate = Promise.withResolvers<void>();
      let started = false;
      const member = await collect("g", {
        maxBatchRecords: 1,
        onBatch: async (batch) => {
          started = true;
          await gate.promise;
          member.records.push(...batch.records);
        },
      });
      await bus.publish(
        topic,
        numbered(3).map((text) => record("node-a", text)),
      );
      await waitFor(() => expect(started).toBe(true));
      let closed = false;
      const closing = member.subscription.close().then(() => (closed = true));
      await new Promise((resolve) => setImmediate(resolve));
      expect(closed).toBe(false);
      gate.resolve();
      await closing;
      await member.subscription.close();
      expect(member.texts()).toEqual(["0"]);
    });

    it("refuses to publish and to subscribe after close, for good", async () => {
      await bus.close();
      await bus.close();
      const refusal = { name: "BusError", code: "closed", retryable: false };
      await expect(bus.publish(topic, [record("node-a", "x")])).rejects.toMatchObject(refusal);
      await expect(collect("g")).rejects.toMatchObject(refusal);
    });

    it("takes an empty publish for nothing", async () => {
      const member = await collect("g");
      await bus.publish(topic, []);
      await bus.publish(topic, [record("node-a", "x")]);
      await waitFor(() => expect(member.texts()).toEqual(["x"]));
    });

    describe.runIf(capabilities.backPressure)("back-pressure", () => {
      it("makes publishers wait for the slowest group, and lets them in when it commits", async () => {
        const gate = Promise.withResolvers<void>();
        let handled = 0;
        await collect("slow", {
          maxBatchRecords: 10,
          onBatch: async (batch) => {
            await gate.promise;
            handled += batch.records.length;
            await batch.commit();
          },
        });
        await collect("quick");
        await bus.publish(
          topic,
          numbered(100).map((text) => record("node-a", text)),
        );
        let published = false;
        const waiting = bus.publish(topic, [record("node-a", "one more")]).then(() => (published = true));
        await under.pass(100);
        expect(published).toBe(false);
        gate.resolve();
        await waiting;
        await waitFor(() => expect(handled).toBe(101));
      });

      it("refuses a publisher in the end, so that it may try again", async () => {
        const held = await collect("stuck", { commit: false });
        await bus.publish(
          topic,
          numbered(100).map((text) => record("node-a", text)),
        );
        const [late] = await Promise.allSettled([
          bus.publish(topic, [record("node-a", "x")]),
          under.pass(2_500),
        ]);
        expect(late).toMatchObject({ status: "rejected", reason: { code: "overloaded", retryable: true } });
        await waitFor(() => expect(held.records).toHaveLength(100));
      });

      it("ends the wait of a publisher whose signal aborts, without its records", async () => {
        const held = await collect("held", { commit: false });
        await bus.publish(
          topic,
          numbered(100).map((text) => record("node-a", text)),
        );
        const abort = new AbortController();
        const waiting = bus.publish(topic, [record("node-a", "x")], { signal: abort.signal });
        abort.abort(new Error("changed my mind"));
        await expect(waiting).rejects.toBeInstanceOf(BusError);
        await expect(waiting).rejects.toMatchObject({ code: "aborted" });
        await waitFor(() => expect(held.records).toHaveLength(100));
      });
    });
  });
}

/** Joins an own group for a moment: when that one has been served, earlier rebalances have been too. */
async function waitForBalance(
  bus: Bus,
  topic: string,
  group: string,
  waitFor: (check: () => void) => Promise<void>,
): Promise<void> {
  let assigned = false;
  const onAssigned = async (): Promise<void> => void (assigned = true);
  const subscription = await bus.subscribe({
    topics: [topic],
    group,
    from: "latest",
    onBatch: async () => undefined,
    onAssigned,
  });
  await waitFor(() => expect(assigned).toBe(true));
  await subscription.close();
}

function record(key: string, text: string): OutgoingRecord {
  return { key, value: encode(text), headers: {} };
}

/** Records over many keys, so that every partition gets some. */
function spread(count: number): OutgoingRecord[] {
  return numbered(count).map((text) => record(`node-${Number(text) % 40}`, text));
}

function numbered(count: number): string[] {
  return Array.from({ length: count }, (_, i) => String(i));
}

function encode(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, "utf8"));
}

function decode(value: Uint8Array): string {
  return Buffer.from(value).toString("utf8");
}

function textOf({ value }: BusRecord): string {
  return decode(value);
}
