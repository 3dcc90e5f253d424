import { ipOf, SYS } from "@isochrone/kernel-sockets";
import { familyOf, parseAddress } from "../domain/ip.ts";

/** Canonical form of an address, for comparing reply sources; IPv4-mapped becomes IPv4. @throws RangeError */
export function canonicalAddress(text: string): { readonly address: string; readonly family: 4 | 6 } {
  const bytes = parseAddress(text);
  if (bytes === null) throw new RangeError(`ICMP target must be an IP address, got ${JSON.stringify(text)}`);
  const family = familyOf(bytes);
  const view = new DataView(new ArrayBuffer(28));
  view.setUint16(0, family === 4 ? SYS.AF_INET : SYS.AF_INET6, true);
  new Uint8Array(view.buffer).set(family === 4 ? bytes.subarray(12) : bytes, family === 4 ? 4 : 8);
  return { address: ipOf(view, 0), family };
}
