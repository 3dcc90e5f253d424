// Ranges of addresses, and which of them an address is in.
import { ipBytes } from "@isochrone/primitives/ip";

/** A range in CIDR notation. */
export interface AddressRange {
  /** As it was written. */
  readonly text: string;
  /** The first address: 4 or 16 raw bytes as latin1. */
  readonly first: string;
  /** Bits that all of its addresses share. */
  readonly bits: number;
}

/** Null: it is no range, or bits beyond its length are set. */
export function rangeOf(text: string): AddressRange | null {
  const [, address = "", length = ""] = /^([0-9a-fA-F.:]+)\/(\d{1,3})$/.exec(text) ?? [];
  const bytes = ipBytes(address);
  const bits = Number(length);
  if (bytes === null || bits > bytes.length * 8) return null;
  const first = rawAddress(bytes);
  return prefixOf(first, bits).padEnd(first.length, "\0") === first ? { text, first, bits } : null;
}

/** An address that `isIP` accepts as raw bytes; null: it is none. An IPv4 address within IPv6 is that one. */
export function rawAddressOf(ip: string): string | null {
  const bytes = ipBytes(ip);
  return bytes === null ? null : plainAddress(rawAddress(bytes));
}

/** Packets to an IPv4 address may be told of as `::ffff:a.b.c.d`. */
export function plainAddress(raw: string): string {
  return raw.length === 16 && raw.startsWith(MAPPED) ? raw.slice(MAPPED.length) : raw;
}

const MAPPED = `${"\0".repeat(10)}\xff\xff`;

function rawAddress(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
}

/** The first bits of an address, the rest of the last byte 0. */
function prefixOf(raw: string, bits: number): string {
  const whole = bits >> 3;
  const rest = bits & 7;
  if (rest === 0) return raw.slice(0, whole);
  const mask = 0xff & (0xff << (8 - rest));
  return raw.slice(0, whole) + String.fromCharCode(raw.charCodeAt(whole) & mask);
}

/** Whether they have addresses in common: then one is within the other. */
export function overlap(a: AddressRange, b: AddressRange): boolean {
  const bits = Math.min(a.bits, b.bits);
  return a.first.length === b.first.length && prefixOf(a.first, bits) === prefixOf(b.first, bits);
}

/** Values by range. Of several ranges that an address is in, the longest prefix counts. */
export class RangeMap<T> {
  /** By family, the longest prefix first. */
  readonly #byBits = new Map<number, { readonly bits: number; readonly values: Map<string, T> }[]>();

  set({ first, bits }: AddressRange, value: T): void {
    let lengths = this.#byBits.get(first.length);
    if (lengths === undefined) this.#byBits.set(first.length, (lengths = []));
    let known = lengths.find((length) => length.bits === bits);
    if (known === undefined) {
      lengths.push((known = { bits, values: new Map() }));
      lengths.sort((a, b) => b.bits - a.bits);
    }
    known.values.set(prefixOf(first, bits), value);
  }

  /** @param raw 4 or 16 bytes as latin1 */
  get(raw: string): T | undefined {
    for (const { bits, values } of this.#byBits.get(raw.length) ?? []) {
      const value = values.get(prefixOf(raw, bits));
      if (value !== undefined) return value;
    }
    return undefined;
  }
}
