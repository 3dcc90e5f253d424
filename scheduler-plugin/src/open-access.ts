import type { Logger } from "@isochrone/runtime";
import { isLoopback } from "@isochrone/runtime/http";
import type { SchedulerPluginConfig } from "./settings.ts";

export function warnOfOpenAccess(
  { access, host }: Pick<SchedulerPluginConfig, "access" | "host">,
  hasCluster: boolean,
  logger: Logger,
): void {
  if (access !== "none" || isLoopback(host)) return;
  const open =
    "anyone who can reach this server can ask the extender and read decisions (scheduler.access none)";
  const blind = hasCluster ? "" : "; without a cluster, pods and nodes are believed as they are told";
  logger.warn(`${open}${blind}`, { host });
}
