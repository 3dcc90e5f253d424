import { loadSettings } from "@isochrone/runtime";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { grantsOf } from "../harness/components/index.ts";
import { chartFilesIn, Helm, helmSupport, only, podSpecOf, SECTIONS } from "../harness/helm/index.ts";
import { environmentOf, mountedBy, settingsIn, workloadOf } from "../harness/helm/workloads.ts";

const support = helmSupport();
if (!support.supported) console.warn(`the chart is not rendered: ${support.reason}`);

describe.runIf(support.supported)("the chart's dispatcher", () => {
  let helm: Helm;

  beforeAll(async () => {
    helm = await Helm.open();
  });
  afterAll(() => helm?.close());

  test("runs when asked, restricted, beside Services, with rights to read alone", async () => {
    const without = await helm.template();
    expect(workloadOf(without, "dispatcher")).toBeNull();
    expect(without.filter(({ metadata }) => metadata.name.includes("dispatcher"))).toEqual([]);
    const objects = await helm.template({
      dispatcher: { enabled: true },
      monitoring: { monitors: true },
      settings: { dispatcher: { policy: "least-request" } },
      networkPolicy: { dispatcherFrom: [{ namespaceSelector: { matchLabels: { team: "shop" } } }] },
    });
    const workload = only(objects, "Deployment", "isochrone-dispatcher");
    expect(podSpecOf(workload)!.containers[0]!.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
    const file = settingsIn(objects, "dispatcher");
    expect(file).toMatchObject({ dispatcher: { policy: "least-request", port: 7417 } });
    const loaded = loadSettings(SECTIONS["dispatcher"]!, { env: environmentOf(workload), file });
    expect(loaded).toMatchObject({ dispatcher: { node: "node-1" } });
    expect(chartFilesIn(file).filter((path) => !mountedBy(workload).includes(path))).toEqual([]);
    expect(only(objects, "PodMonitor", "isochrone-dispatcher")).toBeDefined();
    expect(only(objects, "PodDisruptionBudget", "isochrone-dispatcher")).toBeDefined();
    const grants = grantsOf(objects).filter(({ user }) => user.endsWith("-dispatcher"));
    expect(grants.map(({ verb, on }) => `${verb} ${on}`).toSorted()).toEqual([
      "get /isochrone/api/v1/graph/cluster",
      "list endpointslices.discovery.k8s.io",
      "list pods",
      "list services",
      "watch endpointslices.discovery.k8s.io",
      "watch pods",
      "watch services",
    ]);
    const { ingress } = only(objects, "NetworkPolicy", "isochrone-dispatcher").spec as { ingress: unknown };
    expect(ingress).toEqual([
      {
        from: [{ namespaceSelector: { matchLabels: { team: "shop" } } }],
        ports: [{ port: "requests", protocol: "TCP" }],
      },
    ]);
    // The dispatcher reads graphs.
    expect(JSON.stringify(only(objects, "NetworkPolicy", "isochrone-aggregator").spec)).toContain(
      "isochrone-dispatcher",
    );
    expect(only(objects, "Service", "isochrone-dispatcher").spec).toMatchObject({
      trafficDistribution: "PreferClose",
      ports: [{ port: 80, targetPort: "requests" }],
    });
    await expect(helm.template({ settings: { dispatcher: { policy: "random" } } })).rejects.toThrow(/policy/);
  });
});
