import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Helm, helmSupport, only, podSpecOf, settingsOf, type ChartValues } from "../harness/helm/index.ts";

const support = helmSupport();
if (!support.supported) console.warn(`the chart is not rendered: ${support.reason}`);

describe.runIf(support.supported)("the chart's values for the extender", () => {
  let helm: Helm;
  beforeAll(async () => {
    helm = await Helm.open();
  }, 900_000);
  afterAll(() => helm?.close());
  const of = async (values: ChartValues) => settingsOf(await helm.template(values), "scheduler-plugin");

  test("have the extender demand client certificates unless somebody says that everyone may ask", async () => {
    const asItIs = await of({});
    expect(asItIs["scheduler"]).not.toHaveProperty("access");
    expect(asItIs["extenderCertificates"]).toMatchObject({
      secret: "isochrone/isochrone-scheduler-plugin-certificates",
      hosts: expect.arrayContaining(["isochrone-scheduler-plugin.isochrone.svc"]),
    });
    for (const tls of [{ source: "none" }, { extenderClientCertificates: false }])
      expect((await of({ tls }))["scheduler"]).toMatchObject({ access: "none" });
    const issued = await of({ tls: { source: "cert-manager" } });
    expect(issued["scheduler"]).toMatchObject({ tlsClientCaFile: expect.any(String) });
    expect(issued).not.toHaveProperty("extenderCertificates");
  });

  test("let replicas find each other and show the aggregator's certificate, where there are several", async () => {
    const several = (await of({}))["scheduler"];
    expect(several).toMatchObject({
      serviceName: "isochrone-scheduler-plugin",
      replicaFilesDirectory: "/etc/isochrone/replicas",
    });
    const plain = (await of({ tls: { source: "none" } }))["scheduler"];
    expect(plain).toMatchObject({ serviceName: "isochrone-scheduler-plugin" });
    expect(plain).not.toHaveProperty("replicaFilesDirectory");
    const objects = await helm.template({});
    const rules = only(objects, "Role", "isochrone-scheduler-plugin-service")["rules"];
    expect(rules).toEqual([
      { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: ["list", "watch"] },
    ]);
    expect((await of({ schedulerPlugin: { replicas: 1 } }))["scheduler"]).not.toHaveProperty("serviceName");
    const alone = await helm.template({ schedulerPlugin: { replicas: 1 } });
    expect(alone.some(({ metadata }) => metadata.name === "isochrone-scheduler-plugin-service")).toBe(false);
  });

  test("mount kube-scheduler's certificate and the extender's authority nowhere", async () => {
    const secrets = ["isochrone-scheduler-plugin-kube-scheduler", "isochrone-scheduler-plugin-certificates"];
    const volumes = (await helm.template({})).flatMap((object) => podSpecOf(object)?.volumes ?? []);
    for (const secret of secrets) expect(JSON.stringify(volumes)).not.toContain(secret);
    expect(JSON.stringify(volumes)).toContain("isochrone-scheduler-plugin-decisions");
  });

  test("let only the control plane, aggregators, replicas and readers of metrics reach the extender, where its addresses are said", async () => {
    const ingressOf = async (
      networkPolicy: object,
      schedulerPlugin: object = {},
    ): Promise<{ from?: object[]; ports: object[] }[]> => {
      const objects = await helm.template({ networkPolicy, schedulerPlugin });
      const policy = only(objects, "NetworkPolicy", "isochrone-scheduler-plugin");
      return policy.spec!["ingress"] as { from?: object[]; ports: object[] }[];
    };
    const block = { ipBlock: { cidr: "10.0.0.0/28" } };
    const prometheus = { namespaceSelector: {} };
    const rules = await ingressOf({ controlPlaneFrom: [block], metricsFrom: [prometheus] });
    expect(rules).toHaveLength(2);
    expect(rules[0]!.from).toEqual([block]);
    const podsOf = (component: string): object => ({
      podSelector: {
        matchLabels: expect.objectContaining({ "app.kubernetes.io/component": component }) as unknown,
      },
    });
    expect(rules[1]!.from).toEqual([podsOf("aggregator"), podsOf("scheduler-plugin"), prometheus]);
    const alone = await ingressOf({ controlPlaneFrom: [block] }, { replicas: 1 });
    expect(alone[1]!.from).toEqual([podsOf("aggregator")]);
    // Control plane addresses differ between clusters. Certificates protect without an address rule.
    expect((await ingressOf({})).every(({ from }) => from === undefined)).toBe(true);
  });
});
