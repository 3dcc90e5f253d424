import { describe, expect, test } from "vitest";
import type { NamespaceLab } from "./namespace-lab.ts";
import { namespaceLabSupport } from "./support.ts";
import { serveOn, UDP_ECHO } from "./testing/programs.ts";
import { makeLab, pingIcmp, pingUdp } from "./testing/rig.ts";

const support = await namespaceLabSupport();

/** Half width of the 99.99 % interval of a binomial share. */
function tolerance(ratio: number, count: number): number {
  return 3.9 * Math.sqrt((ratio * (1 - ratio)) / count);
}

async function echoLab(change: Parameters<NamespaceLab["setPath"]>[2] = {}, seed = 1): Promise<NamespaceLab> {
  const lab = await makeLab({ seed });
  await serveOn(lab, "b", UDP_ECHO);
  await lab.setPath("a", "b", change);
  return lab;
}

describe.skipIf(!support.supported)("the emulated wire", () => {
  test("every way has its own delay, and the record tells what it was by the kernel's stamps", async () => {
    const lab = await echoLab({ delayMs: 30 });
    await lab.setPath("b", "a", { delayMs: 10 });
    const seen = await pingUdp(lab, { count: 100, intervalMs: 5 });
    expect(seen.length).toBe(100);
    const there = await lab.record({ source: "a", target: "b", protocol: "udp", targetPort: 9000 });
    const back = await lab.record({ source: "b", target: "a", protocol: "udp", sourcePort: 9000 });
    expect(there.counts).toMatchObject({ entered: 100, delivered: 100, lost: 0, reordered: 0 });
    expect([there.unstamped, there.waiting, there.forgotten]).toEqual([0, 0, 0]);
    // A busy machine makes the emulator late, never much too early.
    expect(there.lateness.minMs).toBeGreaterThan(-1);
    expect(there.added.minMs).toBeGreaterThan(29);
    expect(back.added.minMs).toBeGreaterThan(9);
    expect(there.added.p50Ms! - there.lateness.p50Ms!).toBeCloseTo(30, 1);
    const exchanges = await lab.exchanges({ source: "a", target: "b", protocol: "udp", targetPort: 9000 });
    expect(exchanges.length).toBe(100);
    for (const { request, answer, addedMs, roundTripMs } of exchanges) {
      expect(request.head.subarray(8, 12)).toEqual(answer.head.subarray(8, 12));
      expect(addedMs).toBeCloseTo(request.addedMs! + answer.addedMs!, 6);
      expect(roundTripMs).toBeGreaterThan(addedMs);
      expect(request.stamped && answer.stamped).toBe(true);
    }
  });

  test("IPv6 takes the same ways", async () => {
    const lab = await echoLab({ delayMs: 5 });
    expect((await pingUdp(lab, { count: 50, intervalMs: 2, family: 6 })).length).toBe(50);
    const there = await lab.record({ source: "a", target: "b", family: 6, protocol: "udp" });
    expect(there.counts).toMatchObject({ entered: 50, delivered: 50 });
    expect((await lab.record({ family: 4 })).counts.entered).toBe(0);
  });

  test("loss has the ratio that was asked for, and is told packet by packet", async () => {
    const lab = await echoLab({ lossRatio: 0.2 }, 7);
    const seen = await pingUdp(lab, { count: 2000, intervalMs: 0.5 });
    const { counts } = await lab.record({ source: "a", target: "b", protocol: "udp" });
    expect(counts.entered).toBe(2000);
    expect(counts.delivered + counts.lost).toBe(2000);
    expect(Math.abs(counts.lost / 2000 - 0.2)).toBeLessThan(tolerance(0.2, 2000));
    const packets = await lab.packets({ source: "a", target: "b", protocol: "udp" });
    const arrived = packets.filter(({ outcome }) => outcome === "delivered");
    const numbers = arrived.map(({ head }) => Buffer.from(head).readUInt32BE(8));
    expect(seen.toSorted((a, b) => a - b)).toEqual(numbers);
    const lost = packets.find(({ outcome }) => outcome === "lost")!;
    expect([lost.leftAtNs, lost.addedMs, lost.intendedMs]).toEqual([null, null, null]);
  });

  test("duplicates arrive twice, and are told from what was sent", async () => {
    const lab = await echoLab({ duplicateRatio: 0.3 }, 3);
    const seen = await pingUdp(lab, { count: 1000, intervalMs: 1 });
    const { counts } = await lab.record({ source: "a", target: "b", protocol: "udp" });
    expect(counts.entered).toBe(1000);
    expect(counts.delivered).toBe(1000 + counts.duplicated);
    expect(Math.abs(counts.duplicated / 1000 - 0.3)).toBeLessThan(tolerance(0.3, 1000));
    expect(seen.length).toBe(counts.delivered);
  });

  test("reordering lets later packets overtake, and counts those overtaken", async () => {
    const lab = await echoLab({ delayMs: 5, reorderRatio: 0.1, reorderDelayMs: 20 }, 5);
    const seen = await pingUdp(lab, { count: 500, intervalMs: 2 });
    const { counts } = await lab.record({ source: "a", target: "b", protocol: "udp" });
    let highest = -1;
    const overtaken = seen.filter((number) => {
      const late = number < highest;
      highest = Math.max(highest, number);
      return late;
    });
    expect(overtaken.length).toBe(counts.reordered);
    expect(counts.reordered).toBeGreaterThan(20);
    expect(counts.reordered).toBeLessThan(100);
  });

  test("jitter spreads the delay as it says, and nothing but jitter reorders", async () => {
    const lab = await echoLab({ delayMs: 20, jitterMs: 8 }, 11);
    await pingUdp(lab, { count: 600, intervalMs: 2 });
    const packets = await lab.packets({ source: "a", target: "b", protocol: "udp" });
    const intended = packets.map(({ intendedMs }) => intendedMs!);
    expect(Math.min(...intended)).toBeGreaterThanOrEqual(12);
    expect(Math.max(...intended)).toBeLessThanOrEqual(28);
    const record = await lab.record({ source: "a", target: "b", protocol: "udp" });
    // Uniform: standard deviation is half width / sqrt(3); the mean step is two thirds of the half width.
    expect(record.added.standardDeviationMs).toBeGreaterThan((8 / Math.sqrt(3)) * 0.9);
    expect(record.counts.reordered).toBeGreaterThan(0);
    await lab.setPath("a", "b", { keepOrder: true });
    const since = await lab.mark();
    await pingUdp(lab, { count: 300, intervalMs: 2 });
    expect((await lab.record({ source: "a", since })).counts).toMatchObject({ delivered: 300, reordered: 0 });
  });

  test("a cut stops all, and what is healed goes on", async () => {
    const lab = await echoLab({ cut: true });
    expect(await pingUdp(lab, { count: 20, intervalMs: 1, lingerMs: 50 })).toEqual([]);
    expect((await lab.record({ source: "a" })).counts).toMatchObject({ entered: 20, cut: 20, delivered: 0 });
    await lab.setPath("a", "b", { cut: false });
    expect((await pingUdp(lab, { count: 20, intervalMs: 1 })).length).toBe(20);
  });

  test("an unplugged cable loses everything, plugged in again it works", async () => {
    const lab = await echoLab();
    await lab.setPlugged("b", false);
    expect(await pingUdp(lab, { count: 20, intervalMs: 1, lingerMs: 50 })).toEqual([]);
    await lab.setPlugged("b", true);
    expect((await pingUdp(lab, { count: 20, intervalMs: 1 })).length).toBe(20);
    const { counts, unstamped } = await lab.record({ source: "a", target: "b", protocol: "udp" });
    expect(counts).toMatchObject({ entered: 40, delivered: 20, refused: 20 });
    expect(unstamped).toBe(0);
  });

  test("a full queue drops and counts, it doesn't grow", async () => {
    const lab = await makeLab({ queueFrames: 50 });
    await serveOn(lab, "b", UDP_ECHO);
    await lab.setPath("a", "b", { delayMs: 200 });
    const seen = await pingUdp(lab, { count: 400, intervalMs: 0.25, lingerMs: 300 });
    const { counts } = await lab.record({ source: "a", target: "b", protocol: "udp" });
    expect(counts.queueFull).toBeGreaterThan(0);
    expect(counts.queueFull + counts.delivered).toBe(400);
    expect(seen.length).toBe((await lab.record({ source: "b", protocol: "udp" })).counts.delivered);
    const { wire } = await lab.totals();
    expect(wire.mostWaiting).toBe(50);
  });

  test("a rate lets no more through, and its queue is bounded", async () => {
    // Frames of 142 bytes: 1 Mbit/s is 880 a second, 2000 are offered.
    const lab = await echoLab({ bandwidthBitsPerSecond: 1e6, queueBytes: 20_000 });
    await pingUdp(lab, { count: 2000, intervalMs: 0.5 });
    const { counts } = await lab.record({ source: "a", target: "b", protocol: "udp" });
    expect(counts.queueFull).toBeGreaterThan(200);
    const packets = await lab.packets({ source: "a", target: "b", protocol: "udp" });
    const left = packets.filter(({ outcome }) => outcome === "delivered");
    const dueMs = left.map(({ enteredAtNs, intendedMs }) => Number(enteredAtNs / 1000n) / 1000 + intendedMs!);
    const bits = left.slice(1).reduce((sum, { bytes }) => sum + 8 * bytes, 0);
    const bitsPerMs = bits / (dueMs.at(-1)! - dueMs[0]!);
    expect(bitsPerMs).toBeLessThan(1010);
    expect(bitsPerMs).toBeGreaterThan(800);
    expect(Math.max(...left.map(({ intendedMs }) => intendedMs!))).toBeLessThan(162);
  });

  test("the record holds the newest packets and says how many it forgot", async () => {
    const lab = await makeLab({ recordPackets: 64 });
    await serveOn(lab, "b", UDP_ECHO);
    await pingUdp(lab, { count: 100, intervalMs: 1 });
    const record = await lab.record();
    expect(record.forgotten).toBe(200 - 64);
    expect(record.counts.entered).toBe(64);
    const { paths } = await lab.totals();
    expect(paths.map(({ source, target, delivered }) => [source, target, delivered])).toEqual([
      ["a", "b", 100],
      ["b", "a", 100],
    ]);
  });

  test.each([4, 6] as const)(
    "an ICMPv%i exchange takes as long by the sender's stamps as by the record's",
    async (family) => {
      const lab = await makeLab();
      await lab.setPaths("a", "b", { delayMs: 3 });
      const measured = await pingIcmp(lab, family, 20);
      const exchanges = await lab.exchanges({ source: "a", target: "b", family, protocol: "icmp" });
      expect(exchanges.map(({ request }) => request.echo!.sequence)).toEqual([...measured.keys()]);
      for (const { request, answer, roundTripMs } of exchanges) {
        expect(answer.echo).toEqual({ ...request.echo, reply: true });
        // The sender's timestamps enclose the record's.
        expect(measured.get(request.echo!.sequence)).toBeGreaterThanOrEqual(roundTripMs);
      }
    },
  );

  test("when the emulator dies, whoever asks is told", async () => {
    const lab = await makeLab();
    process.kill(lab.wirePid!, "SIGKILL");
    const failure = { code: "wire_down", message: "the wire of the lab is down (signal SIGKILL)" };
    await expect(lab.record()).rejects.toMatchObject(failure);
    await expect(lab.setPath("a", "b", { delayMs: 1 })).rejects.toMatchObject(failure);
    expect(lab.path("a", "b").delayMs).toBe(0);
  });
});
