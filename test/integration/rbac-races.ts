// Forces write conflicts in the permission tests: objects always change before they are written.
import { setTimeout as sleep } from "node:timers/promises";
import type { ControlPlane, CutProxy } from "../harness/control-plane/index.ts";
import { SHOP } from "./rbac-testbed.ts";

/** Watch delay of the aggregators. Objects that change more often are always stale. */
const STALE_BY_MS = 200;
const PAUSE_MS = 5;

/** Delays watch events of the changes. @returns a function that stops it */
export function raceForObjects(
  cluster: ControlPlane,
  proxy: CutProxy,
  nodes: readonly string[],
): () => Promise<void> {
  proxy.delayMs = STALE_BY_MS;
  const stop = new AbortController();
  const paths = [
    ...nodes.map((node) => `/api/v1/nodes/${node}`),
    ...["deployments/web", "statefulsets/db", "daemonsets/agent"].map(
      (path) => `/apis/apps/v1/namespaces/${SHOP}/${path}`,
    ),
  ];
  const touching = paths.map(async (path) => {
    for (let count = 0; !stop.signal.aborted; count++) {
      await cluster.request("PATCH", path, {
        metadata: { labels: { "example.com/count": String(count) } },
      });
      await sleep(PAUSE_MS);
    }
  });
  return async () => {
    stop.abort();
    proxy.delayMs = 0;
    await Promise.all(touching);
  };
}
