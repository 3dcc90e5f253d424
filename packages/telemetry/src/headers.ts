import { OtlpError } from "./errors.ts";
import { HEADERS } from "./names.ts";

export interface RecordIdentity {
  /** Publisher, unique in the cluster: 1 to 253 visible ASCII characters. */
  readonly source: string;
  /** One lifetime of the publisher: 1 to 64 visible ASCII characters. Sequences restart with it. */
  readonly epoch: string;
  /** Sequence number, 0 .. 2^53 - 1; increases by one per record of the epoch. */
  readonly sequence: number;
  /** Time of sending by the publisher's clock, ms since the epoch. */
  readonly sentAtMs: number;
}

const CONTENT_TYPE = "application/x-protobuf";
const SOURCE = /^[\x21-\x7e]{1,253}$/;
const EPOCH = /^[\x21-\x7e]{1,64}$/;
const INTEGER = /^\d{1,16}$/;
const DECIMAL = /^\d{1,16}(\.\d{1,9})?$/;
const SHOWN_CHARACTERS = 64;

export function encodeHeaders(identity: RecordIdentity): Record<string, string> {
  const headers = {
    [HEADERS.source]: identity.source,
    [HEADERS.epoch]: identity.epoch,
    [HEADERS.sequence]: String(identity.sequence),
    [HEADERS.sentAt]: String(identity.sentAtMs),
    [HEADERS.contentType]: CONTENT_TYPE,
  };
  decodeHeaders(headers);
  return headers;
}

/**
 * Returns null for a foreign record, without any of the four headers.
 * @throws OtlpError `bad_headers` if some are missing or out of range
 */
export function decodeHeaders(headers: Readonly<Record<string, string>>): RecordIdentity | null {
  const names = [HEADERS.source, HEADERS.epoch, HEADERS.sequence, HEADERS.sentAt];
  if (!names.some((name) => Object.hasOwn(headers, name))) return null;
  const sequence = Number(required(headers, HEADERS.sequence, INTEGER, "an integer of 0 .. 2^53 - 1"));
  if (!Number.isSafeInteger(sequence))
    refuse(HEADERS.sequence, "an integer of 0 .. 2^53 - 1", String(sequence));
  return {
    source: required(headers, HEADERS.source, SOURCE, "1 to 253 visible ASCII characters"),
    epoch: required(headers, HEADERS.epoch, EPOCH, "1 to 64 visible ASCII characters"),
    sequence,
    sentAtMs: Number(required(headers, HEADERS.sentAt, DECIMAL, "milliseconds since the epoch")),
  };
}

function required(
  headers: Readonly<Record<string, string>>,
  name: string,
  pattern: RegExp,
  rule: string,
): string {
  const value: unknown = Object.hasOwn(headers, name) ? headers[name] : undefined;
  if (typeof value !== "string") return refuse(name, rule, "nothing");
  return pattern.test(value) ? value : refuse(name, rule, JSON.stringify(value.slice(0, SHOWN_CHARACTERS)));
}

function refuse(name: string, rule: string, got: string): never {
  throw new OtlpError("bad_headers", `header ${name} must be ${rule}, got ${got}`);
}
