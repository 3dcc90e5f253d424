// Of the test of the rights: objects that have always changed again when they are written.
import { setTimeout as sleep } from "node:timers/promises";
import type { ControlPlane, CutProxy } from "../harness/control-plane/index.ts";
import { SHOP } from "./rbac-testbed.ts";

/**
 * What the API server tells the aggregators is so late that whatever changes more often has changed again.
 */
const STALE_BY_MS = 200;
const PAUSE_MS = 5;

/**
 * Changes nodes and workloads all the time, and delays what the proxy lets through of that.
 * @returns what ends it
 */
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
