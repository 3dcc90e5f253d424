// One engine measures another through real threads: keys, code points, families, and the three times of a
// sample.
import { systemClock } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { Distribution, type Method } from "@isochrone/telemetry";
import { afterEach, describe, expect, test } from "vitest";
import type { Engine, EngineConfig, EngineSnapshot, FlowSnapshot, MeasuringThreads } from "../ports/ports.ts";
import { LOOP_KINDS, TEST_KEY, engineConfig, peerAt, until } from "../testing/harness.ts";
import { createMeasuringThreads } from "../measuring-threads.ts";

const METHODS: readonly Method[] = ["udp_rr", "tcp_rr", "tcp_connect"];
const NEXT_KEY = { id: 2, secret: Buffer.alloc(32, 0x33) };

const PATIENT = { timeoutMs: 10_000 };

describe.each(LOOP_KINDS)("engines on %s sockets", (kind) => {
  let thread: MeasuringThreads;
  const snapshots: EngineSnapshot[] = [];
  const logger = new MemoryLogger();

  afterEach(async () => {
    await thread.close();
    snapshots.length = 0;
  });

  async function openPair(
    values: Partial<EngineConfig> = {},
    other: Partial<EngineConfig> = values,
    address = "127.0.0.2",
  ): Promise<{ asker: Engine; answerer: Engine }> {
    thread = createMeasuringThreads({
      clock: systemClock,
      logger,
      sockets: kind === "kernel" ? "auto" : "node",
    });
    const six = address.includes(":");
    const own = six ? { identity: "::1", bindAddress: "::1" } : {};
    const asker = await thread.createEngine(engineConfig({ methods: METHODS, ...own, ...values }), {
      onSnapshot: (snapshot) => snapshots.push(snapshot),
    });
    const answerer = await thread.createEngine(
      engineConfig({ node: "answerer", identity: address, bindAddress: address, ...other }),
      { onSnapshot: () => {} },
    );
    asker.setPeers([peerAt(answerer, { address, identity: address })]);
    return { asker, answerer };
  }

  function flows(method?: Method): FlowSnapshot[] {
    const all = snapshots.flatMap((snapshot) => snapshot.flows);
    return method === undefined ? all : all.filter((flow) => flow.method === method);
  }

  const count = (outcome: "sent" | "received" | "lost" | "corrupt" | "send_error", method?: Method): number =>
    flows(method).reduce((sum, flow) => sum + flow.outcomes[outcome], 0);

  const answered =
    (times: number): (() => boolean) =>
    () =>
      METHODS.every((method) => count("received", method) >= times);

  const p50 = (method: Method, part: "rtt" | "application" | "planned"): number => {
    const all = new Distribution();
    for (const flow of flows(method)) all.mergeData(flow[part]);
    return all.quantile(0.5) ?? Number.NaN;
  };

  test.each(["127.0.0.2", "::1"])(
    "every method measures %s, and its three times are in order",
    async (address) => {
      await openPair(PATIENT, PATIENT, address);
      await until("answers", answered(20));
      for (const method of METHODS) {
        expect(flows(method).every((flow) => flow.ipFamily === (address === "::1" ? 6 : 4))).toBe(true);
        expect(p50(method, "rtt")).toBeGreaterThan(0);
        expect(p50(method, "application")).toBeGreaterThanOrEqual(p50(method, "rtt"));
        expect(p50(method, "planned")).toBeGreaterThanOrEqual(p50(method, "application"));
        const stamps = flows(method).map((flow) => flow.stamps);
        const by = { kernel: 0, user: 0 };
        for (const { kernel, user } of stamps) {
          by.kernel += kernel;
          by.user += user;
        }
        expect(by.kernel > by.user).toBe(kind === "kernel");
        expect(by.kernel === 0).toBe(kind === "node");
      }
      expect(count("lost") + count("corrupt") + count("send_error")).toBe(0);
    },
  );

  test("a rotation of keys under continuous traffic loses and corrupts nothing", async () => {
    const { asker, answerer } = await openPair(PATIENT);
    // The aggregator's order: known to all, then signing, then retired.
    for (const [keys, signingKeyId] of [
      [[TEST_KEY, NEXT_KEY], 1],
      [[TEST_KEY, NEXT_KEY], 2],
      [[NEXT_KEY], 2],
    ] as const) {
      for (const engine of [answerer, asker]) engine.setKeys(keys, signingKeyId);
      const sent = count("sent");
      await until("more traffic", () => count("sent") > sent + 60);
    }
    await asker.stop();
    expect(count("lost") + count("corrupt") + count("send_error")).toBe(0);
    expect(count("received")).toBeGreaterThan(count("sent") - 10);
  });

  test("without authentication packets carry no signature, and are answered by who wants none", async () => {
    await openPair({ ...PATIENT, keys: [], signingKeyId: 0 });
    await until("answers", answered(10));
    expect(count("lost") + count("corrupt")).toBe(0);
  });

  test("who wants signatures answers nothing without, and counts it", async () => {
    const refusals: string[] = [];
    thread = createMeasuringThreads({
      clock: systemClock,
      logger,
      sockets: kind === "kernel" ? "auto" : "node",
    });
    const open = await thread.createEngine(engineConfig({ keys: [], signingKeyId: 0 }), {
      onSnapshot: (snapshot) => snapshots.push(snapshot),
    });
    const strict = await thread.createEngine(
      engineConfig({ node: "answerer", identity: "127.0.0.2", bindAddress: "127.0.0.2" }),
      { onSnapshot: ({ responder }) => refusals.push(...Object.keys(responder.refused)) },
    );
    open.setPeers([peerAt(strict)]);
    await until("losses", () => count("lost", "udp_rr") > 3 && refusals.includes("unknown_key"));
    expect(count("received", "udp_rr") + count("received", "tcp_rr")).toBe(0);
  });

  test("all sends failing is 100 % loss, not silence", async () => {
    thread = createMeasuringThreads({
      clock: systemClock,
      logger,
      sockets: kind === "kernel" ? "auto" : "node",
    });
    const asker = await thread.createEngine(engineConfig({ methods: METHODS }), {
      onSnapshot: (snapshot) => snapshots.push(snapshot),
    });
    asker.setPeers([peerAt({}, { address: "255.255.255.255", identity: "127.0.0.9" })]);
    await until("failures", () =>
      METHODS.every((method) => count("send_error", method) + count("lost", method) > 5),
    );
    expect(count("received")).toBe(0);
    expect(Object.keys(Object.assign({}, ...flows("udp_rr").map((flow) => flow.errors)))).toContain("EACCES");
  });
});
