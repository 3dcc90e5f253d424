import type { OutgoingRecord } from "@isochrone/bus";
import type { DeltaEntry } from "./partition-chain.ts";
import { MAX_PARTS } from "./partition-chain.ts";

/** An input partition, "isochrone.usage.v1/3". It is the key of everything that the pane topic says of it. */
type PartitionName = string;

/** What a part of a delta holds: text, see writeIndex, or OTLP metrics. */
type BodyKind = "index" | "metrics";

export interface DeltaBody {
  readonly kind: BodyKind;
  readonly value: Uint8Array;
}

/** What the parts of one delta have in common. */
export interface DeltaHead {
  readonly partition: PartitionName;
  readonly claim: string;
  readonly claimPosition: number;
  readonly from: number;
  readonly to: number;
  readonly parts: number;
  /** The owner's time when it drew the delta. */
  readonly drawnAtMs: number;
  /** Event time of the newest point; 0 when there is none. */
  readonly newestMs: number;
}

/** A record of the pane topic, read. */
type PaneRecord =
  | { readonly kind: "claim"; readonly partition: PartitionName; readonly claim: string }
  | { readonly kind: "delta"; readonly head: DeltaHead; readonly part: number; readonly body: BodyKind };

/** Headers of the pane topic. */
const PANE_HEADERS = {
  kind: "isochrone-kind",
  partition: "isochrone-partition",
  claim: "isochrone-claim",
  claimPosition: "isochrone-claim-position",
  /** Offsets of the input partition: from the first to the one after the last. */
  range: "isochrone-range",
  part: "isochrone-part",
  body: "isochrone-body",
  drawnAt: "isochrone-drawn-at",
  newest: "isochrone-newest",
  contentType: "content-type",
} as const;

const CONTENT_TYPES = { index: "text/plain", metrics: "application/x-protobuf" } as const;
/** Some buses take a record without a value for one that deletes. */
const CLAIM_VALUE = Buffer.from("claim");
const NAME = /^[\x21-\x7e]{1,300}$/;

export function claimRecord(partition: PartitionName, claim: string): OutgoingRecord {
  const headers = {
    [PANE_HEADERS.kind]: "claim",
    [PANE_HEADERS.partition]: partition,
    [PANE_HEADERS.claim]: claim,
    [PANE_HEADERS.contentType]: "text/plain",
  };
  return { key: partition, value: CLAIM_VALUE, headers };
}

/** The records of one delta, in order. */
export function deltaRecords(head: Omit<DeltaHead, "parts">, bodies: readonly DeltaBody[]): OutgoingRecord[] {
  return bodies.map(({ kind, value }, part) => ({
    key: head.partition,
    value,
    headers: {
      [PANE_HEADERS.kind]: "delta",
      [PANE_HEADERS.partition]: head.partition,
      [PANE_HEADERS.claim]: head.claim,
      [PANE_HEADERS.claimPosition]: String(head.claimPosition),
      [PANE_HEADERS.range]: `${head.from}-${head.to}`,
      [PANE_HEADERS.part]: `${part}/${bodies.length}`,
      [PANE_HEADERS.body]: kind,
      [PANE_HEADERS.drawnAt]: String(head.drawnAtMs),
      [PANE_HEADERS.newest]: String(head.newestMs),
      [PANE_HEADERS.contentType]: CONTENT_TYPES[kind],
    },
  }));
}

/** Null when the headers make no sense: another version wrote it, or somebody else did. */
export function readPaneRecord(headers: Readonly<Record<string, string>>): PaneRecord | null {
  const partition = headers[PANE_HEADERS.partition] ?? "";
  const claim = headers[PANE_HEADERS.claim] ?? "";
  if (!NAME.test(partition) || !NAME.test(claim)) return null;
  switch (headers[PANE_HEADERS.kind]) {
    case "claim":
      return { kind: "claim", partition, claim };
    case "delta":
      return readDelta(headers, partition, claim);
    default:
      return null;
  }
}

/** As the chain wants it. */
export function deltaEntry(head: DeltaHead, part: number, body: DeltaBody): DeltaEntry<DeltaBody> {
  const { claim, claimPosition, from, to, parts } = head;
  return { kind: "delta", claim, claimPosition, from, to, part, parts, body };
}

function readDelta(
  headers: Readonly<Record<string, string>>,
  partition: PartitionName,
  claim: string,
): PaneRecord | null {
  const claimPosition = wholeNumber(headers[PANE_HEADERS.claimPosition]);
  const range = pairOf(headers[PANE_HEADERS.range], "-");
  const part = pairOf(headers[PANE_HEADERS.part], "/");
  const body = headers[PANE_HEADERS.body];
  const drawnAtMs = Number(headers[PANE_HEADERS.drawnAt]);
  const newestMs = Number(headers[PANE_HEADERS.newest]);
  if (claimPosition === null || range === null || part === null) return null;
  if (body !== "index" && body !== "metrics") return null;
  if (!(drawnAtMs >= 0) || !(newestMs >= 0) || part[1] > MAX_PARTS) return null;
  const head = {
    partition,
    claim,
    claimPosition,
    from: range[0],
    to: range[1],
    parts: part[1],
    drawnAtMs,
    newestMs,
  };
  return { kind: "delta", head, part: part[0], body };
}

function pairOf(text: string | undefined, separator: string): [number, number] | null {
  const [a, b, ...more] = text?.split(separator) ?? [];
  const first = wholeNumber(a);
  const second = wholeNumber(b);
  return first === null || second === null || more.length > 0 ? null : [first, second];
}

function wholeNumber(text: string | undefined): number | null {
  if (text === undefined || !/^\d{1,16}$/.test(text)) return null;
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : null;
}
