import type { Logger, Service } from "@isochrone/runtime";
import { createPages as createHttpPages } from "@isochrone/runtime/pages";
import type { Registry } from "prom-client";
import type { CollectorConfig } from "./settings.ts";

export function createPages(
  { host, port }: CollectorConfig,
  { logger, registry }: { readonly logger: Logger; readonly registry: Registry },
): Service {
  return createHttpPages({
    name: "collector",
    logger,
    registry,
    ready: () => ({ ready: true, reasons: [] }),
    host,
    port,
    setting: "collector.port",
  });
}
