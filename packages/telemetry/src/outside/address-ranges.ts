import { ipBytes } from "@isochrone/primitives/ip";

export interface AddressRange {
  readonly text: string;
  /** First address of the range: 4 or 16 raw bytes as latin1. */
  readonly first: string;
  readonly bits: number;
}

/** Parses a range. Null: invalid, or bits beyond the prefix are set. */
export function rangeOf(text: string): AddressRange | null {
  const [, address = "", length = ""] = /^([0-9a-fA-F.:]+)\/(\d{1,3})$/.exec(text) ?? [];
  const bytes = ipBytes(address);
  const bits = Number(length);
  if (bytes === null || bits > bytes.length * 8) return null;
  const first = rawAddress(bytes);
  return prefixOf(first, bits).padEnd(first.length, "\0") === first ? { text, first, bits } : null;
}

/** Raw bytes of an address; an IPv4-mapped IPv6 address becomes IPv4. Null: invalid. */
export function rawAddressOf(ip: string): string | null {
  const bytes = ipBytes(ip);
  return bytes === null ? null : plainAddress(rawAddress(bytes));
}

/** Unwraps IPv4-mapped addresses: IPv4 packets can be reported as `::ffff:a.b.c.d`. */
export function plainAddress(raw: string): string {
  return raw.length === 16 && raw.startsWith(MAPPED) ? raw.slice(MAPPED.length) : raw;
}

const MAPPED = `${"\0".repeat(10)}\xff\xff`;

function rawAddress(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
}

function prefixOf(raw: string, bits: number): string {
  const whole = bits >> 3;
  const rest = bits & 7;
  if (rest === 0) return raw.slice(0, whole);
  const mask = 0xff & (0xff << (8 - rest));
  return raw.slice(0, whole) + String.fromCharCode(raw.charCodeAt(whole) & mask);
}

/** Whether ranges overlap: one then contains the other. */
export function overlap(a: AddressRange, b: AddressRange): boolean {
  const bits = Math.min(a.bits, b.bits);
  return a.first.length === b.first.length && prefixOf(a.first, bits) === prefixOf(b.first, bits);
}

/** Values by address range; the longest matching prefix wins. */
export class RangeMap<T> {
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
