import { describe, expect, test } from "vitest";
import { KnownFlows } from "./known-flows.ts";

const A = "a".repeat(16);
const B = "b".repeat(16);

function packet(flow: number, sequence: number): Buffer {
  const bytes = Buffer.alloc(84);
  bytes.writeUInt32BE(flow, 20);
  bytes.writeUInt32BE(sequence >>> 0, 24);
  return bytes;
}

describe("known flows", () => {
  test("a flow is known from its first proof on, at its own source only, until it was silent for too long", () => {
    const flows = new KnownFlows(10, 1000);
    expect(flows.look(packet(1, 5), A, 0)).toBe("stranger");
    flows.proven(packet(1, 5), A, 0);
    expect(flows.look(packet(1, 6), A, 1000)).toBe("fresh");
    expect(flows.look(packet(1, 6), B, 1000)).toBe("stranger");
    expect(flows.look(packet(2, 6), A, 1000)).toBe("stranger");
    expect(flows.look(packet(1, 6), A, 1001)).toBe("stranger");
  });

  test("tells repeated sequences from late ones, also where the sequence wraps", () => {
    const flows = new KnownFlows(10, 1000);
    const seen = [0xffff_fff0, 0xffff_fffe, 0xffff_ffff, 0, 3];
    for (const sequence of seen) flows.proven(packet(1, sequence), A, 0);
    for (const sequence of seen) expect(flows.look(packet(1, sequence), A, 0)).toBe("repeat");
    for (const sequence of [4, 100, 1, 2, 0xffff_fffd, 0xffff_fff1])
      expect(flows.look(packet(1, sequence), A, 0)).toBe("fresh");
    expect(flows.look(packet(1, 3 - 32), A, 0)).toBe("repeat");
    flows.proven(packet(1, 2), A, 0);
    expect(flows.look(packet(1, 2), A, 0)).toBe("repeat");
    expect(flows.look(packet(1, 1), A, 0)).toBe("fresh");
    flows.proven(packet(1, 1000), A, 0);
    expect([999, 1000, 3].map((sequence) => flows.look(packet(1, sequence), A, 0))).toEqual([
      "fresh",
      "repeat",
      "repeat",
    ]);
  });

  test("holds the flows proven last, and names their marks", () => {
    const flows = new KnownFlows(3, 1000);
    for (const flow of [1, 2, 3]) flows.proven(packet(flow, 1), A, 0);
    const { revision } = flows;
    flows.proven(packet(1, 2), A, 0);
    expect(flows.revision).toBe(revision);
    flows.proven(packet(4, 1), A, 0);
    expect(flows.revision).not.toBe(revision);
    expect(flows.size).toBe(3);
    expect(flows.look(packet(2, 2), A, 0)).toBe("stranger");
    expect([flows.marks(10), flows.marks(2)]).toEqual([
      [3, 1, 4],
      [1, 4],
    ]);
  });
});
