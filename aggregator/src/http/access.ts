import type { ClusterStore } from "@isochrone/kubernetes";
import { accessGate, AccessReview, type AccessSettings } from "@isochrone/kubernetes/access";
import { SettingsError, type Clock, type Logger } from "@isochrone/runtime";
import { isLoopback, type RequestGate } from "@isochrone/runtime/http";
import type { Registry } from "prom-client";
import { createAccessMetrics } from "./access-metrics.ts";

interface AccessSurroundings {
  /** Null: this process has no API server to ask. */
  readonly store: ClusterStore | null;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly host: string;
}

/**
 * Returns the server's gate by the section `access`; undefined: open to everyone.
 * @throws SettingsError if open access beyond loopback is not explicitly allowed, or if there is no API
 * server for reviews
 */
export function openAccess(
  settings: AccessSettings,
  surroundings: AccessSurroundings,
): RequestGate | undefined {
  const { store, clock, logger, registry, host } = surroundings;
  if (settings.mode !== "kubernetes") {
    checkOpen(settings.mode, host, logger);
    return undefined;
  }
  if (store === null)
    throw new SettingsError([
      "access.mode must not be kubernetes without an API server to ask, got kubernetes",
    ]);
  const metrics = createAccessMetrics(registry, () => review.knownTokens);
  const review = new AccessReview({ ...settings, store, clock, logger, onReview: metrics.onReview });
  return accessGate({ review, pathPrefix: settings.pathPrefix, onDecision: metrics.onDecision });
}

function checkOpen(mode: "none" | null, host: string, logger: Logger): void {
  if (isLoopback(host)) return;
  if (mode === null)
    throw new SettingsError([
      `access.mode (ISOCHRONE_ACCESS_MODE) must be set when a service listens on other than a loopback address, got none for ${host}: kubernetes asks for tokens, none lets everyone in`,
    ]);
  logger.warn("anyone who can reach this server can read the graphs and send telemetry (access.mode none)", {
    host,
  });
}
