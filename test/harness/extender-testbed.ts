// Shared by a describe: a kube-scheduler, extender certificates, and a graph API.
import type { KubernetesObject } from "@isochrone/kubernetes";
import { afterAll, beforeAll, expect, onTestFinished } from "vitest";
import { nodeNameOf, startControlPlane } from "./control-plane/index.ts";
import type { ControlPlane } from "./control-plane/index.ts";
import { Certificates, startGraphApi, startReplica } from "./extender.ts";
import type { GraphApi, Replica } from "./extender.ts";

interface ExtenderTestbed {
  /** Available from the first test on, like the fields below. */
  readonly cluster: ControlPlane;
  readonly certificates: Certificates;
  readonly graphs: GraphApi;
  /** The replica stops after the test. @param graphUrl graph API; @default that of `graphs` */
  readonly replica: (settings?: Readonly<Record<string, unknown>>, graphUrl?: string) => Promise<Replica>;
  /** Returns the pods' nodes once all pods have one. @param namespace @default "default" */
  readonly nodesOf: (names: readonly string[], namespace?: string) => Promise<string[]>;
}

const READY_WITHIN_MS = 20_000;

/** Call it in the describe. @param prepare runs before the first test */
export function extenderTestbed(prepare: (testbed: ExtenderTestbed) => Promise<void>): ExtenderTestbed {
  let cluster: ControlPlane;
  let certificates: Certificates;
  let graphs: GraphApi;
  const testbed: ExtenderTestbed = {
    get cluster() {
      return cluster;
    },
    get certificates() {
      return certificates;
    },
    get graphs() {
      return graphs;
    },
    replica: async (settings = {}, graphUrl = graphs.url) => {
      const started = await startReplica({ cluster, certificates, graphUrl, settings });
      onTestFinished(() => started.stop().catch(() => undefined));
      await expect
        .poll(async () => (await started.get("/readyz")).status, { timeout: READY_WITHIN_MS })
        .toBe(200);
      return started;
    },
    nodesOf: (names, namespace = "default") =>
      cluster.waitFor("pods", (pods) => nodesOfAll(names, pods), { namespace, timeoutMs: 60_000 }),
  };
  beforeAll(async () => {
    [cluster, certificates, graphs] = await Promise.all([
      startControlPlane({ components: ["scheduler"] }),
      Certificates.create(),
      startGraphApi(),
    ]);
    await prepare(testbed);
  }, 120_000);
  afterAll(async () => {
    await graphs?.close();
    await cluster?.close();
    await certificates?.remove();
  });
  return testbed;
}

/** Returns null while a pod has no node. */
function nodesOfAll(names: readonly string[], pods: readonly KubernetesObject[]): string[] | null {
  const nodes = names.map((name) => {
    const pod = pods.find(({ metadata }) => metadata.name === name);
    return pod === undefined ? null : nodeNameOf(pod);
  });
  return nodes.includes(null) ? null : (nodes as string[]);
}
