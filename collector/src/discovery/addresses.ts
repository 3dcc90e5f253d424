import { isIP } from "node:net";

export type AddressFamily = "primary" | "ipv4" | "ipv6";

/** Null without an address of the family: another may be unreachable. Ignores invalid addresses. */
export function addressOf(addresses: readonly string[], family: AddressFamily): string | null {
  const wanted = { primary: [4, 6], ipv4: [4], ipv6: [6] }[family];
  return addresses.find((address) => wanted.includes(isIP(address))) ?? null;
}

/** `path` must begin with a slash, so that no part of it can extend the address. */
export function urlOf(scheme: "http" | "https", address: string, port: number, path: string): string {
  const host = isIP(address) === 6 ? `[${address}]` : address;
  return new URL(path.replace(/^\/*/, "/"), `${scheme}://${host}:${port}`).href;
}

export function portOf(value: unknown): number | null {
  const port = typeof value === "string" && /^\d{1,5}$/.test(value) ? Number(value) : value;
  return typeof port === "number" && Number.isInteger(port) && port >= 1 && port <= 65_535 ? port : null;
}
