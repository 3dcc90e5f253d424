import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { OtlpError } from "../errors.ts";
import { RECORD_KINDS, RecordingVisitor } from "../testing/batches.ts";
import { MetricsDecoder } from "./decode.ts";
import { encodeMetrics } from "./encode.ts";

function decode(bytes: Uint8Array, decoder = new MetricsDecoder()): RecordingVisitor {
  const visitor = new RecordingVisitor();
  decoder.decode(bytes, visitor);
  return visitor;
}

/** Also reads everything lazy. Errors other than OtlpError fail the test. */
function outcomeOf(bytes: Uint8Array): string {
  try {
    const { points } = decode(bytes);
    for (const { series } of points) void [series.attributes, series.resource, series.name];
    return "read";
  } catch (error) {
    if (!(error instanceof OtlpError)) throw error;
    return error.code;
  }
}

const OUTCOMES = ["read", "malformed"];

const records = Object.values(RECORD_KINDS).map((batch) => encodeMetrics(batch));

describe("malformed bytes", () => {
  const malformed: Readonly<Record<string, readonly number[]>> = {
    "a truncated tag": [0x80],
    "a length without a body": [0x0a, 5],
    "a truncated length": [0x0a, 0x80],
    "a length beyond the outer message": [0x0a, 2, 0x12, 9, 0, 0, 0, 0],
    "a length of 2^63": [0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
    "a varint of eleven bytes": [0x20, ...Array.from({ length: 10 }, () => 0x80), 0x01],
    "a varint of more than 64 bits": [0x20, ...Array.from({ length: 9 }, () => 0xff), 0x02],
    "field number 0": [0x02, 0],
    "a known field of the wrong wire type": [0x08, 1],
    "wire type 6": [0x26],
    "wire type 7": [0x27],
    "the end of a group that never began": [0x24],
    "a group that never ends": [0x23, 0x28, 0x01],
    "groups in groups without end": Array.from({ length: 64 }, () => 0x23),
    "a truncated fixed64": [0x21, 1, 2, 3],
    "a truncated fixed32": [0x25, 1],
    "a resource that is a varint": [0x0a, 2, 0x08, 1],
    "attributes of a resource that end too early": [0x0a, 5, 0x0a, 3, 0x0a, 9, 0],
  };
  it.each(Object.entries(malformed))("are refused: %s", (_, bytes) => {
    expect(() => decode(Uint8Array.from(bytes))).toThrow(
      expect.objectContaining({ name: "OtlpError", code: "malformed" }),
    );
  });

  it("are refused when a record ends anywhere but at its end", () => {
    for (const record of records) {
      for (let length = 1; length < record.length; length++) {
        expect(() => decode(record.subarray(0, length))).toThrow(OtlpError);
      }
    }
  });

  it("leave the decoder usable", () => {
    const decoder = new MetricsDecoder();
    expect(() => decode(records[0]!.subarray(0, 50), decoder)).toThrow(OtlpError);
    expect(decode(records[0]!, decoder).points.length).toBe(1);
  });

  it("that are too many are refused before they are read", () => {
    const decoder = new MetricsDecoder({ maxRecordBytes: 10 });
    expect(() => decode(new Uint8Array(11), decoder)).toThrow(
      expect.objectContaining({ code: "too_large", message: "a record must have at most 10 bytes, got 11" }),
    );
  });
});

describe("arbitrary bytes", () => {
  it("raise nothing but OtlpError", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(OUTCOMES).toContain(outcomeOf(bytes));
      }),
      { numRuns: 2_000 },
    );
  });

  it("raise nothing but OtlpError where bits of a good record are flipped", () => {
    const flips = fc.array(fc.tuple(fc.nat(100_000), fc.integer({ min: 0, max: 7 })), {
      minLength: 1,
      maxLength: 6,
    });
    fc.assert(
      fc.property(fc.constantFrom(...records), flips, (record, bits) => {
        const bytes = Uint8Array.from(record);
        for (const [position, bit] of bits) bytes[position % bytes.length]! ^= 1 << bit;
        expect(OUTCOMES).toContain(outcomeOf(bytes));
      }),
      { numRuns: 4_000 },
    );
  });

  it("raise nothing but OtlpError where a piece of a good record is cut out, doubled or replaced", () => {
    const position = fc.nat(100_000);
    fc.assert(
      fc.property(
        fc.constantFrom(...records),
        position,
        position,
        fc.uint8Array({ maxLength: 12 }),
        (record, a, b, piece) => {
          const [from, to] = [a % record.length, b % record.length];
          expect(OUTCOMES).toContain(
            outcomeOf(Buffer.concat([record.subarray(0, from), piece, record.subarray(to)])),
          );
        },
      ),
      { numRuns: 2_000 },
    );
  });
});
