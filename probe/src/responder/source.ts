import { parseAddress } from "../domain/ip.ts";

/** Where a packet came from, as the transport saw it. */
export interface Source {
  /** The address, 16 bytes. */
  readonly bytes: Buffer;
  /** The same as a key of tables. */
  readonly key: string;
}

/**
 * Null: the text is no address without zone. A zone (`fe80::1%eth0`) is cut off: link-local peers are told
 * apart by address alone.
 */
export function sourceOf(address: string): Source | null {
  const [text = ""] = address.split("%");
  const parsed = parseAddress(text);
  return parsed === null ? null : sourceOfBytes(Buffer.from(parsed));
}

/** Takes the buffer over. */
export function sourceOfBytes(bytes: Buffer): Source {
  return { bytes, key: bytes.toString("latin1") };
}
