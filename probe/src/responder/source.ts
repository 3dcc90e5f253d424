import { parseAddress } from "../domain/ip.ts";

export interface Source {
  readonly bytes: Buffer;
  readonly key: string;
}

/** Null if invalid. Drops a zone (`fe80::1%eth0`): link-local peers are distinguished by address alone. */
export function sourceOf(address: string): Source | null {
  const [text = ""] = address.split("%");
  const parsed = parseAddress(text);
  return parsed === null ? null : sourceOfBytes(Buffer.from(parsed));
}

/** Keeps a reference to the buffer. */
export function sourceOfBytes(bytes: Buffer): Source {
  return { bytes, key: bytes.toString("latin1") };
}
