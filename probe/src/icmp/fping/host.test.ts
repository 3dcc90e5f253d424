import { describe, expect, test } from "vitest";
import { noOutcomes } from "../../domain/tally.ts";
import type { FlowSnapshot } from "../../ports/ports.ts";
import type { FromIcmp, IcmpReport, IcmpTask } from "../messages.ts";
import { FpingHost } from "./host.ts";
import type { FpingLine } from "./output.ts";
import { fpingArguments, type FpingEvents, type FpingOptions } from "./process.ts";

const TASK: IcmpTask = {
  engine: 1,
  peers: [
    { node: "b", address: "10.0.0.2" },
    { node: "c", address: "10.0.0.3" },
  ],
  intervalMs: 100,
  timeoutMs: 200,
  warmupPackets: 0,
  zeroCheckIntervalMs: 0,
  dscp: 46,
  payloadBytes: 56,
  prober: "fping",
};

/** fping as a test lets it speak, with time that the test moves. */
class FakeFping {
  nowMs = 0;
  readonly started: { options: FpingOptions; events: FpingEvents; stopped: boolean }[] = [];
  readonly posted: FromIcmp[] = [];
  readonly host: FpingHost;
  #timers: { run: () => void; atMs: number }[] = [];

  constructor() {
    this.host = new FpingHost({
      monotonic: () => this.nowMs,
      later: (run, delayMs) => {
        const timer = { run, atMs: this.nowMs + delayMs };
        this.#timers.push(timer);
        return () => void (this.#timers = this.#timers.filter((other) => other !== timer));
      },
      startProcess: (options, events) => {
        const process = { options, events, stopped: false };
        this.started.push(process);
        return { stop: () => void (process.stopped = true) };
      },
      post: (message) => void this.posted.push(message),
    });
  }

  pass(ms: number): void {
    const untilMs = this.nowMs + ms;
    for (;;) {
      const next = this.#timers.toSorted((a, b) => a.atMs - b.atMs)[0];
      if (next === undefined || next.atMs > untilMs) break;
      this.#timers = this.#timers.filter((other) => other !== next);
      this.nowMs = Math.max(this.nowMs, next.atMs);
      next.run();
    }
    this.nowMs = untilMs;
  }

  get newest(): (typeof this.started)[number] {
    return this.started.at(-1) as (typeof this.started)[number];
  }

  reply(index: number, values: Partial<Extract<FpingLine, { kind: "reply" }>> = {}): void {
    const target = "10.0.0.2";
    this.newest.events.onLine({
      kind: "reply",
      target,
      index,
      rttMs: 1,
      payloadBytes: 56,
      source: null,
      ...values,
    });
  }

  timeout(index: number): void {
    this.newest.events.onLine({ kind: "timeout", target: "10.0.0.2", index });
  }

  /** Of node b, all reports together. */
  total(): {
    outcomes: FlowSnapshot["outcomes"];
    errors: Record<string, number>;
    discards: Record<string, number>;
  } {
    this.host.handle({ type: "remove", engine: 1 });
    const outcomes = noOutcomes();
    const errors: Record<string, number> = {};
    const discards: Record<string, number> = {};
    const reports = this.posted.flatMap((message): IcmpReport[] =>
      message.type === "report" ? [message.report] : [],
    );
    for (const flow of reports.flatMap(({ flows }) => flows).filter(({ node }) => node === "b")) {
      for (const name of Object.keys(outcomes) as (keyof typeof outcomes)[])
        outcomes[name] += flow.outcomes[name];
      for (const [key, count] of Object.entries(flow.errors)) errors[key] = (errors[key] ?? 0) + count;
      for (const [key, count] of Object.entries(flow.discards)) discards[key] = (discards[key] ?? 0) + count;
    }
    return { outcomes, errors, discards };
  }
}

function begun(): FakeFping {
  const fping = new FakeFping();
  fping.host.handle({ type: "task", task: TASK });
  fping.pass(20);
  return fping;
}

describe("fping's host", () => {
  test("one fping has all targets of an interval, spread over it, and waits longer than we do", () => {
    const fping = begun();
    expect(fping.started).toHaveLength(1);
    expect(fping.newest.options).toMatchObject({
      targets: ["10.0.0.2", "10.0.0.3"],
      intervalMs: 100,
      timeoutMs: 400,
    });
    expect(fpingArguments(fping.newest.options).join(" ")).toBe("-l -D -i 33.333 -p 100 -t 400 -b 56 -O 184");
  });

  test("engines share an fping and a target; another interval has another", () => {
    const fping = begun();
    fping.host.handle({ type: "task", task: { ...TASK, engine: 2 } });
    fping.host.handle({ type: "task", task: { ...TASK, engine: 3, intervalMs: 1000 } });
    fping.pass(50);
    const running = fping.started.filter(({ stopped }) => !stopped);
    expect(running.map(({ options }) => [options.intervalMs, options.targets.length])).toEqual([
      [100, 2],
      [1000, 2],
    ]);
  });

  test("replies, losses, late replies and repeated lines are told apart", () => {
    const fping = begun();
    fping.reply(0);
    fping.reply(0);
    fping.timeout(1);
    fping.reply(2, { rttMs: 250 });
    fping.reply(2, { rttMs: 260 });
    const { outcomes, errors } = fping.total();
    expect(outcomes).toMatchObject({ sent: 3, received: 1, lost: 2, late: 1, duplicate: 2, send_error: 0 });
    expect(errors).toEqual({ timeout: 2 });
  });

  test("a reply from elsewhere ends fping's wait, not ours: the true one still counts, its absence is a loss", () => {
    const fping = begun();
    fping.reply(0, { source: "10.0.0.9" });
    fping.reply(0);
    fping.reply(1, { source: "10.0.0.9" });
    fping.pass(1000);
    const { outcomes, errors } = fping.total();
    expect(outcomes).toMatchObject({ sent: 2, received: 1, lost: 1, corrupt: 2, duplicate: 0 });
    expect(errors).toMatchObject({ wrong_source: 2, timeout: 1 });
  });

  test("one that only another host has answered is a loss even when fping is started anew meanwhile", () => {
    const fping = begun();
    fping.reply(0, { source: "10.0.0.9" });
    fping.newest.events.onEnd("fping ended with SIGKILL");
    fping.pass(100);
    expect(fping.total().outcomes).toMatchObject({ sent: 1, received: 0, lost: 1, corrupt: 1 });
  });

  test("packets that fping never mentions were not sent", () => {
    const fping = begun();
    fping.reply(0);
    fping.pass(100);
    fping.reply(1);
    fping.pass(4900);
    const { outcomes, errors } = fping.total();
    expect(outcomes).toMatchObject({ sent: 2, received: 2, lost: 0 });
    // 5 s, less what may still be told of: timeout, grace and an interval.
    expect(outcomes.send_error).toBeGreaterThanOrEqual(30);
    expect(outcomes.send_error).toBeLessThanOrEqual(35);
    expect(errors).toEqual({ not_sent_by_fping: outcomes.send_error });
  });

  test("an ICMP error is the reason of the next loss", () => {
    const fping = begun();
    fping.newest.events.onLine({ kind: "icmp_error", target: "10.0.0.2", reason: "host_unreachable" });
    fping.timeout(0);
    fping.timeout(1);
    expect(fping.total().errors).toEqual({ host_unreachable: 1, timeout: 1 });
  });

  test("new targets start a new fping once, which counts from 0 again without counting twice", () => {
    const fping = begun();
    for (let index = 0; index < 5; index++) fping.reply(index);
    fping.host.handle({ type: "task", task: { ...TASK, peers: TASK.peers.slice(0, 1) } });
    fping.host.handle({ type: "task", task: TASK });
    fping.pass(50);
    expect(fping.started).toHaveLength(2);
    expect(fping.started[0]?.stopped).toBe(true);
    for (let index = 0; index < 5; index++) fping.reply(index);
    expect(fping.total().outcomes).toMatchObject({ sent: 10, received: 10, duplicate: 0 });
  });

  test("an fping that dies is started anew after growing pauses; planned packets of the time between are counted", () => {
    const fping = begun();
    fping.reply(0);
    fping.newest.events.onEnd("fping ended with SIGKILL");
    fping.pass(99);
    expect(fping.started).toHaveLength(1);
    fping.pass(1);
    expect(fping.started).toHaveLength(2);
    fping.newest.events.onEnd("fping ended with SIGKILL");
    fping.pass(199);
    expect(fping.started).toHaveLength(2);
    fping.pass(1);
    fping.reply(0);
    expect(fping.posted.filter(({ type }) => type === "restarted")).toEqual([
      { type: "restarted", reason: "fping ended with SIGKILL", inMs: 100 },
      { type: "restarted", reason: "fping ended with SIGKILL", inMs: 200 },
    ]);
    const { outcomes, discards } = fping.total();
    expect(outcomes).toMatchObject({ sent: 2, received: 2, duplicate: 0 });
    expect(discards).toEqual({ missed_tick: 3 });
  });

  test("nothing runs when nobody asks any more", () => {
    const fping = begun();
    fping.host.handle({ type: "stop" });
    fping.pass(1000);
    expect(fping.started.map(({ stopped }) => stopped)).toEqual([true]);
  });
});
