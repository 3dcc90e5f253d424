import type { MetricKind } from "./model.ts";
import { WIRE_BYTES } from "./reader.ts";
import type { WireReader } from "./reader.ts";

/** Data fields of Metric by field number, with the field number of their points' attributes. */
export const DATA_KINDS: Readonly<
  Record<number, { readonly kind: MetricKind | "summary"; readonly attributesField: number }>
> = {
  5: { kind: "gauge", attributesField: 7 },
  7: { kind: "sum", attributesField: 7 },
  9: { kind: "histogram", attributesField: 9 },
  10: { kind: "exponentialHistogram", attributesField: 1 },
  11: { kind: "summary", attributesField: 7 },
};

const METRIC_FIELDS =
  (1 << 1) | (1 << 2) | (1 << 3) | (1 << 5) | (1 << 7) | (1 << 9) | (1 << 10) | (1 << 11) | (1 << 12);
const DATA_FIELDS = 0b0110;
const SUM_FIELD = 7;
const SUM_DATA_FIELDS = 0b1110;

/** Bounds the pieces of a split message, whose positions take memory. */
export const MAX_PIECES = 256;

/** Positions of a metric's parts, found before its points: protobuf fields have no order. */
export interface MetricParts {
  nameStart: number;
  nameEnd: number;
  unitStart: number;
  unitEnd: number;
  dataField: number;
  /** Alternating starts and ends: one pair, unless the sender split the message. */
  dataRanges: number[];
  temporality: number;
  monotonic: boolean;
}

export function findParts(reader: WireReader): MetricParts {
  const parts = newParts();
  while (reader.pos < reader.limit) {
    const tag = reader.tag();
    switch (tag) {
      case 0x0a: // name
        parts.nameEnd = reader.end();
        parts.nameStart = reader.pos;
        reader.pos = parts.nameEnd;
        break;
      case 0x1a: // unit
        parts.unitEnd = reader.end();
        parts.unitStart = reader.pos;
        reader.pos = parts.unitEnd;
        break;
      case 0x12: // description
      case 0x62: // metadata
        reader.skip(tag);
        break;
      default:
        findData(reader, tag, parts);
    }
  }
  return parts;
}

function findData(reader: WireReader, tag: number, parts: MetricParts): void {
  const field = (tag - WIRE_BYTES) / 8;
  if (DATA_KINDS[field] === undefined) {
    reader.skipUnknown(tag, METRIC_FIELDS);
    return;
  }
  // A oneof: another kind replaces the previous one, the same kind appends.
  if (parts.dataField !== field) parts.dataRanges.length = 0;
  parts.dataField = field;
  const end = reader.end();
  if (parts.dataRanges.length <= 2 * MAX_PIECES) parts.dataRanges.push(reader.pos, end);
  reader.pos = end;
}

/** Temporality and monotonicity, which may follow the points. */
export function readDataHead(reader: WireReader, parts: MetricParts): void {
  const outer = reader.limit;
  const isSum = parts.dataField === SUM_FIELD;
  const known = isSum ? SUM_DATA_FIELDS : DATA_FIELDS;
  for (let i = 0; i < parts.dataRanges.length; i += 2) {
    reader.pos = parts.dataRanges[i]!;
    reader.limit = parts.dataRanges[i + 1]!;
    while (reader.pos < reader.limit) {
      const tag = reader.tag();
      if (tag === 0x0a) reader.pos = reader.end();
      else if (tag === 0x10) parts.temporality = temporalityOf(reader.uint());
      else if (tag === 0x18 && isSum) parts.monotonic = reader.uint() !== 0;
      else reader.skipUnknown(tag, known);
    }
  }
  reader.limit = outer;
}

function newParts(): MetricParts {
  return {
    nameStart: 0,
    nameEnd: 0,
    unitStart: 0,
    unitEnd: 0,
    dataField: 0,
    dataRanges: [],
    temporality: 0,
    monotonic: false,
  };
}

/** Returns 0 for an unspecified or unknown temporality. */
function temporalityOf(value: number): number {
  return value === 1 || value === 2 ? value : 0;
}
