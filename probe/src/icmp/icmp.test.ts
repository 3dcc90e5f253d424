import { describe, expect, test } from "vitest";
import type { EchoSocketHandlers } from "./echo-socket.ts";
import { ECHO_BYTES, checksum, readEcho, writeEcho } from "./echo-packet.ts";
import { IcmpHost, type EchoPort } from "./icmp-host.ts";
import type { FromIcmp, IcmpReport, IcmpTask } from "./messages.ts";

describe("echo packets", () => {
  const view = (bytes: readonly number[]): DataView => new DataView(Uint8Array.from(bytes).buffer);

  test.each([
    // RFC 1071, section 3: the sum of these words is ddf2.
    [[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7], 0x220d],
    [[0xff, 0xff], 0x0000],
    [[0x00, 0x00], 0xffff],
  ])("checksum of %j", (bytes, expected) => {
    expect(checksum(view(bytes), bytes.length)).toBe(expected);
  });

  test("a written request is valid, and its reply is ours", () => {
    const packet = new DataView(new ArrayBuffer(ECHO_BYTES));
    writeEcho(packet, 77, 0x12345678, 99n);
    expect(checksum(packet, ECHO_BYTES)).toBe(0);
    packet.setUint8(0, 0);
    expect(readEcho(packet, 0, ECHO_BYTES, 99n, 77)).toEqual({ kind: "ours", sequence: 0x12345678 });
  });

  test("replies to others, requests and stubs are foreign; a cut or altered one of ours is corrupt", () => {
    const packet = new DataView(new ArrayBuffer(ECHO_BYTES));
    writeEcho(packet, 77, 5, 99n);
    expect(readEcho(packet, 0, ECHO_BYTES, 99n, 77).kind).toBe("foreign");
    packet.setUint8(0, 0);
    expect(readEcho(packet, 0, ECHO_BYTES, 98n, 77).kind).toBe("foreign");
    expect(readEcho(packet, 0, ECHO_BYTES, 99n, 78).kind).toBe("foreign");
    expect(readEcho(packet, 0, 12, 99n, 77).kind).toBe("foreign");
    expect(readEcho(packet, 0, ECHO_BYTES - 2, 99n, 77).kind).toBe("corrupt");
    packet.setUint16(6, 6);
    expect(readEcho(packet, 0, ECHO_BYTES, 99n, 77).kind).toBe("corrupt");
  });
});

/** A network in which a test says what each echo comes to. */
class FakeNetwork implements EchoPort {
  nowMs = 0;
  sends = 0;
  refuse: string | null = null;
  /** Kernel round trip and extra delay until this thread reads it, ms; null: no reply. */
  reply: (
    sequence: number,
  ) => { readonly kernelMs: number; readonly readAfterMs: number; readonly source?: string } | null = () => ({
    kernelMs: 1,
    readAfterMs: 2,
  });
  stamps = true;
  readonly reports: IcmpReport[] = [];
  readonly host: IcmpHost;
  #later: { run: () => void; atMs: number } | null = null;
  readonly #replies: { atMs: number; sequence: number; source: string; kernelNs: bigint }[] = [];
  readonly #stamped: { number: number; kernelNs: bigint }[] = [];

  constructor() {
    this.host = new IcmpHost({
      socket: this,
      monotonic: () => this.nowMs,
      random: () => 0,
      later: (run, delayMs) => void (this.#later = { run, atMs: this.nowMs + delayMs }),
      post: (message: FromIcmp) => {
        if (message.type === "report") this.reports.push(message.report);
      },
    });
  }

  send(target: string, sequence: number): { readonly number: number } | { readonly error: string } {
    if (this.refuse !== null) return { error: this.refuse };
    const number = this.sends++;
    const sentNs = BigInt(Math.round((1e6 + this.nowMs) * 1e6));
    this.#stamped.push({ number, kernelNs: this.stamps ? sentNs : 0n });
    const reply = this.reply(sequence);
    if (reply !== null) {
      const kernelNs = this.stamps ? sentNs + BigInt(Math.round(reply.kernelMs * 1e6)) : 0n;
      this.#replies.push({
        atMs: this.nowMs + reply.readAfterMs,
        sequence,
        source: reply.source ?? target,
        kernelNs,
      });
    }
    return { number };
  }

  drain(handlers: EchoSocketHandlers): void {
    for (const { number, kernelNs } of this.#stamped.splice(0)) handlers.onSent(number, kernelNs);
    const due = this.#replies.filter(({ atMs }) => atMs <= this.nowMs);
    for (const reply of due) {
      this.#replies.splice(this.#replies.indexOf(reply), 1);
      handlers.onReply({ kind: "ours", ...reply });
    }
  }

  wait(timeoutMs: number): void {
    const next = Math.min(...this.#replies.map(({ atMs }) => atMs));
    this.nowMs = Math.min(this.nowMs + timeoutMs, Math.max(next, this.nowMs));
  }

  run(untilMs: number): void {
    while (this.#later !== null && this.nowMs < untilMs && this.#later.atMs <= untilMs) {
      const { run, atMs } = this.#later;
      this.#later = null;
      // Time passes by itself too, or a loop of a waiting thread would never end.
      this.nowMs = Math.max(this.nowMs + 0.01, atMs);
      run();
    }
  }

  total(): {
    sent: number;
    received: number;
    lost: number;
    late: number;
    corrupt: number;
    send_error: number;
    sum: number;
    count: number;
  } {
    const total = { sent: 0, received: 0, lost: 0, late: 0, corrupt: 0, send_error: 0, sum: 0, count: 0 };
    for (const { outcomes, rtt } of this.reports.flatMap(({ flows }) => flows)) {
      for (const name of ["sent", "received", "lost", "late", "corrupt", "send_error"] as const)
        total[name] += outcomes[name];
      total.sum += rtt.sum;
      total.count += rtt.count;
    }
    return total;
  }
}

const TASK: IcmpTask = {
  engine: 1,
  peers: [{ node: "b", address: "10.0.0.2" }],
  intervalMs: 100,
  timeoutMs: 50,
  warmupPackets: 0,
  zeroCheckIntervalMs: 0,
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
    const reasons = new Set(
      network.reports.flatMap(({ flows }) => flows.flatMap(({ errors }) => Object.keys(errors))),
    );
    expect([...reasons]).toEqual(["ENETUNREACH"]);
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
});
