// Access to the extender: its clients decide where pods are placed and see how nodes are scored.
import { SettingsError } from "@isochrone/runtime";
import type { Logger } from "@isochrone/runtime";
import { isLoopback, type ServerTlsOptions } from "@isochrone/runtime/http";
import type { SchedulerPluginConfig } from "./settings.ts";

/** @throws SettingsError if others could call without a certificate, unless the configuration allows it */
export function checkAccess(
  { host, access }: Pick<SchedulerPluginConfig, "host" | "access">,
  tls: ServerTlsOptions | undefined,
  logger: Logger,
): void {
  if (isLoopback(host) || asksClients(tls)) return;
  if (access === null)
    throw new SettingsError([
      `scheduler.access (ISOCHRONE_SCHEDULER_ACCESS) must be set when the extender listens on other than a loopback address without client certificates (extenderCertificates.secret, or scheduler.tlsClientCaFile), got none for ${host}: none lets everyone in`,
    ]);
  logger.warn("anyone who can reach the extender can query it and read decisions (scheduler.access none)", {
    host,
  });
}

export function asksClients(tls: ServerTlsOptions | undefined): boolean {
  if (tls === undefined) return false;
  return "certFile" in tls ? typeof tls.clientCaFile === "string" : tls.clientNames !== undefined;
}
