// Who may ask the extender, by the chart's values.
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

  test("have the extender demand client certificates unless somebody says that everyone may ask", async () => {
    const of = async (values: ChartValues) => settingsOf(await helm.template(values), "scheduler-plugin");
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

  test("mount kube-scheduler's certificate and the extender's authority nowhere", async () => {
    const secrets = ["isochrone-scheduler-plugin-kube-scheduler", "isochrone-scheduler-plugin-certificates"];
    const volumes = (await helm.template({})).flatMap((object) => podSpecOf(object)?.volumes ?? []);
    for (const secret of secrets) expect(JSON.stringify(volumes)).not.toContain(secret);
    expect(JSON.stringify(volumes)).toContain("isochrone-scheduler-plugin-decisions");
  });

  test("let only the control plane, aggregators and readers of metrics reach the extender, where its addresses are said", async () => {
    const ingressOf = async (networkPolicy: object): Promise<{ from?: object[]; ports: object[] }[]> => {
      const objects = await helm.template({ networkPolicy });
      const policy = only(objects, "NetworkPolicy", "isochrone-scheduler-plugin");
      return policy.spec!["ingress"] as { from?: object[]; ports: object[] }[];
    };
    const block = { ipBlock: { cidr: "10.0.0.0/28" } };
    const prometheus = { namespaceSelector: {} };
    const rules = await ingressOf({ controlPlaneFrom: [block], metricsFrom: [prometheus] });
    expect(rules).toHaveLength(2);
    expect(rules[0]!.from).toEqual([block]);
    expect(rules[1]!.from).toEqual([expect.objectContaining({ podSelector: expect.anything() }), prometheus]);
    // Addresses of control planes differ from cluster to cluster: certificates are what protects without
    // them.
    expect((await ingressOf({})).every(({ from }) => from === undefined)).toBe(true);
  });
});
