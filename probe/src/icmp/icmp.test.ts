import { describe, expect, test } from "vitest";
import type { EchoHandlers, EchoPort, EchoRoute, EchoTarget } from "./echo-port.ts";
import { IcmpHost } from "./icmp-host.ts";
import type { FromIcmp, IcmpReport, IcmpTask } from "./messages.ts";

class FakeNetwork implements EchoPort {
  readonly stampedBy = "kernel";
  nowMs = 0;
  sends = 0;
  routes = 0;
  refuse: string | null = null;
  reply: (sequence: number) => {
    readonly kernelMs: number;
    readonly readAfterMs: number;
    readonly source?: string;
    readonly payloadBytes?: number;
    readonly copies?: number;
  } | null = () => ({ kernelMs: 1, readAfterMs: 2 });
  stamps = true;
  onDrain: (handlers: EchoHandlers) => void = () => {};
  readonly reports: IcmpReport[] = [];
  readonly host: IcmpHost;
  #later: { run: () => void; atMs: number } | null = null;
  #queued: { number: number; target: EchoTarget }[] = [];
  #replies: {
    atMs: number;
    number: number;
    source: string;
    receivedNs: number;
    payloadBytes: number;
  }[] = [];
  readonly #departed: { number: number; atNs: number }[] = [];

  constructor(isAsked = false) {
    this.host = new IcmpHost({
      port: this,
      isAsked,
      monotonic: () => this.nowMs,
      random: () => 0,
      later: (run, delayMs) => void (this.#later = { run, atMs: this.nowMs + delayMs }),
      post: (message: FromIcmp) => {
        if (message.type === "report") this.reports.push(message.report);
      },
    });
  }

  open(target: EchoTarget): EchoRoute {
    this.routes++;
    return { queue: (number) => void this.#queued.push({ number, target }), close: () => void this.routes-- };
  }

  flush(handlers: EchoHandlers): void {
    for (const { number, target } of this.#queued.splice(0)) {
      if (this.refuse === null) this.#send(number, target, handlers);
      else handlers.onRefused(number, this.refuse);
    }
  }

  #send(number: number, target: EchoTarget, handlers: EchoHandlers): void {
    this.sends++;
    handlers.onAccepted(number);
    const sentNs = (1e6 + this.nowMs) * 1e6;
    if (this.stamps) this.#departed.push({ number, atNs: sentNs });
    const reply = this.reply(number);
    if (reply === null) return;
    for (let copy = 0; copy < (reply.copies ?? 1); copy++) {
      this.#replies.push({
        atMs: this.nowMs + reply.readAfterMs,
        number,
        source: reply.source ?? target.address,
        receivedNs: this.stamps ? sentNs + reply.kernelMs * 1e6 : Number.NaN,
        payloadBytes: reply.payloadBytes ?? target.payloadBytes,
      });
    }
  }

  drain(handlers: EchoHandlers): void {
    this.onDrain(handlers);
    for (const { number, atNs } of this.#departed.splice(0)) handlers.onDeparted(number, atNs);
    const due = this.#replies.filter(({ atMs }) => atMs <= this.nowMs);
    this.#replies = this.#replies.filter(({ atMs }) => atMs > this.nowMs);
    for (const { number, ...reply } of due) handlers.onReply(number, { ...reply, hops: 3 });
  }

  wait(timeoutMs: number): boolean {
    const next = Math.min(...this.#replies.map(({ atMs }) => atMs));
    // Time also passes by itself, or a waiting thread's loop would never end.
    this.nowMs = Math.min(this.nowMs + timeoutMs, Math.max(next, this.nowMs)) + 0.01;
    return true;
  }

  nap(ms: number): boolean {
    this.nowMs += ms;
    return true;
  }

  close(): void {}

  run(untilMs: number): void {
    while (this.#later !== null && this.nowMs < untilMs && this.#later.atMs <= untilMs) {
      const { run, atMs } = this.#later;
      this.#later = null;
      this.nowMs = Math.max(this.nowMs + 0.01, atMs);
      run();
    }
  }

  total(): Record<(typeof COUNTED)[number] | "sum" | "count" | "kernel" | "user", number> {
    const total = Object.fromEntries([...COUNTED, "sum", "count", "kernel", "user"].map((name) => [name, 0]));
    for (const { outcomes, rtt, stamps } of this.reports.flatMap(({ flows }) => flows)) {
      for (const name of COUNTED) total[name] = (total[name] as number) + outcomes[name];
      total["sum"] = (total["sum"] as number) + rtt.sum;
      total["count"] = (total["count"] as number) + rtt.count;
      total["kernel"] = (total["kernel"] as number) + stamps.kernel;
      total["user"] = (total["user"] as number) + stamps.user;
    }
    return total as ReturnType<FakeNetwork["total"]>;
  }

  errors(): Record<string, number> {
    const sum: Record<string, number> = {};
    for (const { errors } of this.reports.flatMap(({ flows }) => flows)) {
      for (const [reason, count] of Object.entries(errors)) sum[reason] = (sum[reason] ?? 0) + count;
    }
    return sum;
  }
}

const COUNTED = ["sent", "received", "lost", "late", "duplicate", "corrupt", "send_error"] as const;

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

describe("ICMP host", () => {
  test("times by the kernel's stamps, however late this thread reads", () => {
    const network = new FakeNetwork();
    network.reply = () => ({ kernelMs: 1, readAfterMs: 40 });
    network.host.handle({ type: "task", task: TASK });
    network.run(1_001);
    network.host.handle({ type: "remove", engine: 1 });
    const { received, sum, count } = network.total();
    expect({ received, count }).toEqual({ received: 10, count: 10 });
    expect(sum / count).toBeCloseTo(0.001, 6);
  });

  test("falls back to its own clock where the kernel gives no stamps, or its clock stepped", () => {
    for (const stepped of [false, true]) {
      const network = new FakeNetwork();
      network.stamps = stepped;
      network.reply = () => ({ kernelMs: stepped ? 3_600_000 : 1, readAfterMs: 5 });
      network.host.handle({ type: "task", task: { ...TASK, zeroCheckIntervalMs: 100 } });
      network.run(501);
      network.host.handle({ type: "remove", engine: 1 });
      const { sum, count } = network.total();
      expect(sum / count).toBeGreaterThanOrEqual(0.005);
      expect(sum / count).toBeLessThan(0.006);
      expect(network.reports.find(({ zeroCheck }) => (zeroCheck?.received ?? 0) > 0)?.zeroCheck?.source).toBe(
        "user",
      );
    }
  });

  test("silence is loss, and a reply after the timeout is late beside it", () => {
    const network = new FakeNetwork();
    network.reply = (sequence) => (sequence % 2 === 0 ? null : { kernelMs: 70, readAfterMs: 70 });
    network.host.handle({ type: "task", task: TASK });
    network.run(1_099);
    network.host.handle({ type: "remove", engine: 1 });
    expect(network.total()).toMatchObject({ sent: 11, received: 0, lost: 11, late: 5, count: 0 });
  });

  test("a reply from elsewhere than the target is corrupt", () => {
    const network = new FakeNetwork();
    network.reply = () => ({ kernelMs: 1, readAfterMs: 1, source: "10.9.9.9" });
    network.host.handle({ type: "task", task: TASK });
    network.run(1_099);
    network.host.handle({ type: "remove", engine: 1 });
    expect(network.total()).toMatchObject({ sent: 11, received: 0, lost: 11, corrupt: 11 });
  });

  test("sends that the own kernel refuses are counted, and nothing is called sent", () => {
    const network = new FakeNetwork();
    network.refuse = "ENETUNREACH";
    network.host.handle({ type: "task", task: TASK });
    network.run(1_099);
    network.host.handle({ type: "remove", engine: 1 });
    expect(network.total()).toMatchObject({ sent: 0, lost: 0, send_error: 11 });
    expect(network.errors()).toEqual({ ENETUNREACH: 11 });
  });

  test("a peer that leaves is pinged no more", () => {
    const network = new FakeNetwork();
    network.host.handle({ type: "task", task: TASK });
    network.run(500);
    network.host.handle({ type: "task", task: { ...TASK, peers: [] } });
    const { sends } = network;
    network.run(2000);
    expect(network.sends).toBe(sends);
  });

  test("stamps from before a step of the kernel's clock aren't compared with those after", () => {
    const network = new FakeNetwork();
    network.reply = () => ({ kernelMs: 1, readAfterMs: 5 });
    network.onDrain = (handlers) => handlers.onClockStep();
    network.host.handle({ type: "task", task: TASK });
    network.run(501);
    network.host.handle({ type: "remove", engine: 1 });
    const { kernel, user, sum, count } = network.total();
    expect({ kernel, user }).toEqual({ kernel: 0, user: count });
    expect(sum / count).toBeGreaterThanOrEqual(0.005);
  });

  test("copies of a reply are duplicates, a reply of another size is corrupt, routers passed are kept", () => {
    const network = new FakeNetwork();
    network.reply = (number) => ({
      kernelMs: 1,
      readAfterMs: 1,
      copies: 3,
      ...(number % 2 === 1 ? { payloadBytes: 40 } : {}),
    });
    network.host.handle({ type: "task", task: TASK });
    network.run(999);
    network.host.handle({ type: "remove", engine: 1 });
    expect(network.total()).toMatchObject({ sent: 10, received: 5, duplicate: 10, corrupt: 15, lost: 5 });
    expect(network.errors()).toMatchObject({ bad_length: 15, timeout: 5 });
    expect(network.reports.flatMap(({ flows }) => flows.map(({ hops }) => hops))).toContain(3);
  });

  test("an ICMP error says why a packet was lost; damage is charged to the flow whose packet it was", () => {
    const network = new FakeNetwork();
    network.reply = () => null;
    let told = 0;
    network.onDrain = (handlers) => {
      for (; told < network.sends; told++) {
        handlers.onUnreachable(told, "10.0.0.2", "EHOSTUNREACH");
        handlers.onUnreachable(told, "10.0.0.3", "ENETUNREACH");
        // Damaged full number, intact header number; then vice versa; then neither can be ours.
        handlers.onCorrupt(0x55550000, told, "10.0.0.2");
        handlers.onCorrupt(told, 0x5555, "10.0.0.2");
        handlers.onCorrupt(told, told, "10.0.0.3");
      }
    };
    network.host.handle({ type: "task", task: TASK });
    network.run(1_099);
    network.host.handle({ type: "remove", engine: 1 });
    expect(network.total()).toMatchObject({ sent: 11, lost: 11, corrupt: 22 });
    expect(network.errors()).toEqual({ EHOSTUNREACH: 11, bad_payload: 22 });
  });

  test("thousands of flows keep their schedule, spread over the interval", () => {
    const network = new FakeNetwork();
    let phase = 0;
    const flows = 3000;
    const host = new IcmpHost({
      port: network,
      monotonic: () => network.nowMs,
      random: () => (phase = (phase + 1 / flows) % 1),
      later: (run, delayMs) => queued.push({ run, atMs: network.nowMs + delayMs }),
      post: (message) => {
        if (message.type === "report") network.reports.push(message.report);
      },
    });
    const queued: { run: () => void; atMs: number }[] = [];
    const peers = Array.from({ length: flows }, (_, i) => ({
      node: `n${i}`,
      address: `10.0.${i >> 8}.${i & 255}`,
    }));
    host.handle({ type: "task", task: { ...TASK, peers, intervalMs: 1000 } });
    let biggest = 0;
    for (let before = 0; network.nowMs < 3000;) {
      const next = queued.shift();
      if (next === undefined) break;
      network.nowMs = Math.max(network.nowMs + 0.01, next.atMs);
      next.run();
      biggest = Math.max(biggest, network.sends - before);
      before = network.sends;
    }
    host.handle({ type: "remove", engine: 1 });
    const { sent, received } = network.total();
    expect(sent).toBeGreaterThanOrEqual(3 * flows - 20);
    expect(sent).toBeLessThanOrEqual(3 * flows + 50);
    expect(received).toBeGreaterThan(sent - 50);
    expect(biggest).toBeLessThan(flows / 20);
  });

  test("an owner in the same thread takes what came about, and hears by itself only what would be lost", () => {
    const network = new FakeNetwork(true);
    network.host.handle({ type: "task", task: TASK });
    network.run(3_049);
    expect(network.reports).toEqual([]);
    expect(network.host.take(2)).toBeNull();
    expect(network.host.take(1)?.flows).toMatchObject([{ node: "b", outcomes: { sent: 31, received: 31 } }]);
    expect(network.host.take(1)?.flows).toMatchObject([{ node: "b", outcomes: { sent: 0 } }]);
    network.run(3_249);
    network.host.handle({ type: "task", task: { ...TASK, peers: [] } });
    expect(network.total()).toMatchObject({ sent: 2, received: 2 });
  });

  test("when all that was asked for is gone, nothing is kept open", () => {
    const network = new FakeNetwork();
    network.host.handle({ type: "task", task: { ...TASK, zeroCheckIntervalMs: 100 } });
    network.run(300);
    expect(network.routes).toBe(2);
    network.host.handle({ type: "task", task: { ...TASK, payloadBytes: 100, zeroCheckIntervalMs: 100 } });
    expect(network.routes).toBe(2);
    network.host.handle({ type: "stop" });
    expect(network.routes).toBe(0);
    const { sends } = network;
    network.run(1000);
    expect(network.sends).toBe(sends);
  });
});
