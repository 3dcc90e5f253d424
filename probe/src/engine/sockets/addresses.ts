import { familyOf, parseAddress } from "../../domain/ip.ts";

/** Local bind address for a client socket: the configured one if its family matches, else any. */
export function localAddressFor(bindAddress: string, family: 4 | 6): string {
  const bytes = parseAddress(bindAddress);
  if (bytes !== null && familyOf(bytes) === family && bindAddress !== "::")
    return dotted(bytes) ?? bindAddress;
  return family === 4 ? "0.0.0.0" : "::";
}

/** Normalizes a socket address; IPv4-mapped becomes IPv4. @throws RangeError if it is not an IP address */
export function targetOf(address: string): { readonly ip: string; readonly family: 4 | 6 } {
  const bytes = parseAddress(address);
  if (bytes === null) throw new RangeError(`an IP address is needed, got ${JSON.stringify(address)}`);
  return { ip: dotted(bytes) ?? address, family: familyOf(bytes) };
}

function dotted(bytes: Uint8Array): string | null {
  return familyOf(bytes) === 4 ? bytes.subarray(12).join(".") : null;
}
