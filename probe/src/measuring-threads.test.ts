import { afterEach, describe, expect, test } from "vitest";
import { loadLibc } from "@isochrone/kernel-sockets";
import { systemClock } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import type { EngineSnapshot, MeasuringThreads, ProbePeer } from "./ports/ports.ts";
import { EchoSocket } from "./icmp/echo-socket.ts";
import { engineConfig, peerAt, until } from "./testing/harness.ts";
import { createMeasuringThreads } from "./measuring-threads.ts";

const canPing = await loadLibc()
  .then(
    (libc) => {
      new EchoSocket(libc, { family: 4, dscp: 0, id: 1, nonce: 1n }).close();
      return true;
    },
    () => false,
  )
  .catch(() => false);

let thread: MeasuringThreads | null = null;
const logger = new MemoryLogger();

afterEach(async () => {
  await thread?.close();
  thread = null;
});

const asker = engineConfig({ node: "asker", publishIntervalMs: 100 });
const answerer = engineConfig({ node: "answerer", identity: "127.0.0.2", bindAddress: "127.0.0.2" });

function received(snapshots: readonly EngineSnapshot[], method: string): number {
  return snapshots
    .flatMap((snapshot) => snapshot.flows)
    .filter((flow) => flow.method === method)
    .reduce((sum, flow) => sum + flow.outcomes.received, 0);
}

describe.each(["threads", "main"] as const)("measuring in %s", (place) => {
  test("hosts several engines, and one measures the other by both methods", async () => {
    thread = createMeasuringThreads({ clock: systemClock, logger, place });
    const snapshots: EngineSnapshot[] = [];
    const a = await thread.createEngine(asker, { onSnapshot: (snapshot) => snapshots.push(snapshot) });
    const b = await thread.createEngine(answerer, { onSnapshot: () => {} });
    a.setPeers([peerAt(b)]);
    await until("answers", () => received(snapshots, "udp_rr") >= 20 && received(snapshots, "tcp_rr") >= 20);
    const flows = snapshots.flatMap((snapshot) => snapshot.flows);
    expect(flows.every((flow) => flow.node === "answerer" && flow.ipFamily === 4)).toBe(true);
    expect(flows.reduce((sum, flow) => sum + flow.outcomes.lost, 0)).toBe(0);
    for (const { startMs, endMs } of snapshots) expect(endMs).toBeGreaterThanOrEqual(startMs);
  });

  test("a pace holds for all engines, those that come later included", async () => {
    thread = createMeasuringThreads({ clock: systemClock, logger, place });
    thread.setPace(1e6);
    const snapshots: EngineSnapshot[] = [];
    const a = await thread.createEngine(asker, { onSnapshot: (snapshot) => snapshots.push(snapshot) });
    const b = await thread.createEngine(answerer, { onSnapshot: () => {} });
    a.setPeers([peerAt(b)]);
    // The first send has a random phase of the configured interval; the second comes long after this test.
    await until("the first answer", () => received(snapshots, "udp_rr") > 0);
    snapshots.length = 0;
    await until("some snapshots", () => snapshots.length >= 5);
    expect(received(snapshots, "udp_rr")).toBe(0);
  });

  test("the last snapshot of a stopping engine holds what wasn't published yet", async () => {
    thread = createMeasuringThreads({ clock: systemClock, logger, place });
    const snapshots: EngineSnapshot[] = [];
    const slow = { ...asker, publishIntervalMs: 3_600_000 };
    const a = await thread.createEngine(slow, { onSnapshot: (snapshot) => snapshots.push(snapshot) });
    const b = await thread.createEngine(answerer, { onSnapshot: () => {} });
    a.setPeers([peerAt(b)]);
    await systemClock.sleep(1_000);
    expect(snapshots).toHaveLength(0);
    await a.stop();
    expect(snapshots).toHaveLength(1);
    expect(received(snapshots, "udp_rr")).toBeGreaterThan(5);
  });

  test("a peer that leaves is measured no more; the others go on without a break", async () => {
    thread = createMeasuringThreads({ clock: systemClock, logger, place });
    const snapshots: EngineSnapshot[] = [];
    const a = await thread.createEngine(asker, { onSnapshot: (snapshot) => snapshots.push(snapshot) });
    const b = await thread.createEngine(answerer, { onSnapshot: () => {} });
    const stays = peerAt(b);
    const leaves: ProbePeer = { ...stays, node: "leaver" };
    a.setPeers([stays, leaves]);
    await until("both", () => snapshots.some((snapshot) => snapshot.flows.length === 4));
    a.setPeers([stays]);
    snapshots.length = 0;
    await until("the rest", () => snapshots.some((snapshot) => snapshot.flows.length === 2));
    snapshots.length = 0;
    await until("more of the rest", () => snapshots.length >= 2);
    expect(snapshots.flatMap((snapshot) => snapshot.flows).every((flow) => flow.node === "answerer")).toBe(
      true,
    );
    expect(
      snapshots.flatMap((snapshot) => snapshot.flows).reduce((sum, flow) => sum + flow.outcomes.lost, 0),
    ).toBe(0);
  });

  test("a port that is taken is a named error, and the thread lives on", async () => {
    thread = createMeasuringThreads({ clock: systemClock, logger, place });
    const a = await thread.createEngine(asker, { onSnapshot: () => {} });
    const taken = { ...engineConfig(), udpPort: a.udpPort };
    await expect(thread.createEngine(taken, { onSnapshot: () => {} })).rejects.toMatchObject({
      code: "probe_bind_failed",
      retryable: true,
      message: expect.stringContaining(`UDP port ${a.udpPort}`),
    });
    await thread.createEngine(answerer, { onSnapshot: () => {} });
    expect(thread.restarts).toBe(0);
  });

  test("a closed thread creates no engines", async () => {
    const closed = createMeasuringThreads({ clock: systemClock, logger, place });
    await closed.close();
    await expect(closed.createEngine(asker, { onSnapshot: () => {} })).rejects.toMatchObject({
      code: "probe_thread_closed",
    });
  });

  test.skipIf(!canPing)("the zero-check reads the loopback", async () => {
    thread = createMeasuringThreads({ clock: systemClock, logger, place });
    const snapshots: EngineSnapshot[] = [];
    const config = { ...asker, zeroCheckIntervalMs: 20 };
    await thread.createEngine(config, { onSnapshot: (snapshot) => snapshots.push(snapshot) });
    await until("some echoes", () => snapshots.some(({ zeroCheck }) => (zeroCheck?.rtt.count ?? 0) > 5));
    const checks = snapshots.flatMap(({ zeroCheck }) => zeroCheck ?? []);
    expect(checks.some(({ source }) => source === "kernel")).toBe(true);
    expect(Math.min(...checks.filter(({ rtt }) => rtt.count > 0).map(({ rtt }) => rtt.min))).toBeLessThan(
      0.005,
    );
  });

  test.skipIf(!canPing)("peers of both IP families are pinged", async () => {
    thread = createMeasuringThreads({ clock: systemClock, logger, place });
    const snapshots: EngineSnapshot[] = [];
    const config = { ...asker, methods: ["icmp"] as const };
    const engine = await thread.createEngine(config, { onSnapshot: (snapshot) => snapshots.push(snapshot) });
    engine.setPeers([peerAt({}), peerAt({}, { node: "six", address: "::1", identity: "::1" })]);
    const namesOf = (): string[] =>
      snapshots.flatMap(({ flows }) =>
        flows.flatMap((flow) => (flow.outcomes.received > 0 ? `${flow.node} ${flow.ipFamily}` : [])),
      );
    await until("echoes", () => received(snapshots, "icmp") >= 10 && new Set(namesOf()).size === 2);
    expect(new Set(namesOf())).toEqual(new Set(["answerer 4", "six 6"]));
    const flows = snapshots.flatMap((snapshot) => snapshot.flows);
    expect(flows.every((flow) => flow.method === "icmp")).toBe(true);
    expect(snapshots.at(-1)?.icmpProber).toBe("kernel");
    expect(flows.reduce((sum, flow) => sum + flow.outcomes.lost, 0)).toBe(0);
  });
});

describe("measuring threads", () => {
  test("a thread that dies is counted and started anew, with the same ports, and measuring goes on", async () => {
    const workerUrl = new URL("./testing/crashing-worker.ts", import.meta.url);
    thread = createMeasuringThreads({ clock: systemClock, logger, workerUrl });
    const snapshots: EngineSnapshot[] = [];
    const a = await thread.createEngine(asker, { onSnapshot: (snapshot) => snapshots.push(snapshot) });
    const b = await thread.createEngine(answerer, { onSnapshot: () => {} });
    a.setPeers([peerAt(b)]);
    await until("answers", () => received(snapshots, "udp_rr") > 0);
    const channel = new BroadcastChannel("isochrone-probe-test-crash");
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- not a window
    channel.postMessage("now");
    await until("the death", () => (thread?.restarts ?? 0) === 1);
    channel.close();
    snapshots.length = 0;
    // The peer's port is from before the crash: an answer proves that it was reused.
    await until(
      "answers again",
      () => received(snapshots, "udp_rr") > 10 && received(snapshots, "tcp_rr") > 10,
    );
    expect(logger.events("error")).toContain("measuring thread died");
  });

  test("a thread that never comes up is a named error, not a wait without end", async () => {
    const workerUrl = new URL("data:text/javascript,throw new Error('broken build')");
    thread = createMeasuringThreads({ clock: systemClock, logger, workerUrl });
    await expect(thread.createEngine(asker, { onSnapshot: () => {} })).rejects.toMatchObject({
      code: "probe_thread_failed",
      cause: expect.objectContaining({ message: "broken build" }),
    });
    expect(thread.restarts).toBe(3);
  });

  test("without a usable ICMP thread one line says so and request/response goes on", async () => {
    const own = new MemoryLogger();
    const icmpWorkerUrl = new URL("data:text/javascript,throw new Error('no koffi here')");
    thread = createMeasuringThreads({ clock: systemClock, logger: own, icmpWorkerUrl });
    const snapshots: EngineSnapshot[] = [];
    const a = await thread.createEngine(
      { ...asker, methods: ["udp_rr", "icmp"], icmpProber: "kernel", zeroCheckIntervalMs: 20 },
      { onSnapshot: (snapshot) => snapshots.push(snapshot) },
    );
    const b = await thread.createEngine(answerer, { onSnapshot: () => {} });
    a.setPeers([peerAt(b)]);
    await until("answers", () => received(snapshots, "udp_rr") >= 5 && own.events("warn").length > 0);
    expect(own.lines.filter((line) => line.level === "warn")).toEqual([
      {
        level: "warn",
        event: "ICMP not available; the other methods continue",
        fields: { reason: "no koffi here" },
      },
    ]);
  });
});
