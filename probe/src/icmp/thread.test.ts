import { setTimeout as delay } from "node:timers/promises";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { describe, expect, test } from "vitest";
import { Tally } from "../domain/tally.ts";
import type { IcmpProberName } from "../ports/ports.ts";
import type { IcmpTask, ToIcmp } from "./messages.ts";
import type { ProberEvents, StartProber } from "./prober-links.ts";
import { IcmpThread } from "./thread.ts";

const TASK: IcmpTask = {
  engine: 1,
  peers: [{ node: "b", address: "10.0.0.2" }],
  intervalMs: 100,
  timeoutMs: 50,
  warmupPackets: 0,
  zeroCheckIntervalMs: 0,
  dscp: 0,
  payloadBytes: 56,
  prober: "auto",
};

class FakeProbers {
  readonly started: { name: IcmpProberName; events: ProberEvents; heard: ToIcmp[]; closed: boolean }[] = [];
  readonly logger = new MemoryLogger();
  readonly thread: IcmpThread;

  constructor() {
    const starter =
      (name: IcmpProberName): StartProber =>
      (events) => {
        const prober = { name, events, heard: [] as ToIcmp[], closed: false };
        this.started.push(prober);
        return {
          post: (message) => void prober.heard.push(message),
          close: async () => void (prober.closed = true),
        };
      };
    const starters = { kernel: starter("kernel"), net_ping: starter("net_ping") };
    this.thread = new IcmpThread(this.logger, undefined, starters);
  }

  get newest(): (typeof this.started)[number] {
    return this.started.at(-1) as (typeof this.started)[number];
  }

  async untilStarted(count: number): Promise<void> {
    for (let tries = 0; tries < 500 && this.started.length < count; tries++) await delay(10);
    if (this.started.length !== count)
      throw new Error(`${this.started.length} probers were started, not ${count}`);
  }
}

function reportOf(received: number): {
  type: "report";
  engine: number;
  report: { flows: ReturnType<Tally["drain"]>[]; zeroCheck: null };
} {
  const tally = new Tally();
  for (let i = 0; i < received; i++) {
    tally.count("sent");
    tally.count("received");
    tally.countStamp("kernel");
    tally.record(0.001);
  }
  const flow = tally.drain({ node: "b", method: "icmp", ipFamily: 4 });
  return { type: "report", engine: 1, report: { flows: [flow], zeroCheck: null } };
}

describe("ICMP thread", () => {
  test("nothing starts before somebody has a peer or wants the zero-check", () => {
    const probers = new FakeProbers();
    probers.thread.setTask({ ...TASK, peers: [] });
    expect(probers.started).toEqual([]);
    probers.thread.setTask({ ...TASK, peers: [], zeroCheckIntervalMs: 100 });
    expect(probers.started.map(({ name }) => name)).toEqual(["kernel"]);
  });

  test("the first that works is taken; the log says which, and why not those before", () => {
    const probers = new FakeProbers();
    probers.thread.setTask(TASK);
    probers.newest.events.onMessage({ type: "unavailable", reason: "EPERM" });
    expect(probers.thread.prober).toBeNull();
    probers.newest.events.onMessage({ type: "ready", description: "net-ping, raw sockets" });
    expect(probers.thread.prober).toBe("net_ping");
    expect(probers.started.map(({ name, closed }) => [name, closed])).toEqual([
      ["kernel", true],
      ["net_ping", false],
    ]);
    expect(probers.newest.heard).toEqual([{ type: "task", task: TASK }]);
    expect(probers.logger.lines).toMatchObject([
      {
        level: "info",
        event: "ICMP prober chosen",
        fields: {
          prober: "net_ping",
          description: "net-ping, raw sockets",
          refused: { kernel: "EPERM" },
        },
      },
    ]);
  });

  test("where none works, one line says so with every reason, and reports are empty", () => {
    const probers = new FakeProbers();
    probers.thread.setTask(TASK);
    probers.newest.events.onMessage({ type: "unavailable", reason: "EPERM" });
    probers.newest.events.onEnd("net-ping is not installed");
    probers.thread.setTask({ ...TASK, engine: 2 });
    expect(probers.started).toHaveLength(2);
    expect(probers.thread.drain(1)).toEqual({ flows: [], zeroCheck: null });
    expect(probers.logger.events("warn")).toEqual(["ICMP not available; the other methods continue"]);
    expect(probers.logger.lines[0]?.fields).toEqual({
      reason: "kernel: EPERM; net_ping: net-ping is not installed",
    });
  });

  test("a prober that is asked for by name is the only one tried", () => {
    const probers = new FakeProbers();
    probers.thread.setTask({ ...TASK, prober: "net_ping" });
    probers.newest.events.onMessage({ type: "unavailable", reason: "net-ping is not installed" });
    expect(probers.started.map(({ name }) => name)).toEqual(["net_ping"]);
    expect(probers.logger.lines[0]?.fields).toEqual({ reason: "net-ping is not installed" });
  });

  test("one that dies is started anew with all tasks, and what it had reported is kept", async () => {
    const probers = new FakeProbers();
    probers.thread.setTask(TASK);
    probers.newest.events.onMessage({ type: "ready", description: "raw" });
    probers.thread.setTask({ ...TASK, engine: 2 });
    probers.newest.events.onMessage(reportOf(2));
    const first = probers.newest;
    first.events.onEnd("out of memory");
    await probers.untilStarted(2);
    first.events.onMessage(reportOf(100));
    probers.newest.events.onMessage({ type: "ready", description: "raw" });
    expect(probers.newest.heard.map((message) => message.type === "task" && message.task.engine)).toEqual([
      1, 2,
    ]);
    probers.newest.events.onMessage(reportOf(3));
    const [flow] = probers.thread.drain(1).flows;
    expect(flow).toMatchObject({ outcomes: { sent: 5, received: 5 }, stamps: { kernel: 5, user: 0 } });
    expect(flow?.rtt.count).toBe(5);
    expect(probers.thread.drain(1).flows).toEqual([]);
    expect(probers.thread.restarts).toBe(1);
    expect(probers.thread.prober).toBe("kernel");
  });

  test("one that worked once isn't given up when it can't start again at once", async () => {
    const probers = new FakeProbers();
    probers.thread.setTask(TASK);
    probers.newest.events.onMessage({ type: "ready", description: "raw" });
    probers.newest.events.onEnd("died");
    await probers.untilStarted(2);
    probers.newest.events.onMessage({ type: "unavailable", reason: "EMFILE" });
    await probers.untilStarted(3);
    expect(probers.started.map(({ name }) => name)).toEqual(["kernel", "kernel", "kernel"]);
    expect(probers.thread.restarts).toBe(2);
    await probers.thread.close();
  });

  test("after close nothing is started any more", async () => {
    const probers = new FakeProbers();
    probers.thread.setTask(TASK);
    probers.newest.events.onMessage({ type: "ready", description: "raw" });
    probers.newest.events.onEnd("died");
    await probers.thread.close();
    await delay(150);
    probers.thread.setTask(TASK);
    expect(probers.started).toHaveLength(1);
    expect(probers.thread.prober).toBeNull();
  });

  test("a worker that can't be loaded is a reason, not a crash", async () => {
    const logger = new MemoryLogger();
    const url = new URL("data:text/javascript,throw new Error('no koffi here')");
    const thread = new IcmpThread(logger, url);
    thread.setTask({ ...TASK, prober: "kernel" });
    for (let tries = 0; tries < 500 && logger.lines.length === 0; tries++) await delay(10);
    expect(logger.lines).toMatchObject([{ level: "warn", fields: { reason: "no koffi here" } }]);
    await thread.close();
  });
});
