import { codeOf } from "@isochrone/primitives";
import type { AddressInfo } from "node:net";
import { Server as TlsServer } from "node:tls";
import { ListenError } from "../errors.ts";

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
  readonly url: string;
}

interface Listening {
  listen(options: { host: string; port: number }): Promise<unknown>;
  readonly server: { address(): AddressInfo | string | null };
}

/** Listens and returns the actual address. `setting` names the port's setting in the ListenError. */
export async function listen(
  app: Listening,
  target: { readonly host: string; readonly port: number; readonly setting?: string },
): Promise<ListenAddress> {
  const { host, port, setting } = target;
  try {
    // For the name, fastify would open a second server on ::1 without the limits of the first.
    await app.listen({ host: host === "localhost" ? "127.0.0.1" : host, port });
  } catch (error) {
    const hint = setting ? `; choose another with the setting ${setting}` : "";
    throw new ListenError(`cannot listen on ${host} port ${port}: ${problemOf(error)}${hint}`, error);
  }
  const address = app.server.address();
  const bound = typeof address === "object" && address !== null ? address.port : port;
  const name = host.includes(":") ? `[${host}]` : host;
  const scheme = app.server instanceof TlsServer ? "https" : "http";
  return { host, port: bound, url: `${scheme}://${name}:${bound}` };
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: "another program listens there (EADDRINUSE)",
  EACCES: "this user may not use the port (EACCES)",
  EADDRNOTAVAIL: "this machine does not have the address (EADDRNOTAVAIL)",
};

function problemOf(error: unknown): string {
  return REASONS[codeOf(error) ?? ""] ?? String(error);
}
