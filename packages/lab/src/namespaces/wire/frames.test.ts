import { seededRandom } from "@isochrone/runtime";
import { expect, test } from "vitest";
import { nodeAddresses, nodeOfMac } from "../addresses.ts";
import { flipBit, readFrame, swapWords, type FrameLayout } from "./frame.ts";
import { FrameQueue } from "./frame-queue.ts";

const empty = (): FrameLayout => ({ family: 4, protocol: 0, transportAt: 0, end: 0 });

function udpFrame(payload: Buffer, at = 3): { bytes: Buffer; length: number } {
  const length = 14 + 20 + 8 + payload.length;
  const bytes = Buffer.alloc(at + length);
  bytes.writeUInt16BE(0x0800, at + 12);
  bytes[at + 14] = 0x45;
  bytes.writeUInt16BE(28 + payload.length, at + 16);
  bytes[at + 14 + 9] = 17;
  payload.copy(bytes, at + 42);
  return { bytes, length };
}

function checksum(bytes: Buffer, from: number): number {
  let sum = 0;
  for (let i = from; i < bytes.length; i += 2) sum += bytes[i]! * 256 + (bytes[i + 1] ?? 0);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return sum;
}

test("frames leave in the order of their times, of coming where times are equal, and the store is used again", () => {
  const queue = new FrameQueue(100, 8);
  const random = seededRandom(1);
  const out: { dueMs: number; packet: number }[] = [];
  let packet = 0;
  for (let round = 0; round < 20; round++) {
    for (let i = 0; i < 100; i++) {
      queue.bytes.writeDoubleBE(packet, queue.freeSlot() * 8);
      queue.add(Math.floor(random.next() * 20), 8, i, packet++);
    }
    expect(queue.freeSlot()).toBe(-1);
    out.length = 0;
    for (let slot = queue.take(); slot >= 0; slot = queue.take()) {
      out.push({ dueMs: queue.dueMsOf(slot), packet: queue.packetOf(slot) });
      expect(queue.bytes.readDoubleBE(slot * 8)).toBe(queue.packetOf(slot));
      expect(queue.targetOf(slot)).toBe(queue.packetOf(slot) % 100);
      expect(queue.lengthOf(slot)).toBe(8);
    }
    expect(out).toEqual(out.toSorted((a, b) => a.dueMs - b.dueMs || a.packet - b.packet));
    expect(out.length).toBe(100);
  }
  expect([queue.size, queue.nextDueMs]).toEqual([0, Infinity]);
});

test("a frame is read where it stands, without what Ethernet padded", () => {
  const { bytes, length } = udpFrame(Buffer.from("hi"));
  const layout = empty();
  expect(readFrame(Buffer.concat([bytes, Buffer.alloc(16)]), 3, length + 16, layout)).toBe(true);
  expect(layout).toEqual({ family: 4, protocol: 17, transportAt: 34, end: 44 });
});

test.each([
  ["another protocol", (bytes: Buffer): void => void bytes.writeUInt16BE(0x0806, 15)],
  ["a length beyond the frame", (bytes: Buffer): void => void bytes.writeUInt16BE(999, 19)],
  ["a header beyond the packet", (bytes: Buffer): void => void bytes.writeUInt16BE(10, 19)],
])("%s is no packet", (_, spoil) => {
  const { bytes, length } = udpFrame(Buffer.from("hello"));
  spoil(bytes);
  expect(readFrame(bytes, 3, length, empty())).toBe(false);
  expect(readFrame(bytes, 3, 20, empty())).toBe(false);
});

test("a flipped bit is one bit behind the IP header", () => {
  for (let seed = 0; seed < 50; seed++) {
    const { bytes, length } = udpFrame(Buffer.from("hello"));
    const before = Buffer.from(bytes);
    const layout = empty();
    readFrame(bytes, 3, length, layout);
    flipBit(bytes, 3, layout, seededRandom(seed));
    const changed = [...bytes].flatMap((byte, i) => (byte === before[i] ? [] : [i]));
    expect(changed.length).toBe(1);
    expect(changed[0]).toBeGreaterThanOrEqual(37);
    expect(Math.log2(bytes[changed[0]!]! ^ before[changed[0]!]!) % 1).toBe(0);
  }
});

test.each([5, 6, 40, 41])("swapped words of %i bytes change the payload and not the checksum", (size) => {
  for (let seed = 0; seed < 50; seed++) {
    const { bytes, length } = udpFrame(Buffer.from(Array.from({ length: size }, (_, i) => i)));
    const before = Buffer.from(bytes);
    const layout = empty();
    readFrame(bytes, 3, length, layout);
    expect(swapWords(bytes, 3, layout, seededRandom(seed))).toBe(true);
    expect(bytes.equals(before)).toBe(false);
    expect(checksum(bytes, 37)).toBe(checksum(before, 37));
    expect(bytes.subarray(0, 45)).toEqual(before.subarray(0, 45));
  }
});

test("words that are all alike can't be swapped", () => {
  const { bytes, length } = udpFrame(Buffer.alloc(40));
  const layout = empty();
  readFrame(bytes, 3, length, layout);
  expect(swapWords(bytes, 3, layout, seededRandom(1))).toBe(false);
});

test.each([0, 1, 127, 300])("node %i is found by its MAC address", (node) => {
  const mac = Buffer.from(nodeAddresses(node).mac.replaceAll(":", ""), "hex");
  expect(nodeOfMac(Buffer.concat([Buffer.alloc(2), mac]), 2)).toBe(node);
  expect(nodeOfMac(Buffer.from("333300000001", "hex"), 0)).toBe(-1);
});
