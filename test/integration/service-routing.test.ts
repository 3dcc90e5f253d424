import { KINDS } from "@isochrone/kubernetes";
import type { Channel, WorkflowGraphSnapshot } from "@isochrone/topology";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { controlPlaneSupport, startControlPlane, type ControlPlane } from "../harness/control-plane/index.ts";
import { DESTINATION_RULE_CRD } from "../harness/istio.ts";
import { CONTROLLER_RULES, MeasuredAggregator } from "../harness/measured-aggregator.ts";

const support = controlPlaneSupport([]);
if (!support.supported) console.warn(`routing by Services skipped: ${support.reason}`);

const ACCOUNT = { serviceAccount: { namespace: "isochrone", name: "aggregator" } };
const SERVICE = { ...KINDS.service, namespace: "shop", name: "db" };

describe.runIf(support.supported)("on a real API server", () => {
  let cluster: ControlPlane;
  let aggregator: MeasuredAggregator;

  beforeAll(async () => {
    cluster = await startControlPlane();
    await cluster.createNamespace("shop");
    const kubeconfig = await cluster.kubeconfigOf(ACCOUNT);
    await cluster.grant(ACCOUNT, [
      ...CONTROLLER_RULES,
      { apiGroups: ["networking.istio.io"], resources: ["destinationrules"], verbs: ["list", "watch"] },
    ]);
    await cluster.create(DESTINATION_RULE_CRD);
    await cluster.addNodes(2);
    const labels = { "isochrone.dev/workflow": "flow" };
    for (const name of ["web", "db"]) await cluster.createWorkload(name, { namespace: "shop", labels });
    await cluster.create({
      ...KINDS.service,
      metadata: { namespace: "shop", name: "db" },
      spec: { selector: { app: "db" }, ports: [{ port: 80 }], trafficDistribution: "PreferClose" },
    });
    aggregator = await MeasuredAggregator.start(
      kubeconfig,
      { aggregator: { istioRouting: true } },
      { bytesPerSecond: { "web db": 5_000 } },
    );
  }, 120_000);
  afterAll(async () => {
    await aggregator?.stop();
    await cluster?.close();
  });

  const routing = async (): Promise<Pick<Channel, "routing" | "routingScopes"> | null> => {
    const graph = (await aggregator.graph("/api/v1/graph/workflows/shop/flow")) as WorkflowGraphSnapshot;
    const found = graph.channels?.find(({ target }) => target === "db");
    if (found === undefined) return null;
    const { routing: how = "spread", routingScopes = [] } = found;
    return { routing: how, routingScopes };
  };
  const eventually = () => expect.poll(routing, { timeout: 30_000, interval: 200 });

  test("a channel follows the Services of its target", async () => {
    await eventually().toEqual({ routing: "nearest", routingScopes: ["zone"] });
    await cluster.patch(SERVICE, { spec: { trafficDistribution: null, internalTrafficPolicy: "Local" } });
    await eventually().toEqual({ routing: "nearest", routingScopes: ["node"] });
    const rule = { ...KINDS.destinationRule, namespace: "shop", name: "db" };
    await cluster.create({
      ...KINDS.destinationRule,
      metadata: { namespace: rule.namespace, name: rule.name },
      spec: { host: "db", trafficPolicy: { outlierDetection: { consecutive5xxErrors: 5 } } },
    });
    await cluster.patch(SERVICE, { spec: { internalTrafficPolicy: "Cluster" } });
    await eventually().toEqual({ routing: "nearest", routingScopes: ["zone", "region"] });
    await cluster.remove(rule);
    await eventually().toEqual({ routing: "spread", routingScopes: [] });
    await cluster.patch(SERVICE, { spec: { trafficDistribution: "PreferClose" } });
    await eventually().toEqual({ routing: "nearest", routingScopes: ["zone"] });
    await cluster.remove(SERVICE);
    await eventually().toEqual({ routing: "spread", routingScopes: [] });
  });
});
