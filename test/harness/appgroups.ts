import { readFileSync } from "node:fs";
import { join } from "node:path";
import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import { createApiServerStore } from "@isochrone/kubernetes/api-server";
import { createRegistry, loadSettings, seededRandom, systemClock } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { createSchedulerPlugin, schedulerPluginSettings } from "@isochrone/scheduler-plugin";
import type { ControlPlane, Rule } from "./control-plane/index.ts";

const ROOT = join(import.meta.dirname, "../..");

export const OUR_CRDS: readonly string[] = [
  join(ROOT, "helm/isochrone/crds/appgroup.diktyo.x-k8s.io_appgroups.yaml"),
  join(ROOT, "helm/isochrone/crds/networktopology.diktyo.x-k8s.io_networktopologies.yaml"),
];

export function upstreamFile(name: string): string {
  return join(ROOT, "test/data/diktyo", name);
}

export function upstreamText(name: string): string {
  return readFileSync(upstreamFile(name), "utf8");
}

export const APP_GROUP_RULES: readonly Rule[] = [
  {
    apiGroups: ["appgroup.diktyo.x-k8s.io"],
    resources: ["appgroups"],
    verbs: ["list", "watch", "patch"],
  },
  { apiGroups: ["appgroup.diktyo.x-k8s.io"], resources: ["appgroups/status"], verbs: ["patch"] },
  { apiGroups: [""], resources: ["pods"], verbs: ["list", "watch"] },
  { apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["create", "patch"] },
];

export const LEASE_RULES: readonly Rule[] = [
  {
    apiGroups: ["coordination.k8s.io"],
    resources: ["leases"],
    verbs: ["get", "list", "watch", "create", "update"],
  },
];

export interface RunningPlugin {
  /** User name of the service account, as in audit logs. */
  readonly user: string;
  readonly logger: MemoryLogger;
  metrics(): Promise<string>;
  stop(): Promise<void>;
}

export async function startPlugin(
  cluster: ControlPlane,
  name: string,
  settings: Readonly<Record<string, unknown>> = {},
): Promise<RunningPlugin> {
  const serviceAccount = { namespace: "isochrone", name };
  const identity = { serviceAccount };
  const kubeconfig = await cluster.kubeconfigOf(identity);
  await cluster.grant(identity, APP_GROUP_RULES);
  await cluster.grant(identity, LEASE_RULES, "isochrone");
  const clock = systemClock;
  const logger = new MemoryLogger({ clock });
  const random = seededRandom(name.length);
  const registry = createRegistry();
  const store = createApiServerStore({ credentials: { kubeconfig }, clock, random, logger });
  const scheduler = {
    port: 0,
    graphUrl: "http://127.0.0.1:9",
    refreshMs: 600_000,
    podEvents: false,
    ...settings,
  };
  const { scheduler: config } = loadSettings([schedulerPluginSettings], {
    env: {},
    overrides: { scheduler },
  });
  const plugin = createSchedulerPlugin(config, { store, clock, random, logger, registry });
  await plugin.start();
  return {
    user: `system:serviceaccount:isochrone:${name}`,
    logger,
    metrics: () => registry.metrics(),
    stop: async () => {
      await plugin.stop();
      store.close();
    },
  };
}

/** Returns order indices by selector. Returns null if the status has no order. */
export function indicesOf({ status }: KubernetesObject): Record<string, number> | null {
  const order = status?.["topologyOrder"] as
    | { readonly workload: { readonly selector: string }; readonly index: number }[]
    | undefined;
  return order === undefined
    ? null
    : Object.fromEntries(order.map(({ workload, index }) => [workload.selector, index]));
}

/** `{P1: "P2 P3"}`: P1 depends on P2 and P3. */
export function appGroup(
  namespace: string,
  name: string,
  edges: Readonly<Record<string, string>>,
  topologySortingAlgorithm = "KahnSort",
): KubernetesObject {
  const workload = (selector: string): object => ({
    kind: "Deployment",
    name: `${selector.toLowerCase()}-deployment`,
    selector,
    apiVersion: "apps/v1",
    namespace,
  });
  const workloads = Object.entries(edges).map(([selector, on]) => ({
    workload: workload(selector),
    dependencies: on
      .split(" ")
      .filter(Boolean)
      .map((other) => ({ workload: workload(other), maxNetworkCost: 15, minBandwidth: "100Mi" })),
  }));
  return {
    ...KINDS.appGroup,
    metadata: { namespace, name },
    spec: { numMembers: workloads.length, topologySortingAlgorithm, workloads },
  };
}
