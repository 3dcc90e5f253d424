/** A server of node:net or node:http. */
interface Bound {
  address(): { readonly port: number } | string | null;
}

/** The port that the server listens on. Throws for one that listens on none. */
export function boundPort(server: Bound): number {
  const address = server.address();
  if (typeof address === "object" && address !== null) return address.port;
  throw new Error(`a server must listen on a port, got ${address ?? "none"}`);
}
