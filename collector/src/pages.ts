import { createHttpApp, listen, type HttpApp } from "@isochrone/runtime/http";
import type { Logger, Service } from "@isochrone/runtime";
import type { Registry } from "prom-client";
import type { CollectorConfig } from "./settings.ts";

const BODY_LIMIT_BYTES = 1024;

/** The collector's own /metrics, /healthz and /readyz. */
export function createPages(
  config: CollectorConfig,
  { logger, registry }: { readonly logger: Logger; readonly registry: Registry },
): Service {
  let app: HttpApp | null = null;
  return {
    async start() {
      app = await createHttpApp({
        hasSchemas: false,
        name: "collector",
        logger,
        registry,
        bodyLimitBytes: BODY_LIMIT_BYTES,
        ready: () => ({ ready: true, reasons: [] }),
      });
      await listen(app, { host: config.host, port: config.port, setting: "collector.port" });
    },
    async stop() {
      await app?.close();
    },
  };
}
