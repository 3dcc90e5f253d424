import { describe, expect, it } from "vitest";
import { WireReader } from "./reader.ts";
import { WireWriter } from "./writer.ts";

/** Sizes at which the buffer, which starts with 4 KiB, doubles. */
const BOUNDARIES = [4096, 8192, 16_384];
const AROUND = 40;

const FILLING = new Uint8Array(64);

function fillTo(writer: WireWriter, bytes: number): void {
  while (writer.size < bytes) writer.raw(FILLING, 0, Math.min(FILLING.length, bytes - writer.size));
}

function readBody(bytes: Uint8Array, from: number, depth: number): Uint8Array {
  const reader = new WireReader();
  reader.reset(bytes);
  reader.pos = from;
  for (let level = 0; level < depth; level++) {
    expect(reader.tag()).toBe(10);
    reader.enter();
    expect(reader.limit).toBe(bytes.length);
  }
  return bytes.subarray(reader.pos, reader.limit);
}

describe("WireWriter", () => {
  it.each(BOUNDARIES)("keeps messages that end where its buffer of %i bytes does", (boundary) => {
    for (const length of [0, 1, 2, 5, 8, 9, 20, 127, 128, 129, 300])
      for (const depth of [1, 2, 5])
        for (let before = boundary - length - AROUND; before <= boundary + 2; before++) {
          const writer = new WireWriter();
          fillTo(writer, before);
          const body = Uint8Array.from({ length }, (_, i) => 1 + (i % 250));
          const starts = Array.from({ length: depth }, () => writer.begin(1));
          writer.raw(body, 0, length);
          for (const start of starts.reverse()) writer.end(start);
          const read = readBody(writer.finish(), before, depth);
          expect(Buffer.compare(read, body)).toBe(0);
        }
  });

  it("keeps short texts and packed counts at the end of its buffer", () => {
    for (let before = 4096 - AROUND; before <= 4098; before++) {
      const writer = new WireWriter();
      fillTo(writer, before);
      writer.string(1, "node");
      writer.packedUints(2, [1, 300, 70_000]);
      const written = Buffer.from(writer.finish().subarray(before)).toString("hex");
      expect(written).toBe("0a046e6f6465120601ac02f0a204");
    }
  });

  it("writes a message whose length needs more bytes than were kept free, where its buffer ends", () => {
    for (let length = 4096 - AROUND; length < 4096 + AROUND; length++) {
      const writer = new WireWriter();
      const body = Uint8Array.from({ length }, (_, i) => 1 + (i % 250));
      const start = writer.begin(1);
      writer.raw(body, 0, length);
      writer.end(start);
      expect(Buffer.compare(readBody(writer.finish(), 0, 1), body)).toBe(0);
    }
  });
});
